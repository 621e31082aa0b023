//! Which caches there are, how much each holds and how fast it answers, from latencies by working set.
//!
//! A walk through a working set W hits a cache of capacity C with the share (C / W)^p once W is larger than C, and each miss takes
//! the next level's latency: a sum of steps, each smoothed by its own p. The steps are found one by one, each where it explains
//! most, and moved until nothing gets better. As many are taken as the curve pays for, and of these such only that a look at the
//! curve bears out: flat before and steep behind, or a knee on a step that is. Without that, any curve that rises is a sum of steps.

use super::fit::{Fit, SHAPES, Sample, Step, unexplained_by_a_rise};

/// The most levels that are told.
pub(super) const MOST_LEVELS: usize = 5;

/// Sizes without which a level could be anything.
const LEAST_SIZES: usize = 12;
/// Octaves between the smallest and the largest of them.
const LEAST_OCTAVES: f64 = 4.0;
const ENOUGH: &str = "such as those of the default preset";

/// Latencies vary by so much anyway: what fits better isn't believed to be better.
const VARIATION: f64 = 0.01;
/// What a step has to pay for, in logarithms of the number of sizes: it has three parameters.
const PRICE: f64 = 3.0;
/// Levels are seen if a steady rise leaves so many times as much unexplained.
const MUCH: f64 = 4.0;
/// A level is believed if behind it latency rises at least so much.
const LEAST_RISE: f64 = 1.2;
/// If so many sizes lie within this share of its latency, over as many octaves: before that, nothing was flat.
const LEAST_FLAT: usize = 3;
const FLAT: f64 = 0.1;
const FLAT_OCTAVES: f64 = 0.7;
/// If so many sizes lie behind it, before the next step.
const LEAST_BEHIND: usize = 3;
/// And if the octave behind it is so many times as steep as the one before, and by so much, in octaves of latency per octave.
const STEEPER: f64 = 2.0;
const STEEPER_BY: f64 = 0.1;
/// Or if it stands on a believed one and is a knee: if in half an octave behind it the curve is at least so many times as steep as in
/// the one before. Behind a level alone it flattens more than that, from half octave to half octave.
const GOING_ON: f64 = 0.8;
const GOING_ON_OCTAVES: f64 = 0.5;
/// And if, from so many octaves before the step that it stands on to so many behind it, the others leave much unexplained.
const KNEE_OCTAVES: f64 = 1.0;
/// The latency behind the last level is told if the largest set is so many octaves larger: it hits with a sixth of its loads then,
/// or fewer, and what all would take without these isn't far from what was seen.
const OCTAVES_BEYOND: f64 = 2.5;

/// Where steps are tried first, in octaves, and how near they are moved to where they are best.
const COARSE: f64 = 0.25;
const FINE: f64 = 1.0 / 64.0;

/// A number, and how far it can move before the fit gets worse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) value: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A cache.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    /// Bytes.
    pub(super) capacity: Estimate,
    /// Nanoseconds.
    pub(super) latency: Estimate,
}

/// What the latencies tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Finding {
    /// The nearest first.
    pub(super) levels: Vec<Level>,
    /// Nanoseconds behind the last level, or why that isn't known.
    pub(super) beyond: Result<Estimate, String>,
    /// What it rests on and how sure it is.
    pub(super) note: String,
}

/// Infers caches from latencies in ns by working sets in bytes.
///
/// # Errors
/// Why none can be inferred: too few sizes, or no levels seen.
pub(super) fn infer(curve: &[(u64, f64)]) -> Result<Finding, String> {
    let samples = smoothed(&enough(curve)?);
    let rise = rise(&samples);
    if rise < LEAST_RISE {
        return Err(format!("no levels seen: the longest latency is {rise:.2} times the shortest"));
    }
    let fit = supported(best(&samples), &samples);
    if fit.steps.is_empty() {
        return Err("no levels seen: the latencies nowhere rise from something flat".to_owned());
    }
    if MUCH * unexplained(&fit, &samples) > unexplained_by_a_rise(&samples) {
        return Err("no levels seen: a steady rise explains the latencies about as well".to_owned());
    }
    Ok(finding(&fit, &samples))
}

