//! Passes that the host does by itself, through mapped memory.

use std::hint;
use std::time::{Duration, Instant};

use crate::model::{Status, Step};

use super::device::LoadedCase;
use super::error::Error;

pub(super) fn is_hosts(pass: &[Step]) -> bool {
    pass.iter().any(|step| matches!(step, Step::HostCopy { .. }))
}

/// Runs a program so many times; what that took. The caller has waited for everything on the device.
pub(super) fn run(case: &LoadedCase, steps: &[Step], times: u32) -> Result<Duration, Error> {
    let start = Instant::now();
    for _ in 0..times {
        for step in steps {
            self::step(case, step)?;
        }
    }
    Ok(start.elapsed())
}

fn step(case: &LoadedCase, step: &Step) -> Result<(), Error> {
    let done = match *step {
        Step::Fill { resource, word } => case.resource(resource).with_bytes(|target| {
            target.chunks_exact_mut(4).for_each(|chunk| chunk.copy_from_slice(&word.to_ne_bytes()));
        }),
        Step::HostCopy { from, to } if from != to => {
            let (from, to) = (case.resource(from), case.resource(to));
            from.with_bytes(|source| {
                to.with_bytes(|target| {
                    target.copy_from_slice(source);
                    // Or a copy that the next one overwrites might be left out.
                    hint::black_box(target);
                })
            })
            .flatten()
        }
        _ => None,
    };
    done.ok_or_else(|| Error::new(Status::Error, "the host can't carry out a step: it isn't one of its own, or not mapped"))
}
