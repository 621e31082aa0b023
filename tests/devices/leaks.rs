//! What a pass leaves follows from its inputs alone, whatever ran before it: flags or sums that a last pass left give right results
//! and wrong times otherwise, or wrong results that no reset shows.
//!
//! Each case runs once with one seed's data and then, without a reset between, with another's; its results must be those of the
//! other data's twin. Cases that only differ in their inputs' data share the memory of everything else.

use std::collections::BTreeSet;

use lanescope::experiments::{Built, Config, Setting};
use lanescope::gpu::{CaseHandle, Device};
use lanescope::model::{DeviceInfo, Kernel, Preset, Repeat};
use lanescope::plan::{Plan, Request, check_limits};
use lanescope::shader::{Compiler, Library, prepare};
use lanescope::validate::Verdict;

use crate::gpu::on_each_device;
use crate::support::little_work;
use crate::support::shapes::{self, RIGHT, Shape};

fn loaded(device: &mut Device, compiler: &mut Compiler, built: &Built) -> CaseHandle {
    let prepared = prepare(built.case.clone(), compiler).unwrap_or_else(|failure| panic!("{}", failure.reason));
    device.load(&prepared).unwrap().slot
}

fn left(device: &mut Device, slot: CaseHandle, built: &Built) -> Verdict {
    let outputs = built.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap());
    built.check(&outputs.collect::<Vec<_>>())
}

/// What the second of two cases leaves after the first, without a reset between: after one pass, and after a batch of them.
fn after_another(device: &mut Device, compiler: &mut Compiler, [first, second]: [&Built; 2]) -> [Verdict; 3] {
    let [one, other] = [first, second].map(|built| loaded(device, compiler, built));
    device.run_checked(one).unwrap();
    let alone = left(device, one, first);
    let mut after = |batch| {
        device.sample(other, batch, 1).unwrap();
        left(device, other, second)
    };
    let found = [alone, after(1), after(3)];
    device.unload();
    found
}

#[test]
fn no_case_of_the_catalogue_finds_what_another_one_left() {
    let axes = little_work();
    on_each_device(|device| {
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let info: DeviceInfo = device.info().clone();
        let setting = |seed| Setting { queue: None, device: &info, preset: Preset::Quick, seed };
        let plan = Plan::new(&Request { axes: axes.clone(), ..Request::default() }, setting(1)).unwrap();
        let (mut seen, mut checked) = (BTreeSet::new(), BTreeSet::new());
        for planned in plan.iter() {
            let Ok(case) = planned.case else { continue };
            let form = |kernel: &Kernel| (kernel.source.clone(), kernel.macros.clone());
            let forms: Vec<_> = case.kernels.iter().map(form).collect();
            let is_new = seen.insert((planned.experiment.name(), planned.variant, forms));
            // Others go on from what they left, and count that; or are reset before each pass.
            if !is_new || case.repeat != Repeat::Overwrites || case.check.outputs().is_empty() {
                continue;
            }
            let [first, second] = [1, 2]
                .map(|seed| planned.experiment.build(&Config::new(planned.variant, &planned.point, &setting(seed))).unwrap());
            let name = format!("{} {} {}", case.experiment, case.variant, case.point);
            check_limits(&second.case, &info).unwrap();
            let found = after_another(device, &mut compiler, [&first, &second]);
            assert_eq!(found, [Ok(()), Ok(()), Ok(())], "{name}");
            checked.insert(case.experiment);
        }
        assert!(checked.len() > 30, "{checked:?}");
    });
}

#[test]
fn shapes_of_several_kernels_are_right_in_batches_and_find_nothing() {
    on_each_device(|device| {
        let mut compiler = shapes::compiler();
        let info = device.info().clone();
        for shape in RIGHT {
            let [first, second] = [1, 2].map(|seed| shapes::built(shape, &info, seed));
            let found = after_another(device, &mut compiler, [&first, &second]);
            assert_eq!(found, [Ok(()), Ok(()), Ok(())], "{shape:?}");
        }
    });
}

#[test]
fn what_finds_something_is_found() {
    on_each_device(|device| {
        let mut compiler = shapes::compiler();
        let info = device.info().clone();
        let mut right = |shape| {
            let [first, second] = [1, 2].map(|seed| shapes::built(shape, &info, seed));
            after_another(device, &mut compiler, [&first, &second]).map(|verdict| verdict == Ok(()))
        };
        assert_eq!(right(Shape::StaleFlags), [true, false, false], "no poison looks like a flag");
        let [alone, _, in_batch] = right(Shape::UnclearedHistogram);
        assert!(alone && !in_batch, "its reset hides it");
        assert_eq!(right(Shape::WrongProduct), [false, false, false], "one number is off by one");
        assert!(!right(Shape::StaleScratch)[0], "scratch memory is poisoned");
        assert!(!right(Shape::StalePingPong)[0], "outputs are poisoned");
    });
}
