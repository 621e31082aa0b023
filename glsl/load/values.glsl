// What loads give, and what becomes of it.
#ifndef VALUES_GLSL
#define VALUES_GLSL

// VALUE, what a load gives, and COMPONENTS, how many numbers that is, are macros: they are types.
#ifndef VALUE
#error "VALUE is missing: the type that a load gives, such as uvec4, with COMPONENTS, its length"
#endif

// A sum's components count differently, so that the result tells them apart; and a texel has as many as its format.
#if COMPONENTS == 1
#define COMBINED(v) (v)
#define CHANNELS(texel) (texel).x
#elif COMPONENTS == 2
#define COMBINED(v) ((v).x + 2 * (v).y)
#define CHANNELS(texel) (texel).xy
#elif COMPONENTS == 3
#define COMBINED(v) ((v).x + 2 * (v).y + 3 * (v).z)
#else
#define COMBINED(v) ((v).x + 2 * (v).y + 3 * (v).z + 4 * (v).w)
#define CHANNELS(texel) (texel)
#endif

// UNORM8 is a macro, since it is a property of the format: texels are k/255, whose sums round. The nearest whole number of a
// sum of a few of them is exact; those of all else are whole already.
#ifdef UNORM8
#define WHOLE(sum) round(255.0 * (sum))
#else
#define WHOLE(sum) (sum)
#endif

#endif
