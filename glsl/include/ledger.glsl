// What invocations note of a word that they all change: by how much each of their changes raised its weight. Whatever the order,
// one invocation's new value is the next one's old value: all notes together tell the last weight less the first
// (src/catalogue/experiments/common/ledger.rs has the other half).
#ifndef LEDGER_GLSL
#define LEDGER_GLSL

// weight(now) - weight(before), where weight(x) = x * x + x: no sum of old values alone, which lost changes may leave as it is.
uint rise(uint before, uint now) {
    return (now - before) * (now + before + 1u);
}

#endif
