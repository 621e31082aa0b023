//! A user's own shader as cases: what it is and what it works on as data, a case of each of its configurations, and its results
//! beside those of a reference. Knows neither Vulkan nor which configurations are wanted, or why.
//!
//! ```text
//! spec         what is run, as data              kernel   a configuration of it as a case (module, variables, names, members), or the only one (fixed)
//! resources    what the case binds (buffers, addresses, scalars, images, texels, samplers, sized, fill)
//! compare      its results (written), beside those of a reference     doubts   what makes both doubtful
//! expression   what users say of counts, sizes and restrictions
//! ```

mod addresses;
mod buffers;
mod compare;
mod doubts;
mod expression;
mod fill;
mod fixed;
mod images;
mod kernel;
mod members;
mod memories;
mod module;
mod names;
mod planted;
mod resources;
mod samplers;
mod scalars;
mod scale;
mod silent;
mod sized;
mod slots;
mod spec;
mod texels;
mod variables;
mod written;

pub use compare::{Comparison, Tolerance};
pub use doubts::Doubt;
pub use expression::listed;
pub use fill::{Fill, Unusual, Variation};
pub use fixed::{FAMILY, FixedKernel};
pub use images::ImageSpec;
pub use kernel::{CONSTANT_AXIS, Constant, LOCAL_SIZE_AXES, MACRO_AXIS, Refusal, SUBGROUP_AXIS, UserKernel};
pub use resources::MEMORY_PREFIX;
pub use samplers::SamplerSpec;
pub use spec::{Accepted, AddressSpec, BufferSpec, KernelSpec, Reference};
