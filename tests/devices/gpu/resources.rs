//! Every kind of resource reaches kernels as what it is, wherever its memory lies, and every kind of step does what it says.

use lanescope::model::{
    Data, DeviceInfo, Dimension, Edge, Format, FormatUse, ImageRole, Measurand, MemoryKind, Numbers, POISON, Precision,
    ResourceKind, Sampling,
};

use super::*;

const LOCAL: [u32; 3] = [1, 1, 1];

/// A texel's channels, as the device reads them: those that a format lacks are 0, 0 and 1.
fn texel(format: Format, bytes: &[u8]) -> [f64; 4] {
    let mut texel = [0.0, 0.0, 0.0, 1.0];
    let mut at = 0;
    for (i, channel) in (0..format.channels()).zip(&mut texel) {
        let width = format.channel_bits(i);
        let bits = bits_at(bytes, at, width);
        at += width;
        let signed = || f64::from(i32::from_ne_bytes((bits << (32 - width)).to_ne_bytes()) >> (32 - width));
        let most = |width: u32| f64::from(u32::MAX >> (32 - width));
        *channel = match (format.numbers(), width) {
            (Numbers::Unorm, _) => f64::from(bits) / most(width),
            (Numbers::Snorm, _) => (signed() / most(width - 1)).max(-1.0),
            (Numbers::Uint, _) => bits.into(),
            (Numbers::Sint, _) => signed(),
            (Numbers::Float, 32) => f32::from_bits(bits).into(),
            // The smaller ones are `f16` without the sign and the last digits.
            (Numbers::Float, width) => half::f16::from_bits(u16::try_from(bits << (15 - width.min(15))).unwrap()).to_f64(),
        };
    }
    texel
}

/// So many bits of a texel, the first in the lowest bits of its first byte.
fn bits_at(bytes: &[u8], at: u32, width: u32) -> u32 {
    let bit = |i: u32| u32::from((bytes[(i / 8) as usize] >> (i % 8)) & 1);
    (0..width).map(|i| bit(at + i) << i).sum()
}

/// What a format's texels are made from: whole numbers for floats, since others may be no numbers.
fn texels_of(format: Format) -> Sequence {
    match format.precision() {
        Precision::Float16 => Sequence::WholeHalves { seed: 7, magnitude: 100 },
        Precision::Float32 => Sequence::WholeFloats { seed: 7, magnitude: 100 },
        _ => INPUT,
    }
}

/// The bytes of so many texels, a multiple of four in all.
fn bytes_of(format: Format, count: u64) -> Vec<u8> {
    let words = (0..(count * u64::from(format.bytes())).div_ceil(4)).map(|word| texels_of(format).word(word));
    // No infinities: none of the exponents has its highest bit.
    let finite = |word: u32| if format.precision() == Precision::Float11 { word & 0x7FDF_FBFF } else { word };
    words.flat_map(|word| finite(word).to_ne_bytes()).collect()
}

fn contents_of(format: Format, count: u64) -> Contents {
    Contents::Data(Data::new(bytes_of(format, count)))
}

/// How GLSL begins the types that see a format's texels.
fn prefix(format: Format) -> &'static str {
    match format.numbers() {
        Numbers::Uint => "u",
        Numbers::Sint => "i",
        _ => "",
    }
}

/// With the types that see a format's texels for `PRE`, and its name for `FORMAT`.
fn of_format(glsl: &str, format: Format) -> String {
    glsl.replace("PRE", prefix(format)).replace("FORMAT", format.as_str())
}

fn compare_texels(format: Format, got: &[[f64; 4]], expected: &[[f64; 4]]) {
    for (i, (got, expected)) in got.iter().zip(expected).enumerate() {
        let is_near = got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() <= 1e-6);
        assert!(is_near, "{format:?}, texel {i}: {got:?} should be {expected:?}");
    }
    assert_eq!(got.len(), expected.len());
}

/// Runs a kernel that writes four components for each of `count` elements, and compares them with those of the texels.
fn check_texels(device: &mut Device, prepared: &Prepared, output: usize, format: Format, expected: &[[f64; 4]]) {
    let read = run_and_read(device, prepared, output);
    let number = |bits: u32| match format.numbers() {
        Numbers::Uint => bits.into(),
        Numbers::Sint => i32::from_ne_bytes(bits.to_ne_bytes()).into(),
        _ => f32::from_bits(bits).into(),
    };
    let got: Vec<[f64; 4]> = read.chunks_exact(4).map(|four| std::array::from_fn(|i| number(four[i]))).collect();
    compare_texels(format, &got, expected);
    device.unload();
}

