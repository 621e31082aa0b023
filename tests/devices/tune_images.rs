//! `lanescope tune` with images, samplers, texel buffers and arrays of descriptors, on every driver under the validation layer: what
//! is right and what is wrong.

use lanescope::model::FilePath;
use lanescope::subject::{KernelSpec, Reference};

use crate::gpu::on_each_device;
use crate::judge::{subject, verdicts};
use crate::support::tunings::{BLUR, found, tuned};
use crate::support::{Folder, devices, devices_in_turn, rows, typed};

const WIDTHS: [u64; 2] = [4, 8];

/// A shader over two workgroup sizes on every device, where what it writes is to be what `expected` says, file by file: a search
/// finds it right, and it is judged wrong as soon as the last byte of one is another.
fn check(name: &str, shader: &str, arguments: &[&str], expected: &[(&str, Vec<u8>)]) {
    let (folder, shader) = Folder::with(&format!("{name}.comp"), shader);
    let files = |of: &[(&str, Vec<u8>)], what: &str| -> Vec<(String, FilePath)> {
        let one = |(i, (place, bytes)): (usize, &(&str, Vec<u8>))| {
            ((*place).to_owned(), folder.write(&format!("{what}{i}.bin"), bytes).into())
        };
        of.iter().enumerate().map(one).collect()
    };
    let right: Vec<String> =
        files(expected, "right").iter().map(|(place, file)| format!("{place}={}", file.display())).collect();
    for device in devices_in_turn() {
        let sizes = [shader.as_str(), "-d", &device.index, "-a", "local_size_x=4,8"];
        let all = found(0, &[&sizes[..], arguments, &["--reference", &right.join(",")]].concat());
        assert_eq!(all.len(), 2, "{name}");
        for row in &all {
            assert_eq!((row.status.as_str(), row.checked.as_str()), ("ok", "true"), "{name}: {}", row.reason);
        }
    }
    let subject = subject(&shader, arguments);
    on_each_device(|device| {
        // The shader as it is written is a reference as well.
        assert!(verdicts(device, &subject, &WIDTHS).iter().all(|verdict| *verdict == Ok(())), "{name}");
        for wrong in 0..expected.len() {
            let mut other = expected.to_vec();
            *other[wrong].1.last_mut().unwrap() ^= 0x40;
            let subject = KernelSpec { reference: Reference::Files(files(&other, "wrong")), ..subject.clone() };
            assert!(verdicts(device, &subject, &WIDTHS).iter().all(|verdict| *verdict != Ok(())), "{name}");
        }
    });
}

#[test]
fn a_picture_extends_as_the_invocations_do() {
    let (folder, shader) = Folder::with(
        "extent.comp",
        "#version 450
        layout(local_size_x = 4, local_size_y = 4) in;
        layout(binding = 0, r32f) readonly uniform image2D picture;
        layout(binding = 1) writeonly buffer B { ivec2 b[]; };
        void main() {
            ivec2 p = ivec2(gl_GlobalInvocationID.xy);
            b[p.y * 64 + p.x] = imageSize(picture) + ivec2(imageLoad(picture, p).x);
        }",
    );
    // What is loaded is below 1.
    let extents = folder.write("extents.bin", bytes((0..2 * 2048).map(|i| if i % 2 == 0 { 64_i32 } else { 32 }.to_le_bytes())));
    for device in devices_in_turn() {
        let sizes = [&shader, "-d", &device.index, "-n", "2048", "--threads", "64,32", "--reference", &extents];
        let all = found(0, &[&sizes[..], &["-a", "local_size_x=4,8", "-a", "local_size_y=4"]].concat());
        assert!(all.len() == 2 && all.iter().all(|row| row.status == "ok"), "{}", all[0].reason);
    }
}

fn bytes<const N: usize>(values: impl IntoIterator<Item = impl Into<[u8; N]>>) -> Vec<u8> {
    values.into_iter().flat_map(Into::into).collect()
}

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    bytes(values.into_iter().map(u32::to_ne_bytes))
}

