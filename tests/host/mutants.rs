//! Every kernel that is checked has mutants, which `tests/devices/mutants.rs` runs.

use std::collections::BTreeSet;
use std::fs;

use lanescope::experiments;
use lanescope::model::{Check, Kernel};
use lanescope::plan::{Plan, Request};

use crate::support::mutants::{Mutant, Mutants, folder, places, setting};

/// The fewest mutants of each shader of an experiment.
const FEWEST: usize = 5;

/// Every shader of an experiment that has a twin has mutants, in each variant that uses it.
#[test]
fn every_checked_kernel_has_mutants() {
    for device in crate::support::device_classes() {
        let setting = setting(&device);
        let mut used: BTreeSet<(&str, &str, String)> = BTreeSet::new();
        for planned in Plan::new(&Request::default(), setting).unwrap().iter() {
            let Ok(case) = planned.case else { continue };
            if matches!(case.check, Check::Twin(_)) {
                let shader = |kernel: Kernel| (planned.experiment.name(), planned.variant, kernel.source.into_owned());
                used.extend(case.kernels.into_iter().map(shader));
            }
        }
        for (name, variant, shader) in used {
            let experiment = experiments::find(name).unwrap();
            let mutants = Mutants::read(experiment);
            let of_kernel = |m: &&Mutant| m.survives.is_none() && mutants.kernel(m) == shader;
            let of_variant = |line: &String| places(experiment, &setting, line).iter().any(|at| at.variant == variant);
            let own = mutants.mutants.iter().filter(of_kernel);
            assert!(own.clone().count() >= FEWEST, "{shader} has too few mutants");
            let of_variant = own.filter(|m| m.at.iter().any(of_variant)).count();
            assert!(of_variant > 0, "{name}:{variant} has no mutant of {shader}");
        }
    }
}

/// A file that no experiment reads would be forgotten mutants.
#[test]
fn every_file_belongs_to_an_experiment() {
    for family in fs::read_dir(folder()).unwrap() {
        for file in fs::read_dir(family.unwrap().path()).unwrap() {
            let path = file.unwrap().path().with_extension("");
            let name = path.strip_prefix(folder()).unwrap().to_str().unwrap().replace('\\', "/");
            assert!(experiments::find(&name).is_some_and(|experiment| !Mutants::read(experiment).mutants.is_empty()), "{name}");
        }
    }
}
