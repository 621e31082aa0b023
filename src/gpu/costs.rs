//! What the host spends on giving work to the device and on waiting for it.

use std::thread;
use std::time::{Duration, Instant};

use ash::vk;

use crate::model::{HostCost, Status, Wait};

use super::command::Recorder;
use super::device::LoadedCase;
use super::error::{Context, Error};
use super::logical::Logical;
use super::object::Owned;
use super::submit::Queue;

/// A timeline semaphore, and the value that the last submission signals.
pub(super) struct Timeline {
    semaphore: Owned<vk::Semaphore>,
    value: u64,
    /// Those of the extension, on a device of an earlier version than Vulkan 1.2.
    functions: Option<ash::khr::timeline_semaphore::Device>,
}

#[derive(Clone, Copy)]
pub(super) enum Signal {
    Fence,
    Timeline { semaphore: vk::Semaphore, value: u64 },
    Nothing,
}

impl Queue {
    /// What giving `times` passes to the device costs the host. They run to their end, whatever of it is timed.
    pub(super) fn cost(&mut self, case: &LoadedCase, cost: HostCost, times: u32) -> Result<Duration, Error> {
        self.logical.alive()?;
        match cost {
            HostCost::Record => self.cost_of_recording(case, times),
            HostCost::Submit => self.cost_of_submitting(case, None, times),
            HostCost::RoundTrip(wait) => self.cost_of_submitting(case, Some(wait), times),
        }
    }

    fn cost_of_recording(&mut self, case: &LoadedCase, times: u32) -> Result<Duration, Error> {
        let mut spent = Duration::ZERO;
        self.run(&case.title, |recorder| {
            recorder.before_sample(case);
            let start = Instant::now();
            recorder.passes(case, times);
            spent = start.elapsed();
        })?;
        Ok(spent)
    }

    /// One command buffer with one pass, submitted again and again, each time when the one before is done.
    fn cost_of_submitting(&mut self, case: &LoadedCase, wait: Option<Wait>, times: u32) -> Result<Duration, Error> {
        let what = &case.title;
        if case.needs_reset() {
            self.run(what, |recorder| recorder.reset(case))?;
        }
        self.begin(vk::CommandBufferUsageFlags::empty()).on("vkBeginCommandBuffer", || what.to_owned())?;
        Recorder::new(&self.logical, self.buffer).alone(case);
        // SAFETY: the buffer is recording.
        unsafe { self.logical.raw.end_command_buffer(self.buffer) }.on("vkEndCommandBuffer", || what.to_owned())?;
        let mut spent = Duration::ZERO;
        for _ in 0..times {
            let signal = self.next_signal(wait)?;
            let start = Instant::now();
            self.submit(signal).map_err(|result| self.failed("vkQueueSubmit", what, result))?;
            if wait.is_none() {
                spent += start.elapsed();
            }
            self.wait_as(wait.unwrap_or(Wait::FencePolled), start, what)?;
            if wait.is_some() {
                spent += start.elapsed();
            }
        }
        Ok(spent)
    }

    fn next_signal(&mut self, wait: Option<Wait>) -> Result<Signal, Error> {
        match wait {
            None | Some(Wait::Fence | Wait::FencePolled) => {
                // SAFETY: the last submission was waited for, so the fence is idle.
                unsafe { self.logical.raw.reset_fences(&[self.fence.raw()]) }.on("vkResetFences", String::new)?;
                Ok(Signal::Fence)
            }
            Some(Wait::QueueIdle) => Ok(Signal::Nothing),
            Some(Wait::Timeline | Wait::TimelinePolled) => {
                let timeline = match &mut self.timeline {
                    Some(timeline) => timeline,
                    none => none.insert(Timeline::new(&self.logical)?),
                };
                timeline.value += 1;
                Ok(Signal::Timeline { semaphore: timeline.semaphore.raw(), value: timeline.value })
            }
        }
    }