fn floats(values: impl IntoIterator<Item = f32>) -> Vec<u8> {
    bytes(values.into_iter().map(f32::to_ne_bytes))
}

#[test]
fn a_blur_needs_nothing_but_its_shader() {
    let (folder, blur) = Folder::with("blur.comp", BLUR);
    let wide = folder.write("wide.comp", BLUR.replace("#version 450", "#version 450\n#define WIDE"));
    for device in devices_in_turn() {
        // 64 x 64 texels, and as many invocations.
        let sizes = ["-d", &device.index, "-n", "4096", "-a", "local_size_x=8,16", "-a", "local_size_y=4,8"];
        let all = found(0, &[&[blur.as_str()], &sizes[..]].concat());
        assert_eq!(all.len(), 4);
        for row in &all {
            assert_eq!((row.status.as_str(), row.checked.as_str()), ("ok", "true"), "{}", row.reason);
            assert_eq!(row.groups_x.zip(row.local_size_x).map(|(groups, size)| groups * size), Some(64));
        }
        let all = found(0, &[&[wide.as_str()], &sizes[..]].concat());
        for row in &all {
            assert_eq!(row.status == "ok", row.local_size_x == Some(8), "{}", row.reason);
            assert!(row.status == "ok" || row.reason.contains("blurred[0, 0].r is "), "{}", row.reason);
        }
        // What is wrong in nothing that counts is right, though little is compared then.
        let all = found(1, &[&[wide.as_str()], &sizes[..], &["--absolute-tolerance", "1"]].concat());
        assert!(all.iter().all(|row| row.status == "ok"));
        // A constant image is its own blur, in any format, wherever it ends, and half the size.
        let constant = ["--image", "source=rgba16f[70,30]:constant=0.5", "--image", "blurred=[35,33]"];
        let half = folder.write("half.bin", [128; 4 * 35 * 33]);
        let all = found(0, &[&[blur.as_str()], &sizes[..], &constant, &["--reference", &half]].concat());
        assert!(all.iter().all(|row| row.status == "ok"), "{}", all[0].reason);
    }
}

#[test]
fn another_shader_of_images_is_a_reference() {
    let (folder, blur) = Folder::with("blur.comp", BLUR);
    // The same by other names, and by other means.
    let other = BLUR.replace("sampler2D source", "sampler2D from").replace("source", "from").replace("blurred", "to");
    let other = other.replace("int radius = 1;", "const int radius = 1;");
    let wrong = folder.write("wrong.comp", other.replace("int dy = -radius", "int dy = 0"));
    let taller = folder.write("taller.comp", other.replace("rgba8", "rgba16f"));
    let other = folder.write("other.comp", other);
    for device in devices_in_turn() {
        let arguments = ["-d", &device.index, "-n", "1024", "-a", "local_size_x=8,16", "-a", "local_size_y=4"];
        let arguments =
            [&[blur.as_str()], &arguments[..], &["--image", "source=r8[32,32]", "--sampler", "source=repeat"]].concat();
        let all = found(0, &[&arguments[..], &["--reference", &other]].concat());
        assert!(all.len() == 2 && all.iter().all(|row| row.status == "ok"));
        let all = found(1, &[&arguments[..], &["--reference", &wrong]].concat());
        assert!(all.iter().all(|row| row.status == "wrong_result"));
        let ran = tuned(&[&arguments[..], &["--reference", &taller]].concat());
        let shapes = "it writes to (0:1, rgba16f[32,32]), and the shader blurred (0:1, rgba8[32,32])";
        assert!(ran.code == Some(2) && ran.err.contains(shapes), "{}", ran.err);
    }
}

