"""Fields, a reduction with atomics and an array of the host's: all command buffers are begun for simultaneous use."""

import zlib

import numpy as np
import taichi as ti

# Its cache of kernels would make a second run another one.
ti.init(arch=ti.vulkan, offline_cache=False, log_level=ti.ERROR)
# It falls back to the processor with a warning.
assert ti.lang.impl.current_cfg().arch == ti.vulkan
SIZE = 4096
x, y = ti.field(ti.f32, shape=SIZE), ti.field(ti.f32, shape=SIZE)
total = ti.field(ti.f32, shape=())


@ti.kernel
def fill():
    for at in x:
        x[at] = at % 16
        y[at] = 1.0


@ti.kernel
def add_scaled(factor: ti.f32):
    for at in x:
        y[at] += factor * x[at]


@ti.kernel
def sum_up():
    for at in y:
        total[None] += y[at]


@ti.kernel
def scale(numbers: ti.types.ndarray(), factor: ti.f32):
    for at in range(numbers.shape[0]):
        numbers[at] = numbers[at] * factor


fill()
for _ in range(4):
    add_scaled(2.0)
# Whole numbers that a float holds: the order of the atomics doesn't change their sum.
sum_up()
numbers = np.arange(100, dtype=np.float32)
scale(numbers, 3.0)
# Each look at a field is a dispatch, too.
summed = total[None]
assert summed == SIZE * 61
assert (numbers == 3 * np.arange(100)).all()
print(f"taichi {summed} {zlib.crc32(y.to_numpy().tobytes()):08x} {zlib.crc32(numbers.tobytes()):08x}")
