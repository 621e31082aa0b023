#version 460
#extension GL_KHR_shader_subgroup_arithmetic : enable
#extension GL_KHR_shader_subgroup_shuffle : enable
#extension GL_EXT_shader_explicit_arithmetic_types : enable
#extension GL_EXT_shader_16bit_storage : enable
layout(local_size_x = 64) in;
#define G gl_GlobalInvocationID.x
#define L gl_LocalInvocationID.x
#define W gl_WorkGroupSize.x
#define READS(at, type, name) layout(binding = at) readonly buffer name##_at_##at { type name[]; };
#define WRITES(at, type, name) layout(binding = at) writeonly buffer name##_at_##at { type name[]; };
#define UPDATES(at, type, name) layout(binding = at) buffer name##_at_##at { type name[]; };
#define CONSTANT(id, name, value) layout(constant_id = id) const uint name = value;
#define SIZE layout(push_constant) uniform Size { uint n; };
// Where the fault is, which the right twin (-D RIGHT) doesn't have.
#ifndef RIGHT
#define RIGHT 0
#endif
#define FAULT(condition) (RIGHT == 0 && as_said(condition))
// No constant to the compiler, since not all that it makes of workgroup sizes as constants can be specialized.
bool as_said(bool condition) { return condition; }
// The same, where the fault leaves out too little work to be measured: more is put where it isn't.
#define COSTLY_FAULT(condition) (RIGHT == 0 && as_said_slowly(condition))
bool as_said_slowly(bool condition) {
    if (condition) return true;
    uint x = G;
    for (uint k = 0; k < 96; ++k) x = x * x + k;
    return x * x % 4 == 3; // No square is.
}
