//! `memory/host_visible`: what does it cost a shader that a buffer lies where the host sees it?

use super::stream::{self, Op};
use crate::experiments::common::prelude::*;
use crate::experiments::{issue_axis, ordered};
use crate::model::MemoryKind;

pub const EXPERIMENT: Experiment =
    Experiment { repeatability: |_| Repeatability::Memory, ..Experiment::new("memory/host_visible", axes, build) };

choices! {
    /// The kinds of memory, as [`MemoryKind`] calls them.
    enum Memory {
        DeviceLocal = "device_local",
        HostVisible = "host_visible",
        HostCached = "host_cached",
        DeviceHostVisible = "device_host_visible",
    }
}

impl Memory {
    fn kind(self) -> MemoryKind {
        match self {
            Self::DeviceLocal => MemoryKind::DeviceLocal,
            Self::HostVisible => MemoryKind::HostVisible,
            Self::HostCached => MemoryKind::HostCached,
            Self::DeviceHostVisible => MemoryKind::DeviceHostVisible,
        }
    }
}

const OPS: &[&str] = &[Op::Read.word(), Op::Init.word(), Op::Copy.word()];

fn axes(setting: &Setting) -> Vec<Axis> {
    let quick = setting.preset == Preset::Quick;
    // On a GPU far beyond its last cache, though the bus needs 5 to 20 ms for it.
    let n = if quick { setting.by_class(1_u64 << 18, 1 << 26) } else { setting.by_class(1_u64 << 20, 1 << 26) };
    let ops = if quick { &OPS[..1] } else { OPS };
    vec![
        Axis::new("op", "what is done", AxisKind::Choices(OPS), ops.iter().copied()),
        Memory::axis("memory", "where the arrays lie", Memory::ALL).relative_to(Memory::DeviceLocal.word()),
        Axis::new("width", "words per element", AxisKind::Numbers(&[1, 2, 4]), [4_u64]),
        Axis::new("n", "words per array", AxisKind::AtLeast(4), [n]).of_work(),
        local_size_axis(setting),
        Elements::unroll_axis("elements per invocation", 8),
        issue_axis(setting),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let memory = Memory::of(config.choice("memory")).kind();
    stream::build_in(memory, EXPERIMENT.name, config, |kernel| ordered(kernel, config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_memory_has_its_word() {
        let words = MemoryKind::ALL.map(|kind| (kind, kind.as_str()));
        assert!(Memory::ALL.iter().map(|memory| (memory.kind(), memory.word())).eq(words));
    }
}