fn result_of(texels: u32) -> Resource {
    Resource::words("result", 4 * u64::from(texels), Contents::Undefined)
}

fn decoded(format: Format, bytes: &[u8]) -> Vec<[f64; 4]> {
    bytes.chunks_exact(format.bytes() as usize).map(|bytes| texel(format, bytes)).collect()
}

fn all_texels(format: Format, count: u64) -> Vec<[f64; 4]> {
    let mut texels = decoded(format, &bytes_of(format, count));
    texels.truncate(usize::try_from(count).unwrap());
    texels
}

/// Whether kernels may use a format so.
fn can(device: &Device, format: Format, usage: FormatUse) -> bool {
    let is_storage = matches!(usage, FormatUse::Storage | FormatUse::StorageTexels);
    let lacks = is_storage && format.is_extended() && !device.info().has(Feature::StorageImageExtendedFormats);
    device.info().supports(format, usage) && !lacks
}

/// The formats that kernels may use in all these ways.
fn formats_for(device: &Device, uses: &[FormatUse]) -> Vec<Format> {
    let all = Format::ALL.iter().copied();
    let formats: Vec<Format> = all.filter(|format| uses.iter().all(|usage| can(device, *format, *usage))).collect();
    // Those of 32 bits and of bytes are there on every device.
    assert!(formats.contains(&Format::Rgba32Float) && formats.contains(&Format::Rgba8Uint), "{formats:?}");
    formats
}

#[test]
fn texel_buffers_are_read_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0) uniform PREtextureBuffer texels;
        layout(set = 0, binding = 1) writeonly buffer Result { PREvec4 result[]; };
        void main() { uint i = gl_GlobalInvocationID.x; result[i] = texelFetch(texels, int(i)); }";
    on_each_device(|device| {
        for format in formats_for(device, &[FormatUse::UniformTexels]) {
            let shape = ResourceKind::Texels { format, count: 63, role: ImageRole::Sampled };
            let texels = Resource::new("texels", shape, contents_of(format, 63));
            let glsl = of_format(glsl, format);
            let prepared = Builder::new(vec![texels, result_of(63)]).kernel(&glsl, LOCAL, &[], &[0, 1]).pass(dispatch(0, 63));
            check_texels(device, &prepared.done(), 1, format, &all_texels(format, 63));
        }
    });
}

/// Rows of the narrowest format begin and end within words, and the whole does as well.
const EXTENT: [u32; 3] = [35, 19, 1];
const COUNT: u32 = 35 * 19;

fn plane(format: Format, extent: [u32; 3], role: ImageRole) -> ResourceKind {
    ResourceKind::Image { format, dimension: Dimension::D2, extent, role }
}

fn image(format: Format, extent: [u32; 3], role: ImageRole) -> Resource {
    let count = extent.iter().map(|side| u64::from(*side)).product();
    Resource::new("image", plane(format, extent, role), contents_of(format, count))
}

fn sampler(name: &'static str, sampling: Sampling) -> Resource {
    Resource::new(name, ResourceKind::Sampler(sampling), Contents::Undefined)
}

const LINEAR: Sampling = Sampling { is_linear: true, edge: Edge::Clamp, is_unnormalized: false };

