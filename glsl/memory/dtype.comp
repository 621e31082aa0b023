#version 450
#extension GL_EXT_control_flow_attributes : require

// The type is a macro, since it changes the buffer and what the device must be able to do; so is WIDTH (1, 2 or 4 to a vector).
// Narrow types are widened as they are read: that needs them in buffers only, and no arithmetic on them.
#if defined(U8)
#extension GL_EXT_shader_8bit_storage : require
#define ELEMENT1 uint8_t
#define ELEMENT2 u8vec2
#define ELEMENT4 u8vec4
#define WHOLE
#elif defined(U16)
#extension GL_EXT_shader_16bit_storage : require
#define ELEMENT1 uint16_t
#define ELEMENT2 u16vec2
#define ELEMENT4 u16vec4
#define WHOLE
#elif defined(F16)
#extension GL_EXT_shader_16bit_storage : require
#define ELEMENT1 float16_t
#define ELEMENT2 f16vec2
#define ELEMENT4 f16vec4
#define REAL
#elif defined(U32)
#define ELEMENT1 uint
#define ELEMENT2 uvec2
#define ELEMENT4 uvec4
#define WHOLE
#elif defined(F32)
#define ELEMENT1 float
#define ELEMENT2 vec2
#define ELEMENT4 vec4
#define REAL
#elif defined(U64)
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#define ELEMENT1 uint64_t
#define ELEMENT2 u64vec2
#define ELEMENT4 u64vec4
#elif defined(F64)
#define ELEMENT1 double
#define ELEMENT2 dvec2
#define ELEMENT4 dvec4
#else
#error "define the type: U8, U16, F16, U32, F32, U64 or F64"
#endif

// What sums are made of, and how one becomes the word that is written: all of its bits go in.
#if defined(WHOLE)
#define SUM1 uint
#define SUM2 uvec2
#define SUM4 uvec4
#define WORD(sum) (sum)
#elif defined(REAL)
#define SUM1 float
#define SUM2 vec2
#define SUM4 vec4
#define WORD(sum) floatBitsToUint(sum)
#elif defined(U64)
#define SUM1 uint64_t
#define SUM2 u64vec2
#define SUM4 u64vec4
#define WORD(sum) (uint(sum) + 3u * uint(sum >> 32))
#else
#define SUM1 double
#define SUM2 dvec2
#define SUM4 dvec4
#define WORD(sum) (unpackDouble2x32(sum).x + 3u * unpackDouble2x32(sum).y)
#endif

#if WIDTH == 1
#define ELEMENT ELEMENT1
#define SUM SUM1
#define TOTAL(v) (v)
#elif WIDTH == 2
#define ELEMENT ELEMENT2
#define SUM SUM2
#define TOTAL(v) ((v).x + (v).y)
#else
#define ELEMENT ELEMENT4
#define SUM SUM4
#define TOTAL(v) ((v).x + (v).y + (v).z + (v).w)
#endif

#include "local_size.glsl"
#include "grid.glsl"
#include "elements.glsl"

layout(push_constant) uniform Push {
    uint elements;
};

layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Data { ELEMENT data[]; };

void main() {
    SUM sum = SUM(0);
    [[unroll]] for (uint k = 0; k < UNROLL; ++k) {
        const uint i = own_element(k);
        if (i < elements) {
            sum += SUM(data[i]);
        }
    }
    const SUM1 total = TOTAL(sum);
    sums[own_result()] = WORD(total);
}
