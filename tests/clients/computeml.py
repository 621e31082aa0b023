"""Matrix products and element-wise operations: descriptors are pushed, and the package has a query pool of its own."""

import zlib

import computeml
import numpy as np

random = np.random.default_rng(3)
left = random.random((64, 96), dtype=np.float32)
right = random.random((96, 48), dtype=np.float32)
context = computeml.Context()
on_device = [context.asarray(matrix) for matrix in (left, right)]
for _ in range(3):
    result = (computeml.ops.relu(on_device[0] @ on_device[1]) * 2.0).numpy()
np.testing.assert_allclose(result, 2 * (left @ right), rtol=1e-4)
print(f"computeml {zlib.crc32(result.tobytes()):08x}")
