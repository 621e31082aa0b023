#version 450
#extension GL_EXT_control_flow_attributes : require
#include "local_size.glsl"
#include "grid.glsl"
#include "histogram.glsl"

// Everybody counts in the same bins.
void count(uint key) {
    atomicAdd(bins[bin_of(key)], 1);
}

void main() {
    count_keys();
}