/// The measured curve by rising size, if it can tell levels.
fn enough(curve: &[(u64, f64)]) -> Result<Vec<Sample>, String> {
    #[expect(clippy::cast_precision_loss, reason = "a size needs no 53 bits")]
    let mut samples: Vec<Sample> =
        curve.iter().map(|(bytes, latency)| Sample { set: (*bytes as f64).log2(), latency: *latency }).collect();
    samples.sort_by(|a, b| a.set.total_cmp(&b.set));
    samples.dedup_by(|a, b| a.set == b.set);
    let octaves = samples.last().map_or(0.0, |last| last.set - samples[0].set);
    if samples.len() < LEAST_SIZES || octaves < LEAST_OCTAVES {
        return Err(format!(
            "no levels to be inferred: at least {LEAST_SIZES} working sets over {LEAST_OCTAVES} octaves are needed, {ENOUGH}"
        ));
    }
    if samples.iter().any(|sample| !(sample.latency.is_finite() && sample.latency > 0.0)) {
        return Err("no levels seen: a latency is no positive number".to_owned());
    }
    Ok(samples)
}

/// Medians of three, which leave a rise as it is and take away what stands alone.
fn smoothed(samples: &[Sample]) -> Vec<Sample> {
    let median = |i: usize| {
        let first = i.saturating_sub(1).min(samples.len() - 3);
        let mut three = [0, 1, 2].map(|offset| samples[first + offset].latency);
        three.sort_by(f64::total_cmp);
        Sample { latency: three[1], ..samples[i] }
    };
    (0..samples.len()).map(median).collect()
}

/// The longest latency over the shortest.
fn rise(samples: &[Sample]) -> f64 {
    let latencies = || samples.iter().map(|sample| sample.latency);
    latencies().fold(0.0, f64::max) / latencies().fold(f64::INFINITY, f64::min)
}

/// What a fit leaves unexplained, but no less than latencies vary anyway.
fn unexplained(fit: &Fit, samples: &[Sample]) -> f64 {
    fit.unexplained.max(VARIATION * VARIATION * count(samples))
}

/// Schwarz's criterion (Estimating the dimension of a model, 1978): the less the better.
fn criterion(fit: &Fit, samples: &[Sample]) -> f64 {
    let n = count(samples);
    #[expect(clippy::cast_precision_loss, reason = "a few steps")]
    let steps = fit.steps.len() as f64;
    n * (unexplained(fit, samples) / n).ln() + PRICE * steps * n.ln()
}

/// The fit with as many steps as pay for themselves.
fn best(samples: &[Sample]) -> Option<Fit> {
    let mut best = Fit::of(Vec::new(), samples)?;
    let mut fit = best.clone();
    // One that doesn't pay alone may do so with the next.
    while fit.steps.len() < (best.steps.len() + 2).min(MOST_LEVELS) {
        let Some(more) = with_one_more(&fit, samples) else { break };
        fit = moved(more, samples);
        if criterion(&fit, samples) < criterion(&best, samples) {
            best = fit.clone();
        }
    }
    Some(best)
}

/// The best of the fits with one step more.
fn with_one_more(fit: &Fit, samples: &[Sample]) -> Option<Fit> {
    let (first, last) = (samples[0].set, samples[samples.len() - 1].set);
    let places = std::iter::successors(Some(first), |place| Some(place + COARSE)).take_while(|place| *place < last);
    let steps = places.flat_map(|capacity| (0..SHAPES.len()).map(move |shape| Step { capacity, shape }));
    let fits = steps.filter_map(|step| Fit::of([&fit.steps[..], &[step]].concat(), samples));
    fits.min_by(|a, b| a.unexplained.total_cmp(&b.unexplained))
}

