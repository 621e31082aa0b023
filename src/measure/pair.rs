//! Pairs: a case and its base, visited alternately, so that whatever disturbs one disturbs the other alike.
//!
//! Equal against equal on software drivers, the median of such ratios varies by about 1 %, where that of two blocks one after the
//! other varies by up to 18 %.

use super::rig::{Conditions, Rig};
use super::visit::{SampledCase, Sizes, Visit, finish};
use crate::model::Failure;

/// Pairs of a visit besides one that is discarded. A pair takes both their times, so half as many fit as samples of one. An
/// even number: what a case leaves in the caches favours whoever comes first after itself, and the two orders have to balance.
pub(super) fn pairs(own: Sizes, base: Sizes) -> u32 {
    own.samples.min(base.samples).div_ceil(2).next_multiple_of(2)
}

/// Whether the base comes first in a pair: base and own, own and base, and so on.
pub(super) fn is_base_first(pair: u32) -> bool {
    pair % 2 == 0
}

/// One visit to both on one device, sample by sample.
pub(super) fn visit_pair(rig: &mut Rig, own: &SampledCase, base: &SampledCase) -> Result<Visit, Failure> {
    let (mut visit, mut base_visit) = (Visit::default(), Visit::default());
    for i in 0..=pairs(own.sizes, base.sizes) {
        let mut both = [(&mut base_visit, base), (&mut visit, own)];
        if !is_base_first(i) {
            both.reverse();
        }
        for (visit, subject) in both {
            rig.sample_one_into(visit, subject)?;
        }
    }
    let floor = rig.instrument.floor;
    finish(&mut base_visit, base.sizes, floor);
    finish(&mut visit, own.sizes, floor);
    rig.was_busy();
    Ok(joined(visit, base_visit, None))
}

pub(super) fn joined(own: Visit, base: Visit, base_conditions: Option<Conditions>) -> Visit {
    let ratios = own.samples.iter().zip(&base.samples).map(|(own, base)| own / base).collect();
    let implausible = own.implausible.or_else(|| base.implausible.map(|reason| format!("its base: {reason}")));
    Visit { ratios, base: base.samples, base_conditions, implausible, ..own }
}
