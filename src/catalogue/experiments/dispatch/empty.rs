//! `dispatch/empty`: what do a dispatch and its workgroups cost that have nothing to do?

mod fit;

use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment = Experiment {
    derived: &[FIT],
    derive,
    repeatability: |_| Repeatability::Launch,
    ..Experiment::new("dispatch/empty", axes, build)
};

const FIT: &str = "dispatch/fit";

fn derive(rows: &[Finished]) -> Vec<Derived> {
    let mut sizes: Vec<u64> = rows.iter().map(|row| row.point.integer("local_size_x")).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes.into_iter().flat_map(|size| fit::of(size, rows)).collect()
}

fn axes(setting: &Setting) -> Vec<Axis> {
    let limits = &setting.device.limits;
    let quick = setting.preset == Preset::Quick;
    let most = setting.by_class(1_u64 << 12, 1 << 20);
    let groups: Vec<u64> = if quick { vec![1] } else { powers_of_two(1, most).step_by(2).collect() };
    let full = u64::from(limits.workgroup_invocations.min(limits.workgroup_size[0])).min(1024);
    let sizes: Vec<u64> =
        if quick { vec![1] } else { [1, 64, 256].into_iter().filter(|size| *size < full).chain([full]).collect() };
    vec![
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), groups).of_work(),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let groups = grid(config.integer("groups"), config.most_groups())?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    case.run(Kernel::new("dispatch/empty.comp", config.workgroup()), &[], groups, &[]);
    Ok(case.build(Work::default(), Headline::TIME))
}

/// Side of the plane that many workgroups are laid out in: no device allows fewer along a dimension than twice that.
const SIDE: u64 = 1 << 15;

/// Exactly so many workgroups, along one dimension where the device allows that.
fn grid(groups: u64, limit: u32) -> Result<[u32; 3], Skip> {
    let [x, y] = if groups <= u64::from(limit) { [groups, 1] } else { [SIDE, groups / SIDE] };
    if x * y != groups {
        return Err(Skip::new(format!("groups={groups} is beyond {limit} and no multiple of {SIDE}")));
    }
    Ok([x, y, 1].map(|count| u32::try_from(count).unwrap_or(u32::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_exactly_so_many_workgroups() {
        assert_eq!(grid(5, 65_535).unwrap(), [5, 1, 1]);
        assert_eq!(grid(1 << 20, 65_535).unwrap(), [1 << 15, 32, 1]);
        assert!(grid(65_537, 65_535).unwrap_err().reason.contains("no multiple"));
        assert_eq!(grid(1 << 63, 65_535).unwrap(), [1 << 15, u32::MAX, 1], "the plan skips it by the limit");
    }
}
