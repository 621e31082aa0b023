//! `lanescope tune`, as fast as can be: for tests of what is right, not of how fast it is.

use std::collections::BTreeMap;

use lanescope::record::Record;

use super::{Ran, ran, rows};

/// Transposes without Workgroup memory: right for every workgroup size.
pub const NAIVE: &str = "#version 450
layout(local_size_x = 16, local_size_y = 4) in;
layout(binding = 0) buffer From { float from[]; };
layout(binding = 1) buffer To { float to[]; };
layout(push_constant) uniform Size { uint width; uint height; };
void main() {
    uvec2 p = gl_GlobalInvocationID.xy;
    if (p.x < width && p.y < height) to[p.x * height + p.y] = from[p.y * width + p.x];
}
";

/// Scales in place.
pub const SCALE: &str = "#version 450
layout(local_size_x = 64) in;
layout(binding = 0) buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < y.length()) y[i] *= 2; }
";

/// Scales from one buffer into another.
pub const COPY: &str = "#version 450
#ifndef FACTOR
#define FACTOR 2
#endif
layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer X { float x[]; };
layout(binding = 1) writeonly buffer Y { float y[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < x.length()) y[i] = float(FACTOR) * x[i]; }
";

/// Scales by a constant.
pub const CONSTANT: &str = "#version 450
layout(local_size_x = 64) in;
layout(constant_id = 3) const uint FACTOR = 1;
layout(binding = 0) readonly buffer X { uint x[]; };
layout(binding = 1) writeonly buffer Y { uint y[]; };
void main() { uint i = gl_GlobalInvocationID.x; if (i < x.length()) y[i] = FACTOR * x[i]; }
";

/// Blurs through the texture units, as wide as the workgroup says where WIDE is defined: wrong for all sizes but the shader's own.
pub const BLUR: &str = "#version 450
layout(local_size_x = 8, local_size_y = 4) in;
layout(binding = 0) uniform sampler2D source;
layout(binding = 1, rgba8) uniform writeonly image2D blurred;
void main() {
    ivec2 at = ivec2(gl_GlobalInvocationID.xy), size = imageSize(blurred);
    if (any(greaterThanEqual(at, size))) return;
    vec4 sum = vec4(0);
#ifdef WIDE
    int radius = int(gl_WorkGroupSize.x) / 8;
#else
    int radius = 1;
#endif
    for (int dy = -radius; dy <= radius; ++dy)
        for (int dx = -radius; dx <= radius; ++dx)
            sum += textureLod(source, (vec2(at + ivec2(dx, dy)) + 0.5) / vec2(size), 0.0);
    imageStore(blurred, at, sum / float((2 * radius + 1) * (2 * radius + 1)));
}
";

/// The exit code where this machine can't tell which is the fastest.
pub const UNTOLD: i32 = 3;

/// What makes a tuning short, and prints its rows.
pub const SHORT: [&str; 7] = ["--preset", "quick", "--max-time", "10ms", "--no-lock", "--format", "csv"];

/// The same ending where all is right, though the machine is too busy to tell which is the fastest.
pub fn on_any_machine(ran: Ran) -> Ran {
    if ran.code == Some(UNTOLD) { Ran { code: Some(0), ..ran } } else { ran }
}

/// How a short tuning ends, under the validation layer. What configurations access isn't recorded, which takes its time.
pub fn tuned(arguments: &[&str]) -> Ran {
    checked(&[arguments, &["--no-check"]].concat())
}

/// The same, and what the best configurations access is recorded.
pub fn checked(arguments: &[&str]) -> Ran {
    // The mock has nothing to validate.
    let is_mock = arguments.iter().any(|argument| argument.starts_with("mock"));
    let refuses_validation = is_mock || arguments.contains(&"--no-validate");
    let validation: &[&str] = if refuses_validation { &[] } else { &["--validation"] };
    let ran = ran(&[&["tune"], &SHORT[..], validation, arguments].concat());
    if is_mock { ran } else { on_any_machine(ran) }
}

/// Its rows; it ends with this exit code.
pub fn found(code: i32, arguments: &[&str]) -> Vec<Record> {
    let ran = tuned(arguments);
    assert_eq!(ran.code, Some(code), "{arguments:?}: {}", ran.err);
    rows(&ran.out)
}

/// How each configuration ended, by its values on these axes.
pub fn statuses(rows: &[Record], axes: &[&str]) -> BTreeMap<Vec<String>, String> {
    let values = |row: &Record| axes.iter().map(|axis| row.by_axis[*axis].to_string()).collect();
    rows.iter().map(|row| (values(row), row.status.clone())).collect()
}
