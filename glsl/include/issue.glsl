// In which order an invocation loads and stores its elements, and how it sees where they end (src/catalogue/experiments/common/issue.rs).
#ifndef ISSUE_GLSL
#define ISSUE_GLSL

// Whether an invocation loads all of its elements before it stores the first, so that all loads can be in flight at once. Not every
// compiler moves a load over a store that stands in a branch, as each does whose element is checked.
layout(constant_id = 14) const bool LOADS_FIRST = false;

// Whether a workgroup that has all of its elements takes a way without a check of each.
layout(constant_id = 15) const bool BY_TILE = false;

#endif
