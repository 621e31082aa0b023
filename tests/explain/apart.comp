#version 450
// Columns are written where rows are read: neighbouring lanes store to other rows, and the workgroup fills the sectors all the same.
layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer A { float a[]; };
layout(binding = 1) writeonly buffer B { float b[]; };
layout(push_constant) uniform P { uint width; };
void main() {
    uvec2 at = gl_GlobalInvocationID.xy;
    float value = a[at.y * width + at.x];
#ifdef MENDED
    b[at.y * width + at.x] = value;
#else
    b[at.x * width + at.y] = value; // FAULT
#endif
}
