//! What only a Vulkan driver can show. `scripts/test.sh --full` asks every driver that is found; otherwise most tests ask one of them.
//! All other tests run without a driver, in `tests/host`.
//!
//! LANESCOPE_TEST_DRIVERS names the drivers that must be there (`eval "$(scripts/drivers.sh)"` sets it); where it doesn't, any
//! usable device will do, and none is a failure.
//!
//! `cargo test --test devices tune::` runs one file of them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

mod ahead;
mod bounds;
mod capture;
mod cli;
mod doctor;
mod faults;
mod faulty;
mod gpu;
mod inspect;
mod isolation;
mod judge;
mod leaks;
mod manifests;
mod mock_driver;
mod mutants;
mod profile;
mod rows;
mod statistics;
#[path = "../support/mod.rs"]
mod support;
mod trace;
mod tune;
mod tune_bounds;
mod tune_checks;
mod tune_images;
