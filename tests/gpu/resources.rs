//! Every kind of resource reaches kernels as what it is, wherever its memory lies, and every kind of step does what it says.

use lanescope::model::{Data, DeviceInfo, Format, FormatUse, ImageRole, Measurand, MemoryKind, Precision, Shape};

use super::*;

const LOCAL: [u32; 3] = [1, 1, 1];

/// A texel's channels, as the device reads them: those that a format lacks are 0, 0 and 1.
fn texel(format: Format, bytes: &[u8]) -> [f32; 4] {
    let mut texel = [0.0, 0.0, 0.0, 1.0];
    let size = (format.bytes() / format.channels()) as usize;
    for (channel, bytes) in texel.iter_mut().zip(bytes.chunks_exact(size)) {
        *channel = match format.precision() {
            Precision::Unorm8 => f32::from(bytes[0]) / 255.0,
            Precision::Float16 => half::f16::from_ne_bytes([bytes[0], bytes[1]]).to_f32(),
            Precision::Float32 => f32::from_ne_bytes(bytes.try_into().unwrap()),
        };
    }
    texel
}

/// What a format's texels are made from: whole numbers for floats, since others may be no numbers.
fn texels_of(format: Format) -> Sequence {
    match format.precision() {
        Precision::Unorm8 => INPUT,
        Precision::Float16 => Sequence::WholeHalves { seed: 7, magnitude: 100 },
        Precision::Float32 => Sequence::WholeFloats { seed: 7, magnitude: 100 },
    }
}

fn bytes_of(sequence: Sequence, count: u64) -> Vec<u8> {
    (0..count / 4).flat_map(|word| sequence.word(word).to_ne_bytes()).collect()
}

/// Runs a kernel that writes a vec4 for each of `count` elements, and compares them with those of the texels.
fn check_texels(device: &mut Device, prepared: &Prepared, output: usize, format: Format, expected: &[[f32; 4]]) {
    let read = run_and_read(device, prepared, output);
    for (i, (got, expected)) in read.chunks_exact(4).zip(expected).enumerate() {
        let got: Vec<f32> = got.iter().map(|bits| f32::from_bits(*bits)).collect();
        let is_near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= 1e-6);
        assert!(is_near, "{format:?}, texel {i}: {got:?} should be {expected:?}");
    }
    assert_eq!(read.len(), 4 * expected.len());
    device.unload();
}

fn result_of(texels: u32) -> Resource {
    Resource::words("result", 4 * u64::from(texels), Contents::Undefined)
}

fn all_texels(format: Format, count: u64) -> Vec<[f32; 4]> {
    let bytes = bytes_of(texels_of(format), count * u64::from(format.bytes()));
    bytes.chunks_exact(format.bytes() as usize).map(|bytes| texel(format, bytes)).collect()
}

#[test]
fn texel_buffers_are_read_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0) uniform textureBuffer texels;
        layout(set = 0, binding = 1) writeonly buffer Result { vec4 result[]; };
        void main() { uint i = gl_GlobalInvocationID.x; result[i] = texelFetch(texels, int(i)); }";
    on_each_device(|device| {
        for format in Format::ALL {
            if !device.info().supports(format, FormatUse::UniformTexels) {
                continue;
            }
            let shape = Shape::Texels { format, count: 64 };
            let texels = Resource::new("texels", shape, Contents::Sequence(texels_of(format)));
            let prepared = Builder::new(vec![texels, result_of(64)]).kernel(glsl, LOCAL, &[], &[0, 1]).pass(dispatch(0, 64));
            check_texels(device, &prepared.done(), 1, format, &all_texels(format, 64));
        }
    });
}

/// 36 texels wide, so that rows of the narrowest format are whole words but no power of two; and so many high that more than one
/// staging copy is needed.
const EXTENT: [u32; 2] = [36, 20];

fn image(format: Format, extent: [u32; 2], role: ImageRole) -> Resource {
    Resource::new("image", Shape::Image { format, extent, role }, Contents::Sequence(texels_of(format)))
}