#[test]
fn what_a_device_can_not_do_with_a_format_is_said_before_anything_runs() {
    let folder = Folder::new();
    let read = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform samplerBuffer texels;
        layout(binding = 1) writeonly buffer Out { float values[]; };
        void main() { values[gl_GlobalInvocationID.x] = texelFetch(texels, int(gl_GlobalInvocationID.x)).r; }";
    let read = folder.write("read.comp", read);
    for device in devices_in_turn() {
        let told = crate::support::succeeded(&["devices", "--json"]).out;
        let told: serde_json::Value = serde_json::from_str(&told).unwrap();
        let index = device.index.parse::<u64>().unwrap();
        let told = told.as_array().unwrap().iter().find(|one| one["index"] == index).unwrap();
        for (format, name) in
            [("r8", "r8_unorm"), ("rgba16", "rgba16_unorm"), ("r16_snorm", "r16_snorm"), ("rgba32f", "rgba32_float")]
        {
            let uses = told["formats"][name].as_array().unwrap_or_else(|| panic!("{name}: {}", told["formats"]));
            let can = uses.iter().any(|usage| usage == "uniform_texels");
            let texels = format!("texels={format}");
            let ran = tuned(&[&read, "-d", &device.index, "-n", "64", "-a", "local_size_x=8", "-b", &texels]);
            assert_eq!(ran.code, Some(if can { 0 } else { 2 }), "{format}: {}", ran.err);
            let reason = format!("the format {format} can't be used for a uniform texel buffer");
            assert!(can || (ran.out.is_empty() && ran.err.contains(&reason)), "{}", ran.err);
            assert!(!can || format != "r16_snorm" || device.driver != "GOOGLE_SWIFTSHADER", "SwiftShader lacks it");
        }
    }
}

#[test]
fn textures_are_fetched_and_samplers_do_as_they_are_told() {
    let fetch = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform texture2D source;
        layout(binding = 1) uniform sampler how;
        layout(binding = 2) writeonly buffer Out { vec4 fetched[]; };
        layout(binding = 3) writeonly buffer Far { float beyond[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i >= 20) return;
            fetched[i] = texelFetch(sampler2D(source, how), ivec2(i % 5, i / 5), 0);
            beyond[i] = textureLod(sampler2D(source, how), vec2(5.5 + float(i % 5), 0.5) / vec2(5, 4), 0.0).r;
        }";
    let texel = |i: u16| f32::from(i);
    let fetched = floats((0..80).map(texel));
    for (sampler, x) in
        [("how=nearest", [4; 5]), ("1=nearest,repeat", [0, 1, 2, 3, 4]), ("how=nearest,mirror", [4, 3, 2, 1, 0])]
    {
        let beyond = floats((0..20).map(|i| texel(4 * x[i % 5])));
        let arguments = ["-n", "20", "--image", "source=rgba32f[5,4]:iota", "--sampler", sampler];
        check("fetch", fetch, &arguments, &[("fetched", fetched.clone()), ("beyond", beyond)]);
    }
    let texels = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform sampler2D source;
        layout(binding = 1) writeonly buffer Out { float between[]; };
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i < 16) between[i] = textureLod(source, vec2(float(i) + 1.0, 1.5), 0.0).r;
        }";
    let between = |step: f32| floats((0..16_u8).map(|i| (f32::from(i) + step).min(15.0)));
    let arguments = ["-n", "16", "--image", "source=r16f[16,3]:file", "--sampler", "source=unnormalized"];
    let folder = Folder::new();
    let rows = bytes((0..48_u8).map(|i| half::f16::from_f32(f32::from(i % 16)).to_ne_bytes()));
    let filled = format!("source=r16f[16,3]:file={}", folder.write("texels.bin", rows));
    let arguments = [&arguments[..3], &[filled.as_str()], &arguments[4..]].concat();
    check("between", texels, &arguments, &[("between", between(0.5))]);
}

