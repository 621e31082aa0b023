//! What accesses cost the memory system, as far as it is known: models of hardware, as data. Each rule has its source, or says that it is
//! `unverified`.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::shader::AccessKind;

/// What of a model comes from nowhere.
pub const UNVERIFIED: &str = "unverified";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hardware {
    pub name: String,
    /// Bytes that memory is asked for at once.
    pub sector_bytes: u64,
    pub line_bytes: u64,
    /// Bytes that come from memory at once where they aren't in a cache; a sector, if nothing else is known.
    #[serde(default)]
    pub fetch_bytes: u64,
    /// Sectors that memory moves for a store of part of one.
    #[serde(default = "one")]
    pub partial_store_sectors: u64,
    /// Where these are from.
    pub source: String,
    pub shared: SharedMemory,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharedMemory {
    pub banks: u64,
    /// The width of a bank's word.
    pub bank_bytes: u64,
    /// Whether an access of several words has to be aligned to its width.
    #[serde(default)]
    pub wide_is_aligned: bool,
    /// In which lanes come together; for an access, the first that is for it counts.
    pub rules: Vec<Rule>,
}

fn one() -> u64 {
    1
}

/// How a subgroup's lanes are served, of accesses of one width.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    pub operations: Vec<AccessKind>,
    pub up_to_bytes: u64,
    /// So many lanes in a row are served at once,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases_of: Option<u32>,
    /// or these are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<Vec<u32>>,
    /// Twice as many lanes are served at once where, for one of these, all lanes n and n ^ this agree in their addresses, as far as both
    /// are active.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agreeing: Vec<u32>,
    pub source: String,
}

#[derive(Debug, Error)]
pub enum HardwareError {
    #[error("not a model of hardware: {0}")]
    Toml(#[from] toml::de::Error),
    #[error("not a model of hardware: {0}")]
    Meaning(String),
}

/// What the name of a model ends with of which a part was measured.
const MEASURED: &str = ", measured";

/// What rows say of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measured {
    /// The steps of cache/granules.
    granules: [Option<u64>; 2],
    banks: Option<u64>,
    bank_bytes: Option<u64>,
}

impl Measured {
    /// Takes what a row of an experiment says, of several the last.
    pub fn take(&mut self, experiment: &str, variant: &str, value: Option<f64>) {
        let place = match (experiment, variant) {
            ("cache/granules", "granule_1") => &mut self.granules[0],
            ("cache/granules", "granule_2") => &mut self.granules[1],
            ("shared/banks", "count") => &mut self.banks,
            ("shared/banks", "width") => &mut self.bank_bytes,
            _ => return,
        };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number within these bounds")]
        let size = value.filter(|value| (1.0..=65536.0).contains(value)).map(|value| value as u64);
        *place = size.filter(|size| size.is_power_of_two()).or(*place);
    }
}

/// A lane's access to workgroup memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaneAccess {
    pub lane: u32,
    pub offset: u64,
}

/// What a request takes of workgroup memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wavefronts {
    pub all: u64,
    /// Those of an access of this width without conflicts.
    pub least: u64,
}

impl Hardware {
    /// # Errors
    /// What is no model, in words.
    pub fn parse(text: &str) -> Result<Self, HardwareError> {
        let mut new: Self = toml::from_str(text)?;
        if new.fetch_bytes == 0 {
            new.fetch_bytes = new.sector_bytes;
        }
        new.check().map_err(HardwareError::Meaning)?;
        Ok(new)
    }

    /// The one of a vendor, by its PCI id, as far as there is one: of AMD's, that with subgroups of this size.
    pub fn of_vendor(vendor: u32, subgroup_size: u32) -> Self {
        let text = match (vendor, subgroup_size) {
            (0x10de, _) => include_str!("hardware/nvidia.toml"),
            (0x1002, 64) => include_str!("hardware/amd-cdna.toml"),
            (0x1002, _) => include_str!("hardware/amd-rdna.toml"),
            (0x8086, _) => include_str!("hardware/intel.toml"),
            _ => include_str!("hardware/assumed.toml"),
        };
        Self::parse(text).expect("a test reads the models that come along")
    }

    /// Whether a part of it was measured on the device.
    pub fn is_measured(&self) -> bool {
        self.name.ends_with(MEASURED)
    }

