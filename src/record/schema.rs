//! The fixed columns of a row: the one table that defines their order, names, units, types and meaning.
//!
//! Adding a column raises the minor version, renaming or removing one the major version. The axes of the selected experiments
//! follow the fixed columns, one column each, sorted by name (see [`super::Header`]).

use std::collections::BTreeMap;

use super::cell::{Cell, Field, Kind};
use crate::model::{AxisValue, Point};

/// The version of the table below, as the column `schema` holds it. Versions in rows begin with a letter: else readers take 1.10
/// for the number 1.1, and 1.3.230 for a date.
pub const SCHEMA_VERSION: &str = "v2.4";

/// What nobody can do with a file that lacks a column, which `--columns` may have left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Anything: every file has what a row is of, whether it has a figure, and how to read it.
    Any,
    /// To tell rows apart, put them in order and follow from them.
    Rows,
    /// To say as much on a card, or a page, as rows do.
    Card,
    Comparison,
    /// To tell whether a row is what the plan says of its case, whoever measures it.
    Plan,
    /// To tell whether it was measured to its end, with today's sources, on the same driver.
    Resuming,
}

/// Fixed columns whose meaning an axis may share: such an axis needs no column of its own.
pub const ALSO_AXES: [&str; 4] = ["local_size_x", "local_size_y", "local_size_z", "subgroup_size"];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, in the header line and as a key of JSON lines.
    pub name: &'static str,
    /// What kind of statement it makes: `result`, `comparison`, `time`, `how`, `work`, `case`, `identity`.
    pub group: &'static str,
    /// The unit of its numbers; empty where they have none, and for text without numbers.
    pub unit: &'static str,
    pub kind: Kind,
    uses: &'static [Use],
    pub description: &'static str,
}

impl Column {
    /// One of another table, which nothing reads back.
    pub const fn new(
        name: &'static str,
        group: &'static str,
        unit: &'static str,
        kind: Kind,
        description: &'static str,
    ) -> Self {
        Self { name, group, unit, kind, uses: &[], description }
    }

    pub fn is_for(&self, uses: &[Use]) -> bool {
        self.uses.iter().any(|own| uses.contains(own))
    }
}

pub fn needed(uses: &[Use]) -> Vec<&'static str> {
    COLUMNS.iter().filter(|column| column.is_for(uses)).map(|column| column.name).collect()
}

macro_rules! columns {
    (@type text) => { String };
    (@type integer) => { Option<u64> };
    (@type real) => { Option<f64> };
    (@type boolean) => { Option<bool> };
    (@kind text) => { Kind::Text };
    (@kind integer) => { Kind::Integer };
    (@kind real) => { Kind::Real };
    (@kind boolean) => { Kind::Boolean };
    ($($group:ident { $($name:ident: $kind:ident $(in $unit:literal)? $(for $($use:ident)+)?, $description:literal;)* })*) => {
        pub const COLUMNS: &[Column] = &[$($(Column {
            name: stringify!($name),
            group: stringify!($group),
            unit: concat!($($unit)?),
            kind: columns!(@kind $kind),
            uses: &[$($(Use::$use),+)?],
            description: $description,
        }),*),*];

        /// One row: a field per fixed column, and the axes. Empty text and `None` are empty cells: not applicable.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Record {
            $($(
                #[doc = $description]
                $(#[doc = concat!("\n\nUnit: ", $unit)])?
                pub $name: columns!(@type $kind),
            )*)*
            /// The value of every axis of the experiment, also of those that a fixed column holds.
            pub by_axis: BTreeMap<String, AxisValue>,
        }

        impl Record {
            pub(super) fn fields(&self) -> [&dyn Field; COLUMNS.len()] {
                [$($(&self.$name),*),*]
            }

            pub(super) fn fields_mut(&mut self) -> [&mut dyn Field; COLUMNS.len()] {
                [$($(&mut self.$name),*),*]
            }
        }
    };
}