#[test]
fn an_image_that_is_read_and_written_is_restored_before_each_pass() {
    let scale = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0, r32f) uniform image2D y;
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.x % 7, gl_GlobalInvocationID.x / 7);
            if (at.y < 3) imageStore(y, at, 2.0 * imageLoad(y, at));
        }";
    let twice = floats((0..21_u8).map(|i| 2.0 * f32::from(i)));
    check("scale", scale, &["-n", "21", "--image", "y=[7,3]:iota"], &[("y", twice)]);
    let (folder, scale) = Folder::with("scale.comp", scale);
    for device in devices_in_turn() {
        let arguments = [scale.as_str(), "-d", &device.index, "-n", "21", "-a", "local_size_x=4,8", "--image", "y=[7,3]"];
        assert!(found(0, &arguments).iter().all(|row| row.batch == Some(1)));
    }
    // What isn't declared to be written only, but is, needs no restoring.
    let store = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0, rgba16ui) uniform uimage2D y;
        void main() {
            ivec2 at = ivec2(gl_GlobalInvocationID.x % 7, gl_GlobalInvocationID.x / 7);
            if (at.y < imageSize(y).y) imageStore(y, at, uvec4(at, 7, 9));
        }";
    let stored = bytes((0..21).flat_map(|i| [i % 7, i / 7, 7, 9]).map(u16::to_ne_bytes));
    check("store", store, &["-n", "21", "--image", "y=[7,3]"], &[("y", stored)]);
    let store = folder.write("store.comp", store.replace("at.y < imageSize(y).y", "at.y < 2"));
    let file = folder.write("unwritten.bin", bytes((0..21).flat_map(|i| [i % 7, i / 7, 7, 9]).map(u16::to_ne_bytes)));
    for device in devices_in_turn() {
        let arguments = [store.as_str(), "-d", &device.index, "-n", "21", "-a", "local_size_x=8", "--image", "y=[7,3]"];
        let all = found(1, &[&arguments[..], &["--reference", &file]].concat());
        let reason = "y[0, 2].r is never written, should be 0";
        assert!(all.iter().all(|row| row.reason.contains(reason)), "{}", all[0].reason);
    }
}

#[test]
fn texel_buffers_are_read_and_written() {
    let texels = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform samplerBuffer colours;
        layout(binding = 1) uniform usamplerBuffer ids;
        layout(binding = 2, r32f) uniform writeonly imageBuffer sums;
        layout(binding = 3, r32ui) uniform uimageBuffer counts;
        void main() {
            int i = int(gl_GlobalInvocationID.x);
            if (i >= textureSize(colours)) return;
            vec4 colour = texelFetch(colours, i);
            imageStore(sums, i, vec4(colour.r + colour.g + colour.b + colour.a));
            uint id = texelFetch(ids, i).r;
            imageAtomicAdd(counts, int(id % 4), id);
        }";
    let ids = (0..37_u32).map(|i| i % 256);
    let sums = floats((0..37_u16).map(|i| f32::from(16 * i + 6)));
    let counts = words((0..4).map(|k| 100 + ids.clone().filter(|id| id % 4 == k).sum::<u32>()));
    let arguments = ["-n", "37", "-b", "colours=rgba16f:iota", "-b", "1=r8ui[n]:iota", "-b", "counts=[4]:constant=100"];
    check("texels", texels, &arguments, &[("sums", sums), ("counts", counts)]);
}

#[test]
fn arrays_of_descriptors_are_bound_in_order() {
    let arrays = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) readonly buffer In { uint data[]; } parts[3];
        layout(binding = 1) uniform sampler2D layers[2];
        layout(binding = 2, r32ui) uniform writeonly uimage2D results[2];
        layout(binding = 3) writeonly buffer Out { float data[]; } outs[2];
        void main() {
            uint i = gl_GlobalInvocationID.x;
            if (i >= 12) return;
            ivec2 at = ivec2(i % 4, i / 4);
            imageStore(results[0], at, uvec4(parts[0].data[i] + 10 * parts[1].data[i]));
            imageStore(results[1], at, uvec4(parts[2].data[i]));
            outs[0].data[i] = texelFetch(layers[0], at, 0).r;
            outs[1].data[i] = texelFetch(layers[1], at, 0).g;
        }";
    let arguments = typed(
        "-n 12 -b parts=:constant=1 -b parts[1]=:constant=2 -b 0[2]=:iota --image layers=rg32f[4,3]:iota \
         --image layers[1]=r32f:constant=3 --image layers[1]=rg32f[4,3]:constant=0.5 --image results=[4,3] \
         --sampler layers=nearest",
    );
    let results = [words([21; 12]), words(0..12)];
    let outs = [floats((0..12_u8).map(|i| 2.0 * f32::from(i))), floats([0.5; 12])];
    let [[first, second], [third, fourth]] = [results, outs];
    let expected = [("results[0]", first), ("results[1]", second), ("outs[0]", third), ("outs[1]", fourth)];
    check("arrays", arrays, &arguments, &expected);
}

