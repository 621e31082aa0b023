//! What a module asks of a device, held against what the device has.

use std::fmt;

use serde::Serialize;

use super::capabilities::{Treatment, treatment};
use super::reflect::subgroup::class_of;
use super::reflect::{BindingKind, Capability, EntryPoint, Reflection};
use super::{BlockLayouts, Module, block_layouts};
use crate::model::{DeviceInfo, Feature};

/// What a device lacks for a module, as far as Lanescope knows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Needs {
    /// What is missing; with anything here no pipeline may be made.
    pub lacking: Vec<Lack>,
    /// Capabilities of the module that Lanescope doesn't know a device's feature for: a driver may or may not take them.
    pub unknown: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Lack {
    /// The module's side: a capability, a version of SPIR-V, an amount.
    pub need: String,
    pub missing: String,
    #[serde(skip)]
    pub is_limit: bool,
}

impl Needs {
    pub fn check(module: &Module, entry: &EntryPoint, device: &DeviceInfo) -> Self {
        let reflection = &module.reflection;
        let mut needs = Self::default();
        for capability in &reflection.capabilities {
            match provision(*capability, device) {
                Some(missing) => needs.lacking.extend(missing.map(|missing| Lack::new(format!("{capability:?}"), missing))),
                None => needs.unknown.push(format!("{capability:?}")),
            }
        }
        if entry.needs_local_size_id && !device.has(Feature::Maintenance4) {
            needs.lacking.push(Lack::new("LocalSizeId", name(Feature::Maintenance4)));
        }
        needs.lacking.extend(layouts(&module.words, device));
        needs.lacking.extend(version(reflection.version, device));
        needs.lacking.extend(amounts(reflection, device));
        needs
    }
}

impl Lack {
    fn new(need: impl Into<String>, missing: impl Into<String>) -> Self {
        Self { need: need.into(), missing: missing.into(), is_limit: false }
    }
}

/// `the device lacks feature float64, which the shader needs for Float64`
impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { need, missing, is_limit } = self;
        match is_limit {
            true => write!(f, "{missing}, and the shader has {need}"),
            false => write!(f, "the device lacks {missing}, which the shader needs for {need}"),
        }
    }
}

/// What a device lacks for the layout of the blocks: the freest one does for the others.
fn layouts(words: &[u32], device: &DeviceInfo) -> Option<Lack> {
    // It does for all: the validator, which is asked for every configuration that is tuned, need not look.
    if device.has(Feature::ScalarBlockLayout) {
        return None;
    }
    let (need, feature) = match block_layouts(words) {
        BlockLayouts::Standard => return None,
        BlockLayouts::StandardUniform => ("the layout of a uniform block", Feature::UniformBufferStandardLayout),
        BlockLayouts::Scalar => ("the layout of a block", Feature::ScalarBlockLayout),
    };
    (!device.has(feature)).then(|| Lack::new(need, name(feature)))
}

/// For a known capability, what the device lacks for it, if anything.
fn provision(capability: Capability, device: &DeviceInfo) -> Option<Option<String>> {
    if let Some(class) = class_of(capability) {
        let is_there = device.subgroup.in_compute && device.subgroup.classes.contains(&class);
        return Some((!is_there).then(|| format!("subgroup operations of class {}", word(&class))));
    }
    let any = match treatment(capability) {
        Treatment::Always => return Some(None),
        Treatment::Features(any) => any,
        _ => return None,
    };
    let is_there = any.iter().any(|feature| device.has(*feature));
    Some((!is_there).then(|| any.iter().map(|feature| name(*feature)).collect::<Vec<_>>().join(" or ")))
}

/// SPIR-V is taken up to the version that came with the device's Vulkan. (Extensions that allow a newer one are not enabled.)
fn version(version: (u8, u8), device: &DeviceInfo) -> Option<Lack> {
    let api = &device.driver.api_version;
    let mut parts = api.split('.').map(|part| part.parse().unwrap_or(0));
    let most = match (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) {
        (0, _) | (1, 0) => (1, 0),
        (1, 1) => (1, 3),
        (1, 2) => (1, 5),
        _ => (1, 6),
    };
    let (major, minor) = version;
    let missing = format!("Vulkan {api} takes SPIR-V up to {}.{}", most.0, most.1);
    (version > most).then(|| Lack::new(format!("SPIR-V {major}.{minor}"), missing))
}

