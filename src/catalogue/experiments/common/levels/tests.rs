//! Curves of which the levels are known, and curves that have none.

use super::*;
use crate::experiments::common::sweep::Noise;

/// A cost by the size.
type Law = fn(f64) -> f64;

/// The capacity of a cache, its latency, and the exponent of its hits.
type Cache = (f64, f64, f64);

const KI: f64 = 1024.0;
const MI: f64 = 1024.0 * KI;

/// From 1 KiB to 1 GiB, so many to an octave.
fn sizes(per_octave: u32) -> Vec<f64> {
    (0..=20 * per_octave).map(|i| (10.0 + f64::from(i) / f64::from(per_octave)).exp2()).collect()
}

/// Costs that vary about a law with so large a standard deviation, as a share.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "sizes are whole and positive")]
fn curve(sizes: &[f64], seed: u64, by: f64, law: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
    let mut noise = Noise::new(seed);
    sizes.iter().map(|size| (size.round() as u64, law(*size) * (1.0 + by * noise.normal()))).collect()
}

fn caches(levels: &[Cache], memory: f64) -> impl Fn(f64) -> f64 + '_ {
    move |set| {
        let next = levels.iter().skip(1).map(|level| level.1).chain([memory]);
        let misses = |(capacity, _, p): &Cache| 1.0 - (capacity / set).min(1.0).powf(*p);
        levels[0].1 + levels.iter().zip(next).map(|(level, next)| misses(level) * (next - level.1)).sum::<f64>()
    }
}

fn holds(estimate: &Estimate, value: f64) -> bool {
    assert!(estimate.low <= estimate.value && estimate.value <= estimate.high, "{estimate:?}");
    estimate.low <= value && value <= estimate.high
}

#[track_caller]
fn found(curve: &[(u64, f64)], levels: &[Cache], memory: f64, within: f64, name: &str) {
    let finding = infer(curve).unwrap_or_else(|reason| panic!("{name}: {reason}"));
    let near = |estimate: &Estimate, value: f64| (estimate.value / value - 1.0).abs() <= within;
    assert_eq!(finding.levels.len(), levels.len(), "{name}: {finding:#?}");
    for (level, (capacity, cost, _)) in finding.levels.iter().zip(levels) {
        assert!(near(&level.capacity, *capacity) && near(level.cost.as_ref().unwrap(), *cost), "{name}: {finding:#?}");
    }
    assert!(near(finding.beyond.as_ref().unwrap(), memory), "{name}: {finding:#?}");
}

#[track_caller]
fn none_seen(curve: &[(u64, f64)], name: &str) {
    let found = infer(curve);
    assert!(found.as_ref().is_err_and(|reason| reason.to_string().starts_with("no levels seen: ")), "{name}: {found:#?}");
}

#[test]
fn levels_are_found_in_noisy_costs() {
    for (per_octave, p) in [(4, 1.0), (4, 2.2), (4, 30.0), (8, 1.0), (8, 5.0)] {
        let two = [(128.0 * KI, 20.0, p), (48.0 * MI, 180.0, 1.0)];
        let three = [(32.0 * KI, 4.0, p), (MI, 14.0, p), (32.0 * MI, 60.0, 1.0)];
        for (seed, by) in (1..=3).zip([0.0, 0.01, 0.03]) {
            let name = format!("{per_octave} an octave, p = {p}, noise {by}");
            found(&curve(&sizes(per_octave), seed, by, caches(&two, 550.0)), &two, 550.0, 0.2, &name);
            found(&curve(&sizes(per_octave), seed, by, caches(&three, 250.0)), &three, 250.0, 0.2, &name);
        }
    }
}