columns! {
    result {
        experiment: text for Rows Comparison Plan, "The experiment's name, FAMILY/NAME.";
        variant: text for Rows Comparison Plan, "The experiment's variant; empty where it has only one.";
        axis_values: text for Any Rows Plan, "All axes as `name=value` joined by `;`, sorted by name.";
        status: text for Any Rows Comparison, "ok, skipped, planned, wrong_result, timeout, crashed, device_lost, out_of_memory, compile_error, error, or not_run (the device had failed before).";
        value: real for Rows Comparison, "The headline figure, in the unit of the column unit.";
        unit: text for Card Comparison Plan, "Unit of value, value_ci_low and value_ci_high.";
        value_ci_low: real for Card, "Lower end of the 95 % confidence interval of value.";
        value_ci_high: real for Card, "Upper end of the 95 % confidence interval of value.";
        noise: real in "ratio" for Card, "Half the 95 % interval of the rounds, over time_ns; more rounds lower it.";
        quality_flags: text for Rows Comparison, "Reasons to doubt the figure, joined by `;`: near_floor, launch_bound, noisy, drift, throttled, memory_speed, contended, out_of_bounds, invalid_spirv, implausible, quirk:NAME.";
        reason: text for Rows Comparison, "Why there is no figure, what is implausible about it, or why it has no pair, in words.";
        failed_stage: text, "What was under way when a case failed or was skipped: planning, opening, reference, compiling, loading, first_dispatch, sizing, timing or checking; empty if that is unknown.";
        metric: text for Plan, "What value is: the figure that the experiment is about.";
        better: text for Card Comparison Plan, "higher or lower: which value is the better one.";
        checked: text for Card, "true (every output element was compared), invariant, or false.";
        check_note: text, "Why nothing was checked, what the invariant is, what results show of how a pass went, what was left unchecked, or what a derived figure rests on.";
    }
    comparison {
        relative: real in "ratio", "value over the value of the case that relative_to names.";
        relative_to: text for Rows, "The case_id that relative refers to; empty where that case wasn't run, except in a shard, which names one of another shard.";
        pair_base: text for Rows, "The case_id that this case was measured alternately with; on another device with @deviceUUID/driverUUID after it.";
        ratio: real in "ratio", "Time over the time of pair_base, from the paired medians.";
        ratio_ci_low: real in "ratio", "Lower end of the 95 % confidence interval of ratio.";
        ratio_ci_high: real in "ratio", "Upper end of the 95 % confidence interval of ratio.";
    }
    time {
        time_ns: real in "ns" for Rows, "Time per pass: the median of the rounds' medians. What a sample takes besides its passes was subtracted, or may still be in: see taken_off_ns.";
        ci_low_ns: real in "ns" for Rows, "Lower end of the 95 % confidence interval of time_ns. Where taken_off_ns is empty it is lower than the rounds say, by the timer's floor over batch, which may be part of a sample.";
        ci_high_ns: real in "ns" for Rows, "Upper end of the 95 % confidence interval of time_ns.";
        round_medians_ns: text in "ns", "Per pass, the median of each round, in order, as `PROCESS:NS` joined by `;`: 1:391.5;2:392.25 is a round of process 1, then one of process 2. time_ns is their median. The interval follows from them, and from what samples may hold besides passes.";
        time_min_ns: real in "ns", "Smallest sample, per pass.";
        time_mean_ns: real in "ns", "Mean of the samples, per pass.";
        time_p05_ns: real in "ns", "5 % quantile of the samples, per pass.";
        time_p95_ns: real in "ns", "95 % quantile of the samples, per pass.";
        time_max_ns: real in "ns", "Largest sample, per pass.";
        time_mad_ns: real in "ns", "Median absolute deviation of the samples, per pass, unscaled.";
        overhead_ns: real in "ns", "Time of an empty pass in the same batch form; reported, never subtracted.";
        taken_off_ns: real in "ns", "What a sample takes besides its passes: timestamps, and the barriers around them. Samples of a single pass, taken along with the others, show it. It was subtracted from each sample before that was divided by its passes. Empty if it stayed in: with a batch below 8 it is small, or can't be distinguished from the passes.";
        host_time_ns: real in "ns", "Time per pass as the host's clock saw it, submission included.";
    }
    how {
        timer: text for Card Comparison, "device (timestamp queries) or host.";
        processes: integer for Resuming, "Processes that the rounds were dealt over.";
        rounds: integer for Resuming, "Visits of the case; each gives one median.";
        samples: integer for Resuming, "Samples kept, over all rounds.";
        batch: integer in "passes", "Passes per sample.";
        stop: text for Rows, "Why measuring ended: precise, stable, budget; broken_off (the run or the search ended before it had six rounds); in a search also beaten (by a faster one) or glanced (one look was enough).";
        duration_ms: real in "ms", "What timing the case took, its repeated visits included; compiling, loading and checking come on top.";
        clock_ratio: real in "ratio", "Clock rate next to the case's visits over that when the plan's first process began: the sentinel's time then (sentinel_ns) over its time now.";
        sentinel_ns: real in "ns", "The sentinel's time when the plan's first process began. A resumed run takes it over.";
        clock_mhz: real in "MHz", "Core clock next to the case's visits, as the vendor's own interface reports it (NVIDIA: NVML; AMD on Linux: sysfs): the median; empty elsewhere.";
        core_clock_mhz: real in "MHz", "Core clock that ran, by the device's own counters: cycles and time of a chain of work before and after each visit. The median of the rounds. Empty where the counter wasn't seen to count core cycles, and for processors.";
        round_clocks_mhz: text in "MHz", "The same of each round, in the order of round_medians_ns, as `PROCESS:MHZ` joined by `;`. 1:1980.1;2:1995.0/1980.0 is a round of process 1, then one of process 2 with another clock after it than before: more than 0.3 % apart.";
        memory_speed_ratio: real in "ratio", "Memory's speed next to the case's visits over that at the start of their process, by reading up to 256 MiB of it now and then: the median. Empty for processors, with timer=host, and where memory is too full for that.";
        compile_ms: real in "ms", "GLSL to SPIR-V.";
        pipeline_ms: real in "ms", "Creating the pipelines in the first process, first dispatch included.";
        pipeline_cache_hit: boolean, "Whether the driver found the pipelines in its cache.";
        memory_types: text, "Which memory types and heaps hold the case's buffers.";
        statistics: text, "With --stats, what the driver's compiler reports about the pipelines, as one JSON object: static estimates, by the driver's own names.";
        registers: integer for Rows, "Registers per invocation (AMD: vector registers), the most of several kernels, as the driver's compiler reports with --stats.";
        spill_bytes: integer in "bytes" for Rows, "Bytes of registers spilled to memory per invocation, the most of several kernels, as the driver's compiler reports with --stats.";
        shared_bytes: integer in "bytes", "Workgroup memory, the most of several kernels.";
        code_bytes: integer in "bytes", "Machine code, the sum of several kernels, as the driver's compiler reports with --stats.";
    }
    work {
        bytes_per_pass: integer in "bytes" for Plan, "Useful bytes moved; a copy counts both directions.";
        flops_per_pass: integer for Plan, "Floating-point operations; a fused multiply-add counts two.";
        ops_per_pass: integer for Plan, "Other operations.";
        items_per_pass: integer for Card Plan, "Items processed.";
        gb_per_s: real in "GB/s", "bytes_per_pass over time_ns, in 10^9 per second.";
        gflop_per_s: real in "GFLOP/s", "flops_per_pass over time_ns, in 10^9 per second.";
        gop_per_s: real in "Gop/s", "ops_per_pass over time_ns, in 10^9 per second.";
        gitems_per_s: real in "Gitems/s", "items_per_pass over time_ns, in 10^9 per second.";
    }
    application {
        calls: integer, "Dispatches of an application that were captured, timed or not; samples counts the timed ones.";
        calls_time_ns: real in "ns", "What all calls took together, if those that weren't timed took as long as the others.";
        share: real in "ratio", "calls_time_ns over that of all kernels of the same device.";
        bound_bytes: integer in "bytes", "Bytes of the buffers that were bound, the most of all calls.";
        timeline_ns: text in "ns", "Of its calls in one submission, the last one with the most dispatches, when each began since that submission's first, and what it took: `START:NS` joined by `;`.";
    }
    search {
        is_default: boolean, "Whether `tune` takes it for the default: the shader as it is written.";
        search_answer: text, "In the row of the fastest configuration: what `tune` answers, in sentences.";
        search_notes: text, "In the same row: what it says beside figures, such as what was tried with that configuration, and doubts of all results.";
    }
    case {
        row_kind: text for Rows Comparison Plan, "measured, or derived (computed from finished rows).";
        case_id: text for Any Rows, "Hash of experiment, variant, non-neutral axis values, cache and required subgroup size; a letter comes first.";
        local_size_x: integer in "invocations" for Card Plan, "Workgroup size in x, of the kernel with the most invocations.";
        local_size_y: integer in "invocations" for Plan, "Workgroup size in y, of the same kernel.";
        local_size_z: integer in "invocations" for Plan, "Workgroup size in z, of the same kernel.";
        groups_x: integer in "workgroups" for Plan, "Workgroups in x, of the dispatch with the most invocations.";
        groups_y: integer in "workgroups" for Plan, "Workgroups in y, of the same dispatch.";
        groups_z: integer in "workgroups" for Plan, "Workgroups in z, of the same dispatch.";
        subgroup_size: integer in "invocations" for Rows, "Subgroup size that the kernel ran with.";
        cache: text for Rows Comparison Plan, "warm, or cold (caches evicted before every sample).";
        validation: boolean for Card Comparison Resuming, "Whether the validation layer was active, which slows everything down.";
        robustness: boolean for Resuming, "Whether robust buffer access was enabled.";
        seed: integer, "Seed of the data and of the order.";
        source_hash: text for Resuming, "Hash of everything that the GLSL compiler read: sources, macros, target. Where a case has kernels of several modules, hash of their hashes.";
        spirv_hash: text, "Hash of the SPIR-V words before specialization. Where a case has kernels of several modules, hash of their hashes.";
        plan_id: text for Rows, "Hash of the plan (experiments, variants, values of axes, cache, seed): the same in all shards of a run.";
        plan_cases: integer for Rows, "Cases of the whole plan for this device, those of other shards included.";
        plan_index: integer for Rows Plan, "The case's place in the plan, from 0.";
    }
    identity {
        device_name: text for Card Comparison Resuming, "The device's own name.";
        device_type: text for Card Comparison, "discrete, integrated, virtual, cpu or other.";
        driver_name: text, "The driver's name.";
        driver_info: text for Any Rows Resuming, "The driver's own description of its build.";
        driver_version: text for Resuming, "The driver's version, decoded as its vendor packs it.";
        api_version: text, "The device's Vulkan version.";
        device_uuid: text for Any Rows, "Identifies the device (deviceUUID).";
        driver_uuid: text for Any Rows Resuming, "Identifies the driver build (driverUUID).";
        vendor_id: integer for Card, "PCI vendor id, or a Khronos vendor id.";
        device_id: integer, "The vendor's device id.";
        driver_id: text for Resuming, "VkDriverId as the specification names it.";
        queue_family: integer for Resuming, "Index of the queue family that the work ran on.";
        loader_version: text, "The Vulkan loader's version.";
        layers: text, "Active Vulkan layers, joined by `;`.";
        environment: text, "Variables set that drivers and the loader read, as `NAME=VALUE` joined by `;`; files without their folders.";
        host: text, "The host's name.";
        os: text, "Operating system, its version and architecture.";
        cpu_name: text, "The host's processor.";
        cpu_threads: integer, "Logical processors of the host.";
        tool_version: text, "Version of lanescope.";
        glsl_compiler: text, "The GLSL compiler and its version.";
        run_id: text for Rows Comparison, "Identifies the run: the same in all of its rows.";
        written_at: text for Rows, "When the row was written (RFC 3339, UTC).";
        schema: text for Any, "Version of this table of columns, vMAJOR.MINOR.";
    }
}

