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
//!   -> subject (a user's own shader: its configurations as cases, its results beside a reference's)
//!   -> tuning  (which of its configurations to measure, and what follows)
//!   -> gpu     (resources, pipelines, commands, timestamps)
//!   -> measure (calibrate, rounds of samples, stop, validate)
//!   -> record  (one row)
//!   -> analysis (which rows belong together, and what follows from them)
//!   -> output  (CSV, JSON lines, table, markdown)
//!   -> report  (pictures, and a page that shows them)
//! ```
//!
//! A stage imports the leaves ([`model`], [`units`], [`error`], [`digest`], [`globs`], [`platform`], [`process`], [`regular`], [`staged`], [`stats`], [`validate`]) and the stages before
//! it, never one after it; [`cli`] and [`worker`] compose them. `tests/host/structure.rs` holds the tree to this. Only [`gpu`] knows
//! Vulkan's types and is unsafe, but for the calls of the SPIR-V validator in [`shader`] and of Windows in [`platform`];
//! only [`output`] and [`cli`] print.

pub mod digest;
pub mod error;
pub mod globs;
pub mod model;
pub mod platform;
pub mod process;
#[cfg(test)]
mod properties;
pub mod regular;
pub mod staged;
pub mod stats;
pub mod units;
pub mod validate;

pub mod analysis;
pub mod experiments;
pub mod gpu;
pub mod measure;
pub mod output;
pub mod plan;
pub mod record;
pub mod report;
pub mod shader;
pub mod subject;
pub mod tuning;

pub mod cli;
pub mod worker;

/// README's Rust, which has to compile.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