fn amounts(reflection: &Reflection, device: &DeviceInfo) -> impl Iterator<Item = Lack> {
    let limits = &device.limits;
    let sets = reflection.bindings.iter().map(|binding| u64::from(binding.set) + 1).max().unwrap_or(0);
    let push =
        (u64::from(reflection.push_bytes), limits.push_constant_bytes, "bytes of push constants", "maxPushConstantsSize");
    let sets = (sets, limits.descriptor_sets, "descriptor sets", "maxBoundDescriptorSets");
    let beyond = [push, sets]
        .into_iter()
        .chain(descriptors(reflection, device))
        .filter(|(needed, allowed, ..)| *needed > u64::from(*allowed));
    beyond.map(|(needed, allowed, what, limit)| Lack {
        is_limit: true,
        ..Lack::new(format!("{needed} {what}"), format!("{limit} is {allowed}"))
    })
}

/// How many descriptors of each kind a module has, and how many a device takes. A combined image and sampler counts as both.
fn descriptors(reflection: &Reflection, device: &DeviceInfo) -> [(u64, u32, &'static str, &'static str); 6] {
    use BindingKind as Kind;
    let most = device.limits.descriptors;
    let count = |kinds: &[Kind]| {
        reflection.bindings.iter().filter(|info| kinds.contains(&info.kind)).map(|info| u64::from(info.count)).sum::<u64>()
    };
    let all = reflection.bindings.iter().filter(|info| info.kind != Kind::Sampler).map(|info| u64::from(info.count)).sum();
    [
        (count(&[Kind::Sampler, Kind::CombinedImageSampler]), most.samplers, "samplers", "maxPerStageDescriptorSamplers"),
        (count(&[Kind::UniformBuffer]), most.uniform_buffers, "uniform buffers", "maxPerStageDescriptorUniformBuffers"),
        (count(&[Kind::StorageBuffer]), most.storage_buffers, "storage buffers", "maxPerStageDescriptorStorageBuffers"),
        (
            count(&[Kind::SampledImage, Kind::CombinedImageSampler, Kind::UniformTexelBuffer]),
            most.sampled_images,
            "sampled images",
            "maxPerStageDescriptorSampledImages",
        ),
        (
            count(&[Kind::StorageImage, Kind::StorageTexelBuffer]),
            most.storage_images,
            "storage images",
            "maxPerStageDescriptorStorageImages",
        ),
        (all, most.all, "resources", "maxPerStageResources"),
    ]
}

fn name(feature: Feature) -> String {
    format!("feature {}", word(&feature))
}

