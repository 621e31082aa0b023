#version 450
#include "local_size.glsl"

// Nothing: what remains is the cost of the workgroups.
void main() {}