/// Intervals of two standard deviations, so that 95 of 100 should hold the truth. All figures of a curve are counted, each by
/// itself, whatever the replacement and the noise; a curve on which not all levels are found counts as wrong.
#[test]
fn intervals_hold_the_truth() {
    let models: [(&[Cache], f64); 3] = [
        (&[(128.0 * KI, 20.0, 1.0), (48.0 * MI, 180.0, 1.0)], 550.0),
        (&[(208.0 * KI, 20.0, 30.0), (40.0 * MI, 180.0, 30.0)], 550.0),
        (&[(32.0 * KI, 4.0, 2.2), (1.1 * MI, 14.0, 2.2), (32.0 * MI, 60.0, 1.0)], 250.0),
    ];
    let seeds = 60;
    for (levels, memory) in models {
        for by in [0.003, 0.01, 0.03, 0.05] {
            let mut held = vec![0; 2 * levels.len() + 1];
            for seed in 0..seeds {
                let Ok(finding) = infer(&curve(&sizes(4), seed, by, caches(levels, memory))) else { continue };
                if finding.levels.len() != levels.len() {
                    continue;
                }
                let told = finding.levels.iter().flat_map(|level| [Ok(level.capacity), level.cost.clone()]);
                let truth = levels.iter().flat_map(|level| [level.0, level.1]).chain([memory]);
                for ((held, told), truth) in held.iter_mut().zip(told.chain([finding.beyond.clone()])).zip(truth) {
                    *held += u64::from(told.is_ok_and(|estimate| holds(&estimate, truth)));
                }
            }
            assert!(held.iter().all(|held| 100 * held >= 90 * seeds), "{levels:?}, noise {by}: {held:?} of {seeds}");
        }
    }
}

/// A step between two samples may be anywhere between them.
#[test]
fn the_interval_of_a_sharp_step_reaches_from_the_last_hit_to_the_first_miss() {
    let sharp = |set: f64| if set <= 208.0 * KI { 20.0 } else { 200.0 };
    let finding = infer(&curve(&sizes(4), 1, 0.001, sharp)).unwrap();
    let Estimate { value, low, high } = finding.levels[0].capacity;
    assert!((low / KI - 181.02).abs() < 0.1 && (high / KI - 215.27).abs() < 0.1, "{finding:#?}");
    assert!(low < value && value < high, "{finding:#?}");
}

/// Every capacity between two sizes of the sweep.
#[test]
fn capacities_lie_where_they_are() {
    for i in 0..8_u32 {
        let levels = [(200.0 * KI * (f64::from(i) / 16.0).exp2(), 20.0, 20.0), (40.0 * MI, 180.0, 1.0)];
        let name = format!("{} KiB", levels[0].0 / KI);
        let curve = curve(&sizes(4), i.into(), 0.01, caches(&levels, 550.0));
        found(&curve, &levels, 550.0, 0.15, &name);
        assert!(holds(&infer(&curve).unwrap().levels[0].capacity, levels[0].0), "{name}");
    }
}

/// Behind the cache, what comes next rises steadily from some size on, and never flattens: the time for addresses, say.
#[test]
fn a_steady_rise_is_no_level() {
    for (slope, from) in [(0.1, 16.0), (0.08, 8.0), (0.05, 16.0), (0.2, 16.0), (0.4, 2.0), (0.02, 4.0)] {
        let law = |set: f64| if set <= 128.0 * KI { 20.0 } else { 200.0 * (1.0 + slope * (set / (from * MI)).log2().max(0.0)) };
        for (by, seeds) in [(0.0, 1), (0.003, 20), (0.01, 5), (0.03, 5)] {
            for seed in 0..seeds {
                let finding = infer(&curve(&sizes(4), seed, by, law)).unwrap();
                assert_eq!(finding.levels.len(), 1, "{slope} an octave from {from} MiB, noise {by}, seed {seed}: {finding:#?}");
                assert!(holds(&finding.levels[0].capacity, 128.0 * KI), "{finding:#?}");
            }
        }
    }
}

/// The same on top of a further cache.
#[test]
fn a_slow_rise_on_top_is_no_level() {
    let levels = [(224.0 * KI, 20.0, 16.0), (48.0 * MI, 170.0, 1.0)];
    for (seed, by) in [(1, 0.0), (2, 0.01), (3, 0.03)] {
        let slow = |set: f64| caches(&levels, 550.0)(set) * (1.0 + 0.02 * (set / (4.0 * MI)).log2().max(0.0));
        found(&curve(&sizes(4), seed, by, slow), &levels, 600.0, 0.2, "a slow rise");
    }
}

