//! The device: the one stage that knows Vulkan's types, and nearly all that is unsafe.
//!
//! # The boundary
//!
//! Plain data goes in: [`Prepared`](crate::shader::Prepared) cases, which are SPIR-V words, specialization bytes, resources and
//! steps. Plain data comes out: [`DeviceInfo`](crate::model::DeviceInfo), bytes, [`Ticks`](crate::units::Ticks), durations,
//! and an [`Error`] that says which Vulkan call failed on what and what to try. No `vk::` type leaves this folder, and nothing
//! in it knows what an experiment is.
//!
//! # The parts
//!
//! ```text
//! instance      the loader, the validation layer and its messages, the devices
//! capabilities  VkPhysicalDevice -> DeviceInfo      features   which feature structures there are, and which get enabled
//! quirks        known driver faults, as data
//! manifests     where the loader looks for drivers and layers    drivers   what is wrong with those that it can't use
//! libraries     which of them this process has mapped
//! device        the device and the cases loaded on it: load, run, sample, read, unload
//! logical       the opened device that all below share  object  Vulkan objects that free themselves
//! resource      what cases bind    image   images, samplers, copies of texels    memory   where they live, staging, budgets
//! format        texel formats by Vulkan's names
//! host          passes that the host does by itself    address   where buffers begin for the device
//! check         what a case must fulfil before Vulkan may see it
//! pipeline      kernels and their descriptor sets    command   steps -> commands, barriers
//! submit        one queue: record, submit, wait      timestamps  query pools
//! ahead         pipelines made on other threads
//! clock         the core clock    nvml   NVIDIA's library, which tells it    others   other processes that work on it
//! statistics    what the driver's compiler tells of pipelines    younger   structures that ash doesn't know
//! ```
//!
//! Every safe function here upholds Vulkan's valid usage by itself: `check` refuses whatever a caller could get wrong. Two
//! things are taken on trust, which [`shader`](crate::shader) sees to: that the words of a module are valid SPIR-V (those of a user's
//! are validated), and that specialization data have the sizes of their constants. A third is up to the catalogue, whose kernels alone
//! get addresses ([`subject`](crate::subject) refuses others that work on any): that what they make of these stays within the buffer.

#![allow(unsafe_code, reason = "Vulkan is a C interface, and so is NVML; this stage is where they are called")]

mod address;
mod ahead;
mod capabilities;
mod check;
mod clock;
mod command;
mod costs;
mod device;
mod drivers;
mod error;
mod features;
mod format;
mod host;
mod image;
mod instance;
mod libraries;
mod logical;
mod manifests;
mod matrices;
mod memory;
mod nvml;
mod object;
mod others;
mod pipeline;
mod quirks;
mod resource;
mod statistics;
mod submit;
mod timestamps;
mod younger;

pub use ahead::compile_threads;
pub use device::{CaseHandle, Device, DeviceOptions, Loaded, Samples, Submission};
pub use drivers::vulkan_folders;
pub use error::Error;
pub use instance::{Instance, InstanceOptions, MessageLog, NO_DEVICE_ADVICE};
pub use libraries::loaded_files;
pub use manifests::driver_manifests;
