//! The cases that tell what a device does at most: those of the preset `model`, from whose rows `explain` takes its limits.

use super::{Plan, Selection, axes, select};
use crate::error::Error;
use crate::experiments::Setting;
use crate::model::Preset;

/// Experiments, and the values that are measured on their axes; on other axes those of the quick overview, or where a row of this table
/// says so, those of the whole sweep.
const CASES: &[(&str, Preset, &[&str])] = &[
    ("calibration/core_clock", Preset::Quick, &[]),
    ("memory/stream", Preset::Default, &["op=read,init,copy,triad", "width=1,4"]),
    (
        "cache/bandwidth:shared",
        Preset::Quick,
        &["working_set_bytes=16Ki,128Ki,512Ki,2Mi,4Mi,8Mi,16Mi,32Mi,48Mi,64Mi,96Mi,128Mi,256Mi"],
    ),
    ("cache/line", Preset::Quick, &[]),
    ("shared/bank_conflict", Preset::Quick, &[]),
    ("shared/bandwidth", Preset::Quick, &["op=read,write", "width=1,2,4"]),
    ("peak/arith:f16", Preset::Quick, &["op=fma", "width=2,4"]),
    ("peak/arith:f32", Preset::Quick, &["op=fma", "width=1,2"]),
    ("peak/arith:f64", Preset::Quick, &["op=fma", "width=1,2"]),
    ("peak/arith:i32", Preset::Quick, &["op=add,mul,shift", "width=1,2"]),
    ("peak/arith:f16", Preset::Quick, &["op=rsqrt", "width=2"]),
    ("peak/arith:f32", Preset::Quick, &["op=rcp,sqrt,rsqrt,exp2,log2,sin", "width=2"]),
    ("peak/arith:f64", Preset::Quick, &["op=sqrt,rsqrt", "width=1"]),
    ("peak/dot:signed", Preset::Quick, &[]),
    ("peak/coopmat", Preset::Quick, &[]),
    ("peak/coopmat_workgroup", Preset::Quick, &[]),
    ("sync/atomic", Preset::Default, &["op=add", "type=u32", "memory=global"]),
    // Shared memory does so many more that fewer of them would measure the launch.
    ("sync/atomic", Preset::Default, &["op=add", "type=u32", "memory=shared", "atomics=4096"]),
    ("sync/barrier", Preset::Default, &["kind=control", "traffic=registers", "groups=1"]),
    ("dispatch/empty", Preset::Quick, &["groups=1,256,4096,65536", "local_size_x=1,64,256,1024"]),
];

impl<'a> Plan<'a> {
    /// The cases of the preset `model`.
    pub fn of_model(setting: Setting<'a>) -> Result<Self, Error> {
        let mut all: Vec<Selection> = Vec::new();
        for (filter, preset, values) in CASES {
            let mut own = select(&[(*filter).to_owned()], &Setting { preset: *preset, ..setting })?;
            for text in *values {
                axes::set(&mut own, text, &mut Vec::new())?;
            }
            all.extend(own);
        }
        Ok(Self::of_selections(all, super::Cache::Warm, setting))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn the_model_has_few_cases_each_once() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Quick, seed: 1 };
        let plan = Plan::of_model(setting).unwrap();
        let mut ids: Vec<String> = plan.iter().map(|planned| planned.case_id).collect();
        let count = ids.len();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), count);
        assert!((80..200).contains(&count), "{count}");
    }
}