/// The fit with its steps moved, by less and less, as long as it gets better.
fn moved(mut fit: Fit, samples: &[Sample]) -> Fit {
    let mut by = 2.0;
    while by >= FINE {
        let neighbours = (0..fit.steps.len()).flat_map(|index| neighbours(&fit.steps, index, by));
        let fits = neighbours.filter_map(|steps| Fit::of(steps, samples));
        let least = fits.min_by(|a, b| a.unexplained.total_cmp(&b.unexplained));
        match least {
            Some(better) if better.unexplained < fit.unexplained * (1.0 - 1e-6) => fit = better,
            _ => by /= 2.0,
        }
    }
    fit
}

/// The same steps with one of them elsewhere, or of another shape.
fn neighbours(steps: &[Step], index: usize, by: f64) -> impl Iterator<Item = Vec<Step>> {
    let step = steps[index];
    let capacities = [step.capacity - by, step.capacity, step.capacity + by];
    let shapes = [step.shape.saturating_sub(1), step.shape, (step.shape + 1).min(SHAPES.len() - 1)];
    let moved = capacities.into_iter().flat_map(move |capacity| shapes.map(|shape| Step { capacity, shape }));
    let steps = steps.to_vec();
    moved.filter(move |other| *other != step).map(move |other| {
        let mut steps = steps.clone();
        steps[index] = other;
        steps
    })
}

/// The fit without the steps that the curve doesn't bear out: the least of them goes first, and the others are fitted anew.
fn supported(fit: Option<Fit>, samples: &[Sample]) -> Fit {
    let none = || Fit { steps: Vec::new(), latencies: Vec::new(), unexplained: f64::INFINITY, variances: Vec::new() };
    let mut fit = fit.unwrap_or_else(none);
    loop {
        let supported = supported_steps(&fit, samples);
        let unsupported = (0..fit.steps.len()).filter(|step| !supported[*step]);
        let Some(least) = unsupported.min_by(|a, b| fit.rise(*a).total_cmp(&fit.rise(*b))) else { return fit };
        fit = without(&fit, least, samples).unwrap_or_else(none);
    }
}

/// The fit of the others alone.
fn without(fit: &Fit, step: usize, samples: &[Sample]) -> Option<Fit> {
    let mut steps = fit.steps.clone();
    steps.remove(step);
    Fit::of(steps, samples).map(|fit| moved(fit, samples))
}

/// Which steps the curve bears out: those behind something flat, and those that stand on such a one.
fn supported_steps(fit: &Fit, samples: &[Sample]) -> Vec<bool> {
    let mut supported = Vec::new();
    for step in 0..fit.steps.len() {
        let stands = supported.last().is_some_and(|before| *before);
        supported.push(is_borne_out(fit, step, samples) || (stands && is_knee(fit, step, samples)));
    }
    supported
}

/// Whether the curve has a knee at a step that stands on another one: whether it doesn't flatten there, as it does behind a level
/// whatever its exponent, and nothing else explains that, however the other steps are placed and shaped.
fn is_knee(fit: &Fit, step: usize, samples: &[Sample]) -> bool {
    let (stands_on, capacity) = (fit.steps[step - 1].capacity, fit.steps[step].capacity);
    let next = fit.steps.get(step + 1).map_or(f64::INFINITY, |next| next.capacity);
    let between = |from: f64, to: f64| samples.iter().filter(move |sample| sample.set > from && sample.set <= to);
    fit.rise(step) >= LEAST_RISE
        && capacity - stands_on >= FLAT_OCTAVES
        && between(stands_on, capacity).count() >= LEAST_FLAT
        && between(capacity, next).count() >= LEAST_BEHIND
        && goes_on_rising(capacity, samples)
        && pays(fit, step, &between(stands_on - KNEE_OCTAVES, capacity + KNEE_OCTAVES).copied().collect::<Vec<_>>(), samples)
}

