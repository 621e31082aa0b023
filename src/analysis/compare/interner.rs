//! What many rows share, kept once: there may be millions of rows, and few experiments, variants, shaders and flags.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::hash::Hash;
use std::sync::Arc;

use super::observation::{Basis, Remarks};
use super::sides::CaseKind;
use crate::record::Record;

/// Values of one type, each once.
#[derive(Debug)]
pub struct Interner<T: ?Sized>(HashSet<Arc<T>>);

impl<T: ?Sized> Default for Interner<T> {
    fn default() -> Self {
        Self(HashSet::new())
    }
}

impl<T: ?Sized + Eq + Hash> Interner<T> {
    pub fn of(&mut self, value: impl Borrow<T> + Into<Arc<T>>) -> Arc<T> {
        if let Some(known) = self.0.get(value.borrow()) {
            return known.clone();
        }
        let new: Arc<T> = value.into();
        self.0.insert(new.clone());
        new
    }
}

/// What the rows of a side share.
#[derive(Debug, Default)]
pub struct Shared {
    pub words: Interner<str>,
    kinds: Interner<CaseKind>,
    /// Of the row before: most rows are of the same.
    kind: Arc<CaseKind>,
    pub bases: Interner<Basis>,
    pub said: Interner<Remarks>,
}

impl Shared {
    pub fn kind(&mut self, record: &Record) -> Arc<CaseKind> {
        let own = [&record.experiment, &record.variant, &record.unit, &record.better, &record.cache];
        let CaseKind { experiment, variant, unit, better, cache, is_derived } = &*self.kind;
        let is_as_before = [experiment, variant, unit, better, cache].iter().zip(own).all(|(last, own)| ***last == **own);
        if !is_as_before || *is_derived != record.is_derived() {
            let [experiment, variant, unit, better, cache] = own.map(|word| self.words.of(word.as_str()));
            let kind = CaseKind { experiment, variant, unit, better, cache, is_derived: record.is_derived() };
            self.kind = self.kinds.of(kind);
        }
        self.kind.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_same_is_kept_once() {
        let mut words = Interner::<str>::default();
        let [one, other, again] = ["a", "b", "a"].map(|word| words.of(word));
        assert!(Arc::ptr_eq(&one, &again) && !Arc::ptr_eq(&one, &other));
        assert_eq!((&*other, words.0.len()), ("b", 2));
    }
}