/// A shader that writes each texel's place into an image of these dimensions.
fn places(image: &str, format: &str, place: &str, inside: &str) -> String {
    format!(
        "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform {texture} source;
        layout(binding = 1, {format}) uniform writeonly {image} target;
        void main() {{
            uvec3 p = uvec3(gl_GlobalInvocationID.x % 5, gl_GlobalInvocationID.x / 5 % 3, gl_GlobalInvocationID.x / 15);
            if (!({inside})) return;
            imageStore(target, {place}, texelFetch(source, {place}{level}) + 1);
        }}",
        texture = image.replace("image", "sampler"),
        level = if image.ends_with("Buffer") { "" } else { ", 0" },
    )
}

#[test]
fn images_have_one_two_and_three_dimensions_and_layers() {
    for (image, extent, place, inside) in [
        ("iimage1D", "[5]", "int(p.x)", "p.y == 0 && p.z == 0"),
        ("iimage1DArray", "[5,3]", "ivec2(p.xy)", "p.z == 0"),
        ("iimage2D", "[5,3]", "ivec2(p.xy)", "p.z == 0"),
        ("iimage2DArray", "[5,3,4]", "ivec3(p)", "p.z < 4"),
        ("iimage3D", "[5,3,4]", "ivec3(p)", "p.z < 4"),
    ] {
        let count = match place {
            "int(p.x)" => 5,
            "ivec2(p.xy)" => 15,
            _ => 60,
        };
        let [source, target] = [("source=r32i", ":iota"), ("target=", "")].map(|(name, fill)| format!("{name}{extent}{fill}"));
        let arguments = ["-n", "60", "--image", &source, "--image", &target, "--threads", "n"];
        let expected = bytes((1..=count).map(i32::to_ne_bytes));
        check(image, &places(image, "r32i", place, inside), &arguments, &[("target", expected)]);
    }
    let cube = "#version 450
        layout(local_size_x = 8) in;
        layout(binding = 0) uniform samplerCube sky;
        layout(binding = 1) writeonly buffer Out { float faces[]; };
        void main() {
            const vec3 ways[6] = vec3[](vec3(1, 0, 0), vec3(-1, 0, 0), vec3(0, 1, 0), vec3(0, -1, 0), vec3(0, 0, 1), vec3(0, 0, -1));
            uint i = gl_GlobalInvocationID.x;
            if (i < 6) faces[i] = textureLod(sky, ways[i], 0.0).r;
        }";
    let faces = floats((0..6_u8).map(f32::from));
    check("cube", cube, &["-n", "6", "--image", "sky=r32f[1,1]:iota", "--sampler", "sky=nearest"], &[("faces", faces)]);
}

#[test]
fn every_format_that_a_device_has_is_written_and_read_back() {
    let folder = Folder::new();
    for (format, prefix) in
        [("rgba8_snorm", ""), ("rgba8i", "i"), ("rgba32ui", "u"), ("rgba16f", ""), ("rgba32f", ""), ("r32i", "i")]
    {
        let copy = format!(
            "#version 450
            layout(local_size_x = 8) in;
            layout(binding = 0, {format}) uniform readonly {prefix}image2D source;
            layout(binding = 1, {format}) uniform writeonly {prefix}image2D target;
            void main() {{
                ivec2 at = ivec2(gl_GlobalInvocationID.x % 9, gl_GlobalInvocationID.x / 9);
                if (at.y < 3) imageStore(target, at, imageLoad(source, at));
            }}"
        );
        let texel = match format {
            "rgba16f" => 8,
            "rgba32ui" | "rgba32f" => 16,
            _ => 4,
        };
        // No NaNs: a copy through a shader may change these.
        let contents: Vec<u8> = (0..27 * texel).map(|i| u8::try_from(i % 61).unwrap()).collect();
        let filled = format!("source=[9,3]:file={}", folder.write("contents.bin", &contents));
        check(format, &copy, &["-n", "27", "--image", &filled, "--image", "target=[9,3]"], &[("target", contents)]);
    }
}