impl Record {
    pub fn new() -> Self {
        Self { schema: SCHEMA_VERSION.to_owned(), ..Self::default() }
    }

    /// Takes the axes of a point: the column `axis_values`, and a column for each; an axis that a fixed column holds fills that.
    #[must_use]
    pub fn at(self, point: &Point) -> Self {
        let size = |name: &str, own: Option<u64>| match point.get(name) {
            Some(AxisValue::Integer(n)) => Some(*n),
            _ => own,
        };
        Self {
            axis_values: point.to_string(),
            by_axis: point.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect(),
            local_size_x: size("local_size_x", self.local_size_x),
            local_size_y: size("local_size_y", self.local_size_y),
            local_size_z: size("local_size_z", self.local_size_z),
            subgroup_size: size("subgroup_size", self.subgroup_size),
            ..self
        }
    }

    /// What stands in the column of this name, fixed or an axis'; nothing where there is none.
    pub fn cell(&self, name: &str) -> Option<Cell<'_>> {
        match position(name) {
            Some(place) => Some(self.fields()[place].cell()),
            None => self.by_axis.get(name).map(Cell::from),
        }
    }

    pub fn fixed_cells(&self) -> impl Iterator<Item = Cell<'_>> {
        self.fields().into_iter().map(Field::cell)
    }
}

