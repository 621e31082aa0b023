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

    fn summary(&self) -> &'static str {
        "time from an operation to the next one that needs its result"
    }

    fn description(&self) -> &'static str {
        "One workgroup, by default of one subgroup, goes through one chain of the operations of `peak/arith`: each needs the result \
         of the one before, and nothing hides how long that takes.\n\
         \n\
         How to read it: the latency is the time per operation. Times the clock rate it is clock cycles: operations that one \
         instruction does are at a whole number of them on a GPU, the same for fma, add and mul mostly. From div to sin, and \
         in bit_count, the addition or xor that comes before each operation is part of it: subtract the latency of add to know \
         the operation alone. Divided by the time that `peak/arith` says a processor of the device needs for one, it tells how many \
         have to be in flight at once: chains times subgroups. A lone subgroup may not raise the clocks of a device as \
         a full one does, or let them be higher. Larger local_size_x shows up to where more subgroups cost nothing. On \
         processors, the time is that of the driver's code for a subgroup, loops over the rest of a workgroup included.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), what one instruction does takes four cycles of 1980 MHz, a little more by the \
         loop: 2.04 to 2.05 ns for fma, add and mul of f16 and f32, 2.03 ns for fma and mul of i32; add of i32 takes five, \
         2.52 ns, and f64 eight, 4.06 ns. Four subgroups on each of a processor's four schedulers, which hold 16, hide four \
         cycles, or one with four chains; f64 needs no more, since it begins half as often. A function of f32 takes 11.65 to \
         11.71 ns but for sin, with the addition before it: 19 cycles by itself. bf16, 5.07 to 5.08 ns, is ten cycles, of \
         which six convert. shift of i64 is half a shift, as `peak/arith` says."
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
        // A branch waits for nothing else here: turns are longer than where other subgroups fill the gap. On a GPU a launch takes
        // as long as a thousand operations: there are 262,144 of the shortest ones.
        let (unroll, iterations) = setting.by_class((4_u64, 16_384_u64), (32, 512));
        let about = "turns of the loop";
        vec![
            Axis::new("op", "the operation", AxisKind::Words(WORDS), ops.iter().copied()),
            Axis::new("local_size_x", "invocations of the workgroup", AxisKind::AtLeast(1), [subgroup]),
            Axis::new("unroll", "blocks of operations per turn of the loop", UNROLLS, [unroll]),
            Axis::new("iterations", about, AxisKind::AtLeast(1), [iterations]).of_monotone_work(),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let (ty, operation) = (Type::of(variant), Operation::of(point.word("op")));
        operation.require(point.word("op"), ty, setting.device)?;
        let chains = Chains::new(point, operation.pairs(), setting.device.limits.workgroup_count[0]);
        operation.require_motion(point.word("op"), ty, chains.depth())?;
        let case =
            chains.case(self.name(), point, setting.seed, kernel(variant, point, &chains), operation.coefficients(ty))?;
        let work = Work { items: Some(chains.depth()), ..Work::default() };
        Ok(Case { variant: variant.to_owned(), work, headline: Headline::LATENCY, ..case })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        vec![twin::expected(case, Operation::of(case.point.word("op")), Type::of(&case.variant))]
    }
}