#[test]
fn an_image_that_holds_no_result_is_not_compared() {
    let folder = Folder::new();
    let two = BLUR.replace(
        "void main() {",
        "layout(binding = 2, r32ui) uniform writeonly uimage2D sizes;\nvoid main() {\n\
         imageStore(sizes, ivec2(gl_GlobalInvocationID.xy), uvec4(gl_WorkGroupSize.x));",
    );
    let two = folder.write("two.comp", two);
    for device in devices_in_turn() {
        let arguments = [two.as_str(), "-d", &device.index, "-n", "1024", "-a", "local_size_x=8,16", "-a", "local_size_y=4"];
        for row in found(0, &[&arguments[..], &["--accept", "constant:sizes"]].concat()) {
            assert_eq!(row.status == "ok", row.local_size_x == Some(8), "{}", row.reason);
            assert!(row.status == "ok" || row.reason.contains("sizes[0, 0].r is 16, should be 8"), "{}", row.reason);
        }
        assert!(found(0, &[&arguments[..], &["--ignore", "sizes"]].concat()).iter().all(|row| row.status == "ok"));
    }
}

#[test]
fn a_manifest_says_what_image_flags_say() {
    let folder = Folder::new();
    folder.write("blur.comp", BLUR);
    folder.write("texels.bin", [51; 4 * 64]);
    folder.write("right.bin", [51; 4 * 64]);
    let manifest = "
        shader = 'blur.comp'
        n = 64
        axis = { local_size_x = 8, local_size_y = 4 }
        image = { source = 'rgba8[8,8]:file=texels.bin', blurred = '[8,8]' }
        sampler = { source = ['nearest', 'repeat'] }
        reference = 'right.bin'
        preset = 'quick'
        max_time = '10ms'
        no-lock = true
        format = 'csv'
    ";
    let manifest = folder.write("kernel.toml", manifest);
    let ran = crate::support::tunings::on_any_machine(crate::support::ran(&[
        "tune",
        "--manifest",
        &manifest,
        "-d",
        &devices()[0].index,
    ]))
    .says(0, &[]);
    let all = rows(&ran.out);
    assert!(all.len() == 1 && all[0].status == "ok", "{}", ran.err);
}

#[test]
fn an_image_at_the_ends_of_its_range_is_said() {
    let shader = |factor: &str| {
        format!(
            "#version 450
            layout(local_size_x = 4, local_size_y = 4) in;
            layout(binding = 0, rgba8) writeonly uniform image2D picture;
            layout(binding = 1) readonly buffer Weights {{ float w[]; }};
            void main() {{
                ivec2 p = ivec2(gl_GlobalInvocationID.xy);
                float sum = w[p.x] * {factor} - 1.0;
                imageStore(picture, p, vec4(sum, sum * 2.0, w[p.y], 1.0));
            }}"
        )
    };
    for (factor, is_said) in [("9.0", true), ("1.9", false)] {
        let (_folder, shader) = Folder::with("weigh.comp", shader(factor));
        for device in devices_in_turn() {
            let ran = tuned(&[&shader, "-d", &device.index, "-n", "4096", "--threads", "64,64", "-a", "local_size_x=4,8"]);
            let said = "of what the reference writes to `picture` is 0 or 1, the ends of rgba8";
            assert_eq!((ran.code, ran.err.contains(said)), (Some(0), is_said), "{factor}: {}", ran.err);
        }
    }
}
