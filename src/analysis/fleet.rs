//! Which machines deviate from the others of their kind.
//!
//! A figure is set against the median of all machines of the kind. Of a family's cases, the steadier ones count for more; all families
//! count the same in the whole, and each is set against the others as well: what moves a machine as a whole hides a family otherwise. A
//! machine deviates where one of these lies outside of what most machines show: the chance of that, over all that were looked at, is held
//! so that about one in twenty machines that are named isn't one; of few machines, up to one in ten (`benches/fleet.rs`).

mod rows;

use std::collections::BTreeMap;

use crate::stats::{Bulk, largest_discovery, mean, median, two_sided_p};

use rows::{Case, Rows};
pub use rows::{Fleet, Kind};

/// The share of the machines that are named which may be like the others.
pub const FALSE_DISCOVERIES: f64 = 0.05;

/// Machines from which on one of them can be told from the others.
pub const FEWEST_MACHINES: usize = 6;

/// What deviates by less isn't named, unless the user says otherwise.
pub const MARGIN: f64 = 0.0025;

/// Machines of a rack, or of a day, from which on it is told from others.
const FEWEST_OF_LEVEL: usize = 3;

/// Racks and days are looked at so often: what one has in common may hide another's.
const PASSES: usize = 2;

/// By less than this, figures of machines differ by no more than the steps in which they are told.
const LEAST_SPREAD: f64 = 1e-4;

/// A family is named in the place of the whole where it is as improbable as this.
const SURE: f64 = 0.01;

/// The standard error of a median over that of a mean.
const OF_MEDIAN: f64 = 1.2533;

/// The share of a family that a run must have measured to be judged by it.
const MOST: f64 = 0.5;

/// Cases that are named of a machine.
const NAMED: usize = 3;

