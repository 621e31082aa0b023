//! The workgroup sizes that a device allows, for people.

use super::facts::Facts;
use crate::output::Tone;
use crate::shader::{LargestFit, Stop, WorkgroupFit};

/// A line for the present size, and one for how far each direction goes.
pub(super) fn say(facts: &mut Facts, fit: &WorkgroupFit) {
    let [x, y, z] = fit.size;
    let stops: Vec<String> = fit.stopped_by.iter().map(stop).collect();
    let (tone, how) = match stops.is_empty() {
        true => (Tone::Plain, "fits".to_owned()),
        false => (Tone::Doubtful, format!("doesn't fit: {}", stops.join("; "))),
    };
    facts.say_toned(tone, "workgroup", &format!("{x} x {y} x {z} {how}"));
    for (direction, reach) in ["x", "y", "z"].iter().zip(&fit.reach) {
        facts.say("", &format!("{direction} {}", reached(reach)));
    }
}

fn reached(LargestFit { largest, next }: &LargestFit) -> String {
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
