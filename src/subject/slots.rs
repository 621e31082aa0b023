//! The numbers in an output, one by one, whatever it is.

use super::scalars::{self, Number, Part};
use super::sized::Layout;
use super::texels::Texels;
use super::written::Written;
use crate::model::Format;
use crate::shader::ScalarType;

/// Texels in a stretch.
const TEXELS: usize = 1 << 16;

/// Where a number is.
#[derive(Clone, Copy)]
pub(super) struct NumberSlot {
    /// The bytes that hold it, alone or with the other channels of its texel.
    pub(super) at: u64,
    pub(super) length: u64,
    pub(super) kind: Kind,
    /// The same member, component or channel of all elements is one column.
    pub(super) column: u32,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Scalar(ScalarType),
    Channel(Format, u32),
}

/// Numbers of an output that can be looked at by themselves.
pub(super) enum Stretch<'l> {
    MemberBlock(Part<'l>),
    Texels { texels: &'l Texels, first: usize, count: usize },
}

impl Kind {
    pub(super) fn number(self, bytes: &[u8]) -> Number {
        match self {
            Self::Scalar(scalar) => Number::of(scalar, bytes),
            Self::Channel(format, channel) => super::texels::number(format, bytes, channel),
        }
    }

    pub(super) fn bits(self, bytes: &[u8]) -> u64 {
        match self {
            Self::Scalar(_) => scalars::wide(bytes),
            Self::Channel(format, channel) => super::texels::read(format, bytes, channel).into(),
        }
    }

    pub(super) fn width(self) -> u32 {
        match self {
            Self::Scalar(scalar) => u32::try_from(scalar.bytes() * 8).unwrap_or(u32::MAX),
            Self::Channel(format, channel) => format.channel_bits(channel),
        }
    }

    pub(super) fn shown(self, bytes: &[u8]) -> String {
        match (self, self.number(bytes)) {
            (Self::Scalar(scalar), Number::Whole(_)) => scalar.shown(scalars::wide(bytes)),
            (_, number) => number.to_string(),
        }
    }

    /// How far it may be off where nothing is said: absolutely, and as a share of its size. Floats by 128 units in the last place, 8 of
    /// short ones, as sums in another order have them; steps of 0 to 1 by one, since sums may round to the next.
    pub(super) fn usual(self) -> (f64, f64) {
        let units = |units: f64, digits: i32| (0.0, units * (-f64::from(digits)).exp2());
        match self {
            Self::Scalar(ScalarType::F64) => units(128.0, 53),
            Self::Scalar(ScalarType::F32) => units(128.0, 24),
            Self::Scalar(ScalarType::OtherFloat(_)) => units(8.0, 8),
            Self::Scalar(_) => units(8.0, 11),
            Self::Channel(format, channel) => super::texels::usual_tolerance(format.numbers(), format.channel_bits(channel)),
        }
    }
}

impl NumberSlot {
    pub(super) fn bytes<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        let start = usize::try_from(self.at).unwrap_or(usize::MAX);
        let length = usize::try_from(self.length).unwrap_or(0);
        bytes.get(start..start.saturating_add(length)).unwrap_or_default()
    }

    pub(super) fn number(&self, side: &Written) -> Number {
        self.kind.number(self.bytes(&side.bytes))
    }

    pub(super) fn bits(&self, side: &Written) -> u64 {
        self.kind.bits(self.bytes(&side.bytes))
    }

    pub(super) fn is_unwritten(&self, side: &Written) -> bool {
        side.is_unwritten(self.at, self.length)
    }
}

impl Layout {
    /// The stretches of an output of so many bytes, in its order.
    pub(super) fn stretches(&self, bytes: usize) -> Vec<Stretch<'_>> {
        match self {
            Self::MemberBlock(layout) => scalars::parts(layout, bytes as u64).into_iter().map(Stretch::MemberBlock).collect(),
            Self::Texels(texels) => of_texels(texels, bytes, TEXELS),
        }
    }

    /// What an output consists of, one by one: the elements of the array at its end, with what stands before it; or texels.
    pub(super) fn elements(&self, bytes: usize) -> Vec<Stretch<'_>> {
        match self {
            Self::MemberBlock(layout) => {
                scalars::elements(layout, bytes as u64).into_iter().map(Stretch::MemberBlock).collect()
            }
            Self::Texels(texels) => of_texels(texels, bytes, 1),
        }
    }

    pub(super) fn columns(&self) -> usize {
        let columns = match self {
            Self::MemberBlock(layout) => scalars::columns(&layout.members),
            Self::Texels(texels) => texels.format.channels(),
        };
        columns as usize
    }

    pub(super) fn for_each(&self, bytes: usize, visit: &mut dyn FnMut(NumberSlot)) {
        self.stretches(bytes).iter().for_each(|stretch| stretch.for_each(visit));
    }
}

fn of_texels(texels: &Texels, bytes: usize, most: usize) -> Vec<Stretch<'_>> {
    let all = bytes / texels.format.bytes() as usize;
    let starts = (0..all).step_by(most);
    starts.map(|first| Stretch::Texels { texels, first, count: most.min(all - first) }).collect()
}

impl Stretch<'_> {
    pub(super) fn for_each(&self, visit: &mut dyn FnMut(NumberSlot)) {
        match *self {
            Self::MemberBlock(ref part) => part.for_each(&mut |at, scalar, column| {
                visit(NumberSlot { at, length: scalar.bytes(), kind: Kind::Scalar(scalar), column });
            }),
            Self::Texels { texels: &Texels { format, .. }, first, count } => {
                let length = u64::from(format.bytes());
                for texel in first..first + count {
                    for column in 0..format.channels() {
                        visit(NumberSlot { at: texel as u64 * length, length, kind: Kind::Channel(format, column), column });
                    }
                }
            }
        }
    }

    /// Where it begins, and about how many bytes an element of it takes.
    pub(super) fn grain(&self) -> (u64, u64) {
        match self {
            Self::MemberBlock(part) => part.grain(),
            Self::Texels { texels, first, .. } => {
                let bytes = u64::from(texels.format.bytes());
                (*first as u64 * bytes, bytes)
            }
        }
    }
}