/// What became of the machines of one kind.
#[derive(Clone, Debug)]
pub struct Judged {
    pub kind: Kind,
    pub machines: Vec<Machine>,
    /// Cases that enough machines measured.
    pub cases: usize,
    /// By how much most machines differ as a whole, as a standard deviation; nothing where they are too few.
    pub spread: Option<f64>,
    pub levels: Vec<Level>,
    /// Families of which fewer than half of the machines measured enough, with how many did.
    pub short: Vec<(String, usize)>,
    /// Machines that have several devices of the kind, which are one here.
    pub with_several_devices: usize,
    /// Figures that came twice in one run, and weren't the same.
    pub contradicting: usize,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct Machine {
    pub name: String,
    pub runs: usize,
    pub verdict: Verdict,
    /// How much faster it is than most, as a logarithm: as a whole, then by family.
    pub whole: Option<f64>,
    pub families: BTreeMap<String, f64>,
    /// The least probable of its deviations.
    pub worst: Option<Deviation>,
    /// The core's clock beside that of most, as a logarithm.
    pub clock: Option<f64>,
    /// The cases that show it most, with the logarithm of each.
    pub cases: Vec<(String, f64)>,
    /// Cases that failed here, and not on most others, with their status.
    pub failed: Vec<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Deviates,
    Like,
    /// It measured too little, or there are too few others.
    CantTell,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Deviation {
    /// The family; nothing for the whole.
    pub family: Option<String>,
    /// Whether it is the family's beside those of the machine's other families.
    pub is_beside: bool,
    pub log: f64,
    /// The standard deviation of most machines.
    pub spread: f64,
    /// The chance that one of most machines shows as much in anything that was looked at.
    pub p_value: f64,
}

/// A rack, a day, or another group, that deviates from the others.
#[derive(Clone, Debug, PartialEq)]
pub struct Level {
    pub factor: String,
    pub level: String,
    pub machines: usize,
    pub family: Option<String>,
    pub log: f64,
}

/// What is looked at of each run: the whole, each family, and each family beside the others.
struct Looks {
    families: Vec<String>,
}

impl Looks {
    fn count(&self) -> usize {
        match self.families.len() {
            0 | 1 => 1,
            count => 1 + 2 * count,
        }
    }

    /// The values of a run by those of its families. The whole is that of most of them.
    #[expect(clippy::cast_precision_loss, reason = "a few families")]
    fn of(&self, families: &[Option<f64>]) -> Vec<Option<f64>> {
        let known: Vec<f64> = families.iter().flatten().copied().collect();
        let whole = (2 * known.len() > families.len()).then(|| mean(&known));
        if families.len() < 2 {
            return vec![whole];
        }
        let count = known.len() as f64;
        let beside = families
            .iter()
            .map(|of| of.zip(whole.filter(|_| count > 1.0)).map(|(of, whole)| (of - whole) * count / (count - 1.0)));
        [whole].into_iter().chain(families.iter().copied()).chain(beside).collect()
    }

    /// The family that a look is of; nothing for the whole.
    fn family(&self, look: usize) -> Option<&String> {
        self.families.get(self.own(look).checked_sub(1)?)
    }

    /// The look at a family itself, of one beside the others.
    fn own(&self, look: usize) -> usize {
        if look > self.families.len() { look - self.families.len() } else { look }
    }
}

/// Judges the machines of each kind. What deviates by less than `margin` isn't named.
pub fn judge(fleet: &mut Fleet, margin: f64) -> Vec<Judged> {
    fleet.settle();
    fleet.kinds().map(|(kind, rows)| judge_kind(kind, rows, &fleet.factors, margin)).collect()
}

fn judge_kind(kind: &Kind, rows: &Rows, factors: &[String], margin: f64) -> Judged {
    let cases: Vec<Centred> = rows.cases.iter().filter_map(|case| Centred::of(case, rows)).collect();
    let mut families: Vec<String> = cases.iter().map(|case| case.case.family.clone()).collect();
    families.sort_unstable();
    families.dedup();
    let looks = Looks { families };
    let mut of_runs = by_run(&cases, rows, &looks);
    let levels = take_out(factors, rows, &looks, &mut of_runs, margin);
    let of_runs: Vec<Vec<Option<f64>>> = of_runs.iter().map(|run| looks.of(run)).collect();
    let of_machines = by_machine(&of_runs, rows, looks.count());
    let bulks: Vec<Option<Bulk>> = (0..looks.count()).map(|look| bulk(&of_machines, look)).collect();
    let worst: Vec<Option<Deviation>> = of_machines.iter().map(|of| least_probable(of, &bulks, &looks, margin)).collect();
    let p_values: Vec<f64> = worst.iter().flatten().map(|worst| worst.p_value).collect();
    let sure = largest_discovery(&p_values, p_values.len(), FALSE_DISCOVERIES);
    let clocks = clocks(rows);
    let mut failed = rows.failed();
    let deviates = |of: &Deviation| sure.is_some_and(|sure| of.p_value <= sure) && of.log.abs() >= margin;
    let verdict = |at: usize, worst: &Option<Deviation>| match worst {
        _ if failed.contains_key(&at) => Verdict::Deviates,
        Some(of) if deviates(of) => Verdict::Deviates,
        Some(_) => Verdict::Like,
        None => Verdict::CantTell,
    };
    let verdicts: Vec<Verdict> = worst.iter().enumerate().map(|(at, worst)| verdict(at, worst)).collect();
    let deviating = worst.iter().enumerate().filter(|(at, _)| verdicts[*at] == Verdict::Deviates);
    let mut telling = telling(&cases, rows, &deviating.filter_map(|(at, of)| Some((at, of.as_ref()?))).collect());
    let mut runs = vec![0; rows.machines.len()];
    rows.runs.iter().for_each(|run| runs[run.machine] += 1);
    let machine = |(at, worst): (usize, Option<Deviation>)| {
        let own = &of_machines[at];
        let of_families = looks.families.iter().enumerate().filter_map(|(place, family)| {
            let log = if looks.families.len() == 1 { own[0] } else { own[1 + place] };
            Some((family.clone(), log?))
        });
        Machine {
            name: rows.machines[at].clone(),
            runs: runs[at],
            verdict: verdicts[at],
            whole: own[0],
            families: of_families.collect(),
            worst,
            clock: clocks[at],
            cases: telling.remove(&at).unwrap_or_default(),
            failed: failed.remove(&at).unwrap_or_default(),
        }
    };
    let machines = worst.into_iter().enumerate().map(machine).collect();
    let have = |look: usize| of_machines.iter().filter(|of| of[look].is_some()).count();
    let families = looks.families.iter().enumerate().map(|(at, family)| (family.clone(), have((at + 1) % looks.count())));
    Judged {
        kind: kind.clone(),
        machines,
        cases: cases.len(),
        spread: bulks[0].map(|bulk| bulk.scale),
        levels,
        short: families.filter(|(_, count)| 2 * count < rows.machines.len()).collect(),
        with_several_devices: rows.with_several_devices(),
        contradicting: rows.contradicting,
    }
}

/// A case that enough machines measured, and what most of them show.
struct Centred<'r> {
    case: &'r Case,
    centre: f64,
    spread: f64,
}

impl<'r> Centred<'r> {
    fn of(case: &'r Case, rows: &Rows) -> Option<Self> {
        let of_machines = case.by_machine(rows, |figure| Some(figure.log));
        let values: Vec<f64> = of_machines.values().copied().collect();
        if values.len() < FEWEST_MACHINES {
            return None;
        }
        let spread = Bulk::of(&values, LEAST_SPREAD).map_or(LEAST_SPREAD, |bulk| bulk.scale);
        Some(Self { case, centre: median(&values), spread })
    }
}

/// How much faster each run is than most, by family; nothing where it measured too little of that.
fn by_run(cases: &[Centred], rows: &Rows, looks: &Looks) -> Vec<Vec<Option<f64>>> {
    let mut sums = vec![vec![(0.0, 0.0); looks.families.len()]; rows.runs.len()];
    let mut whole = vec![0.0; looks.families.len()];
    for (place, family) in looks.families.iter().enumerate() {
        let of_family: Vec<&Centred> = cases.iter().filter(|case| case.case.family == *family).collect();
        let spreads: Vec<f64> = of_family.iter().map(|case| case.spread).collect();
        // So that no case decides alone.
        let usual = median(&spreads);
        for case in of_family {
            let weight = 1.0 / (case.spread.powi(2) + usual.powi(2));
            whole[place] += weight;
            for figure in &case.case.figures {
                let sum: &mut (f64, f64) = &mut sums[figure.run][place];
                *sum = (sum.0 + weight * (figure.log - case.centre), sum.1 + weight);
            }
        }
    }
    let is_enough = |weight: f64, place: usize| weight >= MOST * whole[place] && weight > 0.0;
    join(&mut sums, rows, &is_enough);
    let value = |(place, (sum, weight)): (usize, &(f64, f64))| is_enough(*weight, place).then(|| sum / weight);
    sums.iter().map(|run| run.iter().enumerate().map(value).collect()).collect()
}

/// Runs of a machine that measured too little of a family, such as one that was resumed, count as one.
fn join(sums: &mut [Vec<(f64, f64)>], rows: &Rows, is_enough: &impl Fn(f64, usize) -> bool) {
    let mut first: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (at, run) in rows.runs.iter().enumerate() {
        for place in 0..sums[at].len() {
            let (sum, weight) = sums[at][place];
            if weight == 0.0 || is_enough(weight, place) {
                continue;
            }
            let to = *first.entry((run.machine, place)).or_insert(at);
            if to != at {
                sums[at][place] = (0.0, 0.0);
                let joined = &mut sums[to][place];
                *joined = (joined.0 + sum, joined.1 + weight);
            }
        }
    }
}

/// The means over the runs of each machine.
fn by_machine(of_runs: &[Vec<Option<f64>>], rows: &Rows, looks: usize) -> Vec<Vec<Option<f64>>> {
    let mut all = vec![vec![Vec::new(); looks]; rows.machines.len()];
    for (values, run) in of_runs.iter().zip(&rows.runs) {
        for (look, value) in values.iter().enumerate() {
            all[run.machine][look].extend(*value);
        }
    }
    let of = |values: &Vec<f64>| (!values.is_empty()).then(|| mean(values));
    all.iter().map(|looks| looks.iter().map(of).collect()).collect()
}

fn bulk(of_machines: &[Vec<Option<f64>>], look: usize) -> Option<Bulk> {
    let values: Vec<f64> = of_machines.iter().filter_map(|of| of[look]).collect();
    Bulk::of(&values, LEAST_SPREAD).filter(|_| values.len() >= FEWEST_MACHINES)
}

/// What is least probable of a machine, with the chance of that in anything that was looked at: Simes, Biometrika 73 (1986). What is
/// within the margin is no deviation, however improbable.
#[expect(clippy::cast_precision_loss, reason = "a few looks")]
fn least_probable(of: &[Option<f64>], bulks: &[Option<Bulk>], looks: &Looks, margin: f64) -> Option<Deviation> {
    let seen = |look: usize| {
        let (value, bulk) = of[look].zip(bulks[look])?;
        let (log, own) = (value - bulk.centre, bulk.p_value(value));
        Some(Seen { look, log, spread: bulk.scale, own, p_value: if log.abs() < margin { 1.0 } else { own } })
    };
    let mut all: Vec<Seen> = (0..looks.count()).filter_map(seen).collect();
    all.sort_by(|one, other| one.p_value.total_cmp(&other.p_value).then(one.own.total_cmp(&other.own)));
    let count = all.len() as f64;
    let p_value = all.iter().enumerate().map(|(rank, of)| of.p_value * count / (rank + 1) as f64).fold(1.0, f64::min);
    let first = all.first()?;
    let Seen { look, log, spread, .. } = *alone(&all, looks).filter(|_| first.look == 0).unwrap_or(first);
    let is_beside = look > looks.families.len();
    Some(Deviation { family: looks.family(look).cloned(), is_beside, log, spread, p_value })
}

/// What a look shows of a machine.
struct Seen {
    look: usize,
    log: f64,
    spread: f64,
    /// Its chance, and that where it counts.
    own: f64,
    p_value: f64,
}

/// The family that makes the whole deviate, where no more than half of them do.
fn alone<'s>(all: &'s [Seen], looks: &Looks) -> Option<&'s Seen> {
    let whole = all.iter().find(|of| of.look == 0)?;
    let is_family = |of: &&Seen| (1..=looks.families.len()).contains(&of.look);
    let mut with_it = all.iter().filter(is_family).filter(|of| of.p_value <= SURE && of.log.signum() == whole.log.signum());
    let first = with_it.next()?;
    (2 * (1 + with_it.count()) <= looks.families.len()).then_some(first)
}