#[test]
fn images_are_fetched_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0) uniform PREtexture2D image;
        layout(set = 0, binding = 1) uniform sampler nearest;
        layout(set = 0, binding = 2) writeonly buffer Result { PREvec4 result[]; };
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.x % 35, gl_GlobalInvocationID.x / 35);
            vec2 middle = (vec2(at) + 0.5) / vec2(35, 19);
            PREvec4 fetched = texelFetch(PREsampler2D(image, nearest), at, 0);
            PREvec4 taken = textureLod(PREsampler2D(image, nearest), middle, 0.0);
            result[gl_GlobalInvocationID.x] = fetched == taken ? fetched : PREvec4(77);
        }";
    on_each_device(|device| {
        for format in formats_for(device, &[FormatUse::Sampled]) {
            let nearest = sampler("nearest", Sampling::default());
            let resources = vec![image(format, EXTENT, ImageRole::Sampled), nearest, result_of(COUNT)];
            let glsl = of_format(glsl, format);
            let prepared = Builder::new(resources).kernel(&glsl, LOCAL, &[], &[0, 1, 2]).pass(dispatch(0, COUNT));
            check_texels(device, &prepared.done(), 2, format, &all_texels(format, COUNT.into()));
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
            result[x] = textureLod(sampler2D(image, linear), vec2((float(x) + 1.0) / 35.0, 0.5 / 19.0), 0.0);
        }";
    let combined = "
        layout(set = 0, binding = 0) uniform sampler2D image;
        layout(set = 0, binding = 1) writeonly buffer Result { vec4 result[]; };
        void main() {
            uint x = gl_GlobalInvocationID.x;
            result[x] = textureLod(image, vec2((float(x) + 1.0) / 35.0, 0.5 / 19.0), 0.0);
        }";
    let format = Format::Rgba16Float;
    on_each_device(|device| {
        if !can(device, format, FormatUse::SampledLinear) {
            skip!("{} filters no {format:?}", device.info().name);
        }
        let resources = || vec![image(format, EXTENT, ImageRole::Sampled), sampler("linear", LINEAR), result_of(34)];
        let apart = Builder::new(resources()).kernel(glsl, LOCAL, &[], &[0, 1, 2]).pass(dispatch(0, 34)).done();
        let bindings = vec![Binding { sampler: Some(1), ..Binding::new(0, 0, 0) }, Binding::new(0, 1, 2)];
        let together = Builder::new(resources()).kernel_with(combined, LOCAL, &[], bindings).pass(dispatch(0, 34)).done();
        let texels = all_texels(format, 35);
        for prepared in [apart, together] {
            let read = run_and_read(device, &prepared, 2);
            for (x, got) in read.chunks_exact(4).enumerate() {
                for (channel, bits) in got.iter().enumerate() {
                    let between = 0.5 * (texels[x][channel] + texels[x + 1][channel]);
                    // Weights have eight bits at least, and the values are up to 200 apart.
                    let apart = (f64::from(f32::from_bits(*bits)) - between).abs();
                    assert!(apart <= 200.0 / 256.0, "texel {x}, channel {channel}");
                }
            }
            device.unload();
        }
    });
}

#[test]
fn storage_images_are_read_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0, FORMAT) uniform readonly PREimage2D image;
        layout(set = 0, binding = 1) writeonly buffer Result { PREvec4 result[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            result[i] = imageLoad(image, ivec2(i % 35, i / 35));
        }";
    on_each_device(|device| {
        for format in formats_for(device, &[FormatUse::Storage]) {
            let resources = vec![image(format, EXTENT, ImageRole::Storage), result_of(COUNT)];
            let glsl = of_format(glsl, format);
            let prepared = Builder::new(resources).kernel(&glsl, LOCAL, &[], &[0, 1]).pass(dispatch(0, COUNT));
            check_texels(device, &prepared.done(), 1, format, &all_texels(format, COUNT.into()));
        }
    });
}

#[test]
fn storage_images_and_texel_buffers_are_written_and_read_back_in_every_format() {
    let glsl = "
        layout(set = 0, binding = 0) uniform PREtexture2D source;
        layout(set = 0, binding = 1, FORMAT) uniform writeonly PREimage2D image;
        layout(set = 0, binding = 2, FORMAT) uniform writeonly PREimageBuffer texels;
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.x % 35, gl_GlobalInvocationID.x / 35);
            PREvec4 texel = texelFetch(source, at, 0);
            imageStore(image, at, texel);
            imageStore(texels, int(gl_GlobalInvocationID.x), texel);
        }";
    on_each_device(|device| {
        let uses = [FormatUse::Sampled, FormatUse::Storage, FormatUse::StorageTexels];
        for format in formats_for(device, &uses) {
            let shape = ResourceKind::Texels { format, count: COUNT, role: ImageRole::Storage };
            let source = Resource { name: "source".into(), ..image(format, EXTENT, ImageRole::Sampled) };
            let resources = vec![
                source,
                Resource::new("image", plane(format, EXTENT, ImageRole::Storage), Contents::Undefined),
                Resource::new("texels", shape, Contents::Undefined),
            ];
            let glsl = of_format(glsl, format);
            let prepared = Builder::new(resources)
                .kernel(&glsl, LOCAL, &[], &[0, 1, 2])
                .reset(vec![Step::Fill { resource: 2, word: POISON }])
                .pass(dispatch(0, COUNT))
                .done();
            let slot = load(device, &prepared);
            device.run_checked(slot).unwrap();
            for output in [1, 2] {
                let bytes = device.read(slot, output).unwrap();
                assert_eq!(bytes.len() as u64, prepared.case.resources[output].bytes(), "{format:?}");
                compare_texels(format, &decoded(format, &bytes), &all_texels(format, COUNT.into()));
            }
            device.unload();
        }
    });
}