pub fn position(name: &str) -> Option<usize> {
    COLUMNS.iter().position(|column| column.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        for (i, column) in COLUMNS.iter().enumerate() {
            assert_eq!(position(column.name), Some(i));
            assert!(column.name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{}", column.name);
            assert!(column.description.ends_with('.'), "{}", column.name);
        }
    }

    #[test]
    fn a_name_that_tells_a_unit_tells_the_right_one() {
        for (ending, unit) in [("_ns", "ns"), ("_ms", "ms"), ("_mhz", "MHz"), ("_bytes", "bytes")] {
            for column in COLUMNS.iter().filter(|column| column.name.ends_with(ending)) {
                assert_eq!(column.unit, unit, "{}", column.name);
            }
        }
    }

    /// Order and names are an interface: this changes only with the schema's version.
    #[test]
    fn the_columns_are_those_of_version_2_4() {
        assert_eq!(SCHEMA_VERSION, "v2.4");
        let mut groups: Vec<String> = Vec::new();
        for (i, column) in COLUMNS.iter().enumerate() {
            if i == 0 || COLUMNS[i - 1].group != column.group {
                groups.push(format!("{}:", column.group));
            }
            if let Some(line) = groups.last_mut() {
                line.push(' ');
                line.push_str(column.name);
            }
        }
        insta::assert_snapshot!(groups.join("\n"), @"
        result: experiment variant axis_values status value unit value_ci_low value_ci_high noise quality_flags reason failed_stage metric better checked check_note
        comparison: relative relative_to pair_base ratio ratio_ci_low ratio_ci_high
        time: time_ns ci_low_ns ci_high_ns round_medians_ns time_min_ns time_mean_ns time_p05_ns time_p95_ns time_max_ns time_mad_ns overhead_ns taken_off_ns host_time_ns
        how: timer processes rounds samples batch stop duration_ms clock_ratio sentinel_ns clock_mhz core_clock_mhz round_clocks_mhz memory_speed_ratio compile_ms pipeline_ms pipeline_cache_hit memory_types statistics registers spill_bytes shared_bytes code_bytes
        work: bytes_per_pass flops_per_pass ops_per_pass items_per_pass gb_per_s gflop_per_s gop_per_s gitems_per_s
        application: calls calls_time_ns share bound_bytes timeline_ns
        search: is_default search_answer search_notes
        case: row_kind case_id local_size_x local_size_y local_size_z groups_x groups_y groups_z subgroup_size cache validation robustness seed source_hash spirv_hash plan_id plan_cases plan_index
        identity: device_name device_type driver_name driver_info driver_version api_version device_uuid driver_uuid vendor_id device_id driver_id queue_family loader_version layers environment host os cpu_name cpu_threads tool_version glsl_compiler run_id written_at schema
        ");
    }

    #[test]
    fn an_axis_that_a_fixed_column_holds_fills_it() {
        let mut record = Record::new();
        record = record.at(&Point::new([("local_size_y".into(), 8_u64.into()), ("n".into(), 4_u64.into())]));
        assert_eq!(
            (record.local_size_x, record.local_size_y, record.axis_values.as_str()),
            (None, Some(8), "local_size_y=8;n=4")
        );
    }

    #[test]
    fn a_field_shows_in_its_own_column() {
        let record = Record { time_ns: Some(2.5), queue_family: Some(3), pipeline_cache_hit: Some(true), ..Record::new() };
        let shown: Vec<(&str, String)> = COLUMNS
            .iter()
            .zip(record.fixed_cells())
            .filter(|(_, cell)| !cell.is_empty())
            .map(|(column, cell)| (column.name, cell.to_string()))
            .collect();
        let expected = [("time_ns", "2.5"), ("pipeline_cache_hit", "true"), ("queue_family", "3"), ("schema", "v2.4")];
        assert_eq!(shown, expected.map(|(name, text)| (name, text.to_owned())));
    }
}
