//! The gpu stage on every driver that is found, under the validation layer with synchronization validation: any message fails.
//! A machine without a device fails too, and says what to install. VK_DRIVER_FILES chooses the drivers.

#![expect(clippy::print_stderr, reason = "clippy exempts test functions but not the helpers beside them")]

mod addresses;
mod ahead;
mod commands;
mod local_sizes;
mod resources;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use lanescope::gpu::{CaseHandle, Device, DeviceOptions, Instance, InstanceOptions, MessageLog, NO_DEVICE_ADVICE, Samples};
use lanescope::model::{
    Binding, Case, Contents, DeviceKind, Feature, Footprint, Kernel, Point, Repeat, Resource, Sequence, SpirvTarget, Status,
    Step,
};
use lanescope::shader::{Module, Prepared, Reflection, SpecializationEntry, Specialized};

use crate::support::{only, skip};

// ---- the gate, and cases by hand ------------------------------------------------------------------------------------------

/// Runs a test on every usable device, and hands back what validation said in all that time, destruction included.
fn messages_of(test: impl FnMut(&mut Device)) -> Vec<String> {
    messages_with(DeviceOptions::default(), test)
}

pub fn messages_with(options: DeviceOptions, mut test: impl FnMut(&mut Device)) -> Vec<String> {
    let instance = Instance::load(InstanceOptions { validation: true }).unwrap_or_else(|error| panic!("{error}"));
    let log: MessageLog = instance.message_log();
    let (usable, others): (Vec<_>, Vec<_>) = instance.devices().into_iter().partition(|device| device.unusable.is_none());
    others.iter().for_each(|device| eprintln!("not on {}: {:?}", device.name, device.unusable));
    assert!(!usable.is_empty(), "{NO_DEVICE_ADVICE}");
    // Those that are promised are there.
    crate::support::devices();
    for info in usable {
        eprintln!("on {} ({}, {})", info.name, info.driver.name, info.driver.info);
        let mut device = instance.open_with(info.index, options).unwrap_or_else(|error| panic!("{error}"));
        test(&mut device);
    }
    drop(instance);
    // Every object holds its device: one that is left keeps device and instance from being destroyed.
    assert!(log.is_closed(), "something of a device was leaked");
    log.drain()
}

/// The gate that all tests go through.
pub fn on_each_device(test: impl FnMut(&mut Device)) {
    let messages = messages_of(test);
    assert!(messages.is_empty(), "validation: {messages:#?}");
}

fn module(glsl: &str) -> Arc<Module> {
    let compiler = shaderc::Compiler::new().unwrap();
    let mut options = shaderc::CompileOptions::new().unwrap();
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_1 as u32);
    let source = format!("#version 450\n{glsl}");
    let artifact = compiler.compile_into_spirv(&source, shaderc::ShaderKind::Compute, "test.comp", "main", Some(&options));
    let words = artifact.unwrap().as_binary().to_vec();
    Arc::new(Module {
        notes: Vec::new(),
        is_invalid: false,
        reflection: Reflection::parse(&words).unwrap(),
        words,
        source_hash: String::new(),
        spirv_hash: String::new(),
        compile_time: Duration::ZERO,
    })
}

/// The ids of the local size are 0, 1 and 2; further constants follow from 3 on.
const LOCAL_SIZE: &str = "layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;\n";

/// A case under construction.
struct Builder(Prepared);

impl Builder {
    fn new(resources: Vec<Resource>) -> Self {
        let case = Case { resources, ..Case::new("test/gpu", &Point::default()) };
        Self(Prepared { case, kernels: Vec::new() })
    }

    /// Adds a kernel whose bindings of set 0 are the given resources, in order.
    fn kernel(self, glsl: &str, local_size: [u32; 3], constants: &[u32], resources: &[usize]) -> Self {
        let bindings = (0..).zip(resources).map(|(binding, resource)| Binding::new(0, binding, *resource));
        self.kernel_with(glsl, local_size, constants, bindings.collect())
    }

