#version 450
#extension GL_ARB_shader_clock : require
#extension GL_EXT_shader_realtime_clock : require
#include "local_size.glsl"

// Cycles and time of chains of dependent arithmetic, by two counters of the device. They are read in one order before a chain and
// behind it: what reading takes is the same at both ends. The first chain leaves the code in the instruction cache, a short and a long
// one follow. All run the same code: a compiler that knew how often would copy it.
layout(constant_id = 3) const uint SHORT = 16;
layout(constant_id = 4) const uint LONG = 256;

// Time and cycles before the short chain, then behind it; the same of the long one.
layout(set = 0, binding = 0) restrict writeonly buffer Counters { uvec2 counters[]; };
layout(set = 0, binding = 1) restrict writeonly buffer Result { uint result[]; };

void main() {
    uint x = gl_GlobalInvocationID.x;
    uint steps = SHORT;
    uvec2 counted[4], before[4];
    for (uint chain = 0; ; ++chain) {
        before = counted;
        counted[0] = clockRealtime2x32EXT();
        counted[1] = clock2x32ARB();
        for (uint k = 0; k < steps; ++k) {
            x = x * 1664525u + 1013904223u;
        }
        counted[2] = clockRealtime2x32EXT();
        counted[3] = clock2x32ARB();
        if (steps == LONG) {
            break;
        }
        steps = chain == 0 ? SHORT : LONG;
    }
    result[gl_GlobalInvocationID.x] = x;
    if (gl_LocalInvocationIndex == 0) {
        for (uint i = 0; i < 4; ++i) {
            counters[i] = before[i];
            counters[4 + i] = counted[i];
        }
    }
}