#[test]
fn images_are_fetched_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0) uniform texture2D image;
        layout(set = 0, binding = 1) uniform sampler nearest;
        layout(set = 0, binding = 2) writeonly buffer Result { vec4 result[]; };
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.x % 36, gl_GlobalInvocationID.x / 36);
            vec2 middle = (vec2(at) + 0.5) / vec2(36, 20);
            vec4 fetched = texelFetch(sampler2D(image, nearest), at, 0);
            result[gl_GlobalInvocationID.x] = 0.5 * (fetched + textureLod(sampler2D(image, nearest), middle, 0.0));
        }";
    on_each_device(|device| {
        for format in Format::ALL {
            if !device.info().supports(format, FormatUse::Sampled) {
                continue;
            }
            let nearest = Resource::new("nearest", Shape::Sampler { is_linear: false }, Contents::Undefined);
            let resources = vec![image(format, EXTENT, ImageRole::Sampled), nearest, result_of(720)];
            let prepared = Builder::new(resources).kernel(glsl, LOCAL, &[], &[0, 1, 2]).pass(dispatch(0, 720));
            check_texels(device, &prepared.done(), 2, format, &all_texels(format, 720));
        }
    });
}

#[test]
fn a_linear_sampler_mixes_neighbours() {
    let glsl = "
        layout(set = 0, binding = 0) uniform texture2D image;
        layout(set = 0, binding = 1) uniform sampler linear;
        layout(set = 0, binding = 2) writeonly buffer Result { vec4 result[]; };
        void main() {
            uint x = gl_GlobalInvocationID.x;
            result[x] = textureLod(sampler2D(image, linear), vec2((float(x) + 1.0) / 36.0, 0.5 / 20.0), 0.0);
        }";
    let format = Format::Rgba16Float;
    on_each_device(|device| {
        if !device.info().supports(format, FormatUse::SampledLinear) {
            return;
        }
        let linear = Resource::new("linear", Shape::Sampler { is_linear: true }, Contents::Undefined);
        let resources = vec![image(format, EXTENT, ImageRole::Sampled), linear, result_of(35)];
        let prepared = Builder::new(resources).kernel(glsl, LOCAL, &[], &[0, 1, 2]).pass(dispatch(0, 35)).done();
        let texels = all_texels(format, 36);
        let read = run_and_read(device, &prepared, 2);
        for (x, got) in read.chunks_exact(4).enumerate() {
            for (channel, bits) in got.iter().enumerate() {
                let between = 0.5 * (texels[x][channel] + texels[x + 1][channel]);
                // Weights have eight bits at least, and the values are up to 200 apart.
                assert!((f32::from_bits(*bits) - between).abs() <= 200.0 / 256.0, "texel {x}, channel {channel}");
            }
        }
    });
}

#[test]
fn storage_images_are_read_in_every_format() {
    on_each_device(|device| {
        for format in Format::ALL {
            let extended = format.is_extended() && !device.info().has(Feature::StorageImageExtendedFormats);
            if extended || !device.info().supports(format, FormatUse::Storage) {
                continue;
            }
            let glsl = format!(
                "layout(set = 0, binding = 0, {}) uniform readonly image2D image;
                layout(set = 0, binding = 1) writeonly buffer Result {{ vec4 result[]; }};
                void main() {{
                    uint i = gl_GlobalInvocationID.x;
                    result[i] = imageLoad(image, ivec2(i % 36, i / 36));
                }}",
                format.as_str()
            );
            let resources = vec![image(format, EXTENT, ImageRole::Storage), result_of(720)];
            let prepared = Builder::new(resources).kernel(&glsl, LOCAL, &[], &[0, 1]).pass(dispatch(0, 720));
            check_texels(device, &prepared.done(), 1, format, &all_texels(format, 720));
        }
    });
}

#[test]
fn a_large_image_survives_the_way_there() {
    let glsl = "
        layout(set = 0, binding = 0) uniform texture2D image;
        layout(set = 0, binding = 1) uniform sampler nearest;
        layout(set = 0, binding = 2) writeonly buffer Result { vec4 result[]; };
        void main() {
            uint y = gl_GlobalInvocationID.x;
            result[y] = texelFetch(sampler2D(image, nearest), ivec2(y % 1000, y), 0);
        }";
    let (format, extent) = (Format::Rgba32Float, [1000, 1100]);
    on_each_device(|device| {
        let nearest = Resource::new("nearest", Shape::Sampler { is_linear: false }, Contents::Undefined);
        let resources = vec![image(format, extent, ImageRole::Sampled), nearest, result_of(1100)];
        let prepared = Builder::new(resources).kernel(glsl, LOCAL, &[], &[0, 1, 2]).pass(dispatch(0, 1100)).done();
        let at = |y: u64| (0..4).map(move |channel| texels_of(format).word(4 * (1000 * y + y % 1000) + channel));
        let expected: Vec<u32> = (0..1100).flat_map(at).collect();
        assert!(run_and_read(device, &prepared, 2) == expected, "17 MB in two copies");
    });
}

