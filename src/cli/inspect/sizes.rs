//! The workgroup sizes that a device allows, for people.

use std::fmt;

use super::line::line;
use crate::shader::{Reach, Stop, WorkgroupFit};

/// A line for the present size, and one for how far each direction goes.
pub(super) fn show(f: &mut fmt::Formatter<'_>, fit: &WorkgroupFit) -> fmt::Result {
    let [x, y, z] = fit.size;
    let stops: Vec<String> = fit.stopped_by.iter().map(stop).collect();
    let how = if stops.is_empty() { "fits".to_owned() } else { format!("doesn't fit: {}", stops.join("; ")) };
    line(f, "workgroup", &format!("{x} x {y} x {z} {how}"))?;
    for (direction, reach) in ["x", "y", "z"].iter().zip(&fit.reach) {
        line(f, "", &format!("{direction} {}", reached(reach)))?;
    }
    Ok(())
}

fn reached(Reach { largest, next }: &Reach) -> String {
    let next = next.as_ref().map(stop).unwrap_or_default();
    match largest {
        Some(largest) if next.is_empty() => format!("alone up to {largest}"),
        Some(largest) => format!("alone up to {largest}; at {}, {next}", u64::from(*largest) * 2),
        None if next.is_empty() => "follows from other constants".to_owned(),
        None => format!("nowhere: {next}"),
    }
}

/// `maxComputeSharedMemorySize is 32768, 65536 needed`
pub(super) fn stop(Stop { limit, allowed, needed }: &Stop) -> String {
    format!("{limit} is {allowed}, {needed} needed")
}
