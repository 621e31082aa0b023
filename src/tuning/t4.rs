//! Results of a search as T4, the JSON in which autotuners exchange them: Kernel Tuner writes it, and so do KTT and the benchmark hub of
//! the FAIR suite. <https://github.com/AutoTuningAssociation/autotuning_methodology> has the schema (`schemas/T4.json`), whose
//! version 1.1.0 is written here: that of 1.0.0, which Kernel Tuner has, and metadata.
//!
//! Times are in milliseconds, as Kernel Tuner has them. Its writer and the benchmark hub's reader call the time to compile
//! `compilation`, which the schema calls `compilation_time`, and have one more, `benchmark`: files have them all, which the schema allows.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::{Value, json};

use crate::model::{AxisValue, Status};

const SCHEMA_VERSION: &str = "1.1.0";

#[derive(Clone, Debug)]
pub struct T4Session {
    pub device: String,
    pub driver: String,
    pub tool_version: String,
    pub began: SystemTime,
    /// The name of the measurement that was sought to be best, such as `time`.
    pub objective: String,
}

#[derive(Clone, Debug)]
pub struct T4Result {
    pub when: SystemTime,
    pub configuration: BTreeMap<String, AxisValue>,
    pub validity: T4Validity,
    pub times: T4Times,
    /// What was measured, the objective among it; nothing where nothing could be.
    pub measurements: Vec<T4Measurement>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum T4Validity {
    Correct,
    Timeout,
    Compile,
    Runtime,
    Correctness,
    Constraints,
}

/// What evaluating a configuration took. The schema's readers expect all of it: what isn't known is zero.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct T4Times {
    pub compilation: Duration,
    /// Of each time that it was visited what a pass took, in nanoseconds.
    pub runtimes_ns: Vec<f64>,
    pub benchmark: Duration,
    /// All else that is not the search's nor the check's: resources, warming up, waiting.
    pub framework: Duration,
    pub search: Duration,
    pub validation: Duration,
}

#[derive(Clone, Debug, Serialize)]
pub struct T4Measurement {
    pub name: String,
    /// The number; one that isn't finite is left out, since JSON has none.
    pub value: f64,
    pub unit: String,
}

impl T4Validity {
    /// How a case with this status ended; nothing for one that was only planned.
    pub fn from_status(status: Status) -> Option<Self> {
        Some(match status {
            Status::Ok => Self::Correct,
            Status::Skipped => Self::Constraints,
            Status::WrongResult => Self::Correctness,
            Status::Timeout => Self::Timeout,
            Status::CompileError => Self::Compile,
            Status::Crashed | Status::DeviceLost | Status::OutOfMemory | Status::Error | Status::NotRun => Self::Runtime,
            Status::Planned => return None,
        })
    }
}

pub fn t4(session: &T4Session, results: &[T4Result]) -> Value {
    json!({
        "schema_version": SCHEMA_VERSION,
        "metadata": {
            "compute_api": "Vulkan",
            "platform": session.driver,
            "device": session.device,
            "autotuner": "Lanescope",
            "autotuner_version": session.tool_version,
            "timestamp": timestamp(session.began),
            "timeunit": "milliseconds",
        },
        "results": results.iter().map(|of| result(session, of)).collect::<Vec<_>>(),
    })
}

fn result(session: &T4Session, result: &T4Result) -> Value {
    let measured = result.measurements.iter().filter(|measurement| measurement.value.is_finite());
    json!({
        "timestamp": timestamp(result.when),
        "configuration": result.configuration,
        "times": times(&result.times),
        "invalidity": result.validity,
        // Of what gave no results, nothing speaks against their being right: the other tools do the same.
        "correctness": u8::from(result.validity != T4Validity::Correctness),
        "measurements": measured.collect::<Vec<_>>(),
        "objectives": [session.objective],
    })
}