/// The word that JSON has for it.
fn word(value: &impl Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Descriptors, DriverIdentity, Limits, SpirvTarget};
    use crate::shader::{Compiler, Library};

    fn compiled(glsl: &str, target: SpirvTarget) -> Arc<Module> {
        let library = Library::embedded().with("needs.comp", format!("#version 460\n{glsl}"));
        Compiler::new(library).unwrap().compile("needs.comp", &[], target).unwrap()
    }

    fn needs(glsl: &str, target: SpirvTarget, device: &DeviceInfo) -> Needs {
        let module = compiled(glsl, target);
        Needs::check(&module, &module.reflection.entry_points[0], device)
    }

    fn lacking(glsl: &str, device: &DeviceInfo) -> Vec<String> {
        lacking_for(glsl, SpirvTarget::default(), device)
    }

    fn lacking_for(glsl: &str, target: SpirvTarget, device: &DeviceInfo) -> Vec<String> {
        let needs = needs(glsl, target, device);
        assert_eq!(needs.unknown, [""; 0]);
        needs.lacking.iter().map(|lack| format!("{}: {}", lack.need, lack.missing)).collect()
    }

    #[test]
    fn what_a_device_lacks_is_named_on_both_sides() {
        let wide = "layout(binding = 0) buffer B { double b[]; };\nvoid main() { b[0] *= 2; }";
        let mock = DeviceInfo::mock();
        assert_eq!(lacking(wide, &mock), ["Float64: feature float64"]);
        let able = DeviceInfo { features: [Feature::Float64].into(), ..mock.clone() };
        assert_eq!(lacking(wide, &able), [""; 0]);
        let newer = lacking_for(wide, SpirvTarget::Vulkan1_3, &able);
        assert_eq!(newer, ["SPIR-V 1.6: Vulkan 1.1.0 takes SPIR-V up to 1.3"]);
        let driver = DriverIdentity { api_version: "1.3.2".into(), ..able.driver.clone() };
        assert_eq!(lacking_for(wide, SpirvTarget::Vulkan1_3, &DeviceInfo { driver, ..able }), [""; 0]);
        let vote = "#extension GL_KHR_shader_subgroup_vote : require\nlayout(binding = 0) buffer B { uint b[]; };\n\
                    void main() { if (subgroupAll(b[0] > 0)) b[1] = 1; }";
        assert_eq!(
            lacking(vote, &mock),
            ["GroupNonUniform: subgroup operations of class basic", "GroupNonUniformVote: subgroup operations of class vote"]
        );
    }

    #[test]
    fn a_block_asks_for_no_freer_layout_than_it_has() {
        let block = |layout: &str, kind: &str| {
            format!(
                "#extension GL_EXT_scalar_block_layout : require\nlayout({layout}, binding = 0) {kind} B {{ float a; vec3 b[2]; }};\n\
                 layout(binding = 1) buffer C {{ vec3 c; }};\nvoid main() {{ c = a * b[1]; }}"
            )
        };
        let mock = DeviceInfo::mock();
        let of_block = |layout, kind| lacking(&block(layout, kind), &mock);
        assert_eq!((of_block("std430", "buffer"), of_block("std140", "uniform")), (Vec::new(), Vec::new()));
        assert_eq!(of_block("scalar", "buffer"), ["the layout of a block: feature scalar_block_layout"]);
        let tight = "#extension GL_EXT_scalar_block_layout : require\nlayout(std430, binding = 0) uniform B { float a[4]; };\n\
                     layout(binding = 1) buffer C { float c; };\nvoid main() { c = a[1]; }";
        assert_eq!(lacking(tight, &mock), ["the layout of a uniform block: feature uniform_buffer_standard_layout"]);
        // What breaks another rule asks for no layout.
        let mut module = Module::of_spirv(compiled(tight, SpirvTarget::default()).words.clone(), None).unwrap();
        module.words[1] = 0x0001_0700;
        let needs = Needs::check(&module, &module.reflection.entry_points[0], &mock);
        assert!(needs.lacking.iter().all(|lack| !lack.need.contains("layout")), "{:?}", needs.lacking);
        let able = DeviceInfo { features: [Feature::ScalarBlockLayout].into(), ..mock.clone() };
        assert_eq!(lacking(tight, &able), [""; 0]);
    }

    #[test]
    fn limits_count_and_what_is_not_known_is_said() {
        let many = "layout(set = 3, binding = 0) buffer B { uint b[]; };\nlayout(push_constant) uniform P { vec4 v[9]; };\n\
                    void main() { b[0] = uint(v[8].x); }";
        let limits = Limits { descriptor_sets: 2, push_constant_bytes: 128, ..DeviceInfo::mock().limits };
        let small = DeviceInfo { limits, ..DeviceInfo::mock() };
        assert_eq!(
            lacking(many, &small),
            ["144 bytes of push constants: maxPushConstantsSize is 128", "4 descriptor sets: maxBoundDescriptorSets is 2"]
        );
        let cube = "layout(binding = 0) uniform samplerCubeArray c;\nlayout(binding = 1) buffer B { float b; };\n\
                    void main() { b = textureLod(c, vec4(0), 0).x; }";
        assert_eq!(lacking(cube, &small), ["SampledCubeArray: feature image_cube_array"]);
        let address = "#extension GL_EXT_buffer_reference : require\nlayout(buffer_reference) buffer R { uint v; };\n\
                       layout(push_constant) uniform P { R far; };\nvoid main() { far.v = 1; }";
        assert_eq!(lacking(address, &small), ["PhysicalStorageBufferAddresses: feature buffer_device_address"]);
        let samples = "layout(binding = 0, rgba8) uniform image2DMS i;\n\
                       void main() { imageStore(i, ivec2(0), 0, vec4(0)); }";
        assert_eq!(needs(samples, SpirvTarget::default(), &small).unknown, ["StorageImageMultisample"]);
        let array = "layout(binding = 0) buffer B { uint b; } several[3];\nvoid main() { several[2].b = 1; }";
        let descriptors = Descriptors { storage_buffers: 2, ..small.limits.descriptors };
        let few = DeviceInfo { limits: Limits { descriptors, ..small.limits }, ..small };
        assert_eq!(lacking(array, &few), ["3 storage buffers: maxPerStageDescriptorStorageBuffers is 2"]);
    }
}
