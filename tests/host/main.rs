//! What needs no Vulkan driver: the pure parts, the mock device, and the command where no driver is found. `scripts/test.sh --quick`
//! runs these alone; what a driver must show is in `tests/devices`.
//!
//! `cargo test --test host resume::` runs one file of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod arithmetic;
mod card;
mod carried;
mod cases;
mod catalogue;
mod cli;
mod compare;
mod confirm;
mod core_clock;
mod coverage;
mod data;
mod doctor;
mod dump;
mod endings;
mod flags;
mod fleet;
mod fuzz;
mod golden;
mod hostile;
mod inspect;
mod inspect_devices;
mod isolation;
mod limits;
mod loads;
mod losses;
mod merge;
mod messages;
mod mutants;
mod mutated;
mod pairs;
mod passes;
mod places;
mod race;
mod readme;
mod reflection;
mod relations;
mod report;
mod residency;
mod resume;
mod search;
mod second_opinion;
mod session;
mod shaders;
mod statistics;
mod structure;
#[path = "../support/mod.rs"]
mod support;
mod tables;
mod terminal;
mod trace;
mod truth;
mod tune;
mod tune_images;
mod tune_resume;
mod turns;
mod version;
mod windows;