fn times(times: &T4Times) -> Value {
    let runtimes: Vec<f64> = times.runtimes_ns.iter().filter(|time| time.is_finite()).map(|time| time / 1e6).collect();
    json!({
        "compilation_time": milliseconds(times.compilation),
        "compilation": milliseconds(times.compilation),
        "benchmark": milliseconds(times.benchmark),
        "runtimes": runtimes,
        "framework": milliseconds(times.framework),
        "search_algorithm": milliseconds(times.search),
        "validation": milliseconds(times.validation),
    })
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

/// The last second of the year 9999, where the form ends.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// ISO 8601 in UTC. Times before 1970 come from clocks that were never set; the form has none of them, nor what follows 9999.
fn timestamp(when: SystemTime) -> String {
    let [first, last] = [Duration::ZERO, LAST].map(|since| SystemTime::UNIX_EPOCH + since);
    humantime::format_rfc3339_millis(when.clamp(first, last)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session() -> T4Session {
        T4Session {
            device: "NVIDIA H100".into(),
            driver: "NVIDIA 570.1".into(),
            tool_version: "v0.1.0".into(),
            began: SystemTime::UNIX_EPOCH + Duration::from_secs(86_400),
            objective: "time".into(),
        }
    }

    fn measured() -> T4Result {
        T4Result {
            when: SystemTime::UNIX_EPOCH + Duration::from_millis(86_401_500),
            configuration: BTreeMap::from([("local_size_x".to_owned(), 64_u64.into()), ("layout".to_owned(), "row".into())]),
            validity: T4Validity::Correct,
            times: T4Times {
                compilation: Duration::from_micros(12_500),
                runtimes_ns: vec![1_500_000.0, 1_250_000.0, f64::NAN],
                benchmark: Duration::from_millis(27),
                framework: Duration::from_millis(3),
                search: Duration::ZERO,
                validation: Duration::from_millis(2),
            },
            measurements: vec![
                T4Measurement { name: "time".into(), value: 1.25, unit: "ms".into() },
                T4Measurement { name: "GB/s".into(), value: f64::INFINITY, unit: String::new() },
            ],
        }
    }

    #[test]
    fn the_json_has_the_schemas_form() {
        let expected = json!({
            "schema_version": "1.1.0",
            "metadata": {
                "compute_api": "Vulkan",
                "platform": "NVIDIA 570.1",
                "device": "NVIDIA H100",
                "autotuner": "Lanescope",
                "autotuner_version": "v0.1.0",
                "timestamp": "1970-01-02T00:00:00.000Z",
                "timeunit": "milliseconds"
            },
            "results": [{
                "timestamp": "1970-01-02T00:00:01.500Z",
                "configuration": {"layout": "row", "local_size_x": 64},
                "times": {
                    "compilation_time": 12.5,
                    "compilation": 12.5,
                    "benchmark": 27.0,
                    "runtimes": [1.5, 1.25],
                    "framework": 3.0,
                    "search_algorithm": 0.0,
                    "validation": 2.0
                },
                "invalidity": "correct",
                "correctness": 1,
                "measurements": [{"name": "time", "value": 1.25, "unit": "ms"}],
                "objectives": ["time"]
            }]
        });
        assert_eq!(t4(&session(), &[measured()]), expected);
    }

    #[test]
    fn what_failed_says_how() {
        let failed = |validity| {
            let failed = T4Result { validity, measurements: Vec::new(), times: T4Times::default(), ..measured() };
            let json = t4(&session(), &[failed]);
            let result = &json["results"][0];
            assert_eq!((&result["measurements"], &result["times"]["runtimes"]), (&json!([]), &json!([])));
            format!("{} {}", result["invalidity"].as_str().unwrap(), result["correctness"])
        };
        let statuses = Status::ALL.into_iter().filter_map(T4Validity::from_status).map(failed).collect::<Vec<_>>();
        let expected = "correct 1, constraints 1, correctness 0, timeout 1, runtime 1, runtime 1, runtime 1, compile 1, runtime 1, runtime 1";
        assert_eq!(statuses.join(", "), expected);
    }

    #[test]
    fn a_clock_that_was_never_set_does_no_harm() {
        let early = T4Session { began: SystemTime::UNIX_EPOCH - Duration::from_secs(1), ..session() };
        assert_eq!(t4(&early, &[])["metadata"]["timestamp"], "1970-01-01T00:00:00.000Z");
        let late = T4Session { began: SystemTime::UNIX_EPOCH + Duration::from_secs(1 << 38), ..session() };
        assert_eq!(t4(&late, &[])["metadata"]["timestamp"], "9999-12-31T23:59:59.000Z");
    }
}