    /// The same with what was measured in its place.
    #[must_use]
    pub fn measured(self, measured: &Measured) -> Self {
        let [sector, fetch] = measured.granules;
        let of_memory = sector.map(|sector| format!("sectors of {sector} bytes: cache/granules"));
        let of_banks = measured.banks.zip(measured.bank_bytes);
        let own = of_banks.map(|(banks, bytes)| format!("{banks} banks of {bytes} bytes: shared/banks"));
        if of_memory.is_none() && own.is_none() {
            return self;
        }
        let sources: Vec<String> = of_memory.into_iter().chain(own).chain([format!("otherwise: {}", self.source)]).collect();
        let mut new = Self { name: format!("{}{MEASURED}", self.name), source: sources.join("; "), ..self };
        if let Some(sector) = sector {
            (new.sector_bytes, new.fetch_bytes) = (sector, fetch.unwrap_or(sector));
            new.line_bytes = new.line_bytes.max(new.fetch_bytes);
        }
        if let Some((banks, bytes)) = of_banks {
            (new.shared.banks, new.shared.bank_bytes) = (banks, bytes);
        }
        new
    }

    fn check(&self) -> Result<(), String> {
        let is_power = |name: &str, value: u64| match value.is_power_of_two() {
            true => Ok(()),
            false => Err(format!("{name} is {value}, and must be a power of two")),
        };
        is_power("sector_bytes", self.sector_bytes)?;
        is_power("line_bytes", self.line_bytes)?;
        is_power("fetch_bytes", self.fetch_bytes)?;
        if self.partial_store_sectors == 0 {
            return Err("partial_store_sectors is 0, and must be at least 1".to_owned());
        }
        is_power("banks", self.shared.banks)?;
        is_power("bank_bytes", self.shared.bank_bytes)?;
        for rule in &self.shared.rules {
            let lanes: Vec<u32> = rule.phases.iter().flatten().copied().collect();
            let is_one = rule.phases_of.is_some() == rule.phases.is_empty();
            if !is_one || rule.phases_of == Some(0) {
                return Err("a rule says either phases_of or phases".to_owned());
            }
            if lanes.iter().collect::<BTreeSet<_>>().len() < lanes.len() {
                return Err("a rule has a lane in two phases".to_owned());
            }
            if !rule.agreeing.is_empty() && rule.phases_of.is_none() {
                return Err("agreeing is for phases_of".to_owned());
            }
        }
        Ok(())
    }
}

impl SharedMemory {
    fn rule(&self, kind: AccessKind, bytes: u64) -> Option<&Rule> {
        let mut rules = self.rules.iter().filter(|rule| rule.operations.contains(&kind));
        let fitting = rules.clone().filter(|rule| bytes <= rule.up_to_bytes).min_by_key(|rule| rule.up_to_bytes);
        fitting.or_else(|| rules.by_ref().max_by_key(|rule| rule.up_to_bytes))
    }

    /// What it takes to serve one request of a subgroup, of so many bytes a lane; nothing where no rule is for it. What isn't aligned to
    /// its width in all lanes is done in pieces that are.
    pub fn wavefronts(&self, kind: AccessKind, bytes: u64, lanes: &[LaneAccess]) -> Option<Wavefronts> {
        let widest = self.rules.iter().filter(|rule| rule.operations.contains(&kind)).map(|rule| rule.up_to_bytes).max()?;
        let mut sum = Wavefronts::default();
        let mut from = 0;
        while from < bytes {
            let (rest, places) = (bytes - from, lanes.iter().fold(0, |all, lane| all | (lane.offset + from)));
            let aligned = 1 << places.trailing_zeros().min(widest.ilog2());
            let piece = if rest.next_power_of_two() <= aligned { rest } else { aligned.min(1 << rest.ilog2()) };
            let Wavefronts { all, least } = self.of_piece(self.rule(kind, piece)?, from, piece, lanes);
            sum = Wavefronts { all: sum.all + all, least: sum.least + least };
            from += piece;
        }
        Some(sum)
    }

    fn of_piece(&self, rule: &Rule, from: u64, bytes: u64, lanes: &[LaneAccess]) -> Wavefronts {
        let widening = if rule.agreeing.iter().any(|apart| do_agree(lanes, *apart)) { 2 } else { 1 };
        let phase = |lane: u32| match rule.phases_of {
            Some(width) => Some((lane / (width * widening)) as usize),
            None => rule.phases.iter().position(|phase| phase.contains(&lane)),
        };
        // Lanes beyond all phases that are named are served by themselves.
        let own = |lane: u32| rule.phases.len() + lane as usize;
        let mut words: Vec<(usize, u64, u64)> = Vec::with_capacity(4 * lanes.len());
        for LaneAccess { lane, offset } in lanes {
            let phase = phase(*lane).unwrap_or_else(|| own(*lane));
            let (first, last) = ((offset + from) / self.bank_bytes, (offset + from + bytes - 1) / self.bank_bytes);
            words.extend((first..=last).map(|word| (phase, word % self.banks, word)));
        }
        words.sort_unstable();
        words.dedup();
        let mut sum = Wavefronts::default();
        for phase in words.chunk_by(|one, other| one.0 == other.0) {
            let banks = phase.chunk_by(|one, other| one.1 == other.1);
            sum.all += banks.map(|bank| bank.len() as u64).max().unwrap_or(0);
            sum.least += 1;
        }
        sum
    }

