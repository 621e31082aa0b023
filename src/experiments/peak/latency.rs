//! `peak/latency`: how long does one operation take, by operation and type?

use super::arith::table::{Operation, TYPES, Type, WORDS};
use super::arith::{UNROLLS, kernel, twin};
use crate::experiments::common::chains::Chains;
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Headline, Point, Preset, Skip, Work};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Latency;

struct Latency;

impl Experiment for Latency {
    fn name(&self) -> &'static str {
        "peak/latency"
    }

    fn variants(&self) -> &[&str] {
        TYPES
    }

    fn quick_variants(&self) -> &[&str] {
        &["f32"]
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let ops = if setting.preset == Preset::Quick { &["fma"] } else { WORDS };
        let subgroup = u64::from(setting.device.subgroup.size.max(1));
        // A branch waits for nothing else here: iterations are longer than where other subgroups fill the gap. On a GPU a launch takes
        // as long as a thousand operations: there are 262,144 of the shortest ones.
        let (unroll, iterations) = setting.by_class((4_u64, 16_384_u64), (32, 512));
        let about = "iterations of the loop";
        vec![
            Axis::new("op", "the operation", AxisKind::Choices(WORDS), ops.iter().copied()),
            Axis::new("local_size_x", "invocations of the workgroup", AxisKind::AtLeast(1), [subgroup]),
            Axis::new("unroll", "blocks of operations per iteration of the loop", UNROLLS, [unroll]),
            Axis::new("iterations", about, AxisKind::AtLeast(1), [iterations]).of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (ty, operation) = (Type::of(variant), Operation::of(point.choice("op")));
        operation.require(point.choice("op"), ty, setting.device)?;
        let chains = Chains::new(point, operation.pairs(), setting.device.limits.workgroup_count[0]);
        operation.require_motion(point.choice("op"), ty, chains.depth())?;
        let case =
            chains.case(self.name(), point, setting.seed, kernel(variant, point, &chains), operation.coefficients(ty))?;
        let work = Work { items: Some(chains.depth()), ..Work::default() };
        Ok(Case { variant: variant.to_owned(), work, headline: Headline::LATENCY, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![twin::expected(case, Operation::of(case.point.choice("op")), Type::of(&case.variant))]
    }
}