/// Takes what racks or days have in common out of their runs: as a whole where most of its families have it, else by family.
fn take_out(factors: &[String], rows: &Rows, looks: &Looks, of_runs: &mut [Vec<Option<f64>>], margin: f64) -> Vec<Level> {
    let mut levels: Vec<Level> = Vec::new();
    for factor in (0..PASSES).flat_map(|_| 0..factors.len()) {
        let all = shared(factor, rows, looks, of_runs);
        let p_values: Vec<f64> = all.iter().map(|of| of.p_value).collect();
        let Some(sure) = largest_discovery(&p_values, p_values.len(), FALSE_DISCOVERIES) else { continue };
        let mut by_level: BTreeMap<&str, Vec<&Shared>> = BTreeMap::new();
        for of in all.iter().filter(|of| of.log.abs() >= margin && of.p_value <= sure) {
            by_level.entry(of.level).or_default().push(of);
        }
        for of in by_level.values().flat_map(|found| in_common(found, looks)) {
            for run in &of.runs {
                let families = of_runs[*run].iter_mut().enumerate();
                let meant = families.filter(|(family, _)| of.family.is_none_or(|own| own == *family));
                meant.for_each(|(_, value)| *value = value.map(|value| value - of.log));
            }
            let family = of.family.map(|family| looks.families[family].clone());
            let known = levels.iter_mut().find(|known| {
                (known.factor.as_str(), known.level.as_str(), &known.family) == (&*factors[factor], of.level, &family)
            });
            match known {
                Some(known) => known.log += of.log,
                None => levels.push(Level {
                    factor: factors[factor].clone(),
                    level: of.level.to_owned(),
                    machines: of.machines,
                    family,
                    log: of.log,
                }),
            }
        }
    }
    levels
}

