// The bins of a workgroup of algo/histogram, in its own memory, where nobody else counts. Include histogram.glsl before it.
#ifndef HISTOGRAM_COPIES_GLSL
#define HISTOGRAM_COPIES_GLSL

// Copies of the bins, which are added up in the end: whoever counts in another one is never in the way.
layout(constant_id = 4) const uint COPIES = 1;

// Whether the copies of a bin lie beside each other: so many banks are one copy's own. Otherwise copies lie one behind the other.
layout(constant_id = 5) const bool INTERLEAVED = false;

shared uint counters[BINS * COPIES];

uint slot(uint bin, uint copy) {
    return INTERLEAVED ? bin * COPIES + copy : copy * BINS + bin;
}

void clear_copies() {
    for (uint i = gl_LocalInvocationID.x; i < BINS * COPIES; i += gl_WorkGroupSize.x) {
        counters[i] = 0;
    }
}

// Adds what the workgroup has counted to the bins of all.
void merge_copies() {
    for (uint bin = gl_LocalInvocationID.x; bin < BINS; bin += gl_WorkGroupSize.x) {
        uint sum = 0;
        [[unroll]] for (uint k = 0; k < COPIES; ++k) {
            // Each bin begins with another copy: the same one of neighbouring bins may lie in one bank.
            sum += counters[slot(bin, (bin + k) % COPIES)];
        }
        if (sum != 0) {
            atomicAdd(bins[bin], sum);
        }
    }
}

#endif
