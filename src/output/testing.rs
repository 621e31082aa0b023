//! What the tests of several writers need.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use crate::model::Point;
use crate::record::Record;

/// A place to write to that can be looked at meanwhile.
#[derive(Clone, Debug, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    /// What was written so far.
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A measured row of an experiment that moves 4 MiB per pass.
pub fn measured(experiment: &str, time_ns: f64) -> Record {
    let bytes = 4 << 20;
    let mut record = Record {
        device_name: "Mock".into(),
        driver_name: "lanescope".into(),
        driver_info: "mock 1".into(),
        row_kind: "measured".into(),
        experiment: experiment.into(),
        case_id: "c0123456789abcdef".into(),
        status: "ok".into(),
        checked: "true".into(),
        time_ns: Some(time_ns),
        noise: Some(0.0123),
        bytes_per_pass: Some(bytes),
        metric: "bandwidth".into(),
        value: Some(bytes as f64 / time_ns).filter(|value| value.is_finite()),
        unit: "GB/s".into(),
        better: "higher".into(),
        ..Record::new()
    };
    record = record.at(&Point::new([("n".into(), (1_u64 << 20).into()), ("op".into(), "copy".into())]));
    record
}