    fn kernel_with(mut self, glsl: &str, local_size: [u32; 3], constants: &[u32], bindings: Vec<Binding>) -> Self {
        let values: Vec<u32> = local_size.iter().chain(constants).copied().collect();
        let entries = (0..).zip(&values).map(|(id, _)| SpecializationEntry { id, offset: 4 * id, size: 4 });
        let module = module(&format!("{}{LOCAL_SIZE}{glsl}", extensions(glsl)));
        self.0.kernels.push(Specialized {
            bindings: module.reflection.bindings.clone(),
            module,
            entry: "main".into(),
            entries: entries.collect(),
            data: values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
            local_size,
            shared_bytes: 0,
            push_bytes: if glsl.contains("push_constant") { 8 } else { 0 },
            required_subgroup_size: None,
            full_subgroups: false,
        });
        self.0.case.kernels.push(Kernel {
            source: "test.comp".into(),
            macros: Vec::new(),
            target: SpirvTarget::Vulkan1_1,
            local_size,
            constants: Vec::new(),
            required_subgroup_size: None,
            full_subgroups: false,
            bindings,
        });
        self
    }

    fn reset(mut self, steps: Vec<Step>) -> Self {
        self.0.case.reset = steps;
        self
    }

    fn pass(mut self, steps: Vec<Step>) -> Self {
        self.0.case.pass = steps;
        self
    }

    fn done(self) -> Prepared {
        self.0
    }
}

/// Extensions must stand before everything else.
fn extensions(glsl: &str) -> String {
    let needs = [
        ("gl_SubgroupSize", "GL_KHR_shader_subgroup_basic"),
        ("buffer_reference", "GL_EXT_buffer_reference"),
        ("buffer_reference", "GL_EXT_buffer_reference_uvec2"),
        ("int64_t", "GL_EXT_shader_explicit_arithmetic_types_int64"),
        ("uint8_t", "GL_EXT_shader_8bit_storage"),
        ("uint16_t", "GL_EXT_shader_16bit_storage"),
        ("textureBuffer", "GL_EXT_samplerless_texture_functions"),
        ("texture2D", "GL_EXT_samplerless_texture_functions"),
    ];
    let needed = needs.iter().filter(|(word, _)| glsl.contains(word));
    needed.flat_map(|(_, extension)| ["#extension ", extension, " : require\n"]).collect()
}

fn dispatch(kernel: usize, groups: u32) -> Vec<Step> {
    vec![Step::Bind { kernel }, Step::Dispatch { groups: [groups, 1, 1] }]
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap())).collect()
}

fn load(device: &mut Device, prepared: &Prepared) -> CaseHandle {
    device.load(prepared).unwrap_or_else(|error| panic!("{error}")).slot
}

fn run_and_read(device: &mut Device, prepared: &Prepared, resource: usize) -> Vec<u32> {
    let slot = load(device, prepared);
    device.run_checked(slot).unwrap_or_else(|error| panic!("{error}"));
    words(&device.read(slot, resource).unwrap())
}

const INPUT: Sequence = Sequence::Words { seed: 7 };

fn input(count: u64) -> Resource {
    Resource::words("input", count, Contents::Sequence(INPUT))
}

fn output(count: u64) -> Resource {
    Resource::words("output", count, Contents::Undefined)
}

const SCALE: &str = "
    layout(constant_id = 3) const uint FACTOR = 1;
    layout(set = 0, binding = 0) readonly buffer Input { uint source[]; };
    layout(set = 0, binding = 1) writeonly buffer Output { uint result[]; };
    void main() {
        uint i = gl_GlobalInvocationID.x;
        if (i < source.length()) result[i] = source[i] * FACTOR + gl_WorkGroupSize.x;
    }";

fn scale(count: u32, local_size: u32, factor: u32) -> Builder {
    Builder::new(vec![input(count.into()), output(count.into())])
        .kernel(SCALE, [local_size, 1, 1], &[factor], &[0, 1])
        .pass(dispatch(0, count.div_ceil(local_size)))
}

/// Adds one to every word, in place.
const INCREMENT: &str = "
    layout(set = 0, binding = 0) buffer Data { uint data[]; };
    void main() { data[gl_GlobalInvocationID.x] += 1; }";

/// A case that does that with the first of its resources, 64 words that its reset clears.
fn counter(resources: Vec<Resource>) -> Builder {
    Builder::new(resources)
        .kernel(INCREMENT, [64, 1, 1], &[], &[0])
        .reset(vec![Step::Fill { resource: 0, word: 0 }])
        .pass(dispatch(0, 1))
}

fn input_words(count: u64) -> Vec<u32> {
    (0..count).map(|i| INPUT.word(i)).collect()
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values[values.len() / 2]
}

