//! A kernel in one configuration, which is measured as a case beside those of the catalogue.

use std::fs;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::kernel::UserKernel;
use super::spec::{KernelSpec, Reference};
use crate::digest::label;
use crate::model::{Case, Check, DeviceInfo, Failure, Point, Status};
use crate::regular::{self, DATA};
use crate::shader::Prepared;

/// Files up to this size are hashed.
const MOST_HASHED: u64 = 64 << 20;

/// The family that rows of such kernels are of.
pub const FAMILY: &str = "kernel";

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixedKernel {
    pub spec: KernelSpec,
    pub point: Point,
}

impl FixedKernel {
    /// What rows call it.
    pub fn name(&self) -> String {
        format!("{FAMILY}/{}", self.spec.name)
    }

    /// What tells it apart from others of its name: what is said of it, and its files.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new_with_prefix(format!("{:?}", (&self.spec, &self.point)));
        for (_, path) in self.spec.files().unwrap_or_default() {
            // Large ones are named by what they hold, where `capture` wrote them.
            let bytes = fs::metadata(&path).map_or(0, |file| file.len());
            hash.update(format!("{} {bytes}", path.file_name().unwrap_or_default().to_string_lossy()));
            if bytes <= MOST_HASHED {
                hash.update(regular::read(&path, DATA).unwrap_or_default());
            }
        }
        label('f', hash)
    }

    pub fn on(&self, device: &DeviceInfo) -> UserKernel {
        UserKernel::new(self.spec.clone(), device.clone())
    }

    /// The case, whose buffers are left empty.
    pub fn describe(&self, kernel: &mut UserKernel) -> Result<Case, Failure> {
        kernel.describe(&self.point).map(|case| self.named(case))
    }

    /// # Errors
    /// Why no device can run it, however much it has.
    pub fn possible(&self) -> Result<(), Failure> {
        match self.describe(&mut self.on(&DeviceInfo::mock())) {
            Err(failure) if failure.status != Status::Skipped => Err(failure),
            _ => Ok(()),
        }
    }

    /// The case, and what it must compute, which the kernel knows from then on.
    pub fn prepare(&self, kernel: &mut UserKernel) -> Result<Prepared, Failure> {
        let Prepared { case, kernels } = kernel.prepare(&self.point)?;
        if self.has_reference() {
            kernel.reference()?;
        }
        Ok(Prepared { case: self.named(case), kernels })
    }

    /// Only what was computed elsewhere is a reference for a kernel that is taken as it is.
    fn has_reference(&self) -> bool {
        matches!(self.spec.reference, Reference::Files(_))
    }

    fn named(&self, case: Case) -> Case {
        let check = match case.check {
            Check::Twin(_) if !self.has_reference() => Check::Nothing("the manifest has no reference files"),
            check => check,
        };
        Case { experiment: self.name(), check, ..case }
    }
}
