//! stub
#![allow(missing_docs, reason = "stub")]
use crate::model::*;
use crate::shader::Prepared;
use crate::units::Ticks;
use std::time::Duration;
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(pub usize);
#[derive(Clone, Copy, Debug)]
pub struct Loaded {
    pub slot: Slot,
    pub pipeline_time: Duration,
}
#[derive(Clone, Debug)]
pub struct Submission {
    pub host: Duration,
    pub samples: Vec<(Ticks, Ticks)>,
}
#[derive(Debug, thiserror::Error)]
#[error("stub")]
pub struct Error;
impl Error {
    pub fn status(&self) -> Status {
        Status::Error
    }
}
pub struct InstanceOptions {
    pub validation: bool,
}
pub struct Instance;
pub struct Device(DeviceInfo);
impl Instance {
    pub fn load(_: InstanceOptions) -> Result<Self, Error> {
        Err(Error)
    }
    pub fn devices(&self) -> Vec<DeviceInfo> {
        vec![]
    }
    pub fn loader_version(&self) -> String {
        String::new()
    }
    pub fn layers(&self) -> Vec<String> {
        vec![]
    }
    pub fn open(&self, _: usize, _: Option<u32>) -> Result<Device, Error> {
        Err(Error)
    }
}
impl Device {
    pub fn info(&self) -> &DeviceInfo {
        &self.0
    }
    pub fn queue_family(&self) -> QueueFamily {
        self.0.queues[0]
    }
    pub fn load(&mut self, _: &Prepared) -> Result<Loaded, Error> {
        Err(Error)
    }
    pub fn bytes_to_load(&self, _: &Prepared) -> u64 {
        0
    }
    pub fn memory_budget(&self) -> u64 {
        0
    }
    pub fn run_checked(&mut self, _: Slot) -> Result<Duration, Error> {
        Err(Error)
    }
    pub fn run_reset(&mut self, _: Slot) -> Result<(), Error> {
        Err(Error)
    }
    pub fn read(&mut self, _: Slot, _: usize) -> Result<Vec<u8>, Error> {
        Err(Error)
    }
    pub fn sample(&mut self, _: Slot, _: u32, _: u32) -> Result<Submission, Error> {
        Err(Error)
    }
    pub fn unload(&mut self) {}
    pub fn messages(&mut self) -> Vec<String> {
        vec![]
    }
}
