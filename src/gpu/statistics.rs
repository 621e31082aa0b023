//! What the driver's compiler tells about pipelines: VK_KHR_pipeline_executable_properties.

use std::sync::Arc;

use ash::vk;

use crate::model::{DeviceInfo, Executable, PipelineStatistics, StatValue};
use crate::shader::Prepared;

use super::capabilities::text;
use super::check;
use super::device::choose_family;
use super::error::{Context, Error};
use super::instance::InstanceInner;
use super::logical::Logical;
use super::pipeline::{Compiled, Source};

/// The extension's functions.
pub(super) type Functions = ash::khr::pipeline_executable_properties::Device;

/// Compiles the kernels of a case on a device of their own, and reads what the driver tells of each; `None` where it tells
/// nothing. No memory is allocated and nothing is submitted, so a device that can only compile will do.
pub(super) fn of_case(
    instance: &Arc<InstanceInner>,
    physical: vk::PhysicalDevice,
    info: &DeviceInfo,
    prepared: &Prepared,
) -> Result<Option<Vec<PipelineStatistics>>, Error> {
    check::case(prepared, info)?;
    let family = choose_family(info, None)?;
    let logical = Logical::for_compiling(instance, physical, info, family.index)?;
    let compile = |source: Source<'_>| Compiled::new(&logical, &source)?.statistics(&source.name);
    Source::all(prepared).map(compile).collect()
}

/// Reads the statistics of all executables of a pipeline.
///
/// # Safety
/// The pipeline lives, is of the functions' device, and was created with `CAPTURE_STATISTICS`; the device has the feature
/// `pipelineExecutableInfo` enabled.
pub(super) unsafe fn read(functions: &Functions, pipeline: vk::Pipeline, name: &str) -> Result<PipelineStatistics, Error> {
    let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
    // SAFETY: what the caller promises is what the call asks for.
    let properties = unsafe { functions.get_pipeline_executable_properties(&info) }
        .on("vkGetPipelineExecutablePropertiesKHR", || name.to_owned())?;
    let mut executables = Vec::with_capacity(properties.len());
    for (index, properties) in (0..).zip(&properties) {
        let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index);
        // SAFETY: as above, and the pipeline has this executable.
        let statistics = unsafe { functions.get_pipeline_executable_statistics(&info) }
            .on("vkGetPipelineExecutableStatisticsKHR", || name.to_owned())?;
        executables.push(Executable {
            name: text(properties.name_as_c_str()),
            subgroup_size: properties.subgroup_size,
            statistics: statistics.iter().filter_map(statistic).collect(),
        });
    }
    Ok(PipelineStatistics { executables })
}

/// A statistic as plain data; one of a format that isn't known has no value that could be read.
fn statistic(statistic: &vk::PipelineExecutableStatisticKHR<'_>) -> Option<(String, StatValue)> {
    use vk::PipelineExecutableStatisticFormatKHR as Format;
    let raw = statistic.value;
    // SAFETY: every bit pattern is a value of each of these types, and the format says which of them the driver wrote.
    let value = unsafe {
        match statistic.format {
            Format::BOOL32 => StatValue::Boolean(raw.b32 != vk::FALSE),
            Format::INT64 => StatValue::Signed(raw.i64),
            Format::UINT64 => StatValue::Unsigned(raw.u64),
            Format::FLOAT64 => StatValue::Real(raw.f64),
            _ => return None,
        }
    };
    Some((text(statistic.name_as_c_str()), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(
        format: vk::PipelineExecutableStatisticFormatKHR,
        value: vk::PipelineExecutableStatisticValueKHR,
    ) -> Option<(String, StatValue)> {
        let mut given = vk::PipelineExecutableStatisticKHR { format, value, ..Default::default() };
        for (to, from) in given.name.iter_mut().zip(c"Code size".to_bytes_with_nul()) {
            *to = std::ffi::c_char::from_ne_bytes([*from]);
        }
        statistic(&given)
    }

    #[test]
    fn a_value_is_read_as_its_format_says() {
        use vk::PipelineExecutableStatisticFormatKHR as Format;
        use vk::PipelineExecutableStatisticValueKHR as Value;
        let named = |value| Some(("Code size".to_owned(), value));
        assert_eq!(given(Format::BOOL32, Value { b32: 1 }), named(StatValue::Boolean(true)));
        assert_eq!(given(Format::INT64, Value { i64: -3 }), named(StatValue::Signed(-3)));
        assert_eq!(given(Format::UINT64, Value { u64: 1 << 36 }), named(StatValue::Unsigned(1 << 36)));
        assert_eq!(given(Format::FLOAT64, Value { f64: 0.5 }), named(StatValue::Real(0.5)));
        assert_eq!(given(Format::from_raw(77), Value { u64: 1 }), None);
    }
}
