//! `subgroup/versus_shared`: does a job among the invocations of a workgroup gain by subgroup operations?

use crate::experiments::{
    Built, CaseBuilder, Config, Experiment, Setting, lanes, product, size_to_require, usual_size, workgroups,
};
use crate::model::{Axis, AxisKind, Headline, Kernel, Preset, Scalar, Sequence, Skip, SubgroupClass, Work};
use crate::validate::Expected;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &[BY_SUBGROUP, BY_SHARED, UNROLLED],
    quick_variants: &[BY_SUBGROUP],
    base_variant: Some(BY_SUBGROUP),
    ..Experiment::new("subgroup/versus_shared", axes, build)
};

/// The jobs; in capitals, the shader's macros.
const JOBS: &[&str] = &["reduce", "scan", "broadcast"];

const BY_SUBGROUP: &str = "subgroup";
const BY_SHARED: &str = "shared";
const UNROLLED: &str = "shared_unrolled";

/// Invocations for which the shader has the steps written out.
const MOST_UNROLLED: u64 = 1 << 11;

/// More would keep the twin busy for minutes, and outlast the loops of some drivers.
const MOST_JOBS: u64 = 1 << 12;

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    let names = if quick { &JOBS[..1] } else { JOBS };
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
        Axis::new("job", "what the workgroup does", AxisKind::Choices(JOBS), names.iter().copied()),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]).of_work(),
        Axis::new("jobs", "jobs of a workgroup, one after the other", AxisKind::AtLeast(1), [jobs])
            .up_to(MOST_JOBS)
            .of_monotone_work(),
    ]
}

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let [local_size, jobs] = ["local_size_x", "jobs"].map(|axis| config.integer(axis));
    let job = config.choice("job");
    let kernel = Kernel::new("subgroup/versus_shared.comp", config.workgroup())
        .define(&job.to_uppercase(), "")
        .constant("JOBS", Scalar::U32(config.u32("jobs")));
    let kernel = match config.variant {
        BY_SUBGROUP => by_subgroup(kernel, config)?,
        UNROLLED if job == "broadcast" => {
            return Err(Skip::new("a broadcast has no loop: the variant `shared` is all of it"));
        }
        UNROLLED if local_size > MOST_UNROLLED => {
            return Err(Skip::new(format!("steps are written out for at most {MOST_UNROLLED} invocations")));
        }
        UNROLLED => kernel.define("UNROLLED", local_size),
        _ => kernel,
    };
    let (groups, invocations) = config.grid(config.integer("groups"));
    let count = workgroups(groups);
    let words = Sequence::Words { seed: config.seed() };
    let results = move || {
        let of_group = |group: u64| {
            let terms: Vec<u32> = (0..local_size).map(|lane| words.word(group * local_size + lane)).collect();
            (0..jobs).fold(terms.clone(), |x, _| after_job(job, &x, &terms))
        };
        let results: Vec<u32> = (0..count).flat_map(of_group).collect();
        move |i: u64| usize::try_from(i).ok().and_then(|i| results.get(i).copied()).unwrap_or_default()
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let resources =
        [case.output("results", Expected::words_from(invocations, results)), case.input("words", invocations, words)];
    case.run(kernel, &resources, groups, &[]);
    // Steps of the ladder, or parts that are summed up.
    let steps = (1 + u64::from(local_size.ilog2())).max(local_size.div_ceil(u64::from(lanes(config.device()))));
    let work = Work { ops: Some(product([invocations, jobs])), items: Some(product([count, jobs])), ..Work::default() };
    Ok(case.iterations(product([jobs, 1 + steps])).build(work, Headline::COST))
}

/// A kernel that does the job by subgroups.
fn by_subgroup(kernel: Kernel, config: &Config) -> Result<Kernel, Skip> {
    let class = match config.choice("job") {
        "broadcast" => SubgroupClass::Ballot,
        _ => SubgroupClass::Arithmetic,
    };
    config.require_classes(&[class])?;
    let local_size = config.integer("local_size_x");
    let subgroups = local_size.div_ceil(u64::from(lanes(config.device())));
    let kernel = kernel.define("BY_SUBGROUP", "");
    let kernel = match u32::try_from(subgroups) {
        Ok(1) => kernel.define("ALONE", ""),
        subgroups => kernel.constant("SUBGROUPS", Scalar::U32(subgroups.unwrap_or(u32::MAX))),
    };
    Ok(Kernel { required_subgroup_size: size_to_require(config.device(), local_size), ..kernel })
}

/// What the invocations of a workgroup hold after one job more.
fn after_job(job: &str, x: &[u32], terms: &[u32]) -> Vec<u32> {
    let sums = x.iter().scan(0_u32, |sum, own| {
        *sum = sum.wrapping_add(*own);
        Some(*sum)
    });
    let results: Vec<u32> = match job {
        "scan" => sums.collect(),
        "broadcast" => vec![x.first().copied().unwrap_or_default(); x.len()],
        _ => vec![sums.last().unwrap_or_default(); x.len()],
    };
    let stirred = |(result, term): (&u32, &u32)| (result ^ (result >> 15)).wrapping_mul(1_664_525).wrapping_add(*term);
    results.iter().zip(terms).map(stirred).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{DeviceInfo, Point};

    #[test]
    fn a_job_is_followed_by_a_stir() {
        let jobs = |job| after_job(job, &[1, 2, 3], &[7, 8, 9]);
        let factor = 1_664_525;
        assert_eq!(jobs("reduce"), [6 * factor + 7, 6 * factor + 8, 6 * factor + 9]);
        assert_eq!(jobs("scan"), [factor + 7, 3 * factor + 8, 6 * factor + 9]);
        assert_eq!(jobs("broadcast"), [factor + 7, factor + 8, factor + 9]);
    }

    /// However many: sums of as many as a power of two would soon forget, were they only multiplied and added to.
    #[test]
    fn every_job_counts() {
        let terms: Vec<u32> = (0..256).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
        let after = |jobs| (0..jobs).fold(terms.clone(), |x, _| after_job("reduce", &x, &terms));
        assert!((1..40).all(|jobs| after(jobs) != after(jobs + 1)));
    }

    #[test]
    fn one_subgroup_needs_no_memory() {
        let mut device = DeviceInfo::mock();
        device.subgroup.classes = [SubgroupClass::Arithmetic].into();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let case = |job: &'static str, local_size: u64| {
            let axes = axes(&setting).into_iter().map(|axis| (axis.name, axis.defaults[0].clone()));
            let point = Point::new(axes).with("job", &job.into()).with("local_size_x", &local_size.into());
            build(&Config::new(BY_SUBGROUP, &point, &setting)).map(|built| built.case)
        };
        let is_alone = |local_size| {
            let case = case("scan", local_size).unwrap();
            case.kernels[0].macros.iter().any(|(name, _)| name == "ALONE")
        };
        assert_eq!([1, 32, 33, 256].map(is_alone), [true, true, false, false]);
        assert!(case("broadcast", 32).unwrap_err().reason.contains("VK_SUBGROUP_FEATURE_BALLOT_BIT"));
    }
}
