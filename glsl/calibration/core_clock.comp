#version 450
#extension GL_ARB_shader_clock : require
#extension GL_EXT_shader_realtime_clock : require
#include "local_size.glsl"

// Cycles and time of chains of dependent arithmetic, by two counters of the device. They are read in one order before a chain and
// behind it: what reading takes is the same at both ends. The first chain leaves the code in the instruction cache, a short and a long
// one follow. All run the same code: a compiler that knew how often would copy it.
layout(constant_id = 3) const uint SHORT = 16;
layout(constant_id = 4) const uint LONG = 256;

struct Counted { uvec2 time_before, cycles_before, time_behind, cycles_behind; };

layout(set = 0, binding = 0) restrict writeonly buffer Counters { Counted short_chain, long_chain; };
layout(set = 0, binding = 1) restrict writeonly buffer Result { uint result[]; };

void main() {
    uint x = gl_GlobalInvocationID.x;
    uint steps = SHORT;
    Counted counted, before;
    for (uint chain = 0; ; ++chain) {
        before = counted;
        counted.time_before = clockRealtime2x32EXT();
        counted.cycles_before = clock2x32ARB();
        for (uint k = 0; k < steps; ++k) {
            x = x * 1664525u + 1013904223u;
        }
        counted.time_behind = clockRealtime2x32EXT();
        counted.cycles_behind = clock2x32ARB();
        if (steps == LONG) {
            break;
        }
        steps = chain == 0 ? SHORT : LONG;
    }
    result[gl_GlobalInvocationID.x] = x;
    if (gl_LocalInvocationIndex == 0) {
        short_chain = before;
        long_chain = counted;
    }
}