/// Whether the curve is about as steep behind a capacity as before.
fn goes_on_rising(capacity: f64, samples: &[Sample]) -> bool {
    let distance = |index: &usize| (samples[*index].set - capacity).abs();
    let nearest = (0..samples.len()).min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
    let (before, after) = slopes(samples, nearest, GOING_ON_OCTAVES);
    after >= GOING_ON * before
}

/// Whether the samples around a step are explained well, and badly without it.
fn pays(fit: &Fit, step: usize, around: &[Sample], samples: &[Sample]) -> bool {
    let variation = VARIATION * VARIATION * count(around);
    let with = fit.squares(around);
    let without = without(fit, step, samples).map_or(f64::INFINITY, |others| others.squares(around));
    with <= MUCH * variation && without >= MUCH * with.max(variation)
}

/// Whether the curve is flat before a step, and clearly steeper behind it.
fn is_borne_out(fit: &Fit, step: usize, samples: &[Sample]) -> bool {
    let (capacity, latency) = (fit.steps[step].capacity, fit.latencies[step]);
    let next = fit.steps.get(step + 1).map_or(f64::INFINITY, |next| next.capacity);
    let is_flat = |sample: &&Sample| sample.set <= capacity + COARSE && (sample.latency / latency - 1.0).abs() <= FLAT;
    let flat: Vec<f64> = samples.iter().filter(is_flat).map(|sample| sample.set).collect();
    let octaves = flat.last().map_or(0.0, |last| last - flat[0]);
    let behind = samples.iter().filter(|sample| sample.set > capacity && sample.set <= next).count();
    // The last before the step belongs to both sides, those behind it to one alone.
    let last = samples.iter().rposition(|sample| sample.set <= capacity).unwrap_or(0);
    let (before, after) = slopes(samples, last, 1.0);
    fit.rise(step) >= LEAST_RISE
        && flat.len() >= LEAST_FLAT
        && octaves >= FLAT_OCTAVES
        && behind >= LEAST_BEHIND
        && after >= STEEPER * before.max(0.0) + STEEPER_BY
}

/// How steep the curve is before and behind a sample, over so many octaves.
fn slopes(samples: &[Sample], at: usize, octaves: f64) -> (f64, f64) {
    let is_far = |sample: &Sample| (sample.set - samples[at].set).abs() >= octaves;
    let first = samples[..at].iter().rposition(is_far).unwrap_or(0);
    let end = samples[at..].iter().position(is_far).map_or(samples.len() - 1, |after| at + after);
    (slope(&samples[first..=at]), slope(&samples[at..=end]))
}

/// How steeply the logarithm of the latency rises: a straight line through it.
fn slope(part: &[Sample]) -> f64 {
    let mean = |of: fn(&Sample) -> f64| part.iter().map(of).sum::<f64>() / count(part);
    let (x, y) = (mean(|sample| sample.set), mean(|sample| sample.latency.log2()));
    let products: f64 = part.iter().map(|sample| (sample.set - x) * (sample.latency.log2() - y)).sum();
    let squares: f64 = part.iter().map(|sample| (sample.set - x).powi(2)).sum();
    if squares > 0.0 { products / squares } else { 0.0 }
}

fn finding(fit: &Fit, samples: &[Sample]) -> Finding {
    let latencies = latencies(fit, samples);
    let level = |(index, latency): (usize, &Estimate)| Level { capacity: capacity(fit, index, samples), latency: *latency };
    let levels: Vec<Level> = latencies[..fit.steps.len()].iter().enumerate().map(level).collect();
    let largest = samples[samples.len() - 1].set;
    let octaves = fit.steps.last().map_or(0.0, |last| largest - last.capacity);
    let beyond = if octaves >= OCTAVES_BEYOND {
        Ok(latencies[fit.steps.len()])
    } else {
        let (times, least) = (octaves.exp2(), OCTAVES_BEYOND.exp2());
        Err(format!("the largest working set is {times:.1} times what the last level holds: {least:.1} times are needed"))
    };
    let shapes: Vec<String> = fit.steps.iter().map(|step| SHAPES[step.shape].to_string()).collect();
    let note = format!(
        "{} steps explain {} working sets' latencies up to {:.1} % (root mean square); exponents of their hits: {}",
        fit.steps.len(),
        samples.len(),
        100.0 * (fit.unexplained / count(samples)).sqrt(),
        shapes.join(", ")
    );
    Finding { levels, beyond, note }
}

