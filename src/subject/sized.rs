//! What stands at a descriptor under one configuration: how large it is, and what its bytes are.

use super::texels::Texels;
use crate::model::{MemoryKind, Shape};
use crate::shader::StructLayout;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sized {
    pub(super) shape: Shape,
    pub(super) layout: Layout,
    /// How many elements it has; those of its runtime array, if it has one.
    pub(super) elements: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Layout {
    Block(StructLayout),
    Texels(Texels),
}

impl Sized {
    /// A buffer, of a multiple of four bytes.
    pub(super) fn buffer(layout: StructLayout, bytes: u64, elements: u64) -> Self {
        Self { shape: plain(bytes), layout: Layout::Block(layout), elements }
    }

    pub(super) fn texels(shape: Shape, texels: Texels) -> Self {
        Self { shape, elements: texels.count(), layout: Layout::Texels(texels) }
    }

    pub(super) fn bytes(&self) -> u64 {
        match self.layout {
            Layout::Texels(texels) => texels.count().saturating_mul(texels.format.bytes().into()),
            Layout::Block(_) => match self.shape {
                Shape::Buffer { bytes, .. } => bytes,
                _ => 0,
            },
        }
    }

    /// A buffer that holds its bytes beside it.
    pub(super) fn beside(&self) -> Shape {
        plain(self.bytes().next_multiple_of(4))
    }

    /// Whether it is filled with a word as a buffer is.
    pub(super) fn is_buffer(&self) -> bool {
        !matches!(self.shape, Shape::Image { .. })
    }

    pub(super) fn described(&self) -> String {
        match self.layout {
            Layout::Block(_) => format!("{} bytes", self.bytes()),
            Layout::Texels(Texels { format, dimension, extent }) => {
                let directions = dimension.map_or(1, |dimension| dimension.directions().len());
                let sides: Vec<String> = extent[..directions].iter().map(ToString::to_string).collect();
                format!("{}[{}]", format.as_str(), sides.join(","))
            }
        }
    }
}

fn plain(bytes: u64) -> Shape {
    Shape::Buffer { bytes, memory: MemoryKind::DeviceLocal }
}