#[test]
fn an_image_is_restored_from_a_buffer_before_each_pass() {
    let glsl = "
        layout(set = 0, binding = 0, r32ui) uniform uimage3D image;
        void main() {
            ivec3 at = ivec3(gl_GlobalInvocationID);
            imageStore(image, at, 3 * imageLoad(image, at));
        }";
    on_each_device(|device| {
        let shape = ResourceKind::Image {
            format: Format::R32Uint,
            dimension: Dimension::D3,
            extent: [5, 3, 2],
            role: ImageRole::Storage,
        };
        let image = Resource::new("image", shape, Contents::Undefined);
        let before = Resource::words("before", 30, Contents::Sequence(INPUT));
        let mut prepared = Builder::new(vec![image, before])
            .kernel(glsl, LOCAL, &[], &[0])
            .reset(vec![Step::Copy { from: 1, to: 0 }])
            .pass(vec![Step::Bind { kernel: 0 }, Step::Dispatch { groups: [5, 3, 2] }])
            .done();
        prepared.case.repeat = Repeat::AfterReset;
        let slot = load(device, &prepared);
        device.run_reset(slot).unwrap();
        assert_eq!(words(&device.read(slot, 0).unwrap()), input_words(30));
        device.sample(slot, 1, 3).unwrap();
        let thrice: Vec<u32> = input_words(30).iter().map(|word| word.wrapping_mul(3)).collect();
        assert_eq!(words(&device.read(slot, 0).unwrap()), thrice);
    });
}

#[test]
fn a_large_image_comes_back_whole() {
    on_each_device(|device| {
        // In parts of whole slices, and of rows.
        for (dimension, extent) in
            [(Dimension::D2Array, [1999, 1001, 5]), (Dimension::D3, [251, 255, 67]), (Dimension::D2, [2101, 2100, 1])]
        {
            let shape = ResourceKind::Image { format: Format::R32Uint, dimension, extent, role: ImageRole::Storage };
            let image = Resource::new("image", shape, Contents::Undefined);
            let before = Resource::words("before", image.bytes() / 4, Contents::Sequence(INPUT));
            let reset = vec![Step::Copy { from: 1, to: 0 }];
            let prepared = Builder::new(vec![image.clone(), before]).reset(reset).done();
            let slot = load(device, &prepared);
            device.run_reset(slot).unwrap();
            assert!(device.read(slot, 0).unwrap() == device.read(slot, 1).unwrap(), "{dimension:?}");
            device.unload();
            let filled = Resource { contents: Contents::Sequence(INPUT), ..image };
            let count = filled.bytes() / 4;
            let slot = load(device, &Builder::new(vec![filled]).done());
            assert!(words(&device.read(slot, 0).unwrap()) == input_words(count), "{dimension:?}");
            device.unload();
        }
    });
}

#[test]
fn arrays_of_descriptors_have_a_resource_for_each_element() {
    let glsl = "
        layout(set = 0, binding = 0) uniform utexture2D images[3];
        layout(set = 0, binding = 1) writeonly buffer Result { uint values[]; } results[2];
        void main() {
            results[0].values[0] = texelFetch(images[0], ivec2(0), 0).r + texelFetch(images[1], ivec2(0), 0).r;
            results[1].values[0] = texelFetch(images[2], ivec2(0), 0).r;
        }";
    on_each_device(|device| {
        let one = |name: &'static str, word: u32| {
            let contents = Contents::Data(Data::new(word.to_ne_bytes().to_vec()));
            Resource::new(name, plane(Format::R32Uint, [1, 1, 1], ImageRole::Sampled), contents)
        };
        let result = |name| Resource::words(name, 1, Contents::Undefined);
        let resources = vec![one("a", 1), one("b", 20), one("c", 300), result("first"), result("second")];
        let element = |binding, element, resource| Binding { element, ..Binding::new(0, binding, resource) };
        let bindings = vec![element(0, 0, 0), element(0, 1, 1), element(0, 2, 2), element(1, 0, 3), element(1, 1, 4)];
        let prepared = Builder::new(resources).kernel_with(glsl, LOCAL, &[], bindings).pass(dispatch(0, 1)).done();
        let slot = load(device, &prepared);
        device.run_checked(slot).unwrap();
        assert_eq!([3, 4].map(|output| words(&device.read(slot, output).unwrap())), [[21], [300]]);
        device.unload();
        let mut less = prepared.clone();
        only(&mut less.case.kernels).bindings.pop();
        let error = device.load(&less).unwrap_err();
        assert!(error.to_string().contains("binds nothing here"), "{error}");
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
    let (format, extent) = (Format::Rgba32Float, [1000, 1100, 1]);
    on_each_device(|device| {
        let shape = plane(format, extent, ImageRole::Sampled);
        let large = Resource::new("image", shape, Contents::Sequence(texels_of(format)));
        let resources = vec![large, sampler("nearest", Sampling::default()), result_of(1100)];
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
        assert_eq!(run_and_read(device, &prepared, 1), input_words(64));
    });
}

// ---- memory and copies ----------------------------------------------------------------------------------------------------

fn kinds(info: &DeviceInfo) -> Vec<MemoryKind> {
    let mapped =
        MemoryKind::ALL.into_iter().filter(|kind| kind.is_mapped() && !info.memory_types_for(*kind, u32::MAX).is_empty());
    std::iter::once(MemoryKind::DeviceLocal).chain(mapped).collect()
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
            let expected: Vec<u32> = input_words(1000).iter().map(|word| word.wrapping_mul(3).wrapping_add(8)).collect();
            assert_eq!(words(&device.read(loaded.slot, 1).unwrap()), expected, "{kind:?}");
            assert_eq!(words(&device.read(loaded.slot, 2).unwrap()), expected, "{kind:?}");
            device.unload();
        }
    });
}

