// One invocation of a workgroup increments a counter without an atomic: so fast that less than one dispatch in sixty loses any.
UPDATES(0, uint, total) CONSTANT(0, RELAXED, 0)
void main() { if (L == 0) { if (FAULT(RELAXED == 1)) total[0] += 1; else atomicAdd(total[0], 1); } }
