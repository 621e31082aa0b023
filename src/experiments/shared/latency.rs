//! `shared/latency`: how long does one load from workgroup memory take?

use crate::experiments::common::ring::{LEAST_NODES, Ring, TURN};
use crate::experiments::{Experiment, Setting};
use crate::model::{Axis, AxisKind, Case, Point, Preset, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &Latency;

struct Latency;

impl Experiment for Latency {
    fn name(&self) -> &'static str {
        "shared/latency"
    }

    fn summary(&self) -> &'static str {
        "time of a load from workgroup memory, each address from the load before"
    }

    fn description(&self) -> &'static str {
        "One workgroup walks a cycle of nodes in workgroup memory, in a pseudorandom order: each word holds where the next one is, \
         so that a hop is one load, which can't begin before the last one has ended. With local_size_x=1 one lane walks; with \
         the size of a subgroup all of its lanes do, each in a column of its own, side by side, so that no two of them want \
         different words of one bank.\n\
         \n\
         How to read it: the headline is time_ns over hops, the latency in nanoseconds; times the clock in GHz it is cycles. A \
         device that serves a subgroup at once takes as long for all lanes as for one. The instruction that turns a word into an \
         address is part of it, where the device needs one. So is filling the window before the first hop, which a lone lane does \
         word by word: up to three per cent by default, more in larger windows, less with more hops. Apart from that the size of \
         the window makes no difference, unlike that of a cache: if it does, workgroup memory is one there, as on processors, \
         where this is the first cache's latency and the instructions of the driver's loop. There, a subgroup takes longer than \
         one lane, since each lane's load is an instruction of its own.\n\
         \n\
         On an NVIDIA H100 (driver 580.159.04), a hop takes 14.75 ns with one lane and 14.66 with 32: 29 cycles of 1980 MHz, \
         whatever the number of lanes. Since workgroup memory serves one subgroup each clock, a processor needs 29 loads of \
         subgroups in flight to have all of its bandwidth: 29 of the 64 subgroups that it holds with one each, or fewer with \
         several."
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        let thorough = setting.preset == Preset::Thorough;
        let lanes = u64::from(crate::experiments::lanes(setting.device));
        let sizes = if quick || lanes == 1 { vec![1] } else { vec![1, lanes] };
        let windows = if thorough { vec![1 << 10, 4 << 10, 16 << 10] } else { vec![4_u64 << 10] };
        // Enough that beside them the launch is nothing, and little what it takes a lone lane to fill the window. A software driver
        // takes up to 2 ms.
        let hops = setting.by_class(1_u64 << 16, 1 << 18);
        vec![
            Axis::new("local_size_x", "invocations of the workgroup", AxisKind::AtLeast(1), sizes),
            Axis::new("window_bytes", "workgroup memory that the cycle lies in", AxisKind::AtLeast(4 * LEAST_NODES), windows),
            Axis::new("hops", "loads of an invocation, a multiple of 16", AxisKind::AtLeast(TURN), [hops]).of_monotone_work(),
        ]
    }

    fn case(&self, _: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        Ring::new(point, 1, setting).case(self.name(), point, setting)
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        Ring::expected(case)
    }
}
