//! The benches of one device, and what becomes of those that are lost.

use std::time::Duration;

use super::Instrument;
use super::bench::{Answering, Bench, Loss, Order};
use super::core_clock::CoreClock;
use crate::model::{DeviceInfo, Failure, Peaks, Stage, Status};
use crate::validate::Learned;

/// So many losses in a row, and a device is given up.
const MOST_LOSSES: u32 = 3;

/// What keeps a device from opening may be over in a moment, such as another program that is just ending.
const BEFORE_ASKING_AGAIN: Duration = Duration::from_millis(250);

/// Opens and calibrates a bench of the device, by what the first one found: all of a case take the same timer.
pub type Opener<'a> = Box<dyn FnMut(Option<&Instrument>) -> Result<Box<dyn Bench + 'a>, Loss> + 'a>;

/// The benches of one device: one per process that takes part in measuring.
pub struct Pool<'a> {
    opener: Opener<'a>,
    slots: Vec<Seat<'a>>,
    opened: u32,
    known: Option<Known>,
    pub(super) core_clock: CoreClock,
    /// Losses in a row, at each stage.
    losses: [u32; Stage::ALL.len()],
    given_up: Option<Failure>,
}

#[derive(Default)]
struct Seat<'a> {
    bench: Option<Box<dyn Bench + 'a>>,
    process: u32,
    /// How many cases this process has loaded so far.
    guests: u32,
}

struct Known {
    info: DeviceInfo,
    instrument: Instrument,
    learned: Learned,
}

impl Known {
    fn of(bench: &dyn Bench) -> Self {
        Self { info: bench.info().clone(), instrument: bench.instrument().clone(), learned: bench.learned().clone() }
    }
}

/// Whether a driver said no, and no process was lost.
fn is_refused(failure: &Failure) -> bool {
    matches!(failure.status, Status::Error | Status::OutOfMemory)
}

impl<'a> Pool<'a> {
    /// So many benches, of which the first is opened now, the others when they are needed.
    pub fn new(slots: usize, opener: Opener<'a>) -> Result<Self, Failure> {
        let slots = (0..slots.max(1)).map(|_| Seat::default()).collect();
        let mut pool = Self {
            opener,
            slots,
            opened: 0,
            known: None,
            core_clock: CoreClock::default(),
            losses: [0; Stage::ALL.len()],
            given_up: None,
        };
        pool.bench(0)?;
        Ok(pool)
    }

    /// One bench, which can't be replaced.
    pub fn single(bench: impl Bench + 'a) -> Self {
        let mut bench: Option<Box<dyn Bench + 'a>> = Some(Box::new(bench));
        let gone = || Loss(Failure::new(Status::Error, "its only bench was lost"));
        Self::new(1, Box::new(move |_| bench.take().ok_or_else(gone))).expect("the bench is there")
    }

    /// Judges figures by these limits of the device, and not by those that its bench knows.
    #[must_use]
    pub fn limited(mut self, peaks: Peaks) -> Self {
        if let Some(known) = &mut self.known {
            known.info.peaks = peaks;
        }
        self
    }

    /// Numbers processes from behind this number on. Before anything is loaded.
    pub(super) fn number_behind(&mut self, last: u32) {
        self.opened += last;
        self.slots.iter_mut().filter(|slot| slot.bench.is_some()).for_each(|slot| slot.process += last);
    }

    pub(super) fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn info(&self) -> &DeviceInfo {
        &self.known().info
    }

    pub fn instrument(&self) -> &Instrument {
        &self.known().instrument
    }

    pub fn learned(&self) -> &Learned {
        &self.known().learned
    }

    fn known(&self) -> &Known {
        self.known.as_ref().expect("a pool begins with a bench that was opened")
    }

    pub fn given_up(&self) -> Option<&Failure> {
        self.given_up.as_ref()
    }

    /// The process whose bench sits here: each that is opened has another number.
    pub(super) fn process(&self, slot: usize) -> u32 {
        self.slots[slot].process
    }

    /// Whether a bench is there, and with it what was loaded on it. One that died while it had nothing to do is no case's fault.
    pub(super) fn is_there(&mut self, slot: usize) -> bool {
        if self.slots[slot].bench.as_mut().is_some_and(|bench| !bench.is_alive()) {
            let failure = Failure::new(Status::Crashed, "its process died while it had nothing to do");
            // Not as one at opening: each that is opened would seem to mend it.
            self.lose(slot, Stage::Timing, &Loss(failure));
        }
        self.slots[slot].bench.is_some()
    }

