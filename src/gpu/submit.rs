//! One queue: record, submit, wait.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use ash::vk;

use crate::model::{DeviceKind, QueueFamily, Status};

use super::command::Recorder;
use super::costs::{Signal, Timeline};
use super::error::{Context, Error};
use super::logical::Logical;
use super::object::Owned;

/// How long a submission may take. Far above what measured ones take (their batches stay under 100 ms, watchdogs end the work of
/// most GPUs after 2 to 10 s), because software drivers compile at the first dispatch: up to 18 s were seen for a matrix product.
pub(super) const TIMEOUT: Duration = Duration::from_secs(60);

/// How long a fence is polled before the thread sleeps on it. Waking costs up to 550 us on virtual machines, which would dominate
/// the host's time of short submissions; beyond a few of those it no longer matters.
const SPIN: Duration = Duration::from_millis(2);

/// A queue with one command buffer and one fence. Nothing runs on it when no method does.
pub(super) struct Queue {
    pub(super) raw: vk::Queue,
    family: QueueFamily,
    pub(super) buffer: vk::CommandBuffer,
    pub(super) timeout: Duration,
    spin: Duration,
    pub(super) fence: Owned<vk::Fence>,
    pub(super) timeline: Option<Timeline>,
    pool: Owned<vk::CommandPool>,
    pub(super) logical: Arc<Logical>,
}

impl Queue {
    /// The device's queue of the family it was opened with.
    pub(super) fn new(logical: &Arc<Logical>, family: QueueFamily, kind: DeviceKind) -> Result<Self, Error> {
        let device = &logical.raw;
        let whose = || format!("queue family {}", family.index);
        // SAFETY: the device was created with one queue of this family.
        let raw = unsafe { device.get_device_queue(family.index, 0) };
        let info =
            vk::CommandPoolCreateInfo::default().flags(vk::CommandPoolCreateFlags::TRANSIENT).queue_family_index(family.index);
        // SAFETY: as above.
        let pool = unsafe { device.create_command_pool(&info, None) }.on("vkCreateCommandPool", whose)?;
        let pool = Owned::new(logical, pool, "commands");
        let info = vk::CommandBufferAllocateInfo::default().command_pool(pool.raw()).command_buffer_count(1);
        // SAFETY: the pool lives.
        let buffers = unsafe { device.allocate_command_buffers(&info) }.on("vkAllocateCommandBuffers", whose)?;
        let buffer = buffers.first().copied().unwrap_or_default();
        // SAFETY: the device lives.
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }.on("vkCreateFence", whose)?;
        let fence = Owned::new(logical, fence, "submission");
        // On a processor the work needs the very cores that polling would take.
        let spin = if kind == DeviceKind::Cpu { Duration::ZERO } else { SPIN };
        Ok(Self { raw, family, buffer, timeout: TIMEOUT, spin, fence, timeline: None, pool, logical: Arc::clone(logical) })
    }

    pub(super) fn family(&self) -> QueueFamily {
        self.family
    }

    /// Records commands, submits them and waits until they are done. Returns the host's time of submitting and waiting.
    ///
    /// All that was submitted before is done and visible to the commands, and whatever they write is visible to what is
    /// submitted next. Objects that the commands use must outlive the call; they may go afterwards.
    pub(super) fn run(&mut self, what: &str, record: impl FnOnce(&Recorder<'_>)) -> Result<Duration, Error> {
        self.logical.alive()?;
        self.begin(vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT).on("vkBeginCommandBuffer", || what.to_owned())?;
        let recorder = Recorder::new(&self.logical, self.buffer);
        recorder.full_barrier();
        record(&recorder);
        // SAFETY: the buffer is recording.
        unsafe { self.logical.raw.end_command_buffer(self.buffer) }.on("vkEndCommandBuffer", || what.to_owned())?;
        let start = Instant::now();
        self.submit(Signal::Fence).map_err(|result| self.failed("vkQueueSubmit", what, result))?;
        self.wait(start, what)?;
        Ok(start.elapsed())
    }

    pub(super) fn begin(&self, usage: vk::CommandBufferUsageFlags) -> Result<(), vk::Result> {
        let device = &self.logical.raw;
        let info = vk::CommandBufferBeginInfo::default().flags(usage);
        // SAFETY: the last submission was waited for, so buffer and fence are idle; resetting the pool makes the buffer initial.
        unsafe {
            device.reset_command_pool(self.pool.raw(), vk::CommandPoolResetFlags::empty())?;
            device.reset_fences(&[self.fence.raw()])?;
            device.begin_command_buffer(self.buffer, &info)
        }
    }

    fn wait(&self, start: Instant, what: &str) -> Result<(), Error> {
        let device = &self.logical.raw;
        while start.elapsed() < self.spin {
            // SAFETY: the fence lives.
            match unsafe { device.get_fence_status(self.fence.raw()) } {
                Ok(true) => return Ok(()),
                Ok(false) => thread::yield_now(),
                Err(result) => return Err(self.failed("vkGetFenceStatus", what, result)),
            }
        }
        self.wait_for_fence(what)
    }

    pub(super) fn wait_for_fence(&self, what: &str) -> Result<(), Error> {
        let nanoseconds = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: the fence lives.
        let waited = unsafe { self.logical.raw.wait_for_fences(&[self.fence.raw()], true, nanoseconds) };
        waited.map_err(|result| match result {
            vk::Result::TIMEOUT => self.timed_out(what),
            result => self.failed("vkWaitForFences", what, result),
        })
    }

    pub(super) fn timed_out(&self, what: &str) -> Error {
        self.logical.hang();
        let limit = self.timeout.as_secs_f64();
        let advice = "try fewer iterations or a smaller case; the device must be taken for hung until this process ends";
        Error::new(Status::Timeout, format!("{what} did not end within {limit} s: {advice}"))
    }

    /// What a failed submission or wait means for the device: a lost one is idle; after anything else work may still run, unless
    /// the submission itself was refused.
    pub(super) fn failed(&self, call: &'static str, what: &str, result: vk::Result) -> Error {
        if result == vk::Result::ERROR_DEVICE_LOST {
            self.logical.lose();
        } else if call != "vkQueueSubmit" {
            self.logical.hang();
        }
        Error::call(call, what, result)
    }
}
