// What the invocations of a workgroup before this one hold, summed up. Include local_size.glsl before it.
#ifndef SORT_SUM_GLSL
#define SORT_SUM_GLSL

// Two rows, so that a step reads what the one before it wrote while it writes the other.
shared uint sums[2][gl_WorkGroupSize.x];

// Sums by doubling distances (Hillis and Steele, Data Parallel Algorithms, 1986): for workgroups of any size. `total` is the sum of
// all. Every invocation has to come here, and a barrier has to follow before they come again.
uint sum_before(uint own, out uint total) {
    const uint self = gl_LocalInvocationID.x;
    uint row = 0u;
    uint sum = own;
    sums[row][self] = sum;
    barrier();
    for (uint distance = 1u; distance < gl_WorkGroupSize.x; distance *= 2u) {
        sum += self >= distance ? sums[row][self - distance] : 0u;
        row ^= 1u;
        sums[row][self] = sum;
        barrier();
    }
    total = sums[row][gl_WorkGroupSize.x - 1u];
    return sum - own;
}

#endif
