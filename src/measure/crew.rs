//! The benches of one device, and what becomes of those that are lost.

use super::bench::{Answering, Bench, Loss, Order};
use super::{Instrument, Timer};
use crate::model::{DeviceInfo, Failure, Status};

/// So many losses in a row, and a device is given up.
const MOST_LOSSES: u32 = 3;

/// Opens and calibrates a bench of the device. Times come from where an earlier one found that they do.
pub type Hire<'a> = Box<dyn FnMut(Option<Timer>) -> Result<Box<dyn Bench + 'a>, Loss> + 'a>;

/// What a bench was lost at: only what succeeded of the same kind shows that the device still does that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    Opening,
    Loading,
    Measuring,
}

/// The benches of one device: one per process that takes part in measuring.
pub struct Crew<'a> {
    hire: Hire<'a>,
    seats: Vec<Seat<'a>>,
    hired: u32,
    /// Of the first bench.
    known: Option<(DeviceInfo, Instrument)>,
    /// Losses in a row, at each kind of work.
    losses: [u32; 3],
    given_up: Option<Failure>,
}

#[derive(Default)]
struct Seat<'a> {
    bench: Option<Box<dyn Bench + 'a>>,
    process: u32,
}

impl<'a> Crew<'a> {
    /// So many benches, of which the first is opened now, the others when they are needed.
    ///
    /// # Errors
    /// Why the device can't be measured on.
    pub fn new(seats: usize, hire: Hire<'a>) -> Result<Self, Failure> {
        let seats = (0..seats.max(1)).map(|_| Seat::default()).collect();
        let mut crew = Self { hire, seats, hired: 0, known: None, losses: [0; 3], given_up: None };
        crew.bench(0)?;
        Ok(crew)
    }

    /// One bench, which can't be replaced.
    pub fn of(bench: impl Bench + 'a) -> Self {
        let known = Some((bench.info().clone(), bench.instrument().clone()));
        let gone = || Loss(Failure::new(Status::Error, "its only bench was lost"));
        let seat = Seat { bench: Some(Box::new(bench)), process: 1 };
        Self { hire: Box::new(move |_| Err(gone())), seats: vec![seat], hired: 1, known, losses: [0; 3], given_up: None }
    }

    /// How many benches there are.
    pub(super) fn len(&self) -> usize {
        self.seats.len()
    }

    /// The device.
    pub fn info(&self) -> &DeviceInfo {
        &self.known().0
    }

    /// What the first bench found out about the device's timing.
    pub fn instrument(&self) -> &Instrument {
        &self.known().1
    }

    fn known(&self) -> &(DeviceInfo, Instrument) {
        self.known.as_ref().expect("a crew begins with a bench that was opened")
    }

    /// Why the device was given up, if it was.
    pub fn given_up(&self) -> Option<&Failure> {
        self.given_up.as_ref()
    }

    /// The process whose bench sits here: each that is opened has another number.
    pub(super) fn process(&self, seat: usize) -> u32 {
        self.seats[seat].process
    }

    /// Whether a bench is there, and with it what was loaded on it. One that died while it had nothing to do is no case's fault.
    pub(super) fn is_there(&mut self, seat: usize) -> bool {
        if self.seats[seat].bench.as_mut().is_some_and(|bench| !bench.is_alive()) {
            let failure = Failure::new(Status::Crashed, "its process died while it had nothing to do");
            self.lose(seat, Work::Opening, &Loss(failure));
        }
        self.seats[seat].bench.is_some()
    }

    /// The bench at a seat, opened if need be.
    ///
    /// # Errors
    /// Why there can be none.
    pub(super) fn bench(&mut self, seat: usize) -> Result<&mut (dyn Bench + 'a), Failure> {
        while self.seats[seat].bench.is_none() {
            if let Some(failure) = &self.given_up {
                return Err(failure.clone());
            }
            self.open(seat);
        }
        match &mut self.seats[seat].bench {
            Some(bench) => Ok(bench.as_mut()),
            None => Err(Failure::new(Status::Error, "there is no bench")),
        }
    }

    fn open(&mut self, seat: usize) {
        match (self.hire)(self.known.as_ref().map(|(_, instrument)| instrument.timer)) {
            Ok(bench) => {
                self.hired += 1;
                if self.known.is_none() {
                    self.known = Some((bench.info().clone(), bench.instrument().clone()));
                }
                self.seats[seat] = Seat { bench: Some(bench), process: self.hired };
                self.succeeded(Work::Opening);
            }
            // What a driver refuses in words, it will refuse again.
            Err(Loss(mut failure)) if matches!(failure.status, Status::Error | Status::OutOfMemory) => {
                if seat > 0 {
                    failure.reason.push_str(" (in a process beside the first: --processes 1 needs only one)");
                }
                self.given_up = Some(failure);
            }
            Err(loss) => self.lose(seat, Work::Opening, &loss),
        }
    }

    /// Carries out an order at a seat whose bench is there.
    pub(super) fn carry_out(&mut self, seat: usize, order: Order, answer: &mut Answering) -> Result<(), Loss> {
        match self.bench(seat) {
            Ok(bench) => bench.carry_out(order, answer),
            Err(failure) => Err(Loss(failure)),
        }
    }

    /// Takes note that a bench was lost: the next one to sit here is another. Too many in a row, and the device is given up.
    pub(super) fn lose(&mut self, seat: usize, at: Work, loss: &Loss) {
        self.seats[seat].bench = None;
        let losses = &mut self.losses[at as usize];
        *losses += 1;
        if *losses >= MOST_LOSSES && self.given_up.is_none() {
            let Failure { status, reason } = &loss.0;
            let reason = format!("the device failed {MOST_LOSSES} times in a row and was given up; the last time: {reason}");
            self.given_up = Some(Failure::new(*status, reason));
        }
    }

    /// Takes note that work of this kind succeeded.
    pub(super) fn succeeded(&mut self, at: Work) {
        self.losses[at as usize] = 0;
    }
}
