//! `subgroup/versus_shared`: does a job among the invocations of a workgroup gain by subgroup operations?

use crate::experiments::common::prelude::*;
use crate::experiments::common::words;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Way::WORDS,
    quick_variants: &[Way::Subgroup.word()],
    base_variant: Some(Way::Subgroup.word()),
    ..Experiment::new("subgroup/versus_shared", axes, build)
};

choices! {
    enum Way { Subgroup = "subgroup", Shared = "shared", Unrolled = "shared_unrolled" }
}

choices! {
    /// In capitals, the shader's macros.
    enum Job { Reduce = "reduce", Scan = "scan", Broadcast = "broadcast" }
}

/// Invocations for which the shader has the steps written out.
const MOST_UNROLLED: u64 = 1 << 11;

/// More would keep the twin busy for minutes, and outlast the loops of some drivers.
const MOST_JOBS: u64 = 1 << 12;

fn axes(setting: &Setting) -> Vec<Axis> {
    let lanes = u64::from(lanes(setting.device));
    let mut sizes = match setting.preset {
        Preset::Quick => vec![usual_size(setting)],
        Preset::Default => vec![lanes, usual_size(setting)],
        Preset::Thorough => vec![lanes, 2 * lanes, 64, 128, 250, 256, 512, 1024],
    };
    sizes.sort_unstable();
    sizes.dedup();
    let (groups, jobs) = setting.by_class((16_u64, 32_u64), (1056, 2048));
    vec![
        Job::axis("job", "what the workgroup does", setting.quick_or(&Job::ALL[..1], Job::ALL)),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        loop_axis("jobs", "jobs of a workgroup, one after the other", [jobs], MOST_JOBS),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [local_size, jobs] = ["local_size_x", "jobs"].map(|axis| config.integer(axis));
    let job = Job::of(config.choice("job"));
    let kernel = config.kernel("subgroup/versus_shared.comp", &["jobs"]).define(&job.word().to_uppercase(), "");
    let kernel = match Way::of(config.variant) {
        Way::Subgroup => by_subgroup(kernel, config, job)?,
        Way::Shared => kernel,
        Way::Unrolled if job == Job::Broadcast => {
            return Err(Skip::new("a broadcast has no loop: the variant `shared` is all of it"));
        }
        Way::Unrolled if local_size > MOST_UNROLLED => {
            return Err(Skip::new(format!("steps are written out for at most {MOST_UNROLLED} invocations")));
        }
        Way::Unrolled => kernel.define("UNROLLED", local_size),
    };
    let (groups, invocations) = config.grid(config.integer("groups"));
    let count = workgroups(groups);
    let source = Sequence::Words { seed: config.seed() };
    let results = move || {
        let of_group = |group: u64| {
            let terms: Vec<u32> = (0..local_size).map(|lane| source.word(group * local_size + lane)).collect();
            (0..jobs).fold(terms.clone(), |x, _| after_job(job, &x, &terms))
        };
        words::of((0..count).flat_map(of_group).collect())
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources =
        [case.output("results", Expected::words_from(invocations, results)), case.input("words", invocations, source)];
    case.run(kernel, &resources, groups, &[]);
    // Steps of the ladder, or parts that are summed up.
    let steps = (1 + u64::from(local_size.ilog2())).max(local_size.div_ceil(u64::from(lanes(config.device()))));
    let work = Work { ops: Some(product([invocations, jobs])), items: Some(product([count, jobs])), ..Work::default() };
    Ok(case.iterations(product([jobs, 1 + steps])).build(work, Headline::COST))
}

fn by_subgroup(kernel: Kernel, config: &Config, job: Job) -> Result<Kernel, Skip> {
    config.require_classes(match job {
        Job::Reduce | Job::Scan => &[SubgroupClass::Arithmetic],
        Job::Broadcast => &[SubgroupClass::Ballot],
    })?;
    let local_size = config.integer("local_size_x");
    let kernel = kernel.define("BY_SUBGROUP", "");
    let kernel = match local_size.div_ceil(u64::from(lanes(config.device()))) {
        1 => kernel.define("ALONE", ""),
        subgroups => kernel.constant("SUBGROUPS", number(subgroups)),
    };
    Ok(Kernel { required_subgroup_size: size_to_require(config.device(), local_size), ..kernel })
}

/// What the invocations of a workgroup hold after one job more.
fn after_job(job: Job, x: &[u32], terms: &[u32]) -> Vec<u32> {
    let sums = x.iter().scan(0_u32, |sum, own| {
        *sum = sum.wrapping_add(*own);
        Some(*sum)
    });
    let results: Vec<u32> = match job {
        Job::Reduce => vec![sums.last().unwrap_or_default(); x.len()],
        Job::Scan => sums.collect(),
        Job::Broadcast => vec![x.first().copied().unwrap_or_default(); x.len()],
    };
    let stirred = |(result, term): (&u32, &u32)| (result ^ (result >> 15)).wrapping_mul(1_664_525).wrapping_add(*term);
    results.iter().zip(terms).map(stirred).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{case, mock_with, quick};

    #[test]
    fn a_job_is_followed_by_a_stir() {
        let jobs = |job| after_job(job, &[1, 2, 3], &[7, 8, 9]);
        let factor = 1_664_525;
        assert_eq!(jobs(Job::Reduce), [6 * factor + 7, 6 * factor + 8, 6 * factor + 9]);
        assert_eq!(jobs(Job::Scan), [factor + 7, 3 * factor + 8, 6 * factor + 9]);
        assert_eq!(jobs(Job::Broadcast), [factor + 7, factor + 8, factor + 9]);
    }

    /// However many: sums of as many as a power of two would soon forget, were they only multiplied and added to.
    #[test]
    fn every_job_counts() {
        let terms: Vec<u32> = (0..256).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let after = |jobs| (0..jobs).fold(terms.clone(), |x, _| after_job(Job::Reduce, &x, &terms));
        assert!((1..40).all(|jobs| after(jobs) != after(jobs + 1)));
    }

    #[test]
    fn one_subgroup_needs_no_memory() {
        let device = mock_with(&[], &[SubgroupClass::Arithmetic]);
        let case = |told: &str| case(&EXPERIMENT, Way::Subgroup.word(), quick(&device), told);
        let is_alone = |local_size| {
            let case = case(&format!("job=scan local_size_x={local_size}")).unwrap();
            case.kernels.iter().any(|kernel| kernel.macros.iter().any(|(name, _)| name == "ALONE"))
        };
        assert_eq!([1, 32, 33, 256].map(is_alone), [true, true, false, false]);
        assert!(case("job=broadcast").unwrap_err().reason.contains("VK_SUBGROUP_FEATURE_BALLOT_BIT"));
    }
}
