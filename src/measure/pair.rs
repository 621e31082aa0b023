//! Pairs: a case and its base, visited alternately, so that whatever disturbs one disturbs the other alike.
//!
//! Equal against equal on software drivers, the median of such ratios varies by about 1 %, where that of two blocks one after the
//! other varies by up to 18 %.

use std::time::Duration;

use super::rig::{Conditions, Rig};
use super::visit::{Loading, Visit};
use crate::gpu::Slot;
use crate::model::Failure;
use crate::shader::Prepared;

/// The base of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'c> {
    base: Loading<'c>,
}

/// Whose part of a pair failed.
#[derive(Clone, Debug)]
pub(super) enum PairError {
    /// The case's own.
    Own(Failure),
    /// That of its base, on another device.
    Base(Failure),
}

impl<'c> Pair<'c> {
    /// With this base, as it is loaded.
    pub(super) fn new(base: &'c Prepared, slot: Slot) -> Self {
        Self { base: Loading::new(base, slot) }
    }

    /// The base as it is sampled.
    pub(super) fn base(&self) -> &Loading<'c> {
        &self.base
    }

    /// Takes the sizes that were chosen for the same base, if they were.
    pub(super) fn size_like(&mut self, others: &[Loading<'c>]) -> bool {
        let known = others.iter().find(|known| std::ptr::eq(known.prepared, self.base.prepared));
        known.inspect(|known| self.base = **known).is_some()
    }

    /// Chooses how many passes of the base make a sample.
    pub(super) fn choose_sizes(&mut self, rig: &mut Rig, max_time: Duration) -> Result<(), Failure> {
        rig.choose_sizes(&mut self.base, max_time)
    }

    /// Pairs of a visit besides one that is discarded. A pair takes both their times, so half as many fit as samples of one. An
    /// even number: what a case leaves in the caches favours whoever comes first after itself, and the two orders have to balance.
    fn pairs(&self, own: &Loading) -> u32 {
        own.samples.min(self.base.samples).div_ceil(2).next_multiple_of(2)
    }

    /// One visit to both: base and own, own and base, and so on, sample by sample.
    pub(super) fn visit(&self, rig: &mut Rig, own: &Loading) -> Result<Visit, PairError> {
        let (mut visit, mut base) = (Visit::default(), Visit::default());
        for i in 0..=self.pairs(own) {
            let mut both = [(&mut base, &self.base), (&mut visit, own)];
            if i % 2 == 1 {
                both.reverse();
            }
            for (visit, loading) in both {
                rig.sample_into(visit, loading, 1).map_err(PairError::Own)?;
            }
        }
        rig.finish(&mut base, &self.base);
        rig.finish(&mut visit, own);
        Ok(joined(visit, base, None))
    }

    /// The same, the base being on another device, which is watched as well.
    pub(super) fn visit_across(&self, rig: &mut Rig, base_rig: &mut Rig, own: &Loading) -> Result<Visit, PairError> {
        let (mut visit, mut base) = (Visit::default(), Visit::default());
        let before = base_rig.begin();
        for i in 0..=self.pairs(own) {
            if i % 2 == 1 {
                rig.sample_into(&mut visit, own, 1).map_err(PairError::Own)?;
            }
            base_rig.sample_into(&mut base, &self.base, 1).map_err(PairError::Base)?;
            if i % 2 == 0 {
                rig.sample_into(&mut visit, own, 1).map_err(PairError::Own)?;
            }
        }
        let conditions = base_rig.conditions_since(&before).map_err(PairError::Base)?;
        base_rig.finish(&mut base, &self.base);
        rig.finish(&mut visit, own);
        Ok(joined(visit, base, Some(conditions)))
    }
}

fn joined(own: Visit, base: Visit, base_conditions: Option<Conditions>) -> Visit {
    let ratios = own.samples.iter().zip(&base.samples).map(|(own, base)| own / base).collect();
    let implausible = own.implausible.or_else(|| base.implausible.map(|reason| format!("its base: {reason}")));
    Visit { ratios, base: base.samples, base_conditions, implausible, ..own }
}
