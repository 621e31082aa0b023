//! What the benchmark concludes, and how it reads what both sides wrote. `tests/host/second_opinion.rs` tests it.

use std::collections::BTreeMap;

use lanescope::stats::{Interval, mean, median, quantile_of_t, upper_p};

/// The error that a test may make.
const ERROR: f64 = 0.05;

/// What the CUDA program says of a work.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The time of a pass, and how much a pass does.
    Measured {
        /// Nanoseconds.
        ns: f64,
        /// In the work's own unit.
        units: f64,
    },
    /// There is no figure, and this is why.
    Failed(String),
}

/// A line of the CUDA program: the work's name, and what it says of it.
pub fn answer(line: &str) -> Option<(&str, Answer)> {
    let mut parts = line.split('\t');
    let (name, first) = (parts.next()?, parts.next()?);
    let number = |text: &str| text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    let measured = number(first).zip(parts.next().and_then(number));
    let answer = measured.map_or_else(|| Answer::Failed(first.to_owned()), |(ns, units)| Answer::Measured { ns, units });
    Some((name, answer))
}

/// One time for each process of a row's `round_medians_ns`: `PROCESS:NS;PROCESS:NS`.
pub fn process_times(rounds: &str) -> Vec<f64> {
    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for round in rounds.split(';') {
        if let Some((process, time)) = round.split_once(':').and_then(|(process, ns)| Some((process, ns.parse().ok()?))) {
            times.entry(process).or_default().push(time);
        }
    }
    times.values().map(|times| median(times)).collect()
}

/// What two sides' times say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// How many times as fast as CUDA Lanescope is.
    pub ratio: f64,
    /// Its 95 % interval; none where a side has but one process.
    pub interval: Option<Interval>,
    /// In a word.
    pub verdict: &'static str,
}

/// Compares times of processes, per unit of work: Welch's t of their logarithms.
///
/// `same`: a one-sided test at 5 % shows that Lanescope isn't slower by more than the margin. So are those that two one-sided tests
/// show to be equal within the margin, and those that are faster. `slower`: it is none of these, and the interval lies below 1.
pub fn judge(lanescope: &[f64], cuda: &[f64], margin: f64) -> Option<Judged> {
    let logs = |times: &[f64]| times.iter().map(|time| time.ln()).collect::<Vec<f64>>();
    let [own, other] = [lanescope, cuda].map(logs);
    if own.is_empty() || other.is_empty() {
        return None;
    }
    let difference = mean(&other) - mean(&own);
    let Some((error, degrees)) = welch(&own, &other) else {
        return Some(Judged { ratio: difference.exp(), interval: None, verdict: "no interval" });
    };
    let half = quantile_of_t(0.975, degrees) * error;
    let interval = Interval { low: (difference - half).exp(), high: (difference + half).exp() };
    // Of equal times alone there is no error, and no doubt.
    let beyond = difference + margin.ln_1p();
    let is_same = if error > 0.0 { upper_p(beyond / error, degrees) < ERROR } else { beyond > 0.0 };
    let verdict = match () {
        () if is_same => "same",
        () if interval.high < 1.0 => "slower",
        () => "unclear",
    };
    Some(Judged { ratio: difference.exp(), interval: Some(interval), verdict })
}

/// The standard error of the difference of two means, and its degrees of freedom.
fn welch(a: &[f64], b: &[f64]) -> Option<(f64, f64)> {
    let [(a, a_degrees), (b, b_degrees)] = [variance_of_mean(a)?, variance_of_mean(b)?];
    let sum = a + b;
    let degrees = if sum > 0.0 { sum.powi(2) / (a.powi(2) / a_degrees + b.powi(2) / b_degrees) } else { a_degrees + b_degrees };
    Some((sum.sqrt(), degrees))
}

/// The variance of a mean, and its degrees of freedom; nothing of a single value.
#[expect(clippy::cast_precision_loss, reason = "processes are few")]
fn variance_of_mean(values: &[f64]) -> Option<(f64, f64)> {
    let (count, mean) = (values.len() as f64, mean(values));
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (count - 1.0) / count, count - 1.0))
}
