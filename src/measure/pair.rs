//! Pairs: a case and its base, visited alternately, so that whatever disturbs one disturbs the other alike.
//!
//! Equal against equal on software drivers, the median of such ratios varies by about 1 %, where that of two blocks one after the
//! other varies by up to 18 %.

use std::time::Duration;

use super::rig::Rig;
use super::visit::{Loading, Visit};
use crate::gpu::Slot;
use crate::model::Failure;
use crate::shader::Prepared;

/// The base of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'c> {
    base: Loading<'c>,
}

impl<'c> Pair<'c> {
    /// With this base, as it is loaded.
    pub(super) fn new(base: &'c Prepared, slot: Slot) -> Self {
        Self { base: Loading::new(base, slot) }
    }

    /// Whether it is with this base.
    pub(super) fn is_with(&self, base: &Prepared) -> bool {
        std::ptr::eq(self.base.prepared, base)
    }

    /// Where the base is loaded.
    pub(super) fn slot(&self) -> Slot {
        self.base.slot
    }

    /// Chooses how many passes of the base make a sample.
    pub(super) fn choose_sizes(&mut self, rig: &mut Rig, max_time: Duration) -> Result<(), Failure> {
        rig.choose_sizes(&mut self.base, max_time)
    }

    /// One visit to both: base and own, own and base, and so on, sample by sample. The first two are discarded.
    pub(super) fn visit<'a>(
        &self,
        rig: &mut Rig<'a>,
        mut base_rig: Option<&mut Rig<'a>>,
        own: &Loading,
    ) -> Result<Visit, Failure> {
        base_rig.as_mut().map_or(Ok(()), |rig| rig.warm_up_if_idle())?;
        let (mut visit, mut base) = (Visit::default(), Visit::default());
        // A pair takes both their times, so half as many fit as samples of one.
        for i in 0..=own.samples.min(self.base.samples).div_ceil(2) {
            let own_first = i % 2 == 1;
            if own_first {
                rig.sample_into(&mut visit, own, 1)?;
            }
            match &mut base_rig {
                Some(rig) => rig.sample_into(&mut base, &self.base, 1)?,
                None => rig.sample_into(&mut base, &self.base, 1)?,
            }
            if !own_first {
                rig.sample_into(&mut visit, own, 1)?;
            }
        }
        rig.was_busy();
        base_rig.into_iter().for_each(Rig::was_busy);
        visit.samples.remove(0);
        base.samples.remove(0);
        visit.ratios = visit.samples.iter().zip(&base.samples).map(|(own, base)| own / base).collect();
        visit.implausible = visit.implausible.or(base.implausible);
        Ok(visit)
    }
}
