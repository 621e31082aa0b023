//! What samples carry beside their passes, and how far figures may be off by it. Pure, so that tests can hold it to the truth.

use serde::{Deserialize, Serialize};

use crate::model::real;
use crate::stats::Interval;
use crate::units::Nanos;

/// What the samples of a case carry beside their passes: two timestamps and the barriers around them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleOverhead {
    /// What was taken off each sample, as it was measured beside the case; `None` where it stayed in.
    pub taken_off: Option<Nanos>,
    /// What may still be in the time of a pass: the floor's share. The least is nothing: passes may hide it.
    pub left: Nanos,
}

impl SampleOverhead {
    /// Of samples of so many passes by a timer with this floor, of which so much was taken off.
    pub(super) fn new(taken_off: Option<Nanos>, floor: Nanos, batch: u32) -> Self {
        let left = if taken_off.is_some() { 0.0 } else { floor.0 / f64::from(batch.max(1)) };
        Self { taken_off, left: Nanos(left) }
    }

    /// An interval that holds what may still be in.
    pub(super) fn lower(&self, Interval { low, high }: Interval) -> Interval {
        // No pass takes less than nothing. An interval that begins there or below, as noise makes it, stays as it is.
        Interval { low: if low > 0.0 { (low - self.left.0).max(0.0) } else { low }, high }
    }

    /// The part of a time that is certain to be the pass's own.
    fn own_share(&self, time: f64) -> f64 {
        (1.0 - self.left.0 / time).clamp(0.0, 1.0)
    }
}

/// By which factors a ratio may be lower and higher than it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatioBounds {
    /// At most 1.
    #[serde(with = "real")]
    pub low: f64,
    /// At least 1.
    #[serde(with = "real")]
    pub high: f64,
}

impl Default for RatioBounds {
    fn default() -> Self {
        Self { low: 1.0, high: 1.0 }
    }
}

impl RatioBounds {
    /// Of the time of a case over that of its base. On one device either side's samples carry the same, whatever that is, which cancels
    /// where the times are about the same. On two devices nothing tells how much each hides.
    pub(super) fn new(
        (own, time): (SampleOverhead, f64),
        (base, base_time): (SampleOverhead, f64),
        is_same_device: bool,
    ) -> Self {
        let (own, base) = (own.own_share(time), base.own_share(base_time));
        let ends = if is_same_device { [own / base, 1.0] } else { [own, base.recip()] };
        let ends = ends.map(|end| if end.is_nan() { 1.0 } else { end });
        Self { low: ends[0].min(ends[1]).min(1.0), high: ends[0].max(ends[1]).max(1.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(floor: f64, batch: u32) -> SampleOverhead {
        SampleOverhead::new(None, Nanos(floor), batch)
    }

    #[test]
    fn an_interval_reaches_down_by_the_floors_share() {
        let interval = Interval { low: 990.0, high: 1010.0 };
        assert_eq!(left(100.0, 4).lower(interval), Interval { low: 965.0, ..interval });
        assert_eq!(left(5000.0, 4).lower(interval), Interval { low: 0.0, ..interval }, "no pass takes less than nothing");
        assert_eq!(SampleOverhead::new(Some(Nanos(90.0)), Nanos(100.0), 64).lower(interval), interval, "it was taken off");
        let below = Interval { low: -1.0, high: 1.0 };
        assert_eq!(left(100.0, 4).lower(below), below);
    }

    #[test]
    fn a_ratio_reaches_as_far_as_what_both_sides_may_carry() {
        // Whatever part of the floor the samples of both carry, the true ratio is within reach of the measured one.
        let floor = 100.0;
        for (own, own_batch, base, base_batch) in [(2000.0, 1, 4000.0, 1), (2000.0, 1, 2000.0, 4), (900.0, 2, 500.0, 1)] {
            let sides = |part: [f64; 2]| {
                let [own_left, base_left] =
                    [(own_batch, part[0]), (base_batch, part[1])].map(|(batch, part)| part * floor / f64::from(batch));
                let [time, base_time] = [own + own_left, base + base_left];
                (time, base_time)
            };
            for part in [0.0, 0.3, 1.0] {
                for base_part in [0.0, 0.7, 1.0] {
                    for is_same in [true, false] {
                        if is_same && part != base_part {
                            continue;
                        }
                        let (time, base_time) = sides([part, base_part]);
                        let reach =
                            RatioBounds::new((left(floor, own_batch), time), (left(floor, base_batch), base_time), is_same);
                        let measured = time / base_time;
                        let truth = own / base;
                        assert!(measured * reach.low <= truth + 1e-12, "{own} {base} {part} {base_part} {reach:?}");
                        assert!(measured * reach.high >= truth - 1e-12, "{own} {base} {part} {base_part} {reach:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_both_carry_alike_cancels() {
        let alike = RatioBounds::new((left(100.0, 1), 1000.0), (left(100.0, 1), 1000.0), true);
        assert_eq!(alike, RatioBounds::default());
        let apart = RatioBounds::new((left(100.0, 1), 1000.0), (left(100.0, 1), 1000.0), false);
        assert!((apart.low - 0.9).abs() < 1e-12 && (apart.high - 1.0 / 0.9).abs() < 1e-12);
        let hidden = RatioBounds::new((left(100.0, 1), 1000.0), (left(100.0, 1), 50.0), false);
        assert_eq!(hidden.high, f64::INFINITY, "the base may be nothing but floor");
        assert_eq!(serde_json::from_str::<RatioBounds>(&serde_json::to_string(&hidden).unwrap()).unwrap(), hidden);
    }
}
