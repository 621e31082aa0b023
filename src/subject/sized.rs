//! What stands at a descriptor under one configuration: how large it is, and what its bytes are.

use super::texels::Texels;
use crate::model::{MemoryKind, ResourceKind};
use crate::shader::StructLayout;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sized {
    pub(super) kind: ResourceKind,
    pub(super) layout: Layout,
    /// How many elements it has; those of its runtime array, if it has one.
    pub(super) elements: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layout {
    MemberBlock(StructLayout),
    Texels(Texels),
}

impl Sized {
    /// A buffer, of a multiple of four bytes.
    pub(super) fn buffer(layout: StructLayout, bytes: u64, elements: u64) -> Self {
        Self { kind: plain(bytes), layout: Layout::MemberBlock(layout), elements }
    }

    pub(super) fn texels(kind: ResourceKind, texels: Texels) -> Self {
        Self { kind, elements: texels.count(), layout: Layout::Texels(texels) }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self.layout {
            Layout::Texels(texels) => texels.count().saturating_mul(texels.format.bytes().into()),
            Layout::MemberBlock(_) => match self.kind {
                ResourceKind::Buffer { bytes, .. } | ResourceKind::Range { bytes, .. } => bytes,
                _ => 0,
            },
        }
    }

    /// A buffer that holds its bytes beside it.
    pub(super) fn beside(&self) -> ResourceKind {
        plain(self.bytes().next_multiple_of(4))
    }

    /// Whether it is filled with a word as a buffer is.
    pub(super) fn is_buffer(&self) -> bool {
        !matches!(self.kind, ResourceKind::Image { .. })
    }

    pub(super) fn described(&self) -> String {
        match self.layout {
            Layout::MemberBlock(_) => format!("{} bytes", self.bytes()),
            Layout::Texels(Texels { format, dimension, extent }) => {
                let directions = dimension.map_or(1, |dimension| dimension.directions().len());
                let sides: Vec<String> = extent[..directions].iter().map(ToString::to_string).collect();
                format!("{}[{}]", format.as_str(), sides.join(","))
            }
        }
    }
}

fn plain(bytes: u64) -> ResourceKind {
    ResourceKind::Buffer { bytes, memory: MemoryKind::DeviceLocal }
}
