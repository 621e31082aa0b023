//! What the driver's compiler tells about pipelines: VK_KHR_pipeline_executable_properties.

use std::sync::Arc;

use ash::prelude::VkResult;
use ash::vk;

use crate::model::{Executable, PipelineDetail, PipelineStatistics, Representation, StatValue};
use crate::shader::Specialized;

use super::capabilities::text;
use super::check;
use super::device::choose_family;
use super::error::{Context, Error};
use super::instance::Physical;
use super::logical::Logical;
use super::pipeline::{Compiled, PipelineSource};

type Functions = ash::khr::pipeline_executable_properties::Device;

pub(super) struct Inquirer {
    functions: Functions,
    has_code: bool,
}

impl Inquirer {
    /// Of a device that has the feature `pipelineExecutableInfo` enabled; `None` where nothing is asked for.
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device, detail: PipelineDetail) -> Option<Self> {
        let functions = || Functions::new(instance, device);
        (detail > PipelineDetail::None).then(|| Self { functions: functions(), has_code: detail == PipelineDetail::Code })
    }

    /// What a pipeline must be created with so that it can be asked about.
    pub(super) fn flags(&self) -> vk::PipelineCreateFlags {
        let code = if self.has_code {
            vk::PipelineCreateFlags::CAPTURE_INTERNAL_REPRESENTATIONS_KHR
        } else {
            vk::PipelineCreateFlags::empty()
        };
        vk::PipelineCreateFlags::CAPTURE_STATISTICS_KHR | code
    }

    /// Reads what the driver tells of all executables of a pipeline.
    ///
    /// # Safety
    /// The pipeline lives, is of the inquirer's device, and was created with [`Inquirer::flags`].
    pub(super) unsafe fn ask(&self, pipeline: vk::Pipeline, name: &str) -> Result<PipelineStatistics, Error> {
        let info = vk::PipelineInfoKHR::default().pipeline(pipeline);
        // SAFETY: what the caller promises is what the call asks for.
        let properties = unsafe { self.functions.get_pipeline_executable_properties(&info) }
            .on("vkGetPipelineExecutablePropertiesKHR", || name.to_owned())?;
        let mut executables = Vec::with_capacity(properties.len());
        for (index, properties) in (0..).zip(&properties) {
            let info = vk::PipelineExecutableInfoKHR::default().pipeline(pipeline).executable_index(index);
            // SAFETY: as above, and the pipeline has this executable.
            let statistics = unsafe { self.functions.get_pipeline_executable_statistics(&info) }
                .on("vkGetPipelineExecutableStatisticsKHR", || name.to_owned())?;
            let representations = if self.has_code {
                // SAFETY: as above.
                unsafe { self.representations(&info) }
                    .on("vkGetPipelineExecutableInternalRepresentationsKHR", || name.to_owned())?
            } else {
                Vec::new()
            };
            executables.push(Executable {
                name: text(properties.name_as_c_str()),
                subgroup_size: properties.subgroup_size,
                statistics: statistics.iter().filter_map(statistic).collect(),
                representations,
            });
        }
        Ok(PipelineStatistics { executables })
    }

    /// # Safety
    /// As [`Inquirer::ask`]; the pipeline has the executable.
    unsafe fn representations(&self, info: &vk::PipelineExecutableInfoKHR<'_>) -> VkResult<Vec<Representation>> {
        // SAFETY: as the caller promises. Without room for data, only sizes are told.
        let mut told = unsafe { self.functions.get_pipeline_executable_internal_representations(info) }?;
        let mut data: Vec<Vec<u8>> = told.iter().map(|told| vec![0; told.data_size]).collect();
        for (told, data) in told.iter_mut().zip(&mut data) {
            told.p_data = data.as_mut_ptr().cast();
        }
        let mut count = u32::try_from(told.len()).unwrap_or(u32::MAX);
        let query = self.functions.fp().get_pipeline_executable_internal_representations_khr;
        // SAFETY: `told` has `count` elements, and each points to as many bytes as it says, which outlive the call.
        let result = unsafe { query(self.functions.device(), info, &raw mut count, told.as_mut_ptr()) };
        // `INCOMPLETE` is what drivers say of a text that grew in between: what fits is shown.
        result.result().or_else(|result| if result == vk::Result::INCOMPLETE { Ok(()) } else { Err(result) })?;
        let representation = |(told, data): (&vk::PipelineExecutableInternalRepresentationKHR<'_>, &Vec<u8>)| {
            let written = &data[..told.data_size.min(data.len())];
            Representation {
                name: text(told.name_as_c_str()),
                description: text(told.description_as_c_str()),
                text: if told.is_text == vk::TRUE { words(written) } else { hexadecimal(written) },
            }
        };
        Ok(told.iter().zip(&data).take(count as usize).map(representation).collect())
    }
}

/// Compiles a kernel on a device of its own, and reads what the driver tells of it; `None` where it tells nothing. No memory is
/// allocated and nothing is submitted, so a device that can only compile will do.
pub(super) fn of_kernel(
    physical: Physical<'_>,
    specialized: &Specialized,
    detail: PipelineDetail,
) -> Result<Option<PipelineStatistics>, Error> {
    check::kernel(specialized, physical.info)?;
    let family = choose_family(physical.info, None)?.index;
    let logical = Arc::new(Logical::new(physical, family, detail, false)?);
    let source = PipelineSource { name: specialized.entry.clone(), specialized, has_base: false };
    Compiled::new(&logical, &source)?.statistics(&source.name)
}

/// A text up to its zero byte.
fn words(data: &[u8]) -> String {
    let end = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    String::from_utf8_lossy(&data[..end]).into_owned()
}

fn hexadecimal(data: &[u8]) -> String {
    let line = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).chain(["\n".to_owned()]).collect::<String>();
    data.chunks(32).map(line).collect()
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

    #[test]
    fn code_is_a_text_or_digits() {
        assert_eq!(words(b"v_add\n\0rest"), "v_add\n");
        assert_eq!(words(b"v_add"), "v_add");
        let bytes: Vec<u8> = (0..33).collect();
        assert_eq!(hexadecimal(&bytes).lines().map(str::len).collect::<Vec<_>>(), [64, 2]);
        assert_eq!(hexadecimal(&[0, 255]), "00ff\n");
    }
}
