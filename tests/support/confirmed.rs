//! Whether a tuning's answer is what a thorough run of every configuration finds. Shared by `tests/host/confirm.rs` and
//! `benches/confirm.rs`.

#![allow(dead_code, reason = "each target needs a part of it")]

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use lanescope::model::{AxisValue, Status};
use lanescope::record::Record;

pub type Configuration = BTreeMap<String, AxisValue>;

/// The widest interval by which anything is confirmed: half of it over the time.
pub const WIDEST: f64 = 0.1;

/// A time with its interval, ns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    pub time: f64,
    pub low: f64,
    pub high: f64,
}

impl Time {
    /// Half the interval over the time.
    pub fn noise(&self) -> f64 {
        (self.high - self.low) / 2.0 / self.time
    }
}

/// What a thorough run says of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It is the best there as well.
    Same,
    /// Its time lies within the interval of the best's.
    Within,
    /// Its time lies above that interval, and its own interval reaches down into it.
    Tied,
    /// Its whole interval lies above the best's: it is slower.
    Slower,
    /// Intervals are so wide that nearly anything would lie within them.
    Vague,
    /// It has no time there, for this reason.
    Failed(String),
}

impl Verdict {
    /// Whether it is as good an answer as the thorough run's.
    pub fn is_confirmed(&self) -> bool {
        matches!(self, Self::Same | Self::Within | Self::Tied)
    }

    pub fn as_str(&self) -> &str {
        match self {
            Self::Same => "same",
            Self::Within => "within",
            Self::Tied => "tied",
            Self::Slower => "slower",
            Self::Vague => "vague",
            Self::Failed(_) => "failed",
        }
    }
}

/// A configuration beside the best of a thorough run.
#[derive(Clone, Debug)]
pub struct Confirmation {
    pub best: Configuration,
    pub best_time: Time,
    /// What the configuration takes there.
    pub time: Option<Time>,
    pub verdict: Verdict,
}

impl Confirmation {
    /// How many times as long as the best the configuration takes in the thorough run.
    pub fn over(&self) -> Option<f64> {
        self.time.map(|own| own.time / self.best_time.time)
    }
}

/// Compares a configuration with the best of a thorough run, by that run's times alone: those of two runs have other disturbances.
/// Intervals are the rows' (95 %), their ends included; a time without one is an interval by itself. Those wider than [`WIDEST`]
/// confirm nothing.
///
/// # Errors
/// Where the thorough run has no time.
pub fn confirm(answer: &Configuration, thorough: &[Record]) -> anyhow::Result<Confirmation> {
    let (best, best_time) = best(thorough).context("the thorough run has no time")?;
    let row = thorough.iter().rfind(|row| row.by_axis == *answer);
    let own = row.and_then(time_of);
    let verdict = match (own, row) {
        _ if *answer == best => Verdict::Same,
        (None, Some(row)) => Verdict::Failed(format!("{}: {}", row.status, row.reason)),
        (None, None) => Verdict::Failed("it was never tried".to_owned()),
        (Some(own), _) if own.low > best_time.high => Verdict::Slower,
        (Some(_), _) if best_time.noise() > WIDEST => Verdict::Vague,
        (Some(own), _) if own.time <= best_time.high => Verdict::Within,
        (Some(own), _) if own.noise() > WIDEST => Verdict::Vague,
        (Some(_), _) => Verdict::Tied,
    };
    Ok(Confirmation { best, best_time, time: own, verdict })
}

/// The fastest that was measured to the end; of all where none was. So says `lanescope tune`.
pub fn best(rows: &[Record]) -> Option<(Configuration, Time)> {
    let timed = || {
        let last: BTreeMap<&Configuration, &Record> = rows.iter().map(|row| (&row.by_axis, row)).collect();
        last.into_values().filter_map(|row| Some((row, time_of(row)?)))
    };
    let fastest = |a: &(&Record, Time), b: &(&Record, Time)| a.1.time.total_cmp(&b.1.time);
    let is_precise = |(row, _): &(&Record, Time)| !matches!(row.stop.as_str(), "beaten" | "glanced" | "broken_off");
    let found = timed().filter(is_precise).min_by(fastest).or_else(|| timed().min_by(fastest));
    found.map(|(row, time)| (row.by_axis.clone(), time))
}

fn time_of(row: &Record) -> Option<Time> {
    let time = row.time_ns.filter(|_| Status::named(&row.status) == Some(Status::Ok))?;
    Some(Time { time, low: row.ci_low_ns.unwrap_or(time), high: row.ci_high_ns.unwrap_or(time) })
}

pub fn count(rows: &[Record], status: Status) -> usize {
    rows.iter().filter(|row| Status::named(&row.status) == Some(status)).count()
}

// ---- what the command says ------------------------------------------------------------------------------------------------

/// What `lanescope tune` says of its search.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effort {
    pub tried: usize,
    pub configurations: usize,
    pub samples: usize,
    pub seconds: f64,
    /// How many times as fast as the shader as it is written the best is, where that has a time.
    pub gain: Option<f64>,
}

impl Effort {
    /// Out of what was printed.
    ///
    /// # Errors
    /// Where it isn't in there.
    pub fn read(printed: &str) -> anyhow::Result<Self> {
        let said = |line: &str| {
            let numbers = line.replace(" of ", " ").replace(" configurations tried,", "").replace(" samples,", "");
            let numbers = numbers.strip_suffix(" s")?;
            let mut numbers = numbers.split(' ');
            let mut next = || numbers.next();
            let (tried, configurations, samples) = (next()?.parse().ok()?, next()?.parse().ok()?, next()?.parse().ok()?);
            Some(Self { tried, configurations, samples, seconds: next()?.parse().ok()?, gain: None })
        };
        let line = printed.lines().rfind(|line| line.contains(" configurations tried, "));
        let Some(effort) = line.and_then(said) else { bail!("it doesn't say what it tried:\n{printed}") };
        Ok(Self { gain: printed.lines().find_map(gain), ..effort })
    }
}

fn gain(line: &str) -> Option<f64> {
    match line {
        "It is the default." => Some(1.0),
        _ => line.strip_prefix("It is ")?.split(' ').next()?.parse().ok().filter(|_| line.contains("as fast as the default")),
    }
}
