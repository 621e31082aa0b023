"""A kernel that is compiled from Python: one command buffer, which is submitted three times."""

import zlib

import numba_vulkan
import numpy as np


@numba_vulkan.jit
def add_scaled(factor, x, y):
    at = numba_vulkan.global_id(0)
    if at < x.shape[0]:
        y[at] = factor * x[at] + y[at]


x = np.arange(1000, dtype=np.float32)
y = np.ones(1000, dtype=np.float32)
for _ in range(3):
    add_scaled.forall(x.size)(np.float32(2.0), x, y)
assert (y == 6 * x + 1).all()
print(f"numba_vulkan {zlib.crc32(y.tobytes()):08x}")