/// Two standard deviations to either side, as in linear regression.
fn latencies(fit: &Fit, samples: &[Sample]) -> Vec<Estimate> {
    let variance = unexplained(fit, samples) / freedom(fit, samples);
    let estimate = |(value, factor): (&f64, &f64)| {
        let deviation = 2.0 * (variance * factor).sqrt();
        Estimate { value: *value, low: (value - deviation).max(0.0), high: value + deviation }
    };
    fit.latencies.iter().zip(&fit.variances).map(estimate).collect()
}

/// Where a step can go, all else fitted anew, before the fit is worse by what two standard deviations make.
fn capacity(fit: &Fit, index: usize, samples: &[Sample]) -> Estimate {
    let most = unexplained(fit, samples) * (1.0 + 4.0 / freedom(fit, samples));
    let fits = |capacity: &f64| {
        let with = |shape| {
            let mut steps = fit.steps.clone();
            steps[index] = Step { capacity: *capacity, shape };
            Fit::of(steps, samples)
        };
        (0..SHAPES.len()).filter_map(with).any(|other| other.unexplained <= most)
    };
    let best = fit.steps[index].capacity;
    let reach = |by: f64| {
        let places = std::iter::successors(Some(best), move |place| Some(place + by));
        places.take_while(fits).take(256).last().unwrap_or(best)
    };
    Estimate { value: best.exp2(), low: reach(-FINE).exp2(), high: reach(FINE).exp2() }
}

/// Samples beyond the parameters.
#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn freedom(fit: &Fit, samples: &[Sample]) -> f64 {
    samples.len().saturating_sub(3 * fit.steps.len() + 1).max(1) as f64
}

