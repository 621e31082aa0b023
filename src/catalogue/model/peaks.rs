//! What devices can do at most, where that is published: no query tells it. The entries that come along are data, in `limits.toml`
//! beside this file; a user's own file has the same form.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use globset::GlobMatcher;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use super::Bound;
use crate::globs;

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Peak {
    /// 10^9 bytes or operations per second; a multiply-add counts two.
    pub rate: f64,
    /// Whether the device can't exceed it, since the clock behind it is the highest there is. A nominal one may be exceeded: cards are
    /// overclocked, and published figures rounded.
    pub is_hard: bool,
    /// The clock in MHz at which it is that, where it follows from what a unit does in a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<f64>,
}

impl Peak {
    /// The limit at the clock in MHz that was measured: nothing exceeds what its units do in each clock.
    #[must_use]
    pub fn at(self, core_clock_mhz: Option<f64>) -> Self {
        match self.clock_mhz.zip(core_clock_mhz) {
            Some((clock, measured)) => Self { rate: self.rate * measured / clock, is_hard: true, clock_mhz: core_clock_mhz },
            None => self,
        }
    }
}

/// What the parts of a device do at most, as far as that is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Peaks(BTreeMap<Bound, Peak>);

impl Peaks {
    pub fn limit(&self, bound: Bound) -> Option<Peak> {
        self.0.get(&bound).copied()
    }

    /// All that are known, in the order of [`Bound`].
    pub fn iter(&self) -> impl Iterator<Item = (Bound, Peak)> {
        self.0.iter().map(|(bound, peak)| (*bound, *peak))
    }
}

impl FromIterator<(Bound, Peak)> for Peaks {
    fn from_iter<I: IntoIterator<Item = (Bound, Peak)>>(peaks: I) -> Self {
        Self(peaks.into_iter().collect())
    }
}

#[derive(Clone, Debug, Default)]
pub struct Published {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    names: Vec<GlobMatcher>,
    vendor_id: Option<u32>,
    device_ids: Vec<u32>,
    peaks: Peaks,
}

static BUILT_IN: LazyLock<Published> =
    LazyLock::new(|| Published::parse(include_str!("limits.toml")).expect("a test reads the entries that come along"));

impl Published {
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    /// Reads a file of entries. Where the text is none, the error says what is to be done about it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|error| error.to_string().trim_end().to_owned())?;
        if file.device.is_empty() {
            return Err("it has no [[device]]: each device whose limits you know needs one".to_owned());
        }
        let mut seen = BTreeSet::new();
        let checked = |typed: Spanned<Typed>| {
            let line = text[..typed.span().start].matches('\n').count() + 1;
            let typed = typed.into_inner();
            let of = typed.names.first().cloned().unwrap_or_default();
            typed.checked(&mut seen).map_err(|words| format!("the [[device]] on line {line} ({of}): {words}"))
        };
        Ok(Self { entries: file.device.into_iter().map(checked).collect::<Result<_, _>>()? })
    }

    /// The limits of the device with these ids and this name, by the first entry that is about it. Ids that aren't known agree with any.
    pub fn of(&self, vendor_id: Option<u32>, device_id: Option<u32>, name: &str) -> Option<&Peaks> {
        let is_of = |entry: &&Entry| {
            entry.names.iter().any(|own| own.is_match(name))
                && (entry.vendor_id.is_none() || vendor_id.is_none() || entry.vendor_id == vendor_id)
                && (entry.device_ids.is_empty() || device_id.is_none_or(|id| entry.device_ids.contains(&id)))
        };
        self.entries.iter().find(is_of).map(|entry| &entry.peaks)
    }
}

// ---- as typed -------------------------------------------------------------------------------------------------------------

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    device: Vec<Spanned<Typed>>,
}

/// An entry as it is typed: `lanescope guide drivers` says what each field means.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Typed {
    /// What it is, for readers.
    #[serde(default, rename = "part")]
    _part: String,
    names: Vec<String>,
    vendor_id: Option<u32>,
    #[serde(default)]
    device_ids: Vec<u32>,
    units: Option<u32>,
    clock: Clock,
    clock_mhz: Option<f64>,
    #[serde(default)]
    nominal: BTreeSet<Bound>,
    #[serde(default)]
    published: BTreeMap<Bound, f64>,
    #[serde(default)]
    per_clock: BTreeMap<Bound, f64>,
    #[serde(default, rename = "source")]
    _source: Vec<Source>,
}

