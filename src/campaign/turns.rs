//! Devices that are measured by turns, process by process: whatever changes about the machine meanwhile changes for all of them.

use std::sync::{Condvar, Mutex, PoisonError};

/// How far a device is: by its block of cases, the part of that which memory holds at one time, and the round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Progress {
    block: u64,
    part: u32,
    round: u32,
}

/// Lets one device work at a time: the one that is least far, of several the first.
pub struct Turnstile {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// By their places; nothing for those that are done.
    devices: Vec<Option<Progress>>,
    is_taken: bool,
}

impl State {
    fn next(&self) -> Option<usize> {
        let there = self.devices.iter().enumerate().filter_map(|(place, progress)| Some((progress.as_ref()?, place)));
        there.min().map(|(_, place)| place)
    }
}

impl Turnstile {
    pub fn new(devices: usize) -> Self {
        let state = State { devices: vec![Some(Progress::default()); devices], is_taken: false };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The turns of the device at this place. The others wait for them until they are dropped.
    pub fn turns(&self, place: usize) -> Turns<'_> {
        Turns { turnstile: self, place, progress: Progress::default(), has_turn: false }
    }
}

pub struct Turns<'t> {
    turnstile: &'t Turnstile,
    place: usize,
    progress: Progress,
    has_turn: bool,
}

impl Turns<'_> {
    pub fn devices(&self) -> usize {
        self.change(|state| state.devices.len())
    }

    /// Waits until all others have ended the blocks before.
    pub fn begin_block(&mut self) {
        self.progress = Progress { block: self.progress.block + 1, ..Progress::default() };
        self.begin();
    }

    /// Waits until all others have ended the rounds before.
    pub fn begin_round(&mut self, round: u32) {
        // They are counted anew where a block doesn't fit the memory at one time.
        let part = self.progress.part + u32::from(round == 1);
        self.progress = Progress { part, round, ..self.progress };
        self.begin();
    }

    /// Waits for its turn.
    pub fn begin(&mut self) {
        let Self { turnstile, place, progress, .. } = *self;
        let has_turn = std::mem::replace(&mut self.has_turn, true);
        let mut state = turnstile.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.devices[place] = Some(progress);
        state.is_taken &= !has_turn;
        turnstile.changed.notify_all();
        let is_others = |state: &mut State| state.is_taken || state.next() != Some(place);
        let mut state = turnstile.changed.wait_while(state, is_others).unwrap_or_else(PoisonError::into_inner);
        state.is_taken = true;
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.turnstile.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// However it ends, the others go on.
impl Drop for Turns<'_> {
    fn drop(&mut self) {
        let (place, has_turn) = (self.place, self.has_turn);
        self.change(|state| {
            state.devices[place] = None;
            state.is_taken &= !has_turn;
        });
        self.turnstile.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Of each device, the rounds of each part of each block. Gives who worked when.
    fn order(devices: &[&[&[u32]]]) -> Vec<String> {
        let (turnstile, order) = (Turnstile::new(devices.len()), Mutex::new(Vec::new()));
        let work = |place: usize| {
            let mut turns = turnstile.turns(place);
            let note = |what: String| order.lock().unwrap().push(format!("{}{what}", ["a", "b", "c"][place]));
            turns.begin();
            assert_eq!(turns.devices(), devices.len());
            for (block, parts) in devices[place].iter().enumerate() {
                turns.begin_block();
                for rounds in *parts {
                    for round in 1..=*rounds {
                        turns.begin_round(round);
                        note(format!("{block}.{round}"));
                    }
                }
            }
        };
        thread::scope(|scope| {
            // The first comes last, and has the first turn all the same.
            for place in (0..devices.len()).rev() {
                let work = &work;
                scope.spawn(move || work(place));
            }
        });
        order.into_inner().unwrap()
    }

    #[test]
    fn devices_alternate_by_rounds_and_stay_in_the_same_block() {
        let one: &[&[u32]] = &[&[3], &[1]];
        assert_eq!(order(&[one, one]), ["a0.1", "b0.1", "a0.2", "b0.2", "a0.3", "b0.3", "a1.1", "b1.1"]);
        // What needs more rounds has them before anybody begins the next block.
        let other: &[&[u32]] = &[&[1], &[2]];
        assert_eq!(order(&[one, other]), ["a0.1", "b0.1", "a0.2", "a0.3", "a1.1", "b1.1", "b1.2"]);
        assert_eq!(order(&[one]), ["a0.1", "a0.2", "a0.3", "a1.1"]);
    }

    #[test]
    fn a_block_in_parts_is_still_one_block() {
        let (whole, parts): (&[&[u32]], &[&[u32]]) = (&[&[2], &[1]], &[&[2, 2], &[1]]);
        assert_eq!(order(&[whole, parts]), ["a0.1", "b0.1", "a0.2", "b0.2", "b0.1", "b0.2", "a1.1", "b1.1"]);
    }

    #[test]
    fn who_ends_or_fails_is_not_waited_for() {
        let (few, many): (&[&[u32]], &[&[u32]]) = (&[], &[&[2]]);
        assert_eq!(order(&[few, many, few]), ["b0.1", "b0.2"]);
        let turnstile = Turnstile::new(2);
        thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let mut turns = turnstile.turns(0);
                turns.begin();
                panic!("whatever");
            });
            turnstile.turns(1).begin();
            assert!(failing.join().is_err());
        });
    }
}
