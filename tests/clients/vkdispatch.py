"""Kernels written in Python, and a Fourier transform: uniform buffers, and command buffers freed while they run."""

import zlib

import numpy as np
import vkdispatch as vd
import vkdispatch.codegen as vc
from vkdispatch.codegen.abbreviations import Buff, Const, f32

# One queue: with more of them the order of dispatches would be the device's to choose.
vd.make_context(device_ids=0, queue_families=[[0]])


@vd.shader("numbers.size")
def add(numbers: Buff[f32], by: Const[f32]):
    at = vc.global_invocation_id().x
    numbers[at] = numbers[at] + by


numbers = vd.asbuffer(np.arange(1024, dtype=np.float32))
for _ in range(3):
    add(numbers, 1.5)
sums = numbers.read(0)
assert (sums == np.arange(1024) + 4.5).all()

waves = np.random.default_rng(7).random((64, 64)).astype(np.complex64)
transformed = vd.asbuffer(waves)
vd.fft.fft(transformed)
spectrum = transformed.read(0)
np.testing.assert_allclose(spectrum, np.fft.fft(waves), atol=1e-4)
print(f"vkdispatch {zlib.crc32(sums.tobytes()):08x} {zlib.crc32(spectrum.tobytes()):08x}")