/// Which clock figures are at.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Clock {
    /// The highest: nothing makes the device run faster.
    Highest,
    /// One that it may exceed.
    Nominal,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Source {
    #[serde(rename = "title")]
    _title: String,
    #[serde(default, rename = "address")]
    _address: String,
    #[serde(default, rename = "says")]
    _says: String,
}

impl Typed {
    /// `seen`: the names so far, with the ids that they are for.
    fn checked(self, seen: &mut BTreeSet<(String, Vec<u32>)>) -> Result<Entry, String> {
        if self.names.is_empty() {
            return Err("`names` is empty: give the device's name as `lanescope devices` shows it".to_owned());
        }
        for name in &self.names {
            if !seen.insert((name.clone(), self.device_ids.clone())) {
                return Err(format!("`names` has {name:?} a second time: leave one of them out"));
            }
        }
        let names = self.names.iter().map(|name| pattern(name)).collect::<Result<_, _>>()?;
        let peaks = self.peaks()?;
        Ok(Entry { names, vendor_id: self.vendor_id, device_ids: self.device_ids, peaks })
    }

    fn peaks(&self) -> Result<Peaks, String> {
        if self.clock == Clock::Highest && self.clock_mhz.is_none() {
            let advice = "say which clock that is, or write `clock = \"nominal\"` if the device may run faster";
            return Err(format!("`clock = \"highest\"` needs `clock_mhz`: {advice}"));
        }
        for (field, figures) in [("published", &self.published), ("per_clock", &self.per_clock)] {
            if let Some((bound, _)) = figures.iter().find(|(_, rate)| !(rate.is_finite() && **rate > 0.0)) {
                return Err(format!("`{field}.{bound}` must be a number above 0"));
            }
        }
        let derived = self.derived()?;
        if let Some(bound) = derived.keys().find(|bound| self.published.contains_key(bound)) {
            return Err(format!("`{bound}` is in `published` and in `per_clock`: leave one of them out"));
        }
        let rates: BTreeMap<Bound, f64> = self.published.iter().map(|(bound, rate)| (*bound, *rate)).chain(derived).collect();
        if rates.is_empty() {
            return Err("it has no figure: add `published` or `per_clock`".to_owned());
        }
        if let Some(bound) = self.nominal.iter().find(|bound| !rates.contains_key(bound)) {
            return Err(format!("`nominal` names {bound}, of which there is no figure: add it, or leave it out of `nominal`"));
        }
        let peak = |(bound, rate)| {
            let is_hard = self.clock == Clock::Highest && !self.nominal.contains(&bound);
            let clock_mhz = self.clock_mhz.filter(|_| self.per_clock.contains_key(&bound));
            (bound, Peak { rate, is_hard, clock_mhz })
        };
        Ok(rates.into_iter().map(peak).collect())
    }

    /// What follows from what a unit does in a clock.
    fn derived(&self) -> Result<BTreeMap<Bound, f64>, String> {
        if self.per_clock.is_empty() {
            return Ok(BTreeMap::new());
        }
        let clock_mhz = self.clock_mhz.filter(|clock| clock.is_finite() && *clock > 0.0);
        let units = self.units.filter(|units| *units > 0);
        let (Some(clock_mhz), Some(units)) = (clock_mhz, units) else {
            return Err(
                "`per_clock` needs `units` and `clock_mhz`, both above 0: its figures are multiplied by them".to_owned()
            );
        };
        if self.per_clock.contains_key(&Bound::Memory) {
            return Err("`per_clock.memory`: memory has a clock of its own, so give it in `published`".to_owned());
        }
        let of_device = |per_clock: f64| per_clock * f64::from(units) * clock_mhz / 1000.0;
        Ok(self.per_clock.iter().map(|(bound, per_clock)| (*bound, of_device(*per_clock))).collect())
    }
}