fn durations(device: &mut Device, slot: CaseHandle, batch: u32, samples: u32) -> Vec<u64> {
    let submission = device.sample(slot, batch, samples).unwrap();
    submission.samples.iter().map(|(start, end)| end.0 - start.0).collect()
}

// ---- results --------------------------------------------------------------------------------------------------------------

#[test]
fn specialization_sets_local_size_and_values() {
    on_each_device(|device| {
        for local_size in [1, 8, 64] {
            let result = run_and_read(device, &scale(1000, local_size, 3).done(), 1);
            let expected: Vec<u32> = (0..1000).map(|i| INPUT.word(i).wrapping_mul(3).wrapping_add(local_size)).collect();
            assert_eq!(result, expected);
            device.unload();
        }
    });
}

const PUSHED: &str = "
    layout(push_constant) uniform Push { uint a; uint b; };
    layout(set = 0, binding = 0) writeonly buffer Output { uint result[]; };
    void main() { result[gl_GlobalInvocationID.x] = a * 100 + b; }";

#[test]
fn push_constants_reach_the_kernel() {
    on_each_device(|device| {
        let steps = vec![Step::Bind { kernel: 0 }, Step::push_words(&[4, 2]), Step::Dispatch { groups: [4, 1, 1] }];
        let prepared = Builder::new(vec![output(4)]).kernel(PUSHED, [1, 1, 1], &[], &[0]).pass(steps).done();
        assert_eq!(run_and_read(device, &prepared, 0), [402; 4]);
    });
}

/// Writes after reads, reads after writes: what a pass of two kernels does with or without a barrier.
fn two_kernels(barrier: bool) -> Prepared {
    let glsl = "
        layout(set = 0, binding = 0) readonly buffer Input { uint source[]; };
        layout(set = 0, binding = 1) writeonly buffer Output { uint result[]; };
        void main() { result[gl_GlobalInvocationID.x] = source[source.length() - 1 - gl_GlobalInvocationID.x] + 1; }";
    let resources = vec![input(256), Resource::words("between", 256, Contents::Undefined), output(256)];
    let mut pass = dispatch(0, 4);
    pass.extend(barrier.then_some(Step::Barrier));
    pass.extend(dispatch(1, 4));
    Builder::new(resources).kernel(glsl, [64, 1, 1], &[], &[0, 1]).kernel(glsl, [64, 1, 1], &[], &[1, 2]).pass(pass).done()
}

#[test]
fn kernels_of_a_pass_see_each_others_writes() {
    on_each_device(|device| {
        let slot = load(device, &two_kernels(true));
        device.run_checked(slot).unwrap();
        // A batch puts passes behind each other, which needs a barrier as well.
        device.sample(slot, 3, 2).unwrap();
        let expected: Vec<u32> = (0..256).map(|i| INPUT.word(i).wrapping_add(2)).collect();
        assert_eq!(words(&device.read(slot, 2).unwrap()), expected);
    });
}

#[test]
fn validation_sees_a_missing_barrier() {
    let messages = messages_of(|device| {
        let slot = load(device, &two_kernels(false));
        device.run_checked(slot).unwrap();
        let messages = device.messages();
        assert!(
            messages.iter().any(|message| message.contains("READ_AFTER_WRITE") || message.contains("READ-AFTER-WRITE")),
            "{messages:#?}"
        );
    });
    assert!(messages.is_empty(), "more than the missing barrier: {messages:#?}");
}

#[test]
fn sets_may_have_gaps() {
    let glsl = "
        layout(set = 0, binding = 1) readonly buffer Input { uint source[]; };
        layout(set = 2, binding = 3) writeonly buffer Output { uint result[]; };
        void main() { result[gl_GlobalInvocationID.x] = source[gl_GlobalInvocationID.x]; }";
    on_each_device(|device| {
        let bindings = vec![Binding::new(0, 1, 0), Binding::new(2, 3, 1)];
        let builder = Builder::new(vec![input(64), output(64)]).kernel_with(glsl, [64, 1, 1], &[], bindings);
        assert_eq!(run_and_read(device, &builder.pass(dispatch(0, 1)).done(), 1), input_words(64));
    });
}

