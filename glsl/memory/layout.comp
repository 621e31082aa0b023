#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

// Which fields of a vertex are used: x alone, or all three.
layout(constant_id = 3) const uint FIELDS = 3;

layout(push_constant) uniform Push {
    uint vertices;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { float sums[]; };

// The layout is a macro: it changes the type of the buffer. Fields are read one by one in all of them, and it is the driver's
// choice to read several at once where they lie side by side.
#if defined(AOS) || defined(PADDED)

#ifdef AOS
struct Vertex {
    float x;
    float y;
    float z;
};
#else
// std430 gives a vec3 the room of a vec4.
#define Vertex vec4
#endif

layout(set = 0, binding = 1) restrict readonly buffer Data { Vertex data[]; };

#define X(i) data[i].x
#define Y(i) data[i].y
#define Z(i) data[i].z

#elif defined(AOSOA)

// AOSOA is the number of vertices in a block.
struct Block {
    float x[AOSOA];
    float y[AOSOA];
    float z[AOSOA];
};

layout(set = 0, binding = 1) restrict readonly buffer Data { Block data[]; };

#define X(i) data[i / AOSOA].x[i % AOSOA]
#define Y(i) data[i / AOSOA].y[i % AOSOA]
#define Z(i) data[i / AOSOA].z[i % AOSOA]

#else

layout(set = 0, binding = 1) restrict readonly buffer Data { float data[]; };

#define X(i) data[i]
#define Y(i) data[vertices + i]
#define Z(i) data[2 * vertices + i]

#endif

void main() {
    float sum = 0.0;
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < vertices) {
            sum += X(i);
            if (FIELDS == 3) {
                sum += Y(i);
                sum += Z(i);
            }
        }
    }
    sums[own_result()] = sum;
}
