//! Devices that nobody has, so that the catalogue can be looked at without a driver: what defaults and estimates are shown for.

use crate::experiments::Setting;
use crate::model::{
    Component, DeviceInfo, DeviceKind, Feature, Limits, MatrixProduct, MatrixScope, Preset, Subgroup, SubgroupClass,
};

/// A discrete GPU with 16 GiB that can do everything.
pub fn gpu() -> DeviceInfo {
    let mock = DeviceInfo::mock();
    let products = |scope, sides: [u32; 3], workgroup_invocations| {
        let product = move |(factor, sum)| product(factor, sum, scope, sides, workgroup_invocations);
        [(Component::F16, Component::F16), (Component::F16, Component::F32), (Component::I8, Component::I32)].map(product)
    };
    DeviceInfo {
        name: String::new(),
        kind: DeviceKind::Discrete,
        features: Feature::ALL.iter().copied().collect(),
        subgroup: Subgroup {
            classes: SubgroupClass::ALL.into(),
            max_workgroup_subgroups: 32,
            size_control: true,
            full_subgroups: true,
            ..mock.subgroup
        },
        matrices: [
            products(MatrixScope::Subgroup, [16, 16, 16], None),
            products(MatrixScope::Subgroup, [16, 16, 32], None),
            products(MatrixScope::Workgroup, [16, 16, 16], Some(256)),
        ]
        .concat(),
        ..mock
    }
}

/// A driver that runs on the processor, and can do everything as well.
pub fn processor() -> DeviceInfo {
    let gpu = gpu();
    DeviceInfo {
        kind: DeviceKind::Cpu,
        subgroup: Subgroup { size: 8, min_size: 8, max_size: 8, ..gpu.subgroup },
        limits: Limits { shared_bytes: 32 << 10, ..gpu.limits },
        ..gpu
    }
}

pub fn is_nominal(device: &DeviceInfo) -> bool {
    device.name.is_empty()
}

pub fn setting(device: &DeviceInfo) -> Setting<'_> {
    Setting { queue: None, device, preset: Preset::Default, seed: 1 }
}

fn product(
    factor: Component,
    sum: Component,
    scope: MatrixScope,
    [m, n, k]: [u32; 3],
    workgroup_invocations: Option<u32>,
) -> MatrixProduct {
    MatrixProduct { m, n, k, a: factor, b: factor, c: sum, result: sum, saturating: false, scope, workgroup_invocations }
}