#[test]
fn a_reset_poisons_what_the_pass_does_not_write() {
    on_each_device(|device| {
        let poison = Step::Fill { resource: 1, word: 0xDEAD_BEEF };
        // Half as many groups as the output has room for.
        let prepared = scale(128, 64, 1).reset(vec![poison]).pass(dispatch(0, 1)).done();
        let result = run_and_read(device, &prepared, 1);
        assert_eq!(result[63], INPUT.word(63).wrapping_add(64));
        assert!(result[64..].iter().all(|word| *word == 0xDEAD_BEEF));
    });
}

#[test]
fn a_pass_that_fills_can_be_batched() {
    on_each_device(|device| {
        let mut pass = vec![Step::Fill { resource: 0, word: 5 }, Step::Barrier];
        pass.extend(dispatch(0, 1));
        let prepared = Builder::new(vec![output(64)]).kernel(INCREMENT, [64, 1, 1], &[], &[0]).pass(pass).done();
        let slot = load(device, &prepared);
        device.sample(slot, 4, 2).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), [6; 64]);
    });
}

#[test]
fn wide_and_narrow_types_are_enabled_where_they_are_listed() {
    let wide = "
        layout(set = 0, binding = 0) writeonly buffer Output { uint result[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            int64_t big = int64_t(i + 1) << 40;
            double fine = double(i) * 0.5;
            result[i] = uint(big >> 40) * 1000 + uint(fine * 2.0);
        }";
    let narrow = "
        layout(set = 0, binding = 0) readonly buffer Input { uint8_t source[]; };
        layout(set = 0, binding = 1) writeonly buffer Output { uint16_t result[]; };
        void main() { uint i = gl_GlobalInvocationID.x; result[i] = uint16_t(uint(source[i]) + 1); }";
    on_each_device(|device| {
        if device.info().has(Feature::Int64) && device.info().has(Feature::Float64) {
            let prepared = Builder::new(vec![output(64)]).kernel(wide, [64, 1, 1], &[], &[0]).pass(dispatch(0, 1)).done();
            assert_eq!(run_and_read(device, &prepared, 0), (0..64).map(|i| (i + 1) * 1000 + i).collect::<Vec<u32>>());
            device.unload();
        }
        if device.info().has(Feature::Storage8) && device.info().has(Feature::Storage16) {
            let builder = Builder::new(vec![input(16), output(32)]).kernel(narrow, [64, 1, 1], &[], &[0, 1]);
            let result = run_and_read(device, &builder.pass(dispatch(0, 1)).done(), 1);
            let bytes = INPUT.word(0).to_ne_bytes();
            assert_eq!(result[0], u32::from(bytes[0]) + 1 + ((u32::from(bytes[1]) + 1) << 16));
        }
    });
}

#[test]
fn a_required_subgroup_size_is_honoured_or_refused() {
    let glsl = "
        layout(set = 0, binding = 0) writeonly buffer Output { uint result[]; };
        void main() { result[gl_GlobalInvocationID.x] = gl_SubgroupSize; }";
    on_each_device(|device| {
        let subgroup = device.info().subgroup.clone();
        let mut prepared = Builder::new(vec![output(32)]).kernel(glsl, [32, 1, 1], &[], &[0]).pass(dispatch(0, 1)).done();
        let mut size = subgroup.min_size;
        while size <= subgroup.max_size && subgroup.size_control {
            only(&mut prepared.kernels).required_subgroup_size = Some(size);
            assert_eq!(run_and_read(device, &prepared, 0), vec![size; 32]);
            device.unload();
            size *= 2;
        }
        only(&mut prepared.kernels).required_subgroup_size = Some(2 * subgroup.max_size);
        let error = device.load(&prepared).unwrap_err();
        assert!(error.to_string().contains("subgroup size"), "{error}");
    });
}

// ---- samples --------------------------------------------------------------------------------------------------------------

#[test]
fn a_processor_has_no_core_clock_and_that_of_a_gpu_is_plausible() {
    on_each_device(|device| {
        let mhz = device.core_clock_mhz();
        assert!(mhz.is_none_or(|mhz| device.info().kind != DeviceKind::Cpu && (10.0..10_000.0).contains(&mhz)), "{mhz:?}");
    });
}

#[test]
fn samples_are_pairs_of_ticks_in_order() {
    on_each_device(|device| {
        let slot = load(device, &scale(1000, 64, 3).done());
        // Twice: the second needs a larger query pool.
        for samples in [5, 700] {
            let submission = device.sample(slot, 2, samples).unwrap();
            assert!(submission.host > Duration::ZERO);
            if device.queue_family().timestamp_valid_bits == 0 {
                assert!(submission.samples.is_empty());
                continue;
            }
            assert_eq!(submission.samples.len(), samples as usize);
            assert!(submission.samples.iter().all(|(start, end)| start <= end));
            assert!(submission.samples.windows(2).all(|pair| pair[0].1 <= pair[1].0));
        }
        assert!(device.sample(slot, 1, 0).unwrap().samples.is_empty());
    });
}

#[test]
fn a_batch_of_none_is_the_floor_and_a_larger_batch_takes_longer() {
    on_each_device(|device| {
        let slot = load(device, &scale(1 << 16, 64, 3).done());
        device.run_checked(slot).unwrap();
        if device.queue_family().timestamp_valid_bits == 0 {
            skip!("{} has no timestamps", device.info().name);
        }
        let floor = median(durations(device, slot, 0, 21));
        let one = median(durations(device, slot, 1, 21));
        let many = median(durations(device, slot, 16, 21));
        assert!(floor < one, "floor {floor}, one pass {one}");
        // 16 times, if nothing else wanted the processor and launches cost nothing.
        assert!(many > 4 * one, "one pass {one}, sixteen {many}");
    });
}

#[test]
fn a_pass_that_cannot_follow_itself_is_reset_before_each_sample() {
    on_each_device(|device| {
        let mut prepared = counter(vec![output(64)]).done();
        prepared.case.repeat = Repeat::AfterReset;
        let slot = load(device, &prepared);
        device.sample(slot, 1, 5).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), [1; 64]);
        let error = device.sample(slot, 2, 1).unwrap_err();
        assert!(error.to_string().contains("can't follow itself"), "{error}");
    });
}

