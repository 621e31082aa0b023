//! `dispatch/empty`: what do a dispatch and its workgroups cost that have nothing to do?

mod fit;

use crate::experiments::{Experiment, Setting, powers_of_two};
use crate::model::{Axis, AxisKind, Case, Check, Derived, Finished, Kernel, Point, Preset, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Empty;

/// What the fit is reported under.
const FIT: &str = "dispatch/fit";

struct Empty;

impl Experiment for Empty {
    fn name(&self) -> &'static str {
        "dispatch/empty"
    }

    fn summary(&self) -> &'static str {
        "dispatches of workgroups that do nothing, and the cost of each"
    }

    fn description(&self) -> &'static str {
        "A pass is one dispatch of `groups` workgroups of `local_size_x` invocations that do nothing, and the barrier to the next \
         pass.\n\
         \n\
         How to read it: groups=1 is the least that a dispatch takes. From some number of groups on, time grows with them: that \
         is the rate at which the device hands out workgroups, and no kernel whose workgroups do little can be faster. Larger \
         workgroups take longer to begin where the device begins them subgroup by subgroup.\n\
         \n\
         dispatch/fit draws a line through each local_size_x: T = a + groups / b, where `overhead` is a, in ns, and `rate` is b, \
         in workgroups per ns. Errors count as shares of each time, so that short dispatches weigh as much as long ones; GPUs \
         begin workgroups at once until they are full, so that a few times are below the line. Where one is a quarter off, \
         there is no figure, nor a rate where the rise is within its error, and the row says so.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), a dispatch and its barrier take about 1.4 us, and little more up to 256 \
         workgroups. From then on what begins workgroups is the limit: 1048576 of them take 632000 ns, whether of 1 \
         invocation or of 256, and 758384 ns of 1024. That is one every 0.6 ns, or every 80 ns on each of 132 processors, so \
         that a processor, which holds eight workgroups of 256, is never full of them where they end within 0.6 us: give \
         short kernels fewer workgroups with more work each."
    }

    fn derived(&self) -> &[&str] {
        &[FIT]
    }

    fn derive(&self, rows: &[Finished]) -> Vec<Derived> {
        let mut sizes: Vec<u64> = rows.iter().map(|row| row.point.integer("local_size_x")).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().flat_map(|size| fit::of(size, rows)).collect()
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
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

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let kernel = Kernel::new("dispatch/empty.comp", [point.u32("local_size_x"), 1, 1], 0);
        let groups = grid(point.integer("groups"), setting.device.limits.workgroup_count[0])?;
        let case = Case::single_dispatch(self.name(), point, kernel, groups, &[], Vec::new(), Vec::new());
        Ok(Case { check: Check::Nothing("nothing is computed"), ..case })
    }

    fn expected<'a>(&self, _: &'a Case) -> Vec<Expected<'a>> {
        Vec::new()
    }
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
