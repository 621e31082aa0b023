//! Processor time of this process, for devices that are software on it.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::platform::{OwnTime, ProcessorTime, ThreadTime};

/// A thread that ran less than this share of what the busiest one did is a helper: it waits for its turn behind the driver's own
/// workers, which is no loss to others.
const WORKER: f64 = 0.5;

impl ProcessorTime {
    /// Of one thread, where nobody else takes more than what it waits.
    pub fn from_thread(thread: ThreadTime) -> Self {
        let own = OwnTime::Threads(BTreeMap::from([(0, thread)]));
        Self { own, busy: thread.ran + thread.waited, idle: Duration::ZERO }
    }

    fn ran(&self) -> Duration {
        match &self.own {
            OwnTime::Threads(threads) => threads.values().map(|thread| thread.ran).sum(),
            OwnTime::Process(ran) => *ran,
        }
    }

    /// The share of all processor time used between two moments that others had.
    fn others(before: &Self, after: &Self) -> Option<f64> {
        let Spent { own, busy, .. } = Spent::between(before, after);
        let share = (busy - own).max(0.0) / busy.max(own);
        share.is_finite().then_some(share)
    }
}

/// What the processors did between two moments, in seconds.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    own: f64,
    busy: f64,
    idle: f64,
}

impl Spent {
    fn between(before: &ProcessorTime, after: &ProcessorTime) -> Self {
        let since = |before: Duration, after: Duration| after.saturating_sub(before).as_secs_f64();
        Self {
            own: since(before.ran(), after.ran()),
            busy: since(before.busy, after.busy),
            idle: since(before.idle, after.idle),
        }
    }

    fn and(self, other: Self) -> Self {
        Self { own: self.own + other.own, busy: self.busy + other.busy, idle: self.idle + other.idle }
    }

    /// The share of all processor time used that others had, for as much of it as no processor was free: what others have of processors
    /// that this process leaves idle is no loss to it.
    fn crowded_out(self) -> Option<f64> {
        let share = (self.busy - self.own - self.idle).max(0.0) / (self.busy - self.idle).max(self.own);
        share.is_finite().then_some(share)
    }
}

/// The share of the time wanted by the working threads between two moments in which they had to wait.
fn waited(before: &BTreeMap<u64, ThreadTime>, after: &BTreeMap<u64, ThreadTime>) -> Option<f64> {
    let since = |(id, after): (&u64, &ThreadTime)| {
        let before = before.get(id).copied().unwrap_or_default();
        let [ran, waited] = [(before.ran, after.ran), (before.waited, after.waited)];
        [ran, waited].map(|(before, after)| after.saturating_sub(before).as_secs_f64())
    };
    let threads: Vec<[f64; 2]> = after.iter().map(since).collect();
    let busiest = threads.iter().fold(0.0, |most: f64, [ran, _]| most.max(*ran));
    let workers = threads.iter().filter(|[ran, _]| *ran >= WORKER * busiest);
    let [ran, waited] = workers.fold([0.0; 2], |sum, thread| [sum[0] + thread[0], sum[1] + thread[1]]);
    let share = waited / (ran + waited);
    share.is_finite().then_some(share)
}

/// Tells what others took. Two observations have to agree: that the working threads waited, which they also do for each other
/// where a driver has more threads than there are processors; and that others were busy, which takes nothing from us where
/// processors are free. Where the system doesn't tell who waited, threads are taken to have waited where no processor was free. What all
/// processors did is known in large steps only, so it is taken over a longer time.
#[derive(Clone, Debug)]
pub(super) struct Contention {
    /// Earlier moments, oldest first: one from before the last half second, and those since.
    earlier: VecDeque<ProcessorTime>,
    /// What the latest visits spent, oldest first, where nobody tells who waited.
    visits: VecDeque<Spent>,
    /// Over how much of all processors' time those are judged, in seconds: their steps vanish in it.
    enough: f64,
}