#[test]
fn an_evictor_runs_once_before_each_cold_sample() {
    on_each_device(|device| {
        let evictor = load(device, &counter(vec![output(64)]).done());
        let slot = load(device, &scale(1000, 64, 3).done());
        device.run_reset(evictor).unwrap();
        let submission = device.sample_between(Samples { evictor: Some(evictor), ..Samples::of(slot, 1, 5) }).unwrap();
        assert_eq!(submission.samples.len(), 5);
        assert_eq!(words(&device.read(evictor, 0).unwrap()), [5; 64]);
    });
}

/// What follows the samples of a submission is timed apart from them, and runs once.
#[test]
fn what_follows_the_samples_is_timed_by_itself() {
    on_each_device(|device| {
        let then = load(device, &counter(vec![output(64)]).done());
        let slot = load(device, &scale(1000, 64, 3).done());
        device.run_reset(then).unwrap();
        let has_timestamps = device.queue_family().timestamp_valid_bits > 0;
        for _ in 0..2 {
            let submission = device.sample_between(Samples { then: Some(then), ..Samples::of(slot, 2, 5) }).unwrap();
            assert_eq!(
                (submission.samples.len(), submission.after.is_some()),
                (if has_timestamps { 5 } else { 0 }, has_timestamps)
            );
            let last = submission.samples.last().map(|(_, end)| *end);
            assert!(submission.after.zip(last).is_none_or(|((start, end), last)| last <= start && start <= end));
        }
        assert_eq!(words(&device.read(then, 0).unwrap()), [2; 64]);
        assert_eq!(device.sample(slot, 2, 5).unwrap().after, None);
    });
}

// ---- memory ---------------------------------------------------------------------------------------------------------------

#[test]
fn equal_resources_are_shared_and_others_are_not() {
    on_each_device(|device| {
        let (first, second) = (scale(1000, 64, 3).done(), scale(1000, 32, 5).done());
        let mut third = scale(1000, 64, 3).done();
        *third.case.resources.last_mut().unwrap() = Resource::words("other output", 1000, Contents::Undefined);
        assert_eq!(device.footprint(&first), Footprint { device: 8000, host: 0 });
        let one = load(device, &first);
        assert_eq!(device.footprint(&second), Footprint::default());
        assert_eq!(device.footprint(&third).device, 4000);
        let two = load(device, &second);
        device.run_checked(one).unwrap();
        // What the first case wrote is what the second reads, since it is one buffer.
        assert_eq!(words(&device.read(two, 1).unwrap())[0], INPUT.word(0).wrapping_mul(3).wrapping_add(64));
    });
}

