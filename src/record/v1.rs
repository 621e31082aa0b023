//! Rows of schema 1 (versions 1.0 to 1.3): what their columns are called now, and what their cells mean.

use super::environment;
use super::schema::{self, Record, SCHEMA_VERSION};
use crate::model::Status;

/// The fixed columns of version 1.3, in order. Earlier versions lacked some of them.
#[rustfmt::skip]
pub(super) const COLUMNS: [&str; 99] = [
    "schema", "tool_version", "glsl_compiler", "run_id", "timestamp", "host", "os", "cpu_name", "cpu_threads",
    "device_name", "device_type", "vendor_id", "device_id", "device_uuid", "driver_uuid", "driver_id", "driver_name",
    "driver_info", "driver_version", "api_version", "loader_version", "layers", "environment", "queue_family", "row_kind",
    "experiment", "variant", "case_id", "axes", "source_hash", "spirv_hash", "local_size_x", "local_size_y", "local_size_z",
    "groups_x", "groups_y", "groups_z", "subgroup_size", "cache", "validation", "robustness", "seed", "plan_id",
    "plan_cases", "plan_index", "status", "reason", "flags", "checked", "check_note", "time_ns", "time_min_ns",
    "time_mean_ns", "time_p05_ns", "time_p95_ns", "time_max_ns", "time_mad_ns", "ci_low_ns", "ci_high_ns", "noise",
    "overhead_ns", "host_time_ns", "timer", "processes", "rounds", "samples", "batch", "stop", "clock_ratio", "clock_mhz",
    "compile_ms", "pipeline_ms", "memory_types", "pipeline_cache_hit", "statistics", "registers", "spill_bytes",
    "shared_bytes", "code_bytes", "bytes", "flops", "ops", "items", "gb_per_s", "gflop_per_s", "gop_per_s", "gitems_per_s",
    "metric", "value", "unit", "better", "value_ci_low", "value_ci_high", "relative", "relative_to", "pair_base", "ratio",
    "ratio_ci_low", "ratio_ci_high",
];

pub(super) const LATER: [&str; 4] = ["plan_id", "plan_cases", "plan_index", "memory_types"];

/// Columns that have another name now.
const RENAMED: [(&str, &str); 7] = [
    ("timestamp", "written_at"),
    ("axes", "axis_values"),
    ("flags", "quality_flags"),
    ("bytes", "bytes_per_pass"),
    ("flops", "flops_per_pass"),
    ("ops", "ops_per_pass"),
    ("items", "items_per_pass"),
];

/// How the reason began of a case that was never run. Its status was `error`.
const NOT_RUN: &str = "not run: ";

/// The place that a column of schema 1 has now. Names that are columns only now were free for axes then.
pub(super) fn position(name: &str) -> Option<usize> {
    let renamed = RENAMED.iter().find(|(then, _)| *then == name).map(|(_, now)| *now);
    COLUMNS.contains(&name).then(|| schema::position(renamed.unwrap_or(name))).flatten()
}

/// Turns what was read from a row of schema 1 into what the row would say today.
pub(super) fn renew(record: &mut Record) {
    if let Some(reason) = record.reason.strip_prefix(NOT_RUN) {
        if Status::named(&record.status).is_some_and(Status::is_failure) {
            record.reason = reason.to_owned();
            record.status = Status::NotRun.to_string();
        }
    }
    record.environment = environment::without_folders(&record.environment);
    SCHEMA_VERSION.clone_into(&mut record.schema);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_its_place_today() {
        assert!(COLUMNS.iter().all(|name| position(name).is_some()));
        let here = |name: &str| position(name).map(|place| schema::COLUMNS[place].name);
        assert_eq!(
            (here("axes"), here("time_ns"), here("axis_values"), here("n")),
            (Some("axis_values"), Some("time_ns"), None, None)
        );
    }

    #[test]
    fn a_case_that_was_not_run_has_a_status_of_its_own() {
        let renewed = |status: &str, reason: &str| {
            let mut record = Record { status: status.to_owned(), reason: reason.to_owned(), ..Record::new() };
            renew(&mut record);
            (record.status, record.reason)
        };
        let said = |status: &str, reason: &str| (status.to_owned(), reason.to_owned());
        assert_eq!(renewed("error", "not run: crashed: signal 11"), said("not_run", "crashed: signal 11"));
        assert_eq!(renewed("device_lost", "not run: no device"), said("not_run", "no device"));
        assert_eq!(renewed("device_lost", "it was not run: x"), said("device_lost", "it was not run: x"));
        assert_eq!(renewed("ok", "not run: x"), said("ok", "not run: x"));
    }
}