#[test]
fn a_buffer_may_stand_as_a_uniform_one() {
    let glsl = "
        layout(set = 0, binding = 0) uniform Input { uvec4 source[16]; };
        layout(set = 0, binding = 1) writeonly buffer Output { uint result[]; };
        void main() { uint i = gl_GlobalInvocationID.x; result[i] = source[i / 4][i % 4]; }";
    on_each_device(|device| {
        let prepared = Builder::new(vec![input(64), output(64)]).kernel(glsl, LOCAL, &[], &[0, 1]).pass(dispatch(0, 64)).done();
        let expected: Vec<u32> = (0..64).map(|i| INPUT.word(i)).collect();
        assert_eq!(run_and_read(device, &prepared, 1), expected);
    });
}

// ---- memory and copies ----------------------------------------------------------------------------------------------------

/// The kinds of memory that a device has.
fn kinds(info: &DeviceInfo) -> Vec<MemoryKind> {
    let mapped = MemoryKind::MAPPED.into_iter().filter(|kind| !info.memory_types_for(*kind, u32::MAX).is_empty());
    std::iter::once(MemoryKind::DeviceLocal).chain(mapped).collect()
}

fn words_of(sequence: Sequence, count: u64) -> Vec<u32> {
    (0..count).map(|i| sequence.word(i)).collect()
}

#[test]
fn kernels_and_copies_reach_every_kind_of_memory() {
    on_each_device(|device| {
        for kind in kinds(&device.info().clone()) {
            let source = Resource::words_in(kind, "source", 1000, Contents::Sequence(INPUT));
            let between = Resource::words_in(kind, "between", 1000, Contents::Undefined);
            let scale = Builder::new(vec![source, between, output(1000)]).kernel(SCALE, [8, 1, 1], &[3], &[0, 1]);
            let copy = [Step::Barrier, Step::Copy { from: 1, to: 2 }];
            let prepared = scale.pass([dispatch(0, 125), copy.to_vec()].concat()).done();
            let loaded = device.load(&prepared).unwrap();
            let type_of = |kind| device.info().memory_types_for(kind, u32::MAX)[0];
            let (inputs, output) = (type_of(kind), type_of(MemoryKind::DeviceLocal));
            let told = if inputs == output {
                format!("source, between, output: {output}")
            } else {
                format!("source, between: {inputs}; output: {output}")
            };
            assert_eq!(loaded.memory_types, told, "{kind:?}");
            device.run_checked(loaded.slot).unwrap();
            // A pass follows itself: the copies of one must not meet the writes of the next.
            device.sample(loaded.slot, 3, 2).unwrap();
            let expected: Vec<u32> = words_of(INPUT, 1000).iter().map(|word| word.wrapping_mul(3).wrapping_add(8)).collect();
            assert_eq!(words(&device.read(loaded.slot, 1).unwrap()), expected, "{kind:?}");
            assert_eq!(words(&device.read(loaded.slot, 2).unwrap()), expected, "{kind:?}");
            device.unload();
        }
    });
}

fn host_memory(name: &'static str, count: u64, contents: Contents) -> Resource {
    Resource::new(name, Shape::HostMemory { bytes: 4 * count }, contents)
}

#[test]
fn the_host_copies_through_mapped_memory() {
    on_each_device(|device| {
        for kind in kinds(&device.info().clone()).into_iter().filter(|kind| kind.is_mapped()) {
            let resources = vec![
                host_memory("source", 5000, Contents::Sequence(INPUT)),
                Resource::words_in(kind, "mapped", 5000, Contents::Undefined),
                host_memory("back", 5000, Contents::Undefined),
            ];
            let fill = |resource| Step::Fill { resource, word: 1 };
            let mut prepared = Builder::new(resources)
                .reset(vec![fill(1), fill(2)])
                .pass(vec![Step::HostCopy { from: 0, to: 1 }, Step::HostCopy { from: 1, to: 2 }])
                .done();
            prepared.case.measurand = Measurand::HostPass;
            let slot = load(device, &prepared);
            device.run_reset(slot).unwrap();
            assert_eq!(words(&device.read(slot, 1).unwrap()), [1; 5000]);
            assert!(device.run_checked(slot).unwrap() > Duration::ZERO);
            let submission = device.sample(slot, 3, 1).unwrap();
            assert!(submission.samples.is_empty() && submission.host > Duration::ZERO);
            for output in [1, 2] {
                assert!(words(&device.read(slot, output).unwrap()) == words_of(INPUT, 5000), "{kind:?}, {output}");
            }
            device.unload();
        }
    });
}