/// Under the validation layer, which tells of what is left behind.
#[test]
fn a_displacement_is_held_beside_the_cases_until_the_device_is_closed() {
    on_each_device(|device| {
        assert_eq!(device.displace(1 << 20), 1 << 20);
        assert_eq!(device.displace(64 << 10), 64 << 10, "in place of the first");
        assert_eq!(device.displace(0), 0);
        assert_eq!(device.displace(8 << 20), 8 << 20);
        let prepared = scale(1000, 64, 3).done();
        let slot = load(device, &prepared);
        device.run_checked(slot).unwrap();
        device.unload();
    });
}

#[test]
fn unloading_frees_everything() {
    on_each_device(|device| {
        let prepared = scale(1 << 20, 64, 3).done();
        for _ in 0..3 {
            let before = device.footprint(&prepared);
            assert_eq!(before.device, 8 << 20);
            assert!(before.fits(device.memory_budget()));
            let slot = load(device, &prepared);
            device.run_checked(slot).unwrap();
            device.unload();
            assert!(device.run_checked(slot).unwrap_err().to_string().contains("unloaded"));
        }
    });
}

#[test]
fn what_is_released_may_be_shared_with_the_next_case_and_no_later_one() {
    on_each_device(|device| {
        let (first, second) = (scale(1 << 20, 64, 3).done(), scale(1 << 20, 128, 5).done());
        let one = load(device, &first);
        device.run_checked(one).unwrap();
        device.release(one);
        assert!(device.run_checked(one).unwrap_err().to_string().contains("unloaded"));
        assert_eq!(device.footprint(&second).device, 0, "both buffers are there");
        let two = load(device, &second);
        device.run_checked(two).unwrap();
        assert_eq!(words(&device.read(two, 1).unwrap())[7], INPUT.word(7).wrapping_mul(5).wrapping_add(128));
        device.release(two);
        let other = load(device, &scale(1 << 10, 64, 3).done());
        device.run_checked(other).unwrap();
        assert_eq!(device.footprint(&first).device, 8 << 20, "they were freed");
    });
}

#[test]
fn a_large_buffer_survives_the_way_there_and_back() {
    on_each_device(|device| {
        // Two whole staging chunks and a little of a third.
        let count = 2 * (16 << 20) / 4 + 3;
        let prepared = Builder::new(vec![input(count)]).done();
        let slot = load(device, &prepared);
        assert!(words(&device.read(slot, 0).unwrap()) == input_words(count));
    });
}

// ---- refusals -------------------------------------------------------------------------------------------------------------

#[test]
fn a_case_that_breaks_a_rule_never_reaches_the_driver() {
    on_each_device(|device| {
        let refused = |device: &mut Device, prepared: &Prepared, part: &str| {
            let error = device.load(prepared).unwrap_err();
            assert_eq!(error.status(), Status::Error);
            assert!(error.to_string().starts_with("test/gpu") && error.to_string().contains(part), "{error}");
        };
        refused(device, &scale(64, 1 << 20, 1).done(), "local_size_x");
        let unbound = Step::Dispatch { groups: [1, 1, 1] };
        refused(device, &scale(64, 64, 1).pass(vec![unbound]).done(), "without a bound kernel");
        refused(device, &scale(64, 64, 1).pass(vec![Step::Bind { kernel: 1 }]).done(), "kernel 1");
        let reads_push = Builder::new(vec![output(64)]).kernel(PUSHED, [64, 1, 1], &[], &[0]);
        refused(device, &reads_push.pass(dispatch(0, 1)).done(), "0 bytes of push constants set, of 8");
        let push = vec![Step::Bind { kernel: 0 }, Step::push_words(&[1])];
        refused(device, &scale(64, 64, 1).pass(push).done(), "push constants");
        refused(device, &Builder::new(vec![output(4), output(4)]).done(), "twice");
        refused(device, &Builder::new(vec![output(0)]).done(), "multiple of four");
    });
}

#[test]
fn a_queue_family_that_is_not_there_is_named() {
    let instance = Instance::load(InstanceOptions::default()).unwrap();
    for info in instance.devices().iter().filter(|info| info.unusable.is_none()) {
        let error = instance.open(info.index, Some(77)).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("queue family 77") && error.to_string().contains("these do: 0"), "{error}");
    }
    let beyond = instance.devices().len();
    assert!(instance.open(beyond, None).map(|_| ()).unwrap_err().to_string().contains("lanescope devices"));
}

