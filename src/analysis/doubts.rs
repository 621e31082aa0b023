//! Reasons to doubt many rows at once, and what to do about them.

use crate::model::{Flag, Status};
use crate::record::Record;

/// A reason to doubt rows that is about the circumstances and not about one of them.
#[derive(Debug, PartialEq, Eq)]
pub struct Doubt {
    pub flag: Flag,
    pub advice: &'static str,
    /// Whether it is the machine's, so that measuring again may mend it.
    pub is_of_machine: bool,
}

/// All of them, the most important first. Other flags are about their rows alone, which have to say so themselves.
pub const DOUBTS: [Doubt; 7] = [
    of_machine(Flag::Contended, "other programs took the device's time: run it again on an idle machine"),
    of_machine(Flag::Throttled, "clocks fell: cool the device, or lock its clocks"),
    of_machine(Flag::Drift, "clocks moved: lock them, or compare by --paired"),
    of_machine(Flag::MemorySpeed, "memory became slower or faster: keep other programs off the device, or lock memory's clock"),
    of_machine(
        Flag::Noisy,
        "the precision asked for was not reached: run it again when the machine is idle, or with --preset thorough",
    ),
    of_size(Flag::NearFloor, "the timer's own error is visible: take a larger problem, or read times as upper bounds"),
    of_size(Flag::LaunchBound, "launching is a visible part of a pass: take a larger problem, if the kernel is the question"),
];

const fn of_machine(flag: Flag, advice: &'static str) -> Doubt {
    Doubt { flag, advice, is_of_machine: true }
}

const fn of_size(flag: Flag, advice: &'static str) -> Doubt {
    Doubt { flag, advice, is_of_machine: false }
}

/// How many rows have to bear a flag before it is said once instead of in each of them.
const MANY: u64 = 5;

/// How many rows there are, and how many of them bear which flag.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    pub measured: u64,
    bearing: [u64; DOUBTS.len()],
}

impl Tally {
    pub fn count(&mut self, row: &Record) {
        if row.is_derived() || row.status != Status::Ok.as_str() {
            return;
        }
        self.measured += 1;
        for (doubt, count) in DOUBTS.iter().zip(&mut self.bearing) {
            *count += u64::from(row.has_flag(doubt.flag.name()));
        }
    }

    pub fn bearing(&self, doubt: &Doubt) -> u64 {
        DOUBTS.iter().zip(self.bearing).find(|(own, _)| *own == doubt).map_or(0, |(_, count)| count)
    }

    pub fn shared(&self) -> Vec<&'static Doubt> {
        let is_shared = |doubt: &&Doubt| self.bearing(doubt) >= MANY && 2 * self.bearing(doubt) > self.measured;
        DOUBTS.iter().filter(is_shared).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rows: &[(&str, &str, usize)]) -> Tally {
        let mut tally = Tally::default();
        for (status, flags, count) in rows {
            let row = Record { status: (*status).to_owned(), quality_flags: (*flags).to_owned(), ..Record::new() };
            (0..*count).for_each(|_| tally.count(&row));
        }
        tally
    }

    fn shared(rows: &[(&str, &str, usize)]) -> Vec<&'static str> {
        tally(rows).shared().iter().map(|doubt| doubt.flag.name()).collect()
    }

    #[test]
    fn what_most_rows_bear_is_shared() {
        assert_eq!(shared(&[("ok", "noisy", 4)]), [""; 0], "few");
        assert_eq!(shared(&[("ok", "noisy", 5), ("ok", "", 5)]), [""; 0], "half of them");
        assert_eq!(shared(&[("ok", "noisy", 5), ("ok", "", 4), ("skipped", "", 100)]), ["noisy"]);
        assert_eq!(shared(&[("ok", "launch_bound;noisy", 6), ("ok", "drift", 3)]), ["noisy", "launch_bound"]);
        assert_eq!(shared(&[("ok", "implausible;out_of_bounds;quirk:a", 9)]), [""; 0], "each of them is to say that itself");
    }

    #[test]
    fn rows_without_a_figure_of_their_own_dont_count() {
        let mut counted = tally(&[("ok", "drift", 2), ("timeout", "drift", 3)]);
        counted.count(&Record { row_kind: "derived".to_owned(), status: "ok".to_owned(), ..Record::new() });
        assert_eq!((counted.measured, counted.bearing(&DOUBTS[2])), (2, 2));
    }
}
