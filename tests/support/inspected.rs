//! `lanescope inspect -d`, and a shader for it.

use serde_json::Value;

use super::{Ran, ran};

/// Every kind of descriptor that Lanescope knows, an array of them among these, in two sets; shared memory that grows with the
/// workgroup.
pub const SHADER: &str = "#version 460
layout(local_size_x_id = 0, local_size_y = 4) in;
layout(constant_id = 0) const uint WIDTH = 16;
layout(constant_id = 1) const uint TILE = 8;
layout(set = 1, binding = 2) readonly buffer In { float values[]; };
layout(set = 1, binding = 4) uniform Frame { vec4 frame; };
layout(binding = 0) writeonly buffer Out { float result[]; };
layout(binding = 1) uniform sampler2D combined;
layout(binding = 2) uniform texture2D many[3];
layout(binding = 3) uniform sampler bare;
layout(binding = 4, r32f) uniform readonly image2D stored;
layout(binding = 5, r32f) uniform readonly imageBuffer stored_texels;
layout(binding = 6) uniform textureBuffer texels;
layout(push_constant) uniform Push { uint n; float weight; };
shared float tile[TILE * WIDTH * 16];
void main() {
    tile[gl_LocalInvocationIndex] = textureLod(combined, vec2(0), 0).x + textureLod(sampler2D(many[1], bare), vec2(0), 0).x;
    barrier();
    float sum = imageLoad(stored, ivec2(0)).x + imageLoad(stored_texels, int(n)).x + texelFetch(texels, 0).x + frame.x;
    for (uint i = 0; i < n; ++i) sum += values[i] * tile[i % TILE];
    result[gl_GlobalInvocationID.x] = sum * weight;
}
";

/// What it says of devices, as JSON.
pub fn told(ran: &Ran) -> Value {
    serde_json::from_str::<Value>(&ran.out).unwrap_or_else(|error| panic!("{error}: {ran:?}"))["devices"].clone()
}

/// The parts of each device; it ends with this code.
pub fn json_of(arguments: &[&str], code: i32) -> Vec<Value> {
    let ran = ran(&[&["inspect", "--format", "json"], arguments].concat());
    assert_eq!(ran.code, Some(code), "{}", ran.err);
    told(&ran).as_array().unwrap().clone()
}
