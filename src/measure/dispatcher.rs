//! The narrow waist between measuring and devices.

use std::time::Duration;

use super::ProcessorTime;
use crate::gpu::{CaseHandle, Loaded, Samples, Submission};
use crate::model::{DeviceInfo, Failure, Footprint, GpuState};
use crate::shader::Prepared;
use crate::units::TickScale;

/// Something that runs cases. Calibration, rounds and stop rules know only this; they never know whether a GPU is there.
///
/// A failure is what the device refused, or that it didn't end what it was given.
pub trait Dispatcher {
    fn info(&self) -> &DeviceInfo;

    /// Whether its times are made up.
    fn is_simulated(&self) -> bool {
        false
    }

    /// How the queue's timestamps become durations; `None` where it has no usable ones.
    fn tick_scale(&self) -> Option<TickScale>;

    /// The host's monotonic clock. Budgets are kept by it, so a device that simulates time is measured reproducibly.
    fn now(&self) -> Duration;

    /// What this process had of the processor so far, where the device is software on it and the system tells.
    fn processor_time(&self) -> Option<ProcessorTime>;

    /// The device's core clock now, in MHz, where the vendor's interface tells it.
    fn core_clock_mhz(&self) -> Option<f64> {
        None
    }

    /// The share of the device's time that other processes had lately, where the device isn't software and the system tells.
    fn taken_by_others(&mut self) -> Option<f64> {
        None
    }

    /// What the vendor's interface tells of the device now, beside its clock.
    fn state(&mut self) -> GpuState {
        GpuState::default()
    }

    /// Lets the device idle.
    fn rest(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// The memory that the cases loaded at one time may use.
    fn memory_budget(&self) -> Footprint;

    /// Bytes of the device's own memory that are free now, by the driver's word; `None` where it says nothing.
    fn free_memory(&self) -> Option<u64> {
        None
    }

    fn footprint(&self, prepared: &Prepared) -> Footprint;

    /// On how many threads it compiles cases before they are loaded; 0 where it doesn't.
    fn compile_threads(&self) -> usize {
        0
    }

    /// Has a case compiled on other threads until it is loaded, where it does that.
    fn compile_ahead(&mut self, _: &Prepared) {}

    fn forget_compiled(&mut self) {}

    fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Failure>;

    fn run_reset(&mut self, slot: CaseHandle) -> Result<(), Failure>;

    /// The reset program and one pass; how long the host waited for it.
    fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Failure>;

    /// The same, but that the reset leaves [`OTHER_POISON`](crate::model::OTHER_POISON) in the place of
    /// [`POISON`](crate::model::POISON). A device that simulates results leaves neither.
    fn run_poisoned(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        self.run_checked(slot)
    }

    fn read(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Failure>;

    /// `samples` samples of `batch` passes each, in one submission. A batch of 0 is two timestamps back to back.
    fn sample(&mut self, slot: CaseHandle, batch: u32, samples: u32) -> Result<Submission, Failure> {
        self.sample_between(Samples::of(slot, batch, samples))
    }

    fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Failure>;

    /// Frees a case before the others, where it does that. Resources that the next one may share with it stay until that is loaded.
    fn release(&mut self, _: CaseHandle) {}

    fn unload(&mut self);
}
