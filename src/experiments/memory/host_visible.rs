//! `memory/host_visible`: what does it cost a shader that a buffer lies where the host sees it?

use super::stream;
use crate::experiments::{Elements, Experiment, Setting, local_size_axis};
use crate::model::{Axis, AxisKind, Case, MemoryKind, Point, Preset, Resource, Shape, Skip};
use crate::validate::Expected;

/// The experiment.
pub const EXPERIMENT: &dyn Experiment = &HostVisible;

/// The kinds of memory, as [`MemoryKind`] calls them.
const KINDS: &[&str] = &["device_local", "host_visible", "host_cached", "device_host_visible"];

/// Operations of `memory/stream`.
const OPS: &[&str] = &["read", "init", "copy"];

struct HostVisible;

impl Experiment for HostVisible {
    fn name(&self) -> &'static str {
        "memory/host_visible"
    }

    fn axes(&self, setting: &Setting) -> Vec<Axis> {
        let quick = setting.preset == Preset::Quick;
        // On a GPU far beyond its last cache, though the bus needs 5 to 20 ms for it.
        let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 26) };
        let ops = if quick { &OPS[..1] } else { OPS };
        vec![
            Axis::new("op", "what is done", AxisKind::Choices(OPS), ops.iter().copied()),
            Axis::new("memory", "where the arrays lie", AxisKind::Choices(KINDS), KINDS.iter().copied())
                .relative_to("device_local"),
            Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), [4_u64]),
            Axis::new("n", "words per array", AxisKind::AtLeast(4), [n]).of_work(),
            local_size_axis(setting),
            Elements::unroll_axis("elements per invocation", 8),
        ]
    }

    fn case(&self, variant: &str, point: &Point, setting: &Setting) -> Result<Case, Skip> {
        let kind = MemoryKind::named(point.choice("memory")).unwrap_or_default();
        let case = stream::EXPERIMENT.case(variant, point, setting)?;
        let moved = |resource: Resource| match resource.shape {
            Shape::Buffer { bytes, .. } => Resource { shape: Shape::Buffer { bytes, memory: kind }, ..resource },
            _ => resource,
        };
        // The limit that is known is that of the device's own memory.
        let bound = case.bound.filter(|_| kind == MemoryKind::DeviceLocal);
        Ok(Case {
            experiment: self.name().to_owned(),
            resources: case.resources.into_iter().map(moved).collect(),
            bound,
            ..case
        })
    }

    fn expected<'a>(&self, case: &'a Case) -> Vec<Expected<'a>> {
        stream::EXPERIMENT.expected(case)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_memory_has_its_word() {
        let kinds: Vec<MemoryKind> = KINDS.iter().filter_map(|word| MemoryKind::named(word)).collect();
        assert_eq!(kinds.len(), KINDS.len());
        assert!(MemoryKind::MAPPED.iter().all(|kind| kinds.contains(kind)) && kinds.contains(&MemoryKind::DeviceLocal));
    }
}
