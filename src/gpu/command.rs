//! Steps to commands, and the barriers between them.

use ash::vk;

use crate::model::{Address, Dependency, Step, TimestampStage};

use super::device::LoadedCase;
use super::logical::Logical;
use super::memory::Buffer;
use super::resource::Resource;
use super::timestamps::QueryPool;

/// Writes into a command buffer that is being recorded. Only [`Queue::run`](super::submit::Queue::run) makes one, and it waits for
/// the commands before it returns: whatever a method is given by reference is alive for as long as the device uses it, or is
/// leaked with a device that hangs.
pub(super) struct Recorder<'a> {
    pub(super) logical: &'a Logical,
    pub(super) buffer: vk::CommandBuffer,
}

#[derive(Clone, Copy)]
pub(super) struct Sampling<'a> {
    pub(super) batch: u32,
    pub(super) samples: u32,
    /// What runs before each of them, outside its timestamps.
    pub(super) evictor: Option<&'a LoadedCase>,
    /// What one pass is made of after all of them, between timestamps of its own.
    pub(super) then: Option<&'a LoadedCase>,
    /// Where their timestamps go, on a queue that has them.
    pub(super) queries: Option<&'a QueryPool>,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(logical: &'a Logical, buffer: vk::CommandBuffer) -> Self {
        Self { logical, buffer }
    }

    pub(super) fn reset(&self, case: &LoadedCase) {
        self.steps(case, &case.reset);
    }

    pub(super) fn checked_pass(&self, case: &LoadedCase, reset: &[Step]) {
        self.steps(case, reset);
        self.full_barrier();
        if !case.prepare.is_empty() {
            self.steps(case, &case.prepare);
            self.full_barrier();
        }
        self.steps(case, &case.pass);
    }

    /// Samples: each a full barrier, a timestamp that the passes wait for, a batch of passes, a timestamp. What can't follow itself is
    /// reset first.
    pub(super) fn samples(&self, case: &LoadedCase, sampling: Sampling<'_>) {
        if let Some(queries) = sampling.queries {
            let pairs = sampling.samples + u32::from(sampling.then.is_some());
            // SAFETY: the pool has a pair of queries for each sample, and for what runs after them.
            unsafe { self.logical.raw.cmd_reset_query_pool(self.buffer, queries.raw(), 0, 2 * pairs) };
        }
        for sample in 0..sampling.samples {
            self.before_sample(case);
            if let Some(evictor) = sampling.evictor {
                self.steps(evictor, &evictor.pass);
                self.full_barrier();
            }
            self.start(sampling.queries, 2 * sample);
            self.passes(case, sampling.batch);
            self.timestamp(sampling.queries, 2 * sample + 1);
        }
        if let Some(then) = sampling.then {
            self.before_sample(then);
            self.start(sampling.queries, 2 * sampling.samples);
            self.passes(then, 1);
            self.timestamp(sampling.queries, 2 * sampling.samples + 1);
        }
    }

    pub(super) fn before_sample(&self, case: &LoadedCase) {
        if case.needs_reset() {
            self.full_barrier();
            self.steps(case, &case.reset);
        }
        if !case.prepare.is_empty() {
            self.full_barrier();
            self.steps(case, &case.prepare);
        }
        self.full_barrier();
    }

    pub(super) fn alone(&self, case: &LoadedCase) {
        self.full_barrier();
        self.passes(case, 1);
    }

    /// A timestamp that nothing after it begins before. By itself it only waits for what comes earlier: the specification lets later
    /// work run meanwhile. What waiting costs is within the sample, and so within the floor, which is a sample of no passes.
    fn start(&self, queries: Option<&QueryPool>, query: u32) {
        if queries.is_none() {
            return;
        }
        self.timestamp(queries, query);
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        self.execution_barrier(all, all);
    }

    fn timestamp(&self, queries: Option<&QueryPool>, query: u32) {
        let Some(queries) = queries else { return };
        // SAFETY: recording; `samples` reset the query, and gives a pool only on a queue that has timestamps.
        unsafe { self.logical.write_timestamp.record(&self.logical.raw, self.buffer, queries.raw(), query) };
    }

    /// The steps of a program. `check` saw them at loading: all indices are right, and kernels are bound where needed.
    fn steps(&self, case: &LoadedCase, steps: &[Step]) {
        let device = &self.logical.raw;
        let (mut bound, mut base) = (None, [0; 3]);
        for step in steps {
            match step {
                Step::Bind { kernel } => {
                    let kernel = case.kernel(*kernel);
                    kernel.bind(device, self.buffer);
                    bound = Some(kernel);
                }
                Step::Push { bytes } => {
                    if let Some(kernel) = bound {
                        kernel.push(device, self.buffer, 0, bytes);
                    }
                }
                Step::PushAddress { offset, address: Address { resource, byte } } => {
                    if let (Some(kernel), Some(start)) = (bound, case.buffer(*resource).and_then(Buffer::address)) {
                        kernel.push(device, self.buffer, *offset, &(start + byte).to_le_bytes());
                    }
                }
                Step::BindPipeline { kernel } => {
                    let kernel = case.kernel(*kernel);
                    kernel.bind_pipeline(device, self.buffer);
                    bound = Some(kernel);
                }
                Step::BindDescriptors { kernel } => case.kernel(*kernel).bind_descriptors(device, self.buffer),
                Step::Base { groups } => base = *groups,
                Step::Dispatch { groups } => self.dispatch(*groups, std::mem::take(&mut base)),
                Step::DispatchIndirect { resource } => {
                    if let Some(counts) = case.buffer(*resource) {
                        // SAFETY: as above; the buffer lives and begins with three words, which the experiment keeps within the
                        // limits.
                        unsafe { device.cmd_dispatch_indirect(self.buffer, counts.raw(), 0) };
                    }
                }
                Step::Dependency(dependency) => self.dependency(case, *dependency),
                Step::SetEvent { .. } | Step::WaitEvent { .. } | Step::ResetEvent { .. } => self.event(case, step),
                Step::Timestamp { query, stage } => {
                    if let Some(queries) = &case.queries {
                        let stage = match stage {
                            TimestampStage::Top => vk::PipelineStageFlags::TOP_OF_PIPE,
                            TimestampStage::Bottom => vk::PipelineStageFlags::BOTTOM_OF_PIPE,
                        };
                        // SAFETY: recording, on a queue with timestamps, or the case was refused; the pool has the query, and the
                        // case resets it before it is written.
                        unsafe { device.cmd_write_timestamp(self.buffer, stage, queries.raw(), *query) };
                    }
                }
                Step::ResetTimestamps => {
                    if let Some(queries) = &case.queries {
                        // SAFETY: recording, outside of any query; the pool has so many.
                        unsafe { device.cmd_reset_query_pool(self.buffer, queries.raw(), 0, queries.capacity) };
                    }
                }
                Step::Fill { resource, word } => {
                    if let Some(target) = case.buffer(*resource) {
                        self.fill(target, *word);
                    }
                }
                Step::Copy { from, to } => {
                    if let Some(from) = case.buffer(*from) {
                        self.copy_whole(from, case.resource(*to));
                    }
                }
                Step::Barrier => self.shader_and_transfer_barrier(),
                // Such programs are never recorded: the host runs them.
                Step::HostCopy { .. } => {}
            }
        }
    }

    fn dependency(&self, case: &LoadedCase, dependency: Dependency) {
        let compute = vk::PipelineStageFlags::COMPUTE_SHADER;
        let write = vk::AccessFlags::SHADER_WRITE;
        let both = vk::AccessFlags::SHADER_READ | write;
        match dependency {
            Dependency::Execution => self.execution_barrier(compute, compute),
            Dependency::Memory => self.barrier((compute, write), (compute, both)),
            Dependency::Buffer { resource } => {
                let Some(buffer) = case.buffer(resource) else { return };
                let barrier = vk::BufferMemoryBarrier::default()
                    .src_access_mask(write)
                    .dst_access_mask(both)
                    .src_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                    .dst_queue_family_index(vk::QUEUE_FAMILY_IGNORED)
                    .buffer(buffer.raw())
                    .size(vk::WHOLE_SIZE);
                let flags = vk::DependencyFlags::empty();
                // SAFETY: recording; the queue does compute, and the buffer lives.
                unsafe { self.logical.raw.cmd_pipeline_barrier(self.buffer, compute, compute, flags, &[], &[barrier], &[]) };
            }
            Dependency::Full => self.full_barrier(),
        }
    }

    /// What comes after waits for what came before; nothing is made visible to it.
    fn execution_barrier(&self, before: vk::PipelineStageFlags, after: vk::PipelineStageFlags) {
        let flags = vk::DependencyFlags::empty();
        // SAFETY: recording; the queue does compute, so it has all the stages that are used here.
        unsafe { self.logical.raw.cmd_pipeline_barrier(self.buffer, before, after, flags, &[], &[], &[]) };
    }

    fn event(&self, case: &LoadedCase, step: &Step) {
        let device = &self.logical.raw;
        let compute = vk::PipelineStageFlags::COMPUTE_SHADER;
        match *step {
            // SAFETY: recording; the event lives.
            Step::SetEvent { event } => unsafe { device.cmd_set_event(self.buffer, case.event(event), compute) },
            // SAFETY: as above; a full barrier keeps every wait for it before this.
            Step::ResetEvent { event } => unsafe { device.cmd_reset_event(self.buffer, case.event(event), compute) },
            Step::WaitEvent { event } => {
                let seen = vk::MemoryBarrier::default()
                    .src_access_mask(vk::AccessFlags::SHADER_WRITE)
                    .dst_access_mask(vk::AccessFlags::SHADER_READ | vk::AccessFlags::SHADER_WRITE);
                // SAFETY: as above; `check` saw an earlier step of the program set it, at the same stage.
                unsafe { device.cmd_wait_events(self.buffer, &[case.event(event)], compute, compute, &[seen], &[], &[]) };
            }
            _ => {}
        }
    }

    pub(super) fn passes(&self, case: &LoadedCase, times: u32) {
        for pass in 0..times {
            if pass > 0 {
                self.between_passes(case);
            }
            self.steps(case, &case.pass);
        }
    }

    /// Between the passes of a batch: compute to compute, unless the pass transfers as well.
    fn between_passes(&self, case: &LoadedCase) {
        if case.pass.iter().any(transfers) {
            self.shader_and_transfer_barrier();
        } else {
            let stage = vk::PipelineStageFlags::COMPUTE_SHADER;
            let write = vk::AccessFlags::SHADER_WRITE;
            self.barrier((stage, write), (stage, vk::AccessFlags::SHADER_READ | write));
        }
    }

    fn shader_and_transfer_barrier(&self) {
        let stages = vk::PipelineStageFlags::COMPUTE_SHADER | vk::PipelineStageFlags::TRANSFER;
        let writes = vk::AccessFlags::SHADER_WRITE | vk::AccessFlags::TRANSFER_WRITE;
        let reads = vk::AccessFlags::SHADER_READ | vk::AccessFlags::TRANSFER_READ;
        self.barrier((stages, writes), (stages, reads | writes));
    }

    /// Everything before ends, and is visible, before anything after begins; across submissions to the queue as well.
    pub(super) fn full_barrier(&self) {
        let all = vk::PipelineStageFlags::ALL_COMMANDS;
        let write = vk::AccessFlags::MEMORY_WRITE;
        self.barrier((all, write), (all, vk::AccessFlags::MEMORY_READ | write));
    }

    pub(super) fn host_read_barrier(&self) {
        let copied = (vk::PipelineStageFlags::TRANSFER, vk::AccessFlags::TRANSFER_WRITE);
        self.barrier(copied, (vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ));
    }

    fn barrier(&self, before: (vk::PipelineStageFlags, vk::AccessFlags), after: (vk::PipelineStageFlags, vk::AccessFlags)) {
        let memory = [vk::MemoryBarrier::default().src_access_mask(before.1).dst_access_mask(after.1)];
        let flags = vk::DependencyFlags::empty();
        // SAFETY: recording; the queue does compute, so it has all the stages that are used here.
        unsafe { self.logical.raw.cmd_pipeline_barrier(self.buffer, before.0, after.0, flags, &memory, &[], &[]) };
    }

    /// Copies a buffer to another resource, which `check` saw to have the same size.
    fn copy_whole(&self, source: &Buffer, target: &Resource) {
        match (target.buffer(), target.image()) {
            (Some(buffer), _) => {
                self.copy(source, buffer, vk::BufferCopy { src_offset: 0, dst_offset: 0, size: buffer.bytes() });
            }
            (None, Some(image)) => self.copy_whole_in(source, image),
            (None, None) => {}
        }
    }

    fn dispatch(&self, [x, y, z]: [u32; 3], base: [u32; 3]) {
        let device = &self.logical.raw;
        // SAFETY: recording; a pipeline is bound with its descriptor sets, and the counts are within the limits. Of a case with a base,
        // pipelines are made for one.
        unsafe {
            match base {
                [0, 0, 0] => device.cmd_dispatch(self.buffer, x, y, z),
                [base_x, base_y, base_z] => device.cmd_dispatch_base(self.buffer, base_x, base_y, base_z, x, y, z),
            }
        }
    }

    /// Fills a buffer with one word.
    pub(super) fn fill(&self, target: &Buffer, word: u32) {
        // SAFETY: recording; the buffer lives and its size is a multiple of four.
        unsafe { self.logical.raw.cmd_fill_buffer(self.buffer, target.raw(), 0, target.bytes(), word) };
    }

    /// Writes a few bytes into a buffer: a multiple of four, at a multiple of four.
    pub(super) fn write(&self, target: &Buffer, at: u64, bytes: &[u8]) {
        debug_assert!(at + bytes.len() as u64 <= target.bytes() && at % 4 == 0 && bytes.len() % 4 == 0);
        // SAFETY: recording; the buffer lives and may be copied to, and `check` saw where that is.
        unsafe { self.logical.raw.cmd_update_buffer(self.buffer, target.raw(), at, bytes) };
    }

    /// Copies between two buffers, which are not the same.
    pub(super) fn copy(&self, source: &Buffer, target: &Buffer, region: vk::BufferCopy) {
        debug_assert!(region.src_offset + region.size <= source.bytes() && region.dst_offset + region.size <= target.bytes());
        // SAFETY: recording; both live, have the usages for it, and the region lies within both, as the chunks are cut.
        unsafe { self.logical.raw.cmd_copy_buffer(self.buffer, source.raw(), target.raw(), &[region]) };
    }
}

fn transfers(step: &Step) -> bool {
    matches!(step, Step::Fill { .. } | Step::Copy { .. })
}