/// The whole of a level where most families show it, else each family that does; the whole again where none does.
fn in_common<'f, 'r>(found: &'f [&'f Shared<'r>], looks: &Looks) -> Vec<&'f Shared<'r>> {
    let (whole, families): (Vec<&Shared>, Vec<&Shared>) = found.iter().copied().partition(|of| of.family.is_none());
    let alike = |of: &Shared| families.iter().filter(|own| own.log.signum() == of.log.signum()).count();
    match whole[..] {
        [of] if families.is_empty() || 2 * alike(of) > looks.families.len() => vec![of],
        _ => families,
    }
}

/// What the machines of a level have in common.
struct Shared<'r> {
    level: &'r str,
    runs: Vec<usize>,
    machines: usize,
    /// By place; nothing for the whole.
    family: Option<usize>,
    log: f64,
    p_value: f64,
}

/// What the machines of each level have in common, as a whole and by family.
fn shared<'r>(factor: usize, rows: &'r Rows, looks: &Looks, of_runs: &[Vec<Option<f64>>]) -> Vec<Shared<'r>> {
    let mut levels: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, run) in rows.runs.iter().enumerate().filter(|(_, run)| !run.levels[factor].is_empty()) {
        levels.entry(run.levels[factor].as_str()).or_default().push(at);
    }
    let of_runs: Vec<Vec<Option<f64>>> = of_runs.iter().map(|run| looks.of(run)).collect();
    let families = if looks.families.len() > 1 { looks.families.len() } else { 0 };
    let look = |look| shared_in(look, (rows, &levels), &of_runs);
    (0..=families).flat_map(look).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few machines")]