    /// The process whose bench sits here now, if one does: what was loaded in another one is gone.
    pub(super) fn present(&self, slot: usize) -> Option<u32> {
        let Seat { bench, process, .. } = &self.slots[slot];
        bench.as_ref().map(|_| *process)
    }

    /// Whether a bench is there that compiles cases while it does something else.
    pub(super) fn compiles_ahead(&self, slot: usize) -> bool {
        self.slots[slot].bench.as_ref().is_some_and(|bench| bench.compiles_ahead())
    }

    /// The bench at a slot, opened if need be.
    pub(super) fn bench(&mut self, slot: usize) -> Result<&mut (dyn Bench + 'a), Failure> {
        while self.slots[slot].bench.is_none() {
            if let Some(failure) = &self.given_up {
                return Err(failure.clone());
            }
            self.open(slot);
        }
        match &mut self.slots[slot].bench {
            Some(bench) => Ok(bench.as_mut()),
            None => Err(Failure::new(Status::Error, "there is no bench")),
        }
    }

    fn open(&mut self, slot: usize) {
        match (self.opener)(self.known.as_ref().map(|known| &known.instrument)) {
            Ok(bench) => {
                self.opened += 1;
                bench.instrument().core_readings.iter().for_each(|reading| self.core_clock.learn(*reading));
                if self.known.is_none() {
                    self.known = Some(Known::of(&*bench));
                }
                self.slots[slot] = Seat { bench: Some(bench), process: self.opened, guests: 0 };
                self.succeeded(Stage::Opening);
            }
            // What a driver refuses in words after another failure, it will refuse again; and what becomes of a reference in the first
            // process will again.
            Err(Loss(failure)) if is_refused(&failure) && self.losses[Stage::Opening as usize] == 0 => {
                self.lose(slot, Stage::Opening, &Loss(failure));
                std::thread::sleep(BEFORE_ASKING_AGAIN);
            }
            Err(Loss(mut failure)) if is_refused(&failure) || (failure.stage == Some(Stage::Reference) && self.opened == 0) => {
                if slot > 0 {
                    failure.reason.push_str(" (in a process beside the first: --processes 1 needs only one)");
                }
                self.given_up = Some(failure);
            }
            Err(loss) => self.lose(slot, Stage::Opening, &loss),
        }
    }

    /// Carries out an order at a slot whose bench is there. None is opened for it: on that nothing would be loaded.
    pub(super) fn carry_out(&mut self, slot: usize, order: Order, answer: &mut Answering) -> Result<(), Loss> {
        match &mut self.slots[slot].bench {
            Some(bench) => bench.carry_out(order, answer),
            None => Err(Loss(Failure::new(Status::Crashed, "its process was lost"))),
        }
    }

    /// Takes note that the process at a slot has loaded one more case.
    pub(super) fn welcome(&mut self, slot: usize) {
        self.slots[slot].guests += 1;
    }

    /// Whether the process at a slot has had other cases than the one that it is at: then one of those may be why it crashes.
    pub(super) fn has_had_others(&self, slot: usize, at: Stage) -> bool {
        self.slots[slot].guests > u32::from(at != Stage::Loading)
    }

    /// Takes note that a bench was lost, and nobody knows by whom.
    pub(super) fn lose_unexplained(&mut self, slot: usize) {
        self.slots[slot].bench = None;
    }

    /// Ends the processes that have loaded anything: what comes next finds fresh ones.
    pub(super) fn renew(&mut self) {
        self.slots.iter_mut().filter(|slot| slot.guests > 0).for_each(|slot| slot.bench = None);
    }

    /// Takes note that a bench was lost: the next one to sit here is another. Too many in a row, and the device is given up.
    pub(super) fn lose(&mut self, slot: usize, at: Stage, loss: &Loss) {
        self.slots[slot].bench = None;
        let losses = &mut self.losses[at as usize];
        *losses += 1;
        if *losses >= MOST_LOSSES && self.given_up.is_none() {
            let (status, reason) = (loss.0.status, loss.0.words());
            let reason = format!("the device failed {MOST_LOSSES} times in a row and was given up; the last time: {reason}");
            self.given_up = Some(Failure::new(status, reason));
        }
    }

    pub(super) fn succeeded(&mut self, at: Stage) {
        self.losses[at as usize] = 0;
    }
}