/// Levels of an H100: the first cache (256 KiB less those that the driver keeps for workgroup memory), the part of the last one that
/// is near the walk, and all of it.
#[track_caller]
fn three_of_an_h100(curve: &[(u64, f64)], name: &str) {
    let finding = infer(curve).unwrap();
    let capacities: Vec<Estimate> = finding.levels.iter().map(|level| level.capacity).collect();
    assert_eq!(capacities.len(), 3, "{name}: {finding:#?}");
    assert!((capacities[0].value / (208.0 * KI) - 1.0).abs() < 0.15, "{name}: {finding:#?}");
    assert!((20.0 * MI..30.0 * MI).contains(&capacities[1].value), "{name}: {finding:#?}");
    assert!((40.0 * MI..55.0 * MI).contains(&capacities[2].value), "{name}: {finding:#?}");
    // No working set shows the far part alone: nothing is said of it, or little.
    assert!(finding.levels[2].cost.as_ref().map_or(true, |far| far.high > 1.1 * far.low), "{name}: {finding:#?}");
}

/// However it rises behind its capacity.
#[test]
fn a_level_without_a_knee_is_one() {
    for p in [1.0, 1.3, 1.7, 2.5, 6.0] {
        let levels = [(205.0 * KI, 23.8, 8.0), (28.0 * MI, 150.7, p)];
        for (seed, by) in [(1, 0.001), (2, 0.01), (3, 0.01)] {
            let finding = infer(&curve(&sizes(4), seed, by, caches(&levels, 355.6))).unwrap();
            assert_eq!(finding.levels.len(), 2, "p = {p}, noise {by}: {finding:#?}");
        }
    }
}

/// Working sets of an NVIDIA H100 (driver 580.159.04), in nodes of 64 bytes: to 1 MiB the default sizes, then some around the ends
/// of its last cache.
const H100_LINES: [u64; 68] = [
    16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 91, 108, 128, 152, 181, 215, 256, 305, 362, 431, 512, 609, 724, 861, 1024, 1218,
    1448, 1722, 2048, 2436, 2896, 3444, 4096, 4872, 5792, 6888, 8192, 9744, 11_584, 13_776, 16_384, 131_072, 262_144, 327_680,
    393_216, 425_984, 458_752, 491_520, 524_288, 557_056, 589_824, 622_592, 655_360, 688_128, 720_896, 753_664, 786_432,
    819_200, 851_968, 884_736, 917_504, 983_040, 1_048_576, 1_310_720, 1_572_864, 2_097_152, 4_194_304, 16_777_216,
];
const H100_NS: [f64; 68] = [
    23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.77, 23.78, 23.77,
    23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.78, 23.79, 23.79, 23.80, 23.80, 23.80, 23.81, 81.35, 107.66, 117.80,
    126.67, 130.51, 135.51, 138.06, 140.82, 141.91, 147.97, 150.94, 150.95, 150.93, 152.99, 156.75, 166.25, 174.47, 181.42,
    187.67, 192.96, 197.47, 201.80, 205.39, 208.85, 211.86, 214.98, 218.06, 223.06, 228.06, 233.01, 241.38, 248.76, 270.91,
    284.73, 301.98, 327.63, 349.65,
];

fn h100() -> Vec<(u64, f64)> {
    H100_LINES.map(|lines| lines * 64).into_iter().zip(H100_NS).collect()
}

/// A curve's cost at any size: straight lines between what was measured, in logarithms.
#[expect(clippy::cast_precision_loss, reason = "sizes need no 53 bits")]
fn between(curve: &[(u64, f64)], size: f64) -> f64 {
    let after = curve.iter().position(|(bytes, _)| *bytes as f64 > size).unwrap_or(curve.len() - 1).max(1);
    let [(low, fast), (high, slow)] = [curve[after - 1], curve[after]];
    let share = (size / low as f64).ln() / (high as f64 / low as f64).ln();
    fast * (slow / fast).powf(share)
}