/// What others had is judged over at least so much of the processors' busy time.
const LONG: Duration = Duration::from_millis(500);

/// The same in seconds of each processor, busy or not, where its steps are up to 16 ms.
const LONG_OF_EACH: f64 = 0.16;

impl Default for Contention {
    fn default() -> Self {
        let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Self::on(processors)
    }
}

impl Contention {
    #[expect(clippy::cast_precision_loss, reason = "processors are few")]
    fn on(processors: usize) -> Self {
        Self { earlier: VecDeque::new(), visits: VecDeque::new(), enough: LONG_OF_EACH * processors as f64 }
    }

    /// The share of the processor time wanted between two moments, the ends of a visit, that others had. `None` where nothing was wanted, or
    /// too little was seen yet.
    pub(super) fn lost(&mut self, before: &ProcessorTime, after: ProcessorTime) -> Option<f64> {
        match (&before.own, &after.own) {
            (OwnTime::Threads(threads), OwnTime::Threads(own)) => {
                let waited = waited(threads, own);
                waited.zip(self.others(before, after)).map(|(waited, others)| waited.min(others))
            }
            _ => self.crowded_out(Spent::between(before, &after)),
        }
    }

    fn others(&mut self, before: &ProcessorTime, after: ProcessorTime) -> Option<f64> {
        if self.earlier.is_empty() {
            self.earlier.push_back(before.clone());
        }
        while self.earlier.get(1).is_some_and(|second| after.busy.saturating_sub(second.busy) >= LONG) {
            self.earlier.pop_front();
        }
        let others = self.earlier.front().and_then(|earlier| ProcessorTime::others(earlier, &after));
        self.earlier.push_back(after);
        others
    }

