//! `workgroup/linear`: how large should a one-dimensional workgroup be?

use crate::experiments::{Experiment, Setting, fold_groups, powers_of_two};
use crate::model::{Axis, AxisKind, Case, Contents, Headline, Kernel, Point, Preset, Resource, Sequence, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Linear;

/// The factor of saxpy: a whole number, so that every result is exact, with or without a fused multiply-add.
const A: f32 = 3.0;

struct Linear;

impl Linear {
    fn x(seed: u64) -> Sequence {
        Sequence::WholeFloats { seed, magnitude: 1 << 16 }
    }

    fn y(seed: u64) -> Sequence {
        Sequence::WholeFloats { seed: !seed, magnitude: 1 << 16 }
    }
}

impl Experiment for Linear {
    fn name(&self) -> &'static str {
        "workgroup/linear"
    }

    fn peak_kind(&self) -> Option<&'static str> {
        Some("global")
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let largest = setting.device.limits.workgroup_size[0].min(setting.device.limits.workgroup_invocations).max(1);
        let quick = setting.preset == Preset::Quick;
        let n = if quick { setting.by_class(1_u64 << 14, 1 << 24) } else { setting.by_class(1_u64 << 16, 1 << 24) };
        let is_taken = |size: &u64| !quick || [1, 32, 256, 1024].contains(size);
        let sizes = powers_of_two(1, largest.into()).filter(is_taken);
        vec![
            Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
            Axis::new("n", "elements", AxisKind::AtLeast(1), [n]).of_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (n, local_size) = (point.integer("n"), point.u32("local_size_x"));
        let groups = fold_groups(n.div_ceil(local_size.into()), setting.device.limits.workgroup_count[0]);
        let kernel = Kernel::new("workgroup/linear.comp", [local_size, 1, 1], 3);
        let resources = vec![
            Resource::words("x", n, Contents::Sequence(Self::x(setting.seed))),
            Resource::words("y", n, Contents::Sequence(Self::y(setting.seed))),
            Resource::words("z", n, Contents::Undefined),
        ];
        let push = [point.u32("n"), A.to_bits()];
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &push, resources, vec![2]);
        let work = Work { bytes: n.checked_mul(3 * 4), flops: n.checked_mul(2), items: Some(n), ..Work::default() };
        Ok(Case { work, headline: Headline::BANDWIDTH, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        let (x, y) = (case.resources[0].sequence(), case.resources[1].sequence());
        let n = case.point.integer("n");
        vec![Expected::floats(n, move |i| A * x.float(i) + y.float(i))]
    }
}