/// Behind its first cache, the curve isn't quite what the law says: that is no knee, however many sizes show it. Its own noise is a
/// tenth of a percent.
#[test]
fn an_h100_has_its_first_cache_and_the_near_part_and_all_of_its_last() {
    three_of_an_h100(&h100(), "as measured");
    assert!(holds(&infer(&h100()).unwrap().levels[0].capacity, 208.0 * KI));
    for (seed, by) in [(1, 0.0), (2, 0.001), (3, 0.001), (4, 0.002), (5, 0.002), (6, 0.002)] {
        let noisy = curve(&sizes(4), seed, by, |size| between(&h100(), size));
        three_of_an_h100(&noisy, &format!("noise {by}"));
    }
}

#[test]
fn an_outlier_is_no_level() {
    let levels = [(128.0 * KI, 20.0, 8.0), (48.0 * MI, 180.0, 1.0)];
    for outlier in [5, 20, 40, 60, 75] {
        for factor in [0.3, 3.0] {
            let mut with = curve(&sizes(4), 1, 0.02, caches(&levels, 550.0));
            with[outlier].1 *= factor;
            found(&with, &levels, 550.0, 0.2, &format!("outlier {outlier} of {factor}"));
            assert!(infer(&with).unwrap().note.contains("1 of which stand alone"));
            let mut flat = curve(&sizes(4), 1, 0.02, |_| 20.0);
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
        for (per_octave, by) in [(1, 0.0), (1, 0.01), (4, 0.0), (4, 0.01), (4, 0.03), (8, 0.02)] {
            none_seen(&curve(&sizes(per_octave), 3, by, law), &format!("{name}, {per_octave} an octave, noise {by}"));
        }
    }
}

#[test]
fn noise_alone_has_no_levels() {
    for seed in 0..60 {
        for by in [0.01, 0.05, 0.3] {
            none_seen(&curve(&sizes(4), seed, by, |_| 20.0), &format!("noise {by}, seed {seed}"));
        }
    }
    assert!(infer(&curve(&sizes(4), 1, 0.3, |_| 20.0)).unwrap_err().to_string().contains("vary by"));
}

/// Where a level is cut off before it is near, nothing is claimed of it.
#[test]
fn a_level_that_the_sweep_does_not_reach_is_not_told() {
    let levels = [(128.0 * KI, 20.0, 8.0), (700.0 * MI, 180.0, 1.0)];
    let finding = infer(&curve(&sizes(4), 1, 0.01, caches(&levels, 550.0))).unwrap();
    assert_eq!(finding.levels.len(), 1, "{finding:#?}");
    let levels = [(128.0 * KI, 20.0, 8.0), (200.0 * MI, 180.0, 1.0)];
    let finding = infer(&curve(&sizes(8), 1, 0.003, caches(&levels, 550.0))).unwrap();
    assert_eq!(finding.levels.len(), 2, "{finding:#?}");
    assert!(finding.beyond.as_ref().map_or(true, |beyond| holds(beyond, 550.0)), "{finding:#?}");
}

#[test]
fn too_few_sizes_tell_nothing() {
    let levels = [(128.0 * KI, 20.0, 8.0)];
    let curve = curve(&sizes(4), 1, 0.01, caches(&levels, 550.0));
    for part in [&curve[..0], &curve[..1], &curve[..7]] {
        assert!(infer(part).unwrap_err().to_string().contains("at least 8 sizes"));
    }
    let mut broken = curve;
    broken[7].1 = 0.0;
    none_seen(&broken, "a cost of zero");
}

/// A rate is one over a cost, and its interval ends where the cost's begins.
#[test]
fn a_cost_turns_into_a_rate() {
    let rate = Estimate { value: 2.0, low: 1.0, high: 4.0 }.inverted().times(8.0);
    assert_eq!(rate, Estimate { value: 4.0, low: 2.0, high: 8.0 });
}
