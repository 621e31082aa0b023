//! Values of flags.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use clap::builder::{OsStringValueParser, PossibleValue, TypedValueParser};

use crate::model::{Preset, SpirvTarget, name_text};
use crate::output::Format;
use crate::tuning::search::Strategy;
use crate::units::parse_number;

/// Workgroups in x, y and z.
pub fn groups(text: &str) -> Result<[u32; 3], String> {
    let counts: Option<Vec<u32>> = text.split([',', 'x']).map(|count| count.trim().parse().ok()).collect();
    let counts = counts.and_then(|counts| counts.try_into().ok());
    counts.ok_or_else(|| "X,Y,Z is needed, such as 64,1,1".to_owned())
}

pub fn count(text: &str) -> Result<u64, String> {
    parse_number(text).filter(|n| *n > 0).ok_or_else(|| "a whole number from 1 is needed, such as 2^20 or 64Ki".to_owned())
}

/// Reads what may have a path in it: as [`path_text`](crate::model::path_text), of which the path comes back whole.
pub fn with_path() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().map(|text| name_text(&text))
}

/// A type of another stage as flags take it: its values, each with its word and what `--help` says of it.
macro_rules! flag_values {
    ($type:ty { $($value:ident: $word:literal, $help:literal;)* }) => {
        impl ValueEnum for $type {
            fn value_variants<'a>() -> &'a [Self] {
                &[$(Self::$value),*]
            }

            fn to_possible_value(&self) -> Option<PossibleValue> {
                Some(match self {
                    $(Self::$value => PossibleValue::new($word).help($help),)*
                })
            }
        }
    };
}

/// What GLSL is compiled for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TargetEnv(pub SpirvTarget);

impl ValueEnum for TargetEnv {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(SpirvTarget::Vulkan1_1), Self(SpirvTarget::Vulkan1_2), Self(SpirvTarget::Vulkan1_3)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self.0 {
            SpirvTarget::Vulkan1_1 => PossibleValue::new("vulkan1.1").help("SPIR-V 1.3"),
            SpirvTarget::Vulkan1_2 => PossibleValue::new("vulkan1.2").help("SPIR-V 1.5"),
            SpirvTarget::Vulkan1_3 => PossibleValue::new("vulkan1.3").help("SPIR-V 1.6"),
        })
    }
}

fn preset_word(preset: Preset) -> &'static str {
    match preset {
        Preset::Quick => "quick",
        Preset::Default => "default",
        Preset::Thorough => "thorough",
    }
}

/// How precisely `tune` measures: what it tries, the axes and the budget say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunePreset(pub Preset);

impl ValueEnum for TunePreset {
    fn value_variants<'a>() -> &'a [Self] {
        &[Self(Preset::Quick), Self(Preset::Default), Self(Preset::Thorough)]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        const QUICK: &str = "45 s of timing shared by up to 450 configurations (100 to 500 ms each), 5 % of noise allowed; looking at each, compiling it and \
                             comparing its results come on top: --dry-run estimates all, --budget limits it";
        let help = match self.0 {
            Preset::Quick => QUICK,
            Preset::Default => "Up to 2 s of timing a configuration, 1 % of noise allowed",
            Preset::Thorough => "Up to 10 s of timing a configuration, 0.5 % of noise allowed",
        };
        Some(PossibleValue::new(preset_word(self.0)).help(help))
    }
}

/// How much `run` measures, and over how many processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunPreset {
    Usual(Preset),
    /// For comparing runs: the default sweep, each case in many processes.
    Study,
    /// For `explain`: what the device does at most.
    Model,
}

impl RunPreset {
    pub fn amount(self) -> Preset {
        match self {
            Self::Usual(preset) => preset,
            Self::Study => Preset::Default,
            Self::Model => Preset::Quick,
        }
    }
}

impl ValueEnum for RunPreset {
    fn value_variants<'a>() -> &'a [Self] {
        use Preset::{Default, Quick, Thorough};
        &[Self::Usual(Quick), Self::Usual(Default), Self::Usual(Thorough), Self::Study, Self::Model]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        const HELP: &str = "For comparing: the sweep and the precision of default, each case in six processes, whose buffers lie elsewhere in each; \
                            takes about a tenth longer";
        const MODEL: &str =
            "For `explain`: what the device does at most, of each kind of work, in one to two minutes; name no experiment";
        let usual = |preset| match preset {
            Preset::Quick => "A cross-section in about a minute: 45 s of timing in all, 5 % of noise allowed",
            Preset::Default => "The whole default sweep: up to 2 s a case, 1 % of noise allowed",
            Preset::Thorough => "The same sweep, more precisely: up to 10 s a case, 0.5 % of noise allowed",
        };
        Some(match *self {
            Self::Usual(preset) => PossibleValue::new(preset_word(preset)).help(usual(preset)),
            Self::Study => PossibleValue::new("study").help(HELP),
            Self::Model => PossibleValue::new("model").help(MODEL),
        })
    }
}

flag_values!(Format {
    Csv: "csv", "Comma-separated values, every column or those of --columns";
    Jsonl: "jsonl", "One JSON object per row: what isn't empty of the columns";
    Table: "table", "For people: the columns that matter";
    Markdown: "markdown", "The same as Markdown";
    Card: "card", "For people: what the device is, in a few lines";
});

flag_values!(Strategy {
    Exhaustive: "exhaustive", "Every configuration, in order";
    Random: "random", "Random configurations: the yardstick for the others";
    HillClimbing: "hill-climbing", "From good ones to better neighbours; from where there is none, a jump nearby (greedy iterated local search)";
});

pub fn bytes(text: &str) -> Result<u64, String> {
    parse_number(text)
        .filter(|bytes| *bytes >= 4)
        .ok_or_else(|| "a number of bytes from 4 is needed, such as 2^26 or 64Mi".to_owned())
}

/// The longest time that may be asked for: sums and multiples of such are still times.
const LONGEST: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// A time: `500ms`.
/// Bytes, as typed in hex.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hex(pub Vec<u8>);

impl FromStr for Hex {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        let byte = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
        let bytes: Option<Vec<u8>> = text.as_bytes().chunks(2).map(byte).collect();
        bytes.filter(|bytes| !bytes.is_empty()).map(Self).ok_or_else(|| "bytes in hex are needed, such as 40000000".to_owned())
    }
}

pub fn duration(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| format!("{error}; try 500ms or 2s"))?;
    match duration {
        Duration::ZERO => Err("it must be longer than 0".to_owned()),
        duration if duration > LONGEST => Err("it must be shorter than 100 years".to_owned()),
        _ => Ok(duration),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_would_overflow_are_refused() {
        assert!(duration("18446744073709551615s").unwrap_err().contains("shorter than"));
        assert!(duration("0s").is_err() && duration("1 fortnight").is_err());
        let longest = duration("36499days").unwrap();
        assert!(longest.checked_mul(1000).is_some() && std::time::Instant::now().checked_add(4 * longest).is_some());
    }

    #[test]
    fn strategies_have_the_words_that_rows_have() {
        for strategy in Strategy::ALL {
            assert_eq!(strategy.to_possible_value().unwrap().get_name(), strategy.as_str());
        }
        assert_eq!(Strategy::value_variants(), Strategy::ALL);
    }
}