    /// Of visits alone: between them the driver wants nothing, and processors are free.
    fn crowded_out(&mut self, visit: Spent) -> Option<f64> {
        self.visits.push_back(visit);
        let sum =
            |visits: &VecDeque<Spent>, from: usize| visits.iter().skip(from).fold(Spent::default(), |sum, one| sum.and(*one));
        let is_enough = |spent: Spent| spent.busy + spent.idle >= self.enough;
        while is_enough(sum(&self.visits, 1)) {
            self.visits.pop_front();
        }
        let spent = sum(&self.visits, 0);
        is_enough(spent).then(|| spent.crowded_out())?
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(times: &[(u64, u64)]) -> ProcessorTime {
        let millis = Duration::from_millis;
        let thread = |&(ran, waited): &(u64, u64)| ThreadTime { ran: millis(ran), waited: millis(waited) };
        let busy = times.iter().map(|(ran, waited)| millis(ran + waited)).sum();
        ProcessorTime { own: OwnTime::Threads((0..).zip(times.iter().map(thread)).collect()), busy, idle: Duration::ZERO }
    }

    /// Where others are as busy as can be, waiting alone decides.
    fn crowded(time: ProcessorTime) -> ProcessorTime {
        ProcessorTime { busy: Duration::from_secs(3600), ..time }
    }

    #[test]
    fn a_share_is_of_what_was_wanted() {
        let waited = |before, after| Contention::default().lost(&threads(before), crowded(threads(after)));
        assert_eq!(waited(&[(10, 1)], &[(40, 11)]), Some(0.25));
        assert_eq!(waited(&[(10, 1), (20, 0)], &[(40, 11), (50, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 1)], &[(10, 1)]), None);
        // A thread that began meanwhile counts from its beginning; one that ended takes its time with it.
        assert_eq!(waited(&[], &[(30, 10)]), Some(0.25));
        assert_eq!(waited(&[(10, 5), (90, 90)], &[(20, 5)]), Some(0.0));
    }

    #[test]
    fn helpers_that_wait_behind_the_workers_do_not_count() {
        let after = crowded(threads(&[(1000, 20), (980, 20), (30, 300)]));
        let waited = Contention::default().lost(&threads(&[(0, 0); 3]), after);
        assert!(waited.is_some_and(|waited| waited < 0.03), "{waited:?}");
    }

    #[test]
    fn waiting_is_a_loss_only_if_others_were_busy() {
        let lost = |before: ProcessorTime, after| Contention::default().lost(&before, after);
        assert_eq!(lost(threads(&[(0, 0)]), threads(&[(750, 250)])), Some(0.25));
        // Nobody else ran: the threads waited for each other.
        let alone = ProcessorTime { busy: Duration::from_millis(1500), ..threads(&[(750, 250), (750, 250)]) };
        assert_eq!(lost(threads(&[(0, 0); 2]), alone), Some(0.0));
        // Others were busy on processors that were free.
        let beside = ProcessorTime { busy: Duration::from_millis(2000), ..threads(&[(1000, 10)]) };
        assert!(lost(threads(&[(0, 0)]), beside).is_some_and(|lost| lost < 0.01));
    }

    #[test]
    fn others_are_judged_over_a_long_time() {
        let mut contention = Contention::default();
        let at = |ran: u64, busy: u64| ProcessorTime { busy: Duration::from_millis(busy), ..threads(&[(ran, ran)]) };
        // A step of the coarse clock falls into a short visit: half of it seems to be others', but next to nothing was.
        let mut before = at(0, 0);
        for visit in 1..=60 {
            let after = at(10 * visit, 10 * visit);
            contention.lost(&before, after.clone());
            before = after;
        }
        assert!(contention.lost(&before, at(610, 620)).is_some_and(|lost| lost < 0.05));
    }

    /// As where nobody tells who waited: after so much of each, on two processors.
    fn whole(own: u64, others: u64, wall: u64) -> ProcessorTime {
        let millis = Duration::from_millis;
        ProcessorTime {
            own: OwnTime::Process(millis(own)),
            busy: millis(own + others),
            idle: millis((2 * wall).saturating_sub(own + others)),
        }
    }

    #[test]
    fn others_on_free_processors_are_no_loss() {
        let lost = |own, others| Contention::on(2).lost(&whole(0, 0, 0), whole(own, others, 1000));
        assert_eq!(lost(2000, 0), Some(0.0));
        assert_eq!(lost(1000, 1000), Some(0.5));
        // One thread, and others on the other processor, which has time left.
        assert_eq!(lost(1000, 400), Some(0.0));
        assert!(lost(900, 900).is_some_and(|lost| (lost - 0.4375).abs() < 1e-9));
        assert_eq!(lost(0, 0), None);
    }

    #[test]
    fn free_processors_between_visits_are_no_room_within_them() {
        let mut contention = Contention::on(2);
        let mut lost = Vec::new();
        let (mut own, mut others, mut wall) = (0, 0, 0);
        for _ in 0..8 {
            let before = whole(own, others, wall);
            (own, others, wall) = (own + 30, others + 30, wall + 30);
            lost.push(contention.lost(&before, whole(own, others, wall)));
            // Until the next one, others go on, and a processor is free.
            (others, wall) = (others + 30, wall + 30);
        }
        // Five visits have less than ten steps of the clock.
        assert_eq!(lost, [None, None, None, None, None, Some(0.5), Some(0.5), Some(0.5)]);
        // What was is forgotten.
        let before = whole(own, others, wall);
        assert_eq!(contention.lost(&before, whole(own + 400, others, wall + 200)), Some(0.0));
    }

    #[cfg(any(target_os = "linux", windows))]
    #[test]
    fn this_process_has_run() {
        let started = std::time::Instant::now();
        while started.elapsed() < Duration::from_millis(50) {}
        let now = crate::platform::processor_time();
        // Some kernels of Linux tell nothing; Windows always does.
        assert!(now.is_some() || !cfg!(windows));
        assert!(now.is_none_or(|time| time.ran() > Duration::ZERO && time.busy >= time.ran() / 2));
    }
}