/// A name of which `*` stands for any characters, and everything else for itself.
fn pattern(name: &str) -> Result<GlobMatcher, String> {
    if name.chars().all(|c| c == '*' || c.is_whitespace()) {
        return Err(format!("`names` has {name:?}, which says no device: give its name as `lanescope devices` shows it"));
    }
    let literal: Vec<String> = name.split('*').map(globset::escape).collect();
    globs::matcher(&literal.join("*"), |glob| glob).map_err(|why| format!("`names` has {:?}: {why}", globs::beginning(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NVIDIA: Option<u32> = Some(0x10DE);
    const AMD: Option<u32> = Some(0x1002);

    fn rate(of: (Option<u32>, u32, &str), bound: Bound) -> f64 {
        Published::built_in().of(of.0, Some(of.1), of.2).unwrap().limit(bound).unwrap().rate
    }

    /// As the data sheets and white papers round them, at their clocks.
    #[test]
    fn derived_figures_are_the_published_ones() {
        let h100 = (NVIDIA, 0x2330, "NVIDIA H100 80GB HBM3");
        let pcie = (NVIDIA, 0x2331, "NVIDIA H100 PCIe");
        let nvl = (NVIDIA, 0x2321, "NVIDIA H100 NVL");
        let h200 = (NVIDIA, 0x2335, "NVIDIA H200");
        let a100 = (NVIDIA, 0x20F1, "NVIDIA A100-PCIE-40GB");
        let mi250x = (AMD, 0x7408, "AMD Instinct MI250X (RADV MI200)");
        let mi300x = (AMD, 0x74A1, "AMD Instinct MI300X");
        for (of, bound, published) in [
            (h100, Bound::Memory, 3352.0),
            (h100, Bound::Float32, 66_900.0),
            (h100, Bound::Float16, 133_800.0),
            (h100, Bound::Float64, 33_500.0),
            (h100, Bound::Int32, 33_500.0),
            (h100, Bound::Shared, 33_454.0),
            (h100, Bound::MatrixBf16, 989_400.0 * 1980.0 / 1830.0),
            (h100, Bound::MatrixTf32, 494_700.0 * 1980.0 / 1830.0),
            (h100, Bound::MatrixF8, 1_978_900.0 * 1980.0 / 1830.0),
            (pcie, Bound::Float32, 51_200.0),
            (nvl, Bound::Float32, 60_300.0),
            (h200, Bound::Float32, 66_900.0),
            (a100, Bound::Float32, 19_500.0),
            (a100, Bound::Float16, 78_000.0),
            (a100, Bound::Float64, 9_700.0),
            (a100, Bound::Int32, 19_500.0),
            (a100, Bound::MatrixF16, 312_000.0),
            (a100, Bound::MatrixTf32, 156_000.0),
            (a100, Bound::MatrixI8, 624_000.0),
            (mi250x, Bound::Float64, 47_900.0 / 2.0),
            (mi250x, Bound::MatrixF16, 383_000.0 / 2.0),
            (mi300x, Bound::Float32, 163_400.0),
            (mi300x, Bound::Float64, 81_700.0),
            (mi300x, Bound::MatrixF16, 1_307_400.0),
            (mi300x, Bound::MatrixTf32, 653_700.0),
            (mi300x, Bound::MatrixI8, 2_614_900.0),
        ] {
            let share = rate(of, bound) / published;
            assert!((share - 1.0).abs() < 0.005, "{of:?} {bound}: {share}");
        }
    }

    #[test]
    fn a_device_is_known_by_its_whole_name_and_its_ids() {
        let of = |vendor, device, name| Published::built_in().of(vendor, device, name);
        assert!(of(NVIDIA, Some(0x2330), "NVIDIA H100 80GB HBM3").is_some());
        assert!(of(None, None, "NVIDIA H100 80GB HBM3").is_some(), "rows without ids are of what they name");
        assert!(of(AMD, Some(0x2330), "NVIDIA H100 80GB HBM3").is_none());
        assert!(of(NVIDIA, Some(0x2339), "NVIDIA H100 80GB HBM3").is_none());
        assert!(of(NVIDIA, None, "NVIDIA H100").is_none());
        assert!(of(NVIDIA, None, "NVIDIA H100 80GB HBM3 MIG 1g.10gb").is_none());
        assert!(of(AMD, None, "AMD Instinct MI300X VF").is_none() && of(AMD, None, "AMD Instinct MI250X / MI250").is_none());
        // An entry whose name another one begins with.
        assert_ne!(of(NVIDIA, None, "NVIDIA H200"), of(NVIDIA, None, "NVIDIA H200 NVL"));
    }

    #[test]
    fn each_entry_that_comes_along_has_sources_and_is_for_one_vendor() {
        let file: File = toml::from_str(include_str!("limits.toml")).unwrap();
        for typed in file.device.into_iter().map(Spanned::into_inner) {
            assert!(!typed._part.is_empty() && typed.vendor_id.is_some(), "{:?}", typed.names);
            assert!(typed._source.iter().all(|source| !source._title.is_empty() && !source._says.is_empty()));
            assert!(!typed._source.is_empty(), "{:?}", typed.names);
        }
    }

    #[test]
    fn what_may_be_exceeded_is_nominal() {
        let h200 = Published::built_in().of(NVIDIA, None, "NVIDIA H200").unwrap();
        assert!([Bound::Memory, Bound::Float32].iter().all(|bound| !h200.limit(*bound).unwrap().is_hard));
        let nvl = Published::built_in().of(NVIDIA, None, "NVIDIA H200 NVL").unwrap();
        assert!(nvl.iter().all(|(_, peak)| !peak.is_hard));
    }

    #[test]
    fn nothing_exceeds_what_its_units_do_in_the_cycles_that_were() {
        let h100 = Published::built_in().of(NVIDIA, None, "NVIDIA H100 80GB HBM3").unwrap();
        let [fp32, memory] = [Bound::Float32, Bound::Memory].map(|bound| h100.limit(bound).unwrap());
        assert_eq!((fp32.is_hard, fp32.at(None), memory.at(Some(2010.0))), (false, fp32, memory));
        let at_clock = fp32.at(Some(2010.0));
        assert!(at_clock.is_hard && (at_clock.rate - 132.0 * 256.0 * 2.010).abs() < 1e-6, "{at_clock:?}");
    }

    #[test]
    fn a_bad_file_says_where_and_what_to_do() {
        let entry = |fields: &str| format!("\n[[device]]\nnames = [\"a\"]\nclock = \"nominal\"\n{fields}");
        let highest = |fields: &str| format!("[[device]]\nnames = [\"a\"]\nclock = \"highest\"\n{fields}");
        let two = format!("{}{}", entry("published = { fp32 = 1 }"), entry("published = { fp32 = 2 }"));
        for (text, parts) in [
            (String::new(), ["[[device]]", "needs one"]),
            (entry("publishes = { fp32 = 1 }"), ["line 5", "unknown field `publishes`"]),
            (entry("published = { fp33 = 1 }"), ["line 5", "unknown variant `fp33`"]),
            (entry("published = { fp32 = \"1\" }"), ["line 5", "expected f64"]),
            (entry("published = { fp32 = nan }"), ["line 2 (a)", "`published.fp32` must be a number above 0"]),
            (entry("published = { fp32 = 0 }"), ["line 2 (a)", "above 0"]),
            (entry(""), ["line 2", "add `published` or `per_clock`"]),
            (entry("per_clock = { fp32 = 1 }"), ["line 2", "needs `units` and `clock_mhz`"]),
            (entry("units = 1\nclock_mhz = 1\nper_clock = { memory = 1 }"), ["per_clock.memory", "`published`"]),
            (
                entry("units = 1\nclock_mhz = 1\nper_clock = { fp32 = 1 }\npublished = { fp32 = 1 }"),
                ["`fp32` is in `published` and in `per_clock`", "leave one"],
            ),
            (entry("nominal = [\"fp64\"]\npublished = { fp32 = 1 }"), ["`nominal` names fp64", "add it"]),
            (highest("published = { fp32 = 1 }"), ["line 1 (a)", "needs `clock_mhz`"]),
            (two, ["line 6", "\"a\" a second time"]),
            (
                "[[device]]\nnames = []\nclock = \"nominal\"\npublished = { fp32 = 1 }".to_owned(),
                ["line 1", "`names` is empty"],
            ),
            (
                "[[device]]\nnames = [\"*\"]\nclock = \"nominal\"\npublished = { fp32 = 1 }".to_owned(),
                ["line 1", "says no device"],
            ),
            ("[[device]]\nnames = [\"a\"]\npublished = { fp32 = 1 }".to_owned(), ["line 1", "missing field `clock`"]),
            ("[[device]]\nnames = [\"a\"]\nclock = \"fast\"".to_owned(), ["line 3", "expected `highest` or `nominal`"]),
            ("[[device]]\nnames = [".to_owned(), ["line 2", "array"]),
        ] {
            let error = Published::parse(&text).unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{text}\n{error}");
        }
    }

    #[test]
    fn a_star_stands_for_anything_and_all_else_for_itself() {
        let text = "[[device]]\nnames = [\"Arc [A770] *\"]\nclock = \"nominal\"\npublished = { fp32 = 1 }";
        let file = Published::parse(text).unwrap();
        assert!(file.of(None, None, "Arc [A770] (DG2/x)").is_some());
        assert!(file.of(None, None, "Arc A (DG2)").is_none() && file.of(None, None, "An Arc [A770] x").is_none());
    }
}