fn shared_in<'r>(
    look: usize,
    (rows, levels): (&Rows, &BTreeMap<&'r str, Vec<usize>>),
    of_runs: &[Vec<Option<f64>>],
) -> Vec<Shared<'r>> {
    let of_level = |runs: &[usize]| {
        let mut of: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        runs.iter().for_each(|run| of.entry(rows.runs[*run].machine).or_default().extend(of_runs[*run][look]));
        of.into_values().filter(|values| !values.is_empty()).map(|values| mean(&values)).collect::<Vec<f64>>()
    };
    let levels = levels.iter().map(|(level, runs)| (*level, runs, of_level(runs)));
    let levels: Vec<(&str, &Vec<usize>, Vec<f64>)> = levels.filter(|of| of.2.len() >= FEWEST_OF_LEVEL).collect();
    let centres: Vec<f64> = levels.iter().map(|of| median(&of.2)).collect();
    let left = levels.iter().zip(&centres).flat_map(|(of, centre)| of.2.iter().map(move |value| value - centre));
    let left: Vec<f64> = left.collect();
    let Some(bulk) = Bulk::of(&left, LEAST_SPREAD).filter(|_| levels.len() > 1) else { return Vec::new() };
    // Most machines are usual, and not most racks.
    let most = median(&levels.iter().flat_map(|of| of.2.iter().copied()).collect::<Vec<f64>>());
    let of = |((level, runs, values), centre): ((&'r str, &Vec<usize>, Vec<f64>), f64)| {
        let error = OF_MEDIAN * bulk.scale * (1.0 / values.len() as f64 + 1.0 / left.len() as f64).sqrt();
        let (log, family) = (centre - most, look.checked_sub(1));
        let p_value = two_sided_p(log / error, bulk.degrees);
        Shared { level, runs: runs.clone(), machines: values.len(), family, log, p_value }
    };
    levels.into_iter().zip(centres).map(of).collect()
}

/// The core's clock of each machine beside that of most, as a logarithm.
fn clocks(rows: &Rows) -> Vec<Option<f64>> {
    let mut all = vec![Vec::new(); rows.machines.len()];
    for case in &rows.cases {
        let of_machines = case.by_machine(rows, |figure| figure.clock);
        let centre = median(&of_machines.values().copied().collect::<Vec<f64>>());
        of_machines.into_iter().for_each(|(machine, clock)| all[machine].push(clock - centre));
    }
    all.iter().map(|of| (!of.is_empty()).then(|| median(of))).collect()
}

/// Of each machine, the cases that show its deviation most, by what most machines show of them.
fn telling(cases: &[Centred], rows: &Rows, of: &BTreeMap<usize, &Deviation>) -> BTreeMap<usize, Vec<(String, f64)>> {
    let mut all: BTreeMap<usize, Vec<(&str, f64, f64)>> = BTreeMap::new();
    for case in cases {
        let is_meant = |of: &Deviation| of.family.as_ref().is_none_or(|family| case.case.family == *family);
        let own = case.case.by_machine(rows, |figure| {
            of.get(&rows.runs[figure.run].machine).filter(|of| is_meant(of)).map(|_| figure.log - case.centre)
        });
        for (machine, log) in own.into_iter().filter(|(machine, log)| log.signum() == of[machine].log.signum()) {
            all.entry(machine).or_default().push((&case.case.name, log, log.abs() / case.spread.max(f64::EPSILON)));
        }
    }
    let most = |mut of: Vec<(&str, f64, f64)>| {
        of.sort_by(|one, other| other.2.total_cmp(&one.2));
        of.into_iter().take(NAMED).map(|(name, log, _)| (name.to_owned(), log)).collect()
    };
    all.into_iter().map(|(machine, of)| (machine, most(of))).collect()
}