    pub(super) fn submit(&self, signal: Signal) -> Result<(), vk::Result> {
        let buffers = [self.buffer];
        let (semaphores, values);
        let mut timeline = vk::TimelineSemaphoreSubmitInfo::default();
        let mut submit = vk::SubmitInfo::default().command_buffers(&buffers);
        let mut fence = vk::Fence::null();
        match signal {
            Signal::Fence => fence = self.fence.raw(),
            Signal::Nothing => {}
            Signal::Timeline { semaphore, value } => {
                (semaphores, values) = ([semaphore], [value]);
                timeline = timeline.signal_semaphore_values(&values);
                submit = submit.signal_semaphores(&semaphores).push_next(&mut timeline);
            }
        }
        // SAFETY: the buffer is recorded whole and not in use, what is signalled is unsignalled, and `&mut self` of the callers
        // keeps the queue to one thread.
        unsafe { self.logical.raw.queue_submit(self.raw, &[submit], fence) }
    }

    fn wait_as(&self, wait: Wait, start: Instant, what: &str) -> Result<(), Error> {
        let device = &self.logical.raw;
        match wait {
            Wait::Fence => self.wait_for_fence(what),
            Wait::FencePolled => {
                // SAFETY: the fence lives.
                self.poll(start, "vkGetFenceStatus", what, || unsafe { device.get_fence_status(self.fence.raw()) })
            }
            Wait::QueueIdle => {
                // SAFETY: the queue lives. This call has no limit: a device that hangs is noticed by whoever watches the process.
                unsafe { device.queue_wait_idle(self.raw) }.map_err(|result| self.failed("vkQueueWaitIdle", what, result))
            }
            Wait::Timeline | Wait::TimelinePolled => {
                let Some(timeline) = &self.timeline else { return Ok(()) };
                if wait == Wait::TimelinePolled {
                    let is_done = || timeline.reached(device).map(|value| value >= timeline.value);
                    return self.poll(start, "vkGetSemaphoreCounterValue", what, is_done);
                }
                let limit = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
                timeline.wait(device, limit).map_err(|result| match result {
                    vk::Result::TIMEOUT => self.timed_out(what),
                    result => self.failed("vkWaitSemaphores", what, result),
                })
            }
        }
    }

    fn poll(
        &self,
        start: Instant,
        call: &'static str,
        what: &str,
        is_done: impl Fn() -> Result<bool, vk::Result>,
    ) -> Result<(), Error> {
        loop {
            match is_done() {
                Ok(true) => return Ok(()),
                Ok(false) if start.elapsed() > self.timeout => return Err(self.timed_out(what)),
                Ok(false) => thread::yield_now(),
                Err(result) => return Err(self.failed(call, what, result)),
            }
        }
    }
}

impl Timeline {
    fn new(logical: &std::sync::Arc<Logical>) -> Result<Self, Error> {
        let Some(version) = logical.timeline else {
            return Err(Error::new(Status::Error, "the device has no timeline semaphores"));
        };
        let functions = (version < vk::API_VERSION_1_2)
            .then(|| ash::khr::timeline_semaphore::Device::new(&logical.instance.raw, &logical.raw));
        let mut ty = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut ty);
        // SAFETY: the device lives and has the feature enabled.
        let semaphore = unsafe { logical.raw.create_semaphore(&info, None) };
        let semaphore = semaphore.on("vkCreateSemaphore", || "a timeline".to_owned())?;
        Ok(Self { semaphore: Owned::new(logical, semaphore, "timeline"), value: 0, functions })
    }

    fn reached(&self, device: &ash::Device) -> Result<u64, vk::Result> {
        // SAFETY: the semaphore lives and is a timeline.
        unsafe {
            match &self.functions {
                None => device.get_semaphore_counter_value(self.semaphore.raw()),
                Some(functions) => functions.get_semaphore_counter_value(self.semaphore.raw()),
            }
        }
    }

    fn wait(&self, device: &ash::Device, nanoseconds: u64) -> Result<(), vk::Result> {
        let (semaphores, values) = ([self.semaphore.raw()], [self.value]);
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: as above.
        unsafe {
            match &self.functions {
                None => device.wait_semaphores(&info, nanoseconds),
                Some(functions) => functions.wait_semaphores(&info, nanoseconds),
            }
        }
    }
}
