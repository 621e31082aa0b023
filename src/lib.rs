//! Lanescope: a Vulkan-native, low-level compute profiler.
//!
//! GLSL compute shaders become SPIR-V, are dispatched through Vulkan between timestamp queries, swept over workgroup sizes and
//! other axes by specialization constants, checked against a CPU twin, and written as one tidy row per configuration.
//!
//! # Data flow
//!
//! ```text
//! arguments -> experiments x axes x device limits = plan (cases)
//!   -> shader  (GLSL -> SPIR-V, reflect, specialize)
//!   -> trace   (what accesses that a shader recorded mean for the memory system)
//!   -> subject (a user's own shader: its configurations as cases, its results beside a reference's)
//!   -> tuning  (which of its configurations to measure, and what follows)
//!   -> gpu     (resources, pipelines, commands, timestamps)
//!   -> measure (calibrate, rounds of samples, stop, validate)
//!   -> record  (one row)
//!   -> capture (what an application dispatched, as the layer wrote it)
//!   -> analysis (which rows belong together, and what follows from them)
//!   -> output  (CSV, JSON lines, table, markdown)
//!   -> report  (pictures, and a page that shows them)
//!   -> worker  (processes that measure for another one)
//!   -> campaign (devices, workers and files of rows: what measures tasks on devices)
//!   -> doctor  (whether a machine is fit to be measured on)
//!   -> explain (what limits a kernel: bounds from its trace and from rows, beside its time)
//!   -> cli     (flags, and one short pipeline a command)
//! ```
//!
//! A stage imports the leaves ([`model`], [`units`], [`error`], [`digest`], [`globs`], [`platform`], [`process`], [`regular`], [`staged`], [`stats`], [`validate`]) and the stages before
//! it, never one after it. `tests/host/structure.rs` holds the tree to this. Only [`gpu`] knows
//! Vulkan's types and is unsafe, but for the calls of the SPIR-V validator in [`shader`] and of Windows in [`platform`];
//! only [`output`] and [`cli`] print. The experiments, and the leaves that they need, are the crate `lanescope-catalogue`
//! (`src/catalogue`): plain Rust, in which every result is computed a second time, and so optimised for speed where the rest isn't.
//!
//! An application that reads the tables that `tune` and `merge` write uses the crate `lanescope-table` (`src/table`), which needs no
//! compiler and no GPU. [`tuning`] has it too, and adds to tables. All else is hidden, and public for the command and for the tests
//! alone.

#[doc(hidden)]
pub use lanescope_catalogue::{digest, experiments, globs, model, stats, units, validate};

#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod platform;
#[doc(hidden)]
pub mod process;
#[cfg(test)]
mod properties;
#[doc(hidden)]
pub mod regular;
#[doc(hidden)]
pub mod staged;

#[doc(hidden)]
pub mod analysis;
#[doc(hidden)]
pub mod gpu;
#[doc(hidden)]
pub mod guide;
#[doc(hidden)]
pub mod measure;
#[doc(hidden)]
pub mod output;
#[doc(hidden)]
pub mod plan;
#[doc(hidden)]
pub mod record;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod shader;
#[doc(hidden)]
pub mod subject;
#[doc(hidden)]
pub mod trace;
pub mod tuning;

#[doc(hidden)]
pub mod campaign;
#[doc(hidden)]
pub mod capture;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod doctor;
#[doc(hidden)]
pub mod explain;
#[doc(hidden)]
pub mod worker;

/// The guides' Rust, which has to compile.
#[cfg(doctest)]
mod guides {
    #[doc = include_str!("guide/tune.md")]
    struct Tune;
    #[doc = include_str!("guide/contributing.md")]
    struct Contributing;
}
