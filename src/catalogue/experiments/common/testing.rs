//! What tests of experiments set up. Values of axes are told in a line: `"n=100 op=add"`.

use std::borrow::Cow;

use crate::experiments::{Built, Config, Experiment, Setting};
use crate::model::{
    AxisValue, Case, Component, DeviceInfo, Feature, MatrixProduct, MatrixScope, Point, Preset, Scalar, Sequence, Skip,
    SubgroupClass,
};
use crate::validate::{Expected, Output};

/// The mock device with these features and these subgroup operations, in compute shaders, beside its own.
pub fn mock_with(features: &[Feature], classes: &[SubgroupClass]) -> DeviceInfo {
    let mut device = DeviceInfo::mock();
    device.features.extend(features);
    device.subgroup.in_compute = true;
    device.subgroup.classes.extend(classes);
    device
}

/// A product of a subgroup's matrices of this shape, with such factors and sums.
pub fn matrix([m, n, k]: [u32; 3], [factor, sum]: [Component; 2]) -> MatrixProduct {
    MatrixProduct {
        m,
        n,
        k,
        a: factor,
        b: factor,
        c: sum,
        result: sum,
        saturating: false,
        scope: MatrixScope::Subgroup,
        workgroup_invocations: None,
    }
}

pub fn quick(device: &DeviceInfo) -> Setting<'_> {
    asked(device, Preset::Quick)
}

pub fn asked(device: &DeviceInfo, preset: Preset) -> Setting<'_> {
    Setting { device, queue: None, preset, seed: 1 }
}

fn values(told: &str) -> impl Iterator<Item = (&str, AxisValue)> {
    told.split_whitespace().map(|value| {
        let (axis, value) = value.split_once('=').unwrap();
        (axis, value.parse().map_or_else(|_| AxisValue::Choice(Cow::Owned(value.to_owned())), AxisValue::Integer))
    })
}

/// A point of these values alone.
pub fn point(told: &str) -> Point {
    Point::new(values(told).map(|(axis, value)| (axis.to_owned().into(), value)))
}

/// The configuration of these values, and of the first by default on the axes that aren't told.
pub fn with<T>(experiment: &Experiment, variant: &str, setting: Setting, told: &str, then: impl FnOnce(&Config) -> T) -> T {
    let axes = experiment.axes_of(variant, &setting);
    let usual = Point::new(axes.iter().map(|axis| (axis.name.clone(), axis.defaults[0].clone())));
    let set = |point: Point, (name, value)| {
        assert!(axes.iter().any(|axis| axis.name == name && axis.accepts(&value)), "{}: {name}={value}", experiment.name);
        point.with(name, &value)
    };
    then(&Config::new(variant, &values(told).fold(usual, set), &setting))
}

pub fn built<T>(
    experiment: &Experiment,
    variant: &str,
    setting: Setting,
    told: &str,
    then: impl FnOnce(Built) -> T,
) -> Result<T, Skip> {
    with(experiment, variant, setting, told, |config| experiment.build(config).map(then))
}

pub fn case(experiment: &Experiment, variant: &str, setting: Setting, told: &str) -> Result<Case, Skip> {
    built(experiment, variant, setting, told, |built| built.case)
}

/// Why the device can't run it; empty where it can.
pub fn reason(experiment: &Experiment, variant: &str, setting: Setting, told: &str) -> String {
    case(experiment, variant, setting, told).err().map(|skip| skip.reason).unwrap_or_default()
}

/// Words as they lie in memory.
pub fn bytes(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

pub fn words(expected: &Expected) -> Vec<u32> {
    Output { name: "", bytes: &expected.bytes() }.words()
}

/// What a case's input of this name holds.
pub fn input(case: &Case, name: &str) -> Sequence {
    case.resources.iter().find(|resource| resource.name == name).unwrap().sequence()
}

/// What the first of a case's kernels that has a constant of this name is told.
pub fn constant(case: &Case, name: &str) -> Scalar {
    let mut constants = case.kernels.iter().flat_map(|kernel| &kernel.constants);
    constants.find(|(constant, _)| constant == name).unwrap().1
}
