"""A small network with random weights.

Every kernel has specialization constants and a required subgroup size, and descriptors are pushed by templates.
"""

import tempfile
import zlib
from pathlib import Path

import ncnn
import numpy as np

# Of each layer: type, settings, weights, biases. Its input is the output of the one before.
LAYERS = [
    ("Input", "0=64 1=64 2=3", 0, 0),
    ("Convolution", "0=16 1=3 4=1 5=1 6=432 9=1", 432, 16),
    ("ConvolutionDepthWise", "0=16 1=3 4=1 5=1 6=144 7=16 9=1", 144, 16),
    ("Convolution", "0=32 1=1 5=1 6=512 9=1", 512, 32),
    ("Pooling", "0=0 1=2 2=2", 0, 0),
    ("Convolution", "0=32 1=3 4=1 5=1 6=9216 9=1", 9216, 32),
    ("InnerProduct", "0=10 1=1 2=327680", 327680, 10),
    ("Softmax", "0=0", 0, 0),
]
random = np.random.default_rng(5)


def description() -> str:
    lines = ["7767517", f"{len(LAYERS)} {len(LAYERS)}"]
    for at, (kind, values, _, _) in enumerate(LAYERS):
        ends = f"1 1 b{at - 1}" if at else "0 1"
        lines.append(f"{kind} layer{at} {ends} b{at} {values}")
    return "\n".join(lines) + "\n"


def weights() -> bytes:
    def floats(count: int) -> bytes:
        return (random.standard_normal(count) * 0.1).astype(np.float32).tobytes()

    # Four bytes of zero say that the weights are floats of 32 bits.
    return b"".join(bytes(4) + floats(many) + floats(few) for _, _, many, few in LAYERS if many)


def output(folder: Path, picture: np.ndarray, runs: int, on_device: bool) -> np.ndarray:
    net = ncnn.Net()
    net.opt.use_vulkan_compute = on_device
    net.opt.num_threads = 1
    assert net.load_param(str(folder / "net.param")) == 0
    assert net.load_model(str(folder / "net.bin")) == 0
    for _ in range(runs):
        extractor = net.create_extractor()
        extractor.input("b0", ncnn.Mat(picture))
        status, result = extractor.extract(f"b{len(LAYERS) - 1}")
        assert status == 0
    return np.array(result)


with tempfile.TemporaryDirectory() as name:
    (Path(name) / "net.param").write_text(description())
    (Path(name) / "net.bin").write_bytes(weights())
    picture = random.random((3, 64, 64), dtype=np.float32)
    # It falls back to the processor silently.
    assert ncnn.get_gpu_count() > 0
    result = output(Path(name), picture, 3, on_device=True)
    # Half precision on the device.
    np.testing.assert_allclose(result, output(Path(name), picture, 1, on_device=False), atol=0.02)
print(f"ncnn {zlib.crc32(result.tobytes()):08x}")
