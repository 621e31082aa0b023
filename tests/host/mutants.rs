//! Every kernel that is checked has mutants, which `tests/devices/mutants.rs` runs.

use std::collections::BTreeSet;
use std::fs;

use lanescope::experiments;
use lanescope::model::{Check, Kernel, Preset};
use lanescope::plan::{Plan, Request};

use crate::support::mutants::{Mutant, Mutants, folder, places, read};
use crate::support::setting;

/// The fewest mutants of each shader of an experiment.
const FEWEST: usize = 5;

/// Every shader of an experiment that has a twin has mutants, in each variant that uses it.
#[test]
fn every_checked_kernel_has_mutants() {
    for device in crate::support::device_classes() {
        let setting = setting(&device, Preset::Quick);
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
            let of_kernel = |m: &&Mutant| m.survives.is_none() && m.kernel == shader;
            let of_variant = |line: &String| places(experiment, &setting, line).iter().any(|at| at.variant == variant);
            let own = mutants.mutants.iter().filter(of_kernel);
            assert!(own.clone().count() >= FEWEST, "{shader} has too few mutants");
            let of_variant = own.filter(|m| m.at.iter().any(of_variant)).count();
            assert!(of_variant > 0, "{name}:{variant} has no mutant of {shader}");
        }
    }
}

#[test]
fn a_mutant_goes_before_its_group_and_that_before_its_file() {
    let file = "
        at = 'op=read n=64 width=1'
        [[group]]
        kernel = 'a.glsl'
        at = ['op=copy', 'n=8 variant=x']
        elsewhere = 'an H100'
        mutants = [{ name = 'a', from = 'b', to = 'c' }, { name = 'd', from = 'e', to = 'f', at = ['n=1,2', 'op=add'] }]
        [[group]]
        mutants = [{ name = 'g', from = 'h', to = 'i' }]
    ";
    let mutants = read(file, "own.comp").unwrap();
    let said: Vec<(&str, &[String])> = mutants.iter().map(|mutant| (mutant.kernel.as_str(), &mutant.at[..])).collect();
    let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<String>>();
    let twice =
        ["width=1 op=copy n=1,2", "n=64 width=1 op=add", "op=read width=1 variant=x n=1,2", "width=1 n=8 variant=x op=add"];
    assert_eq!(said[0], ("a.glsl", &lines(&["n=64 width=1 op=copy", "op=read width=1 n=8 variant=x"])[..]));
    assert_eq!(said[1], ("a.glsl", &lines(&twice)[..]));
    assert_eq!(said[2], ("own.comp", &lines(&["op=read n=64 width=1"])[..]));
    let elsewhere: Vec<Option<&str>> = mutants.iter().map(|mutant| mutant.elsewhere.as_deref()).collect();
    assert_eq!(elsewhere, [Some("an H100"), Some("an H100"), None]);
    assert!(read("[[mutant]]", "own.comp").is_err());
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
