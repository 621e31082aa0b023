//! Windows of workgroup memory, which workgroups fill from a source and read again and again.

use crate::experiments::common::prelude::*;
use crate::model::DeviceKind;

/// Places in the source where windows begin, one for each workgroup in turn.
pub const BEGINNINGS: u64 = 4;

/// The axis of so many workgroups that none has to wait for another to begin.
pub fn groups_axis(setting: &Setting) -> Axis {
    // Eight waves of 2048 invocations on the largest devices of today. On integrated ones a pass would take too long where 32 lanes
    // wait for each other; a software driver takes about 1 ms.
    let groups = match setting.device.kind {
        DeviceKind::Integrated => 1056,
        DeviceKind::Discrete | DeviceKind::Virtual | DeviceKind::Cpu | DeviceKind::Other => setting.by_class(4_u64, 8448),
    };
    Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_monotone_work()
}

/// What invocations write, from what each of the first so many of a workgroup writes whose window begins at a place; the others of it write the
/// same again.
pub fn results(local_size: u64, lanes: u64, result: &dyn Fn(u64, u64) -> u32) -> impl Fn(u64) -> u32 + use<> {
    let of_all = (0..BEGINNINGS).flat_map(|begin| (0..lanes).map(move |lane| (begin, lane)));
    let results: Vec<u32> = of_all.map(|(begin, lane)| result(begin, lane)).collect();
    move |i| results[index(i / local_size % BEGINNINGS * lanes + i % local_size % lanes)]
}

/// How reads of a window show in a loop of so many iterations.
pub fn reads(case: &Case, iterations: u64) -> Result<Vec<Traffic>, &'static str> {
    Ok(vec![Traffic { counted: Moved::SHARED_READ, loops: vec![iterations], ..Traffic::usual(case) }])
}

#[expect(clippy::cast_possible_truncation, reason = "workgroup memory has far fewer words than usize can count")]
pub fn index(i: u64) -> usize {
    i as usize
}
