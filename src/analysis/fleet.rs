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

/// Machines of a rack, or of a day, from which on it is told from others.
const FEWEST_OF_LEVEL: usize = 3;

/// Levels that are taken out.
const MOST_LEVELS: usize = 100;

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

    /// The values of a run by those of its families.
    #[expect(clippy::cast_precision_loss, reason = "a few families")]
    fn of(&self, families: &[Option<f64>]) -> Vec<Option<f64>> {
        let known: Vec<f64> = families.iter().flatten().copied().collect();
        let whole = (known.len() == families.len()).then(|| mean(&known));
        if families.len() < 2 {
            return vec![whole];
        }
        let count = families.len() as f64;
        let beside = families.iter().map(|of| of.zip(whole).map(|(of, whole)| (of - whole) * count / (count - 1.0)));
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
pub fn judge(fleet: &Fleet, margin: f64) -> Vec<Judged> {
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
    let worst: Vec<Option<Deviation>> = of_machines.iter().map(|of| least_probable(of, &bulks, &looks)).collect();
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
    Judged { kind: kind.clone(), machines, cases: cases.len(), spread: bulks[0].map(|bulk| bulk.scale), levels }
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
        Some(Self { case, centre: median(&values), spread: Bulk::of(&values).map_or(0.0, |bulk| bulk.scale) })
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
        let usual = median(&spreads).max(f64::MIN_POSITIVE.sqrt());
        for case in of_family {
            let weight = 1.0 / (case.spread.powi(2) + usual.powi(2));
            whole[place] += weight;
            for figure in &case.case.figures {
                let sum: &mut (f64, f64) = &mut sums[figure.run][place];
                *sum = (sum.0 + weight * (figure.log - case.centre), sum.1 + weight);
            }
        }
    }
    let value = |((sum, weight), whole): (&(f64, f64), &f64)| (*weight >= MOST * whole && *weight > 0.0).then(|| sum / weight);
    sums.iter().map(|run| run.iter().zip(&whole).map(value).collect()).collect()
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
    Bulk::of(&values).filter(|_| values.len() >= FEWEST_MACHINES)
}

/// What is least probable of a machine, with the chance of that in anything that was looked at: Simes, Biometrika 73 (1986).
#[expect(clippy::cast_precision_loss, reason = "a few looks")]
fn least_probable(of: &[Option<f64>], bulks: &[Option<Bulk>], looks: &Looks) -> Option<Deviation> {
    let seen = |look: usize| {
        let (value, bulk) = of[look].zip(bulks[look])?;
        Some((bulk.p_value(value), look))
    };
    let mut all: Vec<(f64, usize)> = (0..looks.count()).filter_map(seen).collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = all.len() as f64;
    let p_value = all.iter().enumerate().map(|(rank, of)| of.0 * count / (rank + 1) as f64).fold(1.0, f64::min);
    let (_, look) = *all.first()?;
    let (value, bulk) = of[look].zip(bulks[look])?;
    let is_beside = look > looks.families.len();
    Some(Deviation { family: looks.family(look).cloned(), is_beside, log: value - bulk.centre, spread: bulk.scale, p_value })
}

/// Takes what racks or days have in common out of their runs, the surest first, as long as one stands out among the others.
fn take_out(factors: &[String], rows: &Rows, looks: &Looks, of_runs: &mut [Vec<Option<f64>>], margin: f64) -> Vec<Level> {
    let mut levels = Vec::new();
    while levels.len() < MOST_LEVELS {
        let all: Vec<Shared> = (0..factors.len()).flat_map(|factor| shared(factor, rows, looks, of_runs)).collect();
        let p_values: Vec<f64> = all.iter().map(|of| of.p_value).collect();
        let sure = largest_discovery(&p_values, p_values.len(), FALSE_DISCOVERIES);
        let surest = all.into_iter().filter(|of| of.log.abs() >= margin && sure.is_some_and(|sure| of.p_value <= sure));
        let Some(of) = surest.min_by(|one, other| one.p_value.total_cmp(&other.p_value)) else { break };
        for run in of.runs {
            let families = of_runs[run].iter_mut().enumerate().filter(|(family, _)| of.family.is_none_or(|own| own == *family));
            families.for_each(|(_, value)| *value = value.map(|value| value - of.log));
        }
        levels.push(Level {
            factor: factors[of.factor].clone(),
            level: of.level.to_owned(),
            machines: of.machines,
            family: of.family.map(|family| looks.families[family].clone()),
            log: of.log,
        });
    }
    levels
}

/// What the machines of a level have in common.
struct Shared<'r> {
    factor: usize,
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
    let look = |look| shared_in(look, factor, (rows, &levels), &of_runs);
    (0..=families).flat_map(look).collect()
}

#[expect(clippy::cast_precision_loss, reason = "a few machines")]
fn shared_in<'r>(
    look: usize,
    factor: usize,
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
    let Some(bulk) = Bulk::of(&left).filter(|_| levels.len() > 1) else { return Vec::new() };
    let most = median(&centres);
    let of = |((level, runs, values), centre): ((&'r str, &Vec<usize>, Vec<f64>), f64)| {
        let error = OF_MEDIAN * bulk.scale * (1.0 / values.len() as f64 + 1.0 / left.len() as f64).sqrt();
        let (log, family) = (centre - most, look.checked_sub(1));
        let p_value = two_sided_p(log / error, bulk.degrees);
        Shared { factor, level, runs: runs.clone(), machines: values.len(), family, log, p_value }
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