    /// Those of the rules that say where they are from, for accesses of this kind and width.
    pub fn source(&self, kind: AccessKind, bytes: u64) -> &str {
        self.rule(kind, bytes).map_or(UNVERIFIED, |rule| &rule.source)
    }
}

/// Whether all lanes n and n ^ `apart` agree, as far as both are active.
fn do_agree(lanes: &[LaneAccess], apart: u32) -> bool {
    lanes.iter().all(|one| {
        let other = lanes.iter().find(|other| other.lane == one.lane ^ apart);
        other.is_none_or(|other| other.offset == one.offset)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_models_that_come_along_are_read() {
        for (vendor, size, name) in [
            (0x10de, 32, "nvidia"),
            (0x1002, 64, "amd-cdna"),
            (0x1002, 32, "amd-rdna"),
            (0x8086, 16, "intel"),
            (0, 4, "assumed"),
        ] {
            assert_eq!(Hardware::of_vendor(vendor, size).name, name);
        }
        let model = include_str!("hardware/assumed.toml");
        for (from, to, words) in [
            ("banks = 32", "banks = 30", "power of two"),
            ("phases_of = 32", "phases = [[0, 1], [1]]", "two phases"),
            ("phases_of = 32", "phases_of = 0", "either"),
            ("phases_of = 32", "agreeing = [1]", "either"),
            ("banks = 32", "bank = 32", "unknown field"),
        ] {
            let error = Hardware::parse(&model.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_rows_measured_takes_the_place_of_what_a_vendor_says() {
        let of = |rows: &[(&str, &str, f64)]| {
            let mut measured = Measured::default();
            rows.iter().for_each(|(experiment, variant, value)| measured.take(experiment, variant, Some(*value)));
            Hardware::of_vendor(0x1002, 32).measured(&measured)
        };
        let all = of(&[("cache/granules", "granule_1", 64.0), ("cache/granules", "granule_2", 128.0)]);
        assert_eq!((all.sector_bytes, all.fetch_bytes, all.line_bytes, all.shared.banks), (64, 128, 128, 32));
        assert!(all.source.starts_with("sectors of 64 bytes: cache/granules; otherwise: "), "{}", all.source);
        let all = of(&[("shared/banks", "count", 64.0), ("shared/banks", "width", 8.0)]);
        assert_eq!((all.shared.banks, all.shared.bank_bytes), (64, 8));
        // What is no size tells nothing.
        assert_eq!(of(&[("cache/granules", "granule_1", 48.0), ("memory/stream", "", 64.0)]), Hardware::of_vendor(0x1002, 32));
    }

    /// Whole lines of lanes.
    fn of(kind: AccessKind, bytes: u64, offset: impl Fn(u64) -> u64) -> [u64; 2] {
        let lanes: Vec<LaneAccess> = (0..32).map(|lane| LaneAccess { lane, offset: offset(lane.into()) }).collect();
        let Wavefronts { all, least } = Hardware::of_vendor(0x10de, 32).shared.wavefronts(kind, bytes, &lanes).unwrap();
        [all, least]
    }

    #[test]
    fn columns_and_rows_cost_what_theory_says() {
        let (load, store) = (AccessKind::Load, AccessKind::Store);
        assert_eq!(of(load, 4, |lane| 4 * lane), [1, 1]);
        assert_eq!(of(load, 4, |lane| 128 * lane), [32, 1], "a column of tile[32][32]");
        assert_eq!(of(load, 4, |lane| 132 * lane), [1, 1], "of tile[32][33]");
        assert_eq!(of(load, 4, |_| 64), [1, 1], "a broadcast");
        assert_eq!(of(load, 16, |lane| 16 * lane), [4, 4]);
        assert_eq!(of(load, 16, |_| 0), [2, 2], "pairs that agree");
        assert_eq!(of(store, 16, |_| 0), [4, 4]);
        assert_eq!(of(store, 32, |lane| 32 * lane), [16, 8], "two of 16 bytes each");
        assert_eq!(of(load, 20, |lane| 20 * lane), [5, 5], "five of 4 bytes each, which is how they are aligned");
        assert_eq!(of(load, 8, |lane| 12 * lane), [2, 2], "two of 4 bytes each");
    }
}