#[test]
fn what_is_known_about_a_device_is_whole() {
    on_each_device(|device| {
        let info = device.info();
        assert!(!info.name.is_empty() && !info.driver.id.is_empty() && !info.driver.version.is_empty());
        assert!(info.driver.api_version.starts_with("1."));
        assert!(info.limits.workgroup_invocations >= 128 && info.limits.allocation_bytes >= 1 << 30);
        assert!(info.subgroup.size >= 1 && info.subgroup.min_size <= info.subgroup.max_size);
        assert!(info.local_heap_bytes() > 0);
        eprintln!("{info:#?}");
    });
}

// ---- in processes of their own --------------------------------------------------------------------------------------------

/// Tells an ignored test that it was started by its parent, not by someone who asked for all ignored tests.
const CHILD: &str = "LANESCOPE_TEST_CHILD";

/// Runs one of the ignored tests below in a process of its own.
fn child(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--ignored", "--exact", "--nocapture", &format!("gpu::{test}")])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .env(CHILD, "1");
    command
}

#[test]
fn no_driver_is_an_error_that_says_what_to_do() {
    let none = "/nowhere/no_driver.json";
    let output = child("child_without_drivers").env("VK_DRIVER_FILES", none).env("VK_ICD_FILENAMES", none).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("install") && text.contains("VK_DRIVER_FILES"), "{text}");
}

#[test]
#[ignore = "a part of no_driver_is_an_error_that_says_what_to_do"]
fn child_without_drivers() {
    match Instance::load(InstanceOptions::default()) {
        Err(error) => println!("{error}"),
        Ok(instance) if instance.devices().is_empty() => println!("{NO_DEVICE_ADVICE}"),
        Ok(_) => println!("there is a device"),
    }
}

/// Drivers on which a loop can hang without harm: software whose loops aren't cut short.
fn can_hang() -> Option<usize> {
    let instance = Instance::load(InstanceOptions::default()).unwrap();
    let fit = |info: &&lanescope::model::DeviceInfo| {
        let software = ["GOOGLE_SWIFTSHADER", "MESA_LLVMPIPE"].contains(&info.driver.id.as_str());
        info.unusable.is_none() && software && info.quirks.is_empty()
    };
    instance.devices().iter().find(fit).map(|info| info.index)
}

#[test]
fn a_hung_device_is_a_timeout_and_does_not_block() {
    if can_hang().is_none() {
        skip!("no driver here can hang without harm: SwiftShader can, and lavapipe from 23 on");
    }
    let mut process = child("child_that_hangs").spawn().unwrap();
    let lines = BufReader::new(process.stdout.take().unwrap()).lines().map_while(Result::ok);
    let start = Instant::now();
    let text: Vec<String> = lines.take_while(|line| !line.contains("all dropped")).collect();
    // The work goes on for ever; ended by its own handle.
    process.kill().unwrap();
    process.wait().unwrap();
    assert!(start.elapsed() < Duration::from_secs(20), "dropping a hung device blocks");
    let text = text.join("\n");
    assert!(text.contains("did not end within 0.5 s") && text.contains("still hangs"), "{text}");
}

#[test]
#[ignore = "a part of a_hung_device_is_a_timeout_and_does_not_block"]
fn child_that_hangs() {
    if std::env::var_os(CHILD).is_none() {
        return;
    }
    let glsl = "
        layout(set = 0, binding = 0) buffer Data { uint data[]; };
        void main() { while (atomicAdd(data[0], 0) == 0) { data[1] += 1; } }";
    let instance = Instance::load(InstanceOptions::default()).unwrap();
    let mut device = instance.open(can_hang().unwrap(), None).unwrap();
    device.set_timeout(Duration::from_millis(500));
    let reset = vec![Step::Fill { resource: 0, word: 0 }];
    let builder = Builder::new(vec![output(64)]).kernel(glsl, [1, 1, 1], &[], &[0]).reset(reset).pass(dispatch(0, 1));
    let slot = load(&mut device, &builder.done());
    let error = device.run_checked(slot).unwrap_err();
    assert_eq!(error.status(), Status::Timeout);
    println!("\n{error}\n{}", device.run_checked(slot).unwrap_err());
    device.unload();
    drop(device);
    drop(instance);
    println!("all dropped");
}
