#ifndef STEPPED_GLSL
#define STEPPED_GLSL

// A step of arithmetic, of three instructions that depend on each other. No two steps can be made one: shift and factor don't
// commute.
uint stepped(uint x) {
    return (x ^ (x >> 15)) * 0x2C1B3C6Du;
}

#endif