#[expect(clippy::cast_precision_loss, reason = "a small number")]
fn count<T>(of: &[T]) -> f64 {
    of.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A latency by the working set.
    type Law = fn(f64) -> f64;

    const KI: f64 = 1024.0;
    const MI: f64 = 1024.0 * KI;

    /// From 1 KiB to 1 GiB, so many to an octave.
    fn sets(per_octave: u32) -> Vec<f64> {
        (0..=20 * per_octave).map(|i| (10.0 + f64::from(i) / f64::from(per_octave)).exp2()).collect()
    }

    /// A reproducible number, uniform from -1 to 1.
    fn noise(seed: u64, index: u64) -> f64 {
        let mut z = ((seed << 32) | index).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        f64::from(u32::try_from((z ^ (z >> 31)) >> 32).unwrap()) / f64::from(1_u32 << 31) - 1.0
    }

    /// Latencies that differ by up to so much from a law of the working set.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are whole and positive")]
    fn curve(sets: &[f64], seed: u64, by: f64, law: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
        let point = |(i, set): (u64, &f64)| (set.round() as u64, law(*set) * (1.0 + by * noise(seed, i)));
        (0..).zip(sets).map(point).collect()
    }

    /// Levels of so many bytes and nanoseconds, with the exponent of their hits, and memory.
    fn caches(levels: &[(f64, f64, f64)], memory: f64) -> impl Fn(f64) -> f64 + '_ {
        move |set| {
            let next = levels.iter().skip(1).map(|level| level.1).chain([memory]);
            let misses = |(capacity, _, p): &(f64, f64, f64)| 1.0 - (capacity / set).min(1.0).powf(*p);
            levels[0].1 + levels.iter().zip(next).map(|(level, next)| misses(level) * (next - level.1)).sum::<f64>()
        }
    }

    #[track_caller]
    fn found(curve: &[(u64, f64)], levels: &[(f64, f64, f64)], memory: f64, within: f64, name: &str) {
        let finding = infer(curve).unwrap_or_else(|reason| panic!("{name}: {reason}"));
        let near = |estimate: Estimate, value: f64| (estimate.value / value - 1.0).abs() <= within;
        assert_eq!(finding.levels.len(), levels.len(), "{name}: {finding:#?}");
        for (level, (capacity, latency, _)) in finding.levels.iter().zip(levels) {
            assert!(near(level.capacity, *capacity) && near(level.latency, *latency), "{name}: {finding:#?}");
            let Estimate { value, low, high } = level.capacity;
            assert!(low <= value && value <= high && low > value / 2.0 && high < value * 2.0, "{name}: {finding:#?}");
        }
        assert!(near(finding.beyond.clone().unwrap(), memory), "{name}: {finding:#?}");
    }

    #[track_caller]
    fn none_seen(curve: &[(u64, f64)], name: &str) {
        let found = infer(curve);
        assert!(found.as_ref().is_err_and(|reason| reason.starts_with("no levels seen: ")), "{name}: {found:#?}");
    }

    #[test]
    fn levels_are_found_in_noisy_latencies() {
        for (per_octave, p) in [(4, 1.0), (4, 2.2), (4, 30.0), (8, 1.0), (8, 5.0)] {
            let two = [(128.0 * KI, 20.0, p), (48.0 * MI, 180.0, 1.0)];
            let three = [(32.0 * KI, 4.0, p), (MI, 14.0, p), (32.0 * MI, 60.0, 1.0)];
            for (seed, by) in (1..=3).zip([0.01, 0.03, 0.05]) {
                let name = format!("{per_octave} an octave, p = {p}, noise {by}");
                found(&curve(&sets(per_octave), seed, by, caches(&two, 550.0)), &two, 550.0, 0.15, &name);
                found(&curve(&sets(per_octave), seed, by, caches(&three, 250.0)), &three, 250.0, 0.15, &name);
            }
        }
    }

    /// Every capacity between two sizes of the sweep.
    #[test]
    fn capacities_lie_where_they_are() {
        for i in 0..8_u32 {
            let levels = [(200.0 * KI * (f64::from(i) / 16.0).exp2(), 20.0, 20.0), (40.0 * MI, 180.0, 1.0)];
            let name = format!("{} KiB", levels[0].0 / KI);
            found(&curve(&sets(4), i.into(), 0.01, caches(&levels, 550.0)), &levels, 550.0, 0.1, &name);
        }
    }

    /// The time for addresses rises slowly from some size on, on top of the caches.
    #[test]
    fn a_slow_rise_on_top_is_no_level() {
        let levels = [(224.0 * KI, 20.0, 16.0), (48.0 * MI, 170.0, 1.0)];
        for (seed, by) in [(1, 0.0), (2, 0.01), (3, 0.03)] {
            let slow = |set: f64| caches(&levels, 550.0)(set) * (1.0 + 0.02 * (set / (4.0 * MI)).log2().max(0.0));
            found(&curve(&sets(4), seed, by, slow), &levels, 600.0, 0.2, "a slow rise");
        }
    }

    /// A cache of two halves, one of them nearer: the knee between may be told or not, the ends must be.
    #[test]
    fn a_cache_in_two_parts_has_its_ends() {
        let levels = [(200.0 * KI, 20.0, 16.0), (25.0 * MI, 150.0, 2.0), (50.0 * MI, 200.0, 1.0)];
        for seed in 0..4 {
            let finding = infer(&curve(&sets(4), seed, 0.01, caches(&levels, 550.0))).unwrap();
            let first = finding.levels[0].capacity.value / KI;
            let last = finding.levels.last().unwrap().capacity.value / MI;
            assert!((180.0..220.0).contains(&first) && (38.0..58.0).contains(&last), "{finding:#?}");
        }
    }

    /// Three levels of an H100: the first cache (256 KiB less those that the driver keeps for workgroup memory), the part of the last
    /// one that is near the walk, and all of it.
    #[track_caller]
    fn three_of_an_h100(curve: &[(u64, f64)], name: &str) {
        let finding = infer(curve).unwrap();
        let capacities: Vec<f64> = finding.levels.iter().map(|level| level.capacity.value).collect();
        assert_eq!(capacities.len(), 3, "{name}: {finding:#?}");
        assert!((capacities[0] / (208.0 * KI) - 1.0).abs() < 0.15, "{name}: {finding:#?}");
        assert!((20.0 * MI..30.0 * MI).contains(&capacities[1]), "{name}: {finding:#?}");
        assert!((40.0 * MI..55.0 * MI).contains(&capacities[2]), "{name}: {finding:#?}");
    }

    /// The far part's own latency is never seen alone.
    #[test]
    fn a_knee_on_a_level_is_one_more_level() {
        let levels = [(205.0 * KI, 23.8, 8.0), (24.7 * MI, 150.7, 1.0), (49.35 * MI, 283.0, 1.0)];
        for by in [0.0, 0.001, 0.005, 0.01] {
            for seed in 0..3 {
                let noisy = curve(&sets(4), seed, by, caches(&levels, 355.6));
                three_of_an_h100(&noisy, &format!("noise {by}, seed {seed}"));
            }
        }
    }

    /// However it rises behind its capacity.
    #[test]
    fn a_level_without_a_knee_is_one() {
        for p in [1.0, 1.3, 1.7, 2.5, 6.0] {
            let levels = [(205.0 * KI, 23.8, 8.0), (28.0 * MI, 150.7, p)];
            for (seed, by) in [(1, 0.001), (2, 0.01), (3, 0.01)] {
                let finding = infer(&curve(&sets(4), seed, by, caches(&levels, 355.6))).unwrap();
                assert_eq!(finding.levels.len(), 2, "p = {p}, noise {by}: {finding:#?}");
            }
        }
    }

    /// Working sets of an NVIDIA H100 (driver 580.159.04), in nodes of 64 bytes: to 1 MiB the default sizes, then some around the ends
    /// of its last cache.
    const H100_LINES: [u64; 68] = [
        16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 91, 108, 128, 152, 181, 215, 256, 305, 362, 431, 512, 609, 724, 861, 1024,
        1218, 1448, 1722, 2048, 2436, 2896, 3444, 4096, 4872, 5792, 6888, 8192, 9744, 11_584, 13_776, 16_384, 131_072, 262_144,
        327_680, 393_216, 425_984, 458_752, 491_520, 524_288, 557_056, 589_824, 622_592, 655_360, 688_128, 720_896, 753_664,
        786_432, 819_200, 851_968, 884_736, 917_504, 983_040, 1_048_576, 1_310_720, 1_572_864, 2_097_152, 4_194_304,
        16_777_216,
    ];
    /// And their latencies.
    const H100_NS: [f64; 68] = [
        23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.78, 23.77,
        23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.79, 23.79, 23.80, 23.80, 23.80, 23.81, 81.35, 107.66,
        117.80, 126.67, 130.51, 135.51, 138.06, 140.82, 141.91, 147.97, 150.94, 150.95, 150.93, 152.99, 156.75, 166.25, 174.47,
        181.42, 187.67, 192.96, 197.47, 201.80, 205.39, 208.85, 211.86, 214.98, 218.06, 223.06, 228.06, 233.01, 241.38, 248.76,
        270.91, 284.73, 301.98, 327.63, 349.65,
    ];

    fn h100() -> Vec<(u64, f64)> {
        H100_LINES.map(|lines| lines * 64).into_iter().zip(H100_NS).collect()
    }

    /// A curve's latency at any working set: straight lines between what was measured, in logarithms.
    #[expect(clippy::cast_precision_loss, reason = "sizes need no 53 bits")]
    fn between(curve: &[(u64, f64)], set: f64) -> f64 {
        let after = curve.iter().position(|(bytes, _)| *bytes as f64 > set).unwrap_or(curve.len() - 1).max(1);
        let [(low, fast), (high, slow)] = [curve[after - 1], curve[after]];
        let share = (set / low as f64).ln() / (high as f64 / low as f64).ln();
        fast * (slow / fast).powf(share)
    }

    /// Behind its first cache, the curve isn't quite what the law says: that is no knee, however many sizes show it.
    #[test]
    fn an_h100_has_its_first_cache_and_the_near_part_and_all_of_its_last() {
        three_of_an_h100(&h100(), "as measured");
        for per_octave in [4, 8] {
            for (seed, by) in [(1, 0.0), (2, 0.002), (3, 0.005)] {
                let noisy = curve(&sets(per_octave), seed, by, |set| between(&h100(), set));
                three_of_an_h100(&noisy, &format!("{per_octave} an octave, noise {by}"));
            }
        }
    }

    #[test]
    fn an_outlier_is_no_level() {
        let levels = [(128.0 * KI, 20.0, 8.0), (48.0 * MI, 180.0, 1.0)];
        for outlier in [5, 20, 40, 60, 75] {
            for factor in [0.3, 3.0] {
                let mut with = curve(&sets(4), 1, 0.02, caches(&levels, 550.0));
                with[outlier].1 *= factor;
                found(&with, &levels, 550.0, 0.15, &format!("outlier {outlier} of {factor}"));
                let mut flat = curve(&sets(4), 1, 0.02, |_| 20.0);
                flat[outlier].1 *= factor;
                none_seen(&flat, "an outlier on a flat curve");
            }
        }
    }

    #[test]
    fn what_has_no_flat_part_has_no_levels() {
        let laws: [(&str, Law); 8] = [
            ("flat", |_| 20.0),
            ("proportional", |set| 1e-3 * set),
            ("linear", |set| 20.0 + 1e-6 * set),
            ("slower and slower", |set| set.sqrt()),
            ("a power", |set| 3.0 * set.powf(0.1)),
            ("logarithmic", |set| 5.0 * set.log2()),
            ("barely rising", |set| 20.0 + 0.1 * set.log2()),
            ("falling", |set| 1e6 / set.sqrt()),
        ];
        for (name, law) in laws {
            for (per_octave, by) in [(4, 0.0), (4, 0.01), (4, 0.03), (4, 0.05), (8, 0.02)] {
                none_seen(&curve(&sets(per_octave), 3, by, law), &format!("{name}, noise {by}"));
            }
        }
    }

    #[test]
    fn noise_alone_has_no_levels() {
        for seed in 0..40 {
            none_seen(&curve(&sets(4), seed, 0.05, |_| 20.0), "noise");
            none_seen(&curve(&sets(4), seed, 0.3, |_| 20.0), "much noise");
        }
    }

    #[test]
    fn memory_that_the_sweep_does_not_reach_is_not_told() {
        let levels = [(128.0 * KI, 20.0, 8.0), (400.0 * MI, 180.0, 1.0)];
        let finding = infer(&curve(&sets(4), 1, 0.01, caches(&levels, 550.0))).unwrap();
        assert!(finding.levels.len() == 2 && finding.beyond.is_err(), "{finding:#?}");
    }

    #[test]
    fn too_few_sizes_tell_nothing() {
        let levels = [(128.0 * KI, 20.0, 8.0)];
        let curve = curve(&sets(4), 1, 0.01, caches(&levels, 550.0));
        for part in [&curve[..0], &curve[..11], &curve[20..30]] {
            assert!(infer(part).unwrap_err().contains("at least 12 working sets"));
        }
        let mut broken = curve;
        broken[7].1 = 0.0;
        none_seen(&broken, "a latency of zero");
    }
}
