// What the subgroups of a workgroup have, brought together. Include local_size.glsl before it.
#ifndef SCAN_SUBGROUPS_GLSL
#define SCAN_SUBGROUPS_GLSL

// Subgroups of a workgroup. All but the last are full.
layout(constant_id = 4) const uint SUBGROUPS = 1;

// A word of each, in its place.
shared uint parts[SUBGROUPS];

// Lanes of the invocation's own subgroup.
uint lanes() {
    return min(gl_SubgroupSize, gl_WorkGroupSize.x - gl_SubgroupID * gl_SubgroupSize);
}

// Which lane does what one lane has to: subgroupElect() may choose another one each time.
bool is_first_lane() {
    return gl_SubgroupInvocationID == 0u;
}

// Tells all subgroups what the invocation's own has, and what those before it and all of them have together. One by one: the loop is
// short, and needs no other barrier.
void share_part(uint part, out uint before, out uint all) {
    if (is_first_lane()) {
        parts[gl_SubgroupID] = part;
    }
    barrier();
    before = 0u;
    all = 0u;
    for (uint subgroup = 0u; subgroup < SUBGROUPS; ++subgroup) {
        const uint one = parts[subgroup];
        before += subgroup < gl_SubgroupID ? one : 0u;
        all += one;
    }
}

#endif
