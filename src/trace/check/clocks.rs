//! What comes before what: of each invocation, how much of every other one's work is ordered before its next access.

use std::sync::Arc;

/// The ways in which accesses are ordered: by execution alone; and so that shared memory, or a buffer, that was written is seen.
pub const WAYS: usize = 3;
pub const EXECUTION: usize = 0;
pub const SHARED: usize = 1;
pub const BUFFERS: usize = 2;

/// In each way, of each invocation, up to which of its times all that it did comes before. Those that met at a barrier have the same.
#[derive(Clone, Debug)]
pub struct Clocks([Arc<[u32]>; WAYS]);

/// The ways that an instruction orders accesses in.
pub type Ways = [bool; WAYS];

impl Clocks {
    /// Nothing of any invocation comes before.
    pub fn new(invocations: usize) -> Self {
        let none: Arc<[u32]> = vec![0; invocations].into();
        Self(std::array::from_fn(|_| Arc::clone(&none)))
    }

    /// Whether what an invocation did at that time comes before.
    pub fn has(&self, way: usize, invocation: u32, time: u32) -> bool {
        self.0[way][invocation as usize] >= time
    }

    /// The same, and all that an invocation did up to that time.
    pub fn with(mut self, ways: Ways, invocation: u32, time: u32) -> Self {
        for (clock, _) in self.0.iter_mut().zip(ways).filter(|(_, is_ordered)| *is_ordered) {
            let mut all = clock.to_vec();
            all[invocation as usize] = all[invocation as usize].max(time);
            *clock = all.into();
        }
        self
    }

    /// Takes over what comes before another.
    pub fn join(&mut self, ways: Ways, other: &Self) {
        for (way, _) in ways.into_iter().enumerate().filter(|(_, is_ordered)| *is_ordered) {
            if !Arc::ptr_eq(&self.0[way], &other.0[way]) {
                let both = self.0[way].iter().zip(other.0[way].iter());
                self.0[way] = both.map(|(own, other)| *own.max(other)).collect();
            }
        }
    }

    /// The same in some ways, and nothing in the others.
    pub fn only(&self, ways: Ways) -> Self {
        let mut new = Self::new(self.0[EXECUTION].len());
        new.join(ways, self);
        new
    }

    /// What comes before all that these do next, which met: `members` with the times up to which they did what they did.
    pub fn meet<'c>(ways: Ways, members: impl Iterator<Item = (u32, u32, &'c mut Self)>) {
        let members: Vec<(u32, u32, &mut Self)> = members.collect();
        let Some((_, _, first)) = members.first() else { return };
        let mut met: [Vec<u32>; WAYS] = std::array::from_fn(|way| first.0[way].to_vec());
        let mut seen: [Vec<*const u32>; WAYS] = std::array::from_fn(|way| vec![first.0[way].as_ptr()]);
        for (invocation, time, clocks) in &members {
            for way in (0..WAYS).filter(|way| ways[*way]) {
                if !seen[way].contains(&clocks.0[way].as_ptr()) {
                    seen[way].push(clocks.0[way].as_ptr());
                    met[way].iter_mut().zip(clocks.0[way].iter()).for_each(|(met, own)| *met = (*met).max(*own));
                }
                met[way][*invocation as usize] = *time;
            }
        }
        let met = met.map(Arc::<[u32]>::from);
        for (_, _, clocks) in members {
            for way in (0..WAYS).filter(|way| ways[*way]) {
                clocks.0[way] = Arc::clone(&met[way]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Ways = [true; WAYS];

    #[test]
    fn who_meets_knows_what_the_others_did_and_knew() {
        let mut clocks = [(); 3].map(|()| Clocks::new(3));
        let [first, second, third] = &mut clocks;
        Clocks::meet([true, true, false], [(0, 1, &mut *first), (1, 1, &mut *second)].into_iter());
        assert!(second.has(EXECUTION, 0, 1) && second.has(SHARED, 0, 1) && !second.has(BUFFERS, 0, 1));
        assert!(!second.has(EXECUTION, 0, 2) && !third.has(EXECUTION, 0, 1));
        let released = second.clone().with(ALL, 1, 2);
        third.join(ALL, &released);
        assert!(third.has(EXECUTION, 1, 2) && third.has(SHARED, 0, 1) && !third.has(BUFFERS, 0, 1) && third.has(BUFFERS, 1, 2));
        assert!(!second.has(EXECUTION, 1, 2), "its own time isn't in it");
    }
}