fn host_memory(name: &'static str, count: u64, contents: Contents) -> Resource {
    Resource::new(name, ResourceKind::HostMemory { bytes: 4 * count }, contents)
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
                assert!(words(&device.read(slot, output).unwrap()) == input_words(5000), "{kind:?}, {output}");
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
            let mut prepared = counter(vec![Resource::words("state", 64, Contents::Undefined)]).done();
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
            let state = Resource::words("state", 64, Contents::Undefined);
            let mut prepared = counter(vec![state, before]).reset(vec![Step::Copy { from: 1, to: 0 }]).done();
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
        let plain = |shape| Builder::new(vec![Resource::new("image", shape, Contents::Undefined)]).done();
        let most = device.info().limits.image_dimension;
        let wide = plane(Format::Rgba8Unorm, [most + 1, 1, 1], ImageRole::Sampled);
        refused(device, plain(wide), "the extent of `image` (maxImageDimension2D)");
        let (format, role) = (Format::Rgba8Unorm, ImageRole::Sampled);
        let of = |dimension, extent| plain(ResourceKind::Image { format, dimension, extent, role });
        let layers = device.info().limits.image_layers + 1;
        refused(device, of(Dimension::D2Array, [1, 1, layers]), "(maxImageArrayLayers)");
        refused(device, of(Dimension::D2, [1, 1, 2]), "beyond its dimensions");
        refused(device, of(Dimension::Cube, [2, 1, 6]), "doesn't consist of cubes");
        refused(device, of(Dimension::D2, [1, 0, 1]), "has no texels");
        let repeated = Sampling { edge: Edge::Repeat, is_unnormalized: true, ..Sampling::default() };
        refused(device, Builder::new(vec![sampler("sampler", repeated)]).done(), "doesn't clamp them");
        let volume = ResourceKind::Image { format, dimension: Dimension::D3, extent: [2, 2, 2], role };
        let unnormalized = sampler("sampler", Sampling { edge: Edge::Clamp, ..repeated });
        let resources = vec![Resource::new("image", volume, Contents::Undefined), unnormalized, output(4)];
        let glsl = "
            layout(set = 0, binding = 0) uniform texture3D image;
            layout(set = 0, binding = 1) uniform sampler places;
            layout(set = 0, binding = 2) writeonly buffer Result { vec4 result; };
            void main() { result = textureLod(sampler3D(image, places), vec3(0), 0.0); }";
        let sampled = Builder::new(resources).kernel(glsl, LOCAL, &[], &[0, 1, 2]).done();
        refused(device, sampled, "neither 1D nor 2D");
        let small = Resource::new("small", plane(format, [3, 3, 1], ImageRole::Storage), Contents::Undefined);
        refused(device, Builder::new(vec![small, input(8)]).pass(copy(1, 0)).done(), "two buffers of the same size");
        let mut texture = scale(8, 1, 1).done();
        *texture.case.resources.first_mut().unwrap() = image(Format::Rgba8Unorm, [2, 4, 1], ImageRole::Sampled);
        refused(device, texture, "of another kind");
    });
}
