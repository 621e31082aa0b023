//! The answer as lines: one for each machine as a whole, and for each of its families.

use serde::Serialize;

use crate::analysis::fleet::{Judged, Machine, Verdict};

/// A machine as a whole, or a family of it.
#[derive(Serialize)]
struct Line<'j> {
    device: &'j str,
    driver: &'j str,
    /// Variables, layers and checks that move figures.
    circumstances: &'j str,
    machine: &'j str,
    runs: usize,
    /// Empty for the whole.
    family: &'j str,
    /// How many times as fast as most machines.
    ratio: Option<f64>,
    verdict: &'static str,
    /// Whether it is what deviates most, and whether that is beside the machine's other families.
    is_worst: bool,
    is_beside_others: bool,
    /// The standard deviation of most machines, and the chance that one of them deviates as much; of what deviates most.
    spread: Option<f64>,
    p_value: Option<f64>,
    /// The core's clock over that of most machines.
    clock_ratio: Option<f64>,
    /// The cases that show it most, or failed.
    cases: String,
}

fn lines(judged: &[Judged]) -> impl Iterator<Item = Line<'_>> {
    judged.iter().flat_map(|of| of.machines.iter().flat_map(move |machine| of_machine(of, machine)))
}

fn of_machine<'j>(of: &'j Judged, machine: &'j Machine) -> Vec<Line<'j>> {
    let whole = [("", machine.whole)].into_iter();
    let families = machine.families.iter().map(|(family, log)| (family.as_str(), Some(*log)));
    let line = |(family, log): (&'j str, Option<f64>)| {
        let worst = machine.worst.as_ref().filter(|worst| worst.family.as_deref().unwrap_or_default() == family);
        let failed = machine.failed.iter().filter(|_| family.is_empty()).map(|(case, status)| format!("{case} {status}"));
        let shown = machine.cases.iter().filter(|_| worst.is_some()).map(|(case, _)| case.clone());
        Line {
            device: &of.kind.device,
            driver: &of.kind.driver,
            circumstances: &of.kind.circumstances,
            machine: &machine.name,
            runs: machine.runs,
            family,
            ratio: log.map(f64::exp),
            verdict: verdict(machine.verdict),
            is_worst: worst.is_some(),
            is_beside_others: worst.is_some_and(|worst| worst.is_beside),
            spread: worst.map(|worst| worst.spread),
            p_value: worst.map(|worst| worst.p_value),
            clock_ratio: machine.clock.map(f64::exp),
            cases: failed.chain(shown).collect::<Vec<_>>().join("; "),
        }
    };
    whole.chain(families).map(line).collect()
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Deviates => "deviates",
        Verdict::Like => "like_others",
        Verdict::CantTell => "cant_tell",
    }
}

pub fn csv(judged: &[Judged]) -> anyhow::Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    lines(judged).try_for_each(|line| writer.serialize(line))?;
    Ok(String::from_utf8(writer.into_inner()?)?)
}

pub fn jsonl(judged: &[Judged]) -> anyhow::Result<String> {
    let line = |line| Ok(serde_json::to_string(&line)? + "\n");
    lines(judged).map(line).collect()
}
