//! The vocabulary that all stages share: axes and points, cases as data, devices, and how a case can end.

#[macro_use]
mod words;

mod axis;
mod case;
mod core_clocks;
mod data;
mod derived;
mod device;
mod distribution;
mod format;
mod image;
mod matrix;
mod memory;
mod outcome;
mod path;
mod pci;
mod peaks;
mod permutation;
mod plot;
mod preset;
pub mod real;
mod repeatability;
mod sequence;
mod statistics;
mod stop;
mod surroundings;
mod traffic;

pub use crate::{named, words};
pub use axis::{Axis, AxisKind, MOST_NUMBER, Point};
pub use case::{
    Address, BLOCK_CASES, Binding, Bound, Cache, Case, Check, Dependency, Headline, HeldAddress, HostCost, Kernel, Measurand,
    Metric, OTHER_POISON, POISON, Picture, Repeat, Resource, ResourceKind, Scalar, Skip, SpirvTarget, Step, Texels,
    TimestampStage, Wait, Work,
};
pub use core_clocks::CoreClocks;
pub use data::Data;
pub use derived::{Derived, Figure, Finished, NoFigure};
pub use device::{
    Budget, Descriptors, DeviceInfo, DeviceKind, DriverIdentity, Feature, Heap, Limits, QueueChoice, QueueFamily, Quirk,
    Subgroup, SubgroupClass,
};
pub use distribution::Distribution;
pub use format::{Format, FormatUse, Numbers, Precision};
pub use image::{Dimension, Edge, FACES, ImageRole, Sampling};
pub use lanescope_table::{AxisValue, Uuid};
pub use matrix::{Component, MatrixProduct, MatrixScope};
pub use memory::{Footprint, MemoryKind, MemoryType};
pub use outcome::{Failure, Flag, Stage, Status};
pub use path::{FilePath, Shown, name_text, path_part, path_text, readable, system_name};
pub use pci::PciAddress;
pub use peaks::{Peak, Peaks, Published};
pub use permutation::Permutation;
pub use plot::{DerivedFigures, Expectation, Marks, Plot, Plotted};
pub use preset::Preset;
pub use repeatability::Repeatability;
pub use sequence::{Chain, Contents, Sequence, Shuffled};
pub use statistics::{Executable, PipelineDetail, PipelineStatistics, Representation, StatValue};
pub use stop::Stop;
pub use surroundings::{DriverFile, GpuState, LayerFile, LoadedFiles, OtherProcess, POWER_LIMIT};
pub use traffic::{Moved, Traffic};
