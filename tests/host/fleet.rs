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
    let judged = judge(&fleet, MARGIN);
    let verdicts: Vec<Verdict> = judged[0].machines.iter().map(|machine| machine.verdict).collect();
    use Verdict::{CantTell, Deviates};
    assert_eq!(verdicts, [CantTell, CantTell, CantTell, Deviates, CantTell]);
    assert_eq!(judged[0].machines[3].failed, [("memory/case n=2".to_owned(), "wrong_result".to_owned())]);
}
