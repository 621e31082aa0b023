//! The dispatcher of real devices.

use std::time::{Duration, Instant};

use super::{Dispatcher, ProcessorTime};
use crate::gpu::{CaseHandle, Device, Error, Loaded, Samples, Submission};
use crate::model::{DeviceInfo, DeviceKind, Failure, Footprint, GpuState, Status};
use crate::platform;
use crate::shader::Prepared;
use crate::units::TickScale;

pub struct Vulkan {
    device: Device,
    started: Instant,
}

impl Vulkan {
    pub fn new(device: Device) -> Self {
        Self { device, started: Instant::now() }
    }

    /// Takes so much of the device's memory until it is closed, or less where there isn't so much: buffers lie elsewhere then.
    pub fn displace(&mut self, bytes: u64) {
        self.device.displace(bytes);
    }

    /// Turns an error into a row's failure, and a validation message as well: what the layer objects to has no meaning.
    fn done<T>(&mut self, work: impl FnOnce(&mut Device) -> Result<T, Error>) -> Result<T, Failure> {
        let result = work(&mut self.device);
        let messages = self.device.messages();
        let said = format!("validation: {}", messages.join(" | "));
        match result {
            Ok(value) if messages.is_empty() => Ok(value),
            Ok(_) => Err(Failure::new(Status::Error, said)),
            Err(error) if messages.is_empty() => Err(error.into()),
            Err(error) => Err(Failure::new(error.status(), format!("{error}; {said}"))),
        }
    }
}

impl Vulkan {
    /// Makes a buffer begin with these bytes, and be zero behind them.
    ///
    /// # Errors
    /// Those of the device.
    pub fn restart(&mut self, slot: CaseHandle, resource: usize, bytes: &[u8]) -> Result<(), Failure> {
        self.done(|device| device.restart(slot, resource, bytes))
    }

    /// What a buffer that the host sees holds at this moment, though the device hangs; nothing of others.
    pub fn peek(&self, slot: CaseHandle, resource: usize) -> Option<Vec<u8>> {
        self.device.peek(slot, resource)
    }

    /// Where a buffer begins that kernels reach by its address; nothing of others.
    pub fn address(&self, slot: CaseHandle, resource: usize) -> Option<u64> {
        self.device.address(slot, resource)
    }
}

impl Dispatcher for Vulkan {
    fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    fn tick_scale(&self) -> Option<TickScale> {
        let valid_bits = self.device.queue_family().timestamp_valid_bits;
        let period = self.device.info().timestamp_period;
        (valid_bits > 0 && period.is_finite() && period > 0.0).then_some(TickScale { valid_bits, period })
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    fn processor_time(&self) -> Option<ProcessorTime> {
        if self.device.info().kind == DeviceKind::Cpu { platform::processor_time() } else { None }
    }

    fn core_clock_mhz(&self) -> Option<f64> {
        self.device.core_clock_mhz()
    }

    fn taken_by_others(&mut self) -> Option<f64> {
        if self.device.info().kind == DeviceKind::Cpu {
            return None;
        }
        self.device.others().map(|others| others.iter().map(|other| other.share).sum())
    }

    fn state(&mut self) -> GpuState {
        self.device.state()
    }

    fn memory_budget(&self) -> Footprint {
        self.device.memory_budget()
    }

    fn free_memory(&self) -> Option<u64> {
        self.device.free_memory()
    }

    fn footprint(&self, prepared: &Prepared) -> Footprint {
        self.device.footprint(prepared)
    }

    fn compile_threads(&self) -> usize {
        self.device.compile_threads()
    }

    fn compile_ahead(&mut self, prepared: &Prepared) {
        self.device.compile_ahead(prepared);
    }

    fn forget_compiled(&mut self) {
        self.device.forget_compiled();
    }

    fn load(&mut self, prepared: &Prepared) -> Result<Loaded, Failure> {
        self.done(|device| device.load(prepared))
    }

    fn run_reset(&mut self, slot: CaseHandle) -> Result<(), Failure> {
        self.done(|device| device.run_reset(slot))
    }

    fn run_checked(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        self.done(|device| device.run_checked(slot))
    }

    fn run_poisoned(&mut self, slot: CaseHandle) -> Result<Duration, Failure> {
        self.done(|device| device.run_poisoned(slot))
    }

    fn read(&mut self, slot: CaseHandle, resource: usize) -> Result<Vec<u8>, Failure> {
        self.done(|device| device.read(slot, resource))
    }

    fn sample_between(&mut self, wanted: Samples) -> Result<Submission, Failure> {
        self.done(|device| device.sample_between(wanted))
    }

    fn release(&mut self, slot: CaseHandle) {
        self.device.release(slot);
    }

    fn unload(&mut self) {
        self.device.unload();
    }
}
