"""WebGPU through wgpu-native: several dispatches a pass, which depend on one another, and timeline semaphores."""

import zlib

import numpy as np
import wgpu

SHADER = """
@group(0) @binding(0) var<storage, read> step: array<f32>;
@group(0) @binding(1) var<storage, read_write> total: array<f32>;

@compute @workgroup_size(64)
fn accumulate(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < arrayLength(&step)) { total[id.x] = total[id.x] + 2.0 * step[id.x]; }
}
"""
SIZE, SUBMISSIONS, DISPATCHES = 4096, 4, 3

steps = np.arange(SIZE, dtype=np.float32)
device = wgpu.gpu.request_adapter_sync(power_preference="high-performance").request_device_sync()
usage = wgpu.BufferUsage.STORAGE
buffers = [
    device.create_buffer_with_data(data=steps, usage=usage),
    device.create_buffer(size=steps.nbytes, usage=usage | wgpu.BufferUsage.COPY_SRC),
]
module = device.create_shader_module(code=SHADER)
pipeline = device.create_compute_pipeline(layout="auto", compute={"module": module, "entry_point": "accumulate"})
entries = [{"binding": at, "resource": {"buffer": buffer}} for at, buffer in enumerate(buffers)]
group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=entries)
for _ in range(SUBMISSIONS):
    encoder = device.create_command_encoder()
    compute = encoder.begin_compute_pass()
    compute.set_pipeline(pipeline)
    compute.set_bind_group(0, group)
    for _ in range(DISPATCHES):
        compute.dispatch_workgroups(SIZE // 64)
    compute.end()
    device.queue.submit([encoder.finish()])
total = np.frombuffer(device.queue.read_buffer(buffers[1]), dtype=np.float32)
assert (total == 2 * SUBMISSIONS * DISPATCHES * steps).all()
print(f"wgpu {zlib.crc32(total.tobytes()):08x}")