#[test]
fn what_is_prepared_is_done_before_each_sample_and_each_checked_pass() {
    on_each_device(|device| {
        let counts = Resource::words("counts", 64, Contents::Undefined);
        let mut prepared = Builder::new(vec![input(1000), output(1000), counts])
            .kernel(SCALE, [64, 1, 1], &[3], &[0, 1])
            .kernel(INCREMENT, [64, 1, 1], &[], &[2])
            .reset(vec![Step::Fill { resource: 2, word: 0 }])
            .pass(dispatch(0, 16))
            .done();
        prepared.case.prepare = dispatch(1, 1);
        let slot = load(device, &prepared);
        device.run_checked(slot).unwrap();
        assert_eq!(words(&device.read(slot, 2).unwrap()), [1; 64], "a checked pass is prepared as well");
        device.sample(slot, 4, 5).unwrap();
        assert_eq!(words(&device.read(slot, 2).unwrap()), [1 + 5; 64]);
    });
}

#[test]
fn what_a_kernel_reads_and_writes_is_its_cases_own() {
    on_each_device(|device| {
        let count = || {
            let mut prepared = Builder::new(vec![Resource::words("state", 64, Contents::Undefined)])
                .kernel(INCREMENT, [64, 1, 1], &[], &[0])
                .reset(vec![Step::Fill { resource: 0, word: 0 }])
                .pass(dispatch(0, 1))
                .done();
            prepared.case.repeat = Repeat::Resumes;
            prepared
        };
        let [one, two] = [load(device, &count()), load(device, &count())];
        device.run_reset(one).unwrap();
        device.run_reset(two).unwrap();
        device.sample(one, 3, 1).unwrap();
        device.sample(two, 1, 1).unwrap();
        assert_eq!([one, two].map(|slot| words(&device.read(slot, 0).unwrap())[0]), [3, 1]);
    });
}

#[test]
fn what_is_restored_before_every_pass_is_shared() {
    on_each_device(|device| {
        let bytes: Vec<u8> = (0..64_u32).flat_map(|i| (i * i).to_ne_bytes()).collect();
        let increments = || {
            let before = Resource::words("before", 64, Contents::Data(Data::new(bytes.clone())));
            let mut prepared = Builder::new(vec![Resource::words("state", 64, Contents::Undefined), before])
                .kernel(INCREMENT, [64, 1, 1], &[], &[0])
                .reset(vec![Step::Copy { from: 1, to: 0 }])
                .pass(dispatch(0, 1))
                .done();
            prepared.case.repeat = Repeat::AfterReset;
            prepared
        };
        let one = load(device, &increments());
        assert_eq!(device.footprint(&increments()), Footprint::default(), "a second one takes no more");
        let two = load(device, &increments());
        device.sample(two, 1, 3).unwrap();
        device.run_checked(one).unwrap();
        let expected: Vec<u32> = (0..64).map(|i| i * i + 1).collect();
        assert_eq!([one, two].map(|slot| words(&device.read(slot, 0).unwrap())), [expected.clone(), expected]);
    });
}

#[test]
fn resources_and_steps_that_do_not_fit_are_refused() {
    on_each_device(|device| {
        let refused = |device: &mut Device, prepared: Prepared, part: &str| {
            let error = device.load(&prepared).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        };
        let copy = |from, to| vec![Step::Copy { from, to }];
        refused(device, Builder::new(vec![input(8), output(4)]).pass(copy(0, 1)).done(), "two buffers of the same size");
        refused(device, Builder::new(vec![input(8)]).pass(copy(0, 0)).done(), "two buffers of the same size");
        let hosts = || Builder::new(vec![input(8), output(8)]).pass(vec![Step::HostCopy { from: 0, to: 1 }]).done();
        refused(device, hosts(), "timed as another one");
        let mut hosts = hosts();
        hosts.case.measurand = Measurand::HostPass;
        refused(device, hosts, "which it can't touch");
        let mut alone = scale(8, 1, 1).done();
        alone.case.measurand = Measurand::HostPass;
        refused(device, alone, "timed as one of the host's");
        let most = device.info().limits.image_dimension;
        let wide = image(Format::Rgba8Unorm, [most + 1, 1], ImageRole::Sampled);
        refused(device, Builder::new(vec![wide]).done(), "the extent of `image`");
        let mut texture = scale(8, 1, 1).done();
        texture.case.resources[0] = image(Format::Rgba8Unorm, [2, 4], ImageRole::Sampled);
        refused(device, texture, "of another kind");
    });
}
