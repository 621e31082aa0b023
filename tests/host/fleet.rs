//! Machines that deviate from the others of their kind are named, and no others: a short form of `benches/fleet.rs`.

#![expect(clippy::cast_precision_loss, reason = "its counts are small")]

use lanescope::analysis::fleet::{FALSE_DISCOVERIES, Fleet, Verdict, judge};

use crate::support::fleets::{Found, World, row, simulate};

const FLEETS: u64 = 20;
const MARGIN: f64 = 0.0025;

fn of(world: &World) -> Vec<Found> {
    (0..FLEETS).map(|seed| simulate(world, seed, MARGIN).0).collect()
}

fn small() -> World {
    World { machines: 30, cases: World::STUDY.cases.map(|(family, count)| (family, count / 4)), ..World::STUDY }
}

#[test]
fn of_machines_that_are_alike_none_is_named() {
    for of_machines in [[0.002, 0.001, 0.002], [0.0005, 0.0005, 0.001]] {
        let all = of(&World { of_machines, ..small() });
        let share = all.iter().map(Found::false_share).sum::<f64>() / FLEETS as f64;
        assert!(share <= 2.0 * FALSE_DISCOVERIES, "{share}");
    }
}

#[test]
fn a_machine_whose_memory_is_slower_is_found_and_so_is_a_tenth_of_them() {
    for count in [1, 3] {
        let all = of(&World { changed: (count, Some("memory"), -0.012), ..small() });
        let right: usize = all.iter().map(|found| found.right).sum();
        let wrong: usize = all.iter().map(|found| found.wrong).sum();
        assert!(right as f64 >= 0.9 * (count as u64 * FLEETS) as f64 && wrong <= 5, "{right} right, {wrong} wrong");
    }
}

/// What a rack has in common is said of the rack.
#[test]
fn a_rack_that_is_slower_is_no_machine_that_deviates() {
    let world = World { racks: Some((6, -0.02)), ..small() };
    let all = of(&world);
    let [wrong, levels] = [|of: &Found| of.wrong, |of: &Found| of.levels].map(|what| all.iter().map(what).sum::<usize>());
    assert!(wrong <= 3 && levels as u64 >= FLEETS, "{wrong} machines, {levels} racks");
    let (_, judged) = simulate(&world, 1, MARGIN);
    let level = &judged[0].levels[0];
    assert_eq!((level.factor.as_str(), level.level.as_str(), level.machines), ("rack", "r0", 6));
    // Without knowing of racks, no machine of it stands out alone.
    assert!((level.log + 0.02).abs() < 0.004, "{level:?}");
}

#[test]
fn a_machine_that_is_wrong_is_always_named_and_few_are_not_judged() {
    let mut fleet = Fleet::new(Vec::new());
    for machine in 0..5 {
        for case in 0..4 {
            let mut row = row("memory", case, "r", 100.0);
            if machine == 3 && case == 2 {
                "wrong_result".clone_into(&mut row.status);
            }
            fleet.take(&row, &format!("node{machine}"), Vec::new());
        }
    }
    let judged = judge(&mut fleet, MARGIN);
    let verdicts: Vec<Verdict> = judged[0].machines.iter().map(|machine| machine.verdict).collect();
    use Verdict::{CantTell, Deviates};
    assert_eq!(verdicts, [CantTell, CantTell, CantTell, Deviates, CantTell]);
    assert_eq!(judged[0].machines[3].failed, [("memory/case n=2".to_owned(), "wrong_result".to_owned())]);
}

/// Twenty machines, whose figures are changed: by machine and case, by so much as a logarithm.
fn twenty(change: impl Fn(usize, &str, usize) -> f64) -> Fleet {
    let mut fleet = Fleet::new(vec!["rack".to_owned()]);
    for machine in 0..20 {
        for family in ["memory", "cache", "peak", "shared"] {
            for case in 0..8 {
                // A spread that repeats: 0.2 % of machines, 0.1 % of their cases.
                let own = 0.002 * ((machine * 7 % 20) as f64 / 10.0 - 1.0);
                let of_case = 0.001 * (((machine * 3 + case * 5) % 11) as f64 / 5.0 - 1.0);
                let value = 100.0 * (own + of_case + change(machine, family, case)).exp();
                let rack = format!("r{}", machine / 10);
                fleet.take(&row(family, case, &format!("r{machine}"), value), &format!("node{machine:02}"), vec![rack]);
            }
        }
    }
    fleet
}

fn named(fleet: &mut Fleet, margin: f64) -> Vec<String> {
    let judged = judge(fleet, margin);
    let named = judged.iter().flat_map(|of| &of.machines).filter(|of| of.verdict == Verdict::Deviates);
    named.map(|of| of.name.clone()).collect()
}

#[test]
fn what_is_within_the_margin_hides_nothing_beyond_it() {
    let change = |machine: usize, family: &str, case: usize| match (machine, family) {
        (7, "cache") => -0.004,
        (7, "memory") => -0.1,
        // Memory differs much from machine to machine.
        (_, "memory") => 0.01 * ((machine * 11 + case) % 7) as f64 / 3.0 - 0.01,
        _ => 0.0,
    };
    assert_eq!(named(&mut twenty(change), 0.0025), ["node07"]);
    assert_eq!(named(&mut twenty(change), 0.02), ["node07"]);
    assert_eq!(named(&mut twenty(|_, _, _| 0.0), 0.0025), [""; 0]);
}

#[test]
fn a_device_that_is_lost_before_a_case_has_sources_is_named() {
    let mut fleet = twenty(|_, _, _| 0.0);
    let mut lost = row("memory", 3, "r30", 1.0);
    (lost.status, lost.value, lost.source_hash) = ("device_lost".to_owned(), None, String::new());
    fleet.take(&lost, "node30", vec!["r1".to_owned()]);
    let judged = judge(&mut fleet, MARGIN);
    let failed: Vec<_> = judged[0].machines.iter().filter(|of| !of.failed.is_empty()).collect();
    assert_eq!((failed.len(), failed[0].name.as_str(), failed[0].verdict), (1, "node30", Verdict::Deviates));
}

#[test]
fn a_machine_that_was_resumed_is_judged_by_all_its_runs() {
    let mut fleet = Fleet::new(Vec::new());
    for machine in 0..12 {
        for case in 0..9 {
            // No run has half of the cases.
            let run = format!("r{machine}-{}", case / 3);
            let value = 100.0 * (1.0 + 0.001 * ((machine * 5 + case) % 7) as f64) * if machine == 3 { 0.9 } else { 1.0 };
            fleet.take(&row("memory", case, &run, value), &format!("node{machine:02}"), Vec::new());
        }
    }
    assert_eq!(named(&mut fleet, MARGIN), ["node03"]);
}

#[test]
fn of_two_racks_each_is_named_once_and_none_of_its_machines() {
    let mut fleet = twenty(|machine, _, _| if machine < 10 { -0.05 } else { 0.0 });
    let judged = judge(&mut fleet, MARGIN).remove(0);
    assert!(judged.levels.len() <= 2 && judged.levels.iter().all(|level| level.family.is_none()), "{:?}", judged.levels);
    assert!(judged.machines.iter().all(|of| of.verdict == Verdict::Like));
}

#[test]
fn machines_that_are_equal_are_judged() {
    let mut fleet = Fleet::new(Vec::new());
    for machine in 0..12 {
        for case in 0..4 {
            let value = if machine == 5 { 90.0 } else { 100.0 };
            fleet.take(&row("memory", case, "r", value), &format!("node{machine:02}"), Vec::new());
        }
    }
    assert_eq!(named(&mut fleet, MARGIN), ["node05"]);
}
