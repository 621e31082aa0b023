//! How barriers and atomic operations order what invocations do.

use rspirv::dr::{Instruction, Operand};
use rspirv::spirv::{MemorySemantics, Op, Scope, Word};
use serde::{Deserialize, Serialize};

use crate::shader::loader::id;

/// What an instruction orders, and for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sync {
    /// Who waits for one another; nothing where nobody does.
    pub execution: Option<SyncScope>,
    /// Who sees what was written.
    pub memory: SyncScope,
    pub acquires: bool,
    pub releases: bool,
    /// Whether it orders accesses to shared memory, and to buffers.
    pub shared: bool,
    pub buffers: bool,
}

/// Invocations that are ordered among each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyncScope {
    Invocation,
    Subgroup,
    Workgroup,
    /// More than a workgroup.
    Device,
}

/// How an atomic operation makes what it writes of what it reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtomicOp {
    Load,
    Store,
    Exchange,
    /// Writes if what is there is what its second value says.
    CompareExchange,
    Add,
    Subtract,
    And,
    Or,
    Xor,
    SignedMin,
    SignedMax,
    UnsignedMin,
    UnsignedMax,
    Increment,
    Decrement,
    /// Of floats, which aren't followed.
    Other,
}

impl AtomicOp {
    pub(super) fn of(instruction: &Instruction) -> Self {
        match instruction.class.opcode {
            Op::AtomicLoad => Self::Load,
            Op::AtomicStore => Self::Store,
            Op::AtomicExchange => Self::Exchange,
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => Self::CompareExchange,
            Op::AtomicIAdd => Self::Add,
            Op::AtomicISub => Self::Subtract,
            Op::AtomicAnd => Self::And,
            Op::AtomicOr => Self::Or,
            Op::AtomicXor => Self::Xor,
            Op::AtomicSMin => Self::SignedMin,
            Op::AtomicSMax => Self::SignedMax,
            Op::AtomicUMin => Self::UnsignedMin,
            Op::AtomicUMax => Self::UnsignedMax,
            Op::AtomicIIncrement => Self::Increment,
            Op::AtomicIDecrement => Self::Decrement,
            _ => Self::Other,
        }
    }

    /// Where its values begin among the operands: behind the pointer, the scope and what it orders.
    pub(super) fn values(self) -> usize {
        if self == Self::CompareExchange { 4 } else { 3 }
    }

    pub fn reads(self) -> bool {
        self != Self::Store
    }

    pub fn writes(self) -> bool {
        self != Self::Load
    }

    /// What it leaves of 32 bits, of what was there and its values; nothing where it writes nothing, or that isn't known.
    #[expect(clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "the bits are wanted")]
    pub fn written(self, old: u32, values: &[u32]) -> Option<u32> {
        let value = values.first().copied();
        Some(match self {
            Self::Load | Self::Other => return None,
            Self::Store | Self::Exchange => value?,
            Self::CompareExchange if values.get(1) == Some(&old) => value?,
            Self::CompareExchange => return None,
            Self::Add => old.wrapping_add(value?),
            Self::Subtract => old.wrapping_sub(value?),
            Self::And => old & value?,
            Self::Or => old | value?,
            Self::Xor => old ^ value?,
            Self::SignedMin => (old as i32).min(value? as i32) as u32,
            Self::SignedMax => (old as i32).max(value? as i32) as u32,
            Self::UnsignedMin => old.min(value?),
            Self::UnsignedMax => old.max(value?),
            Self::Increment => old.wrapping_add(1),
            Self::Decrement => old.wrapping_sub(1),
        })
    }
}

fn scope(value: u64) -> SyncScope {
    let is = |scope: Scope| value == u64::from(scope as u32);
    match () {
        () if is(Scope::Workgroup) => SyncScope::Workgroup,
        () if is(Scope::Subgroup) => SyncScope::Subgroup,
        () if is(Scope::Invocation) => SyncScope::Invocation,
        () => SyncScope::Device,
    }
}

impl Sync {
    /// Of a barrier or an atomic operation; `integer` tells constants. What isn't known orders nothing.
    pub(super) fn of(instruction: &Instruction, integer: impl Fn(Word) -> Option<u64>) -> Option<Self> {
        let (execution, memory, semantics) = match instruction.class.opcode {
            Op::ControlBarrier => (Some(0), 1, [Some(2), None]),
            Op::MemoryBarrier => (None, 0, [Some(1), None]),
            Op::AtomicCompareExchange | Op::AtomicCompareExchangeWeak => (None, 1, [Some(2), Some(3)]),
            _ if instruction.class.opname.starts_with("Atomic") => (None, 1, [Some(2), None]),
            _ => return None,
        };
        let value = |at: usize| match instruction.operands.get(at)? {
            Operand::LiteralBit32(value) => Some(u64::from(*value)),
            operand => id(operand).and_then(&integer),
        };
        let bits = semantics.into_iter().flatten().filter_map(value).fold(0, |all, bits| all | bits);
        let bits = MemorySemantics::from_bits_truncate(u32::try_from(bits).unwrap_or(0));
        let both = bits.intersects(MemorySemantics::ACQUIRE_RELEASE | MemorySemantics::SEQUENTIALLY_CONSISTENT);
        Some(Self {
            execution: execution.and_then(value).map(scope),
            memory: value(memory).map_or(SyncScope::Invocation, scope),
            acquires: both || bits.contains(MemorySemantics::ACQUIRE),
            releases: both || bits.contains(MemorySemantics::RELEASE),
            shared: bits.contains(MemorySemantics::WORKGROUP_MEMORY),
            buffers: bits.contains(MemorySemantics::UNIFORM_MEMORY),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn atomic_operations_leave_what_the_device_would() {
        assert_eq!(AtomicOp::Add.written(u32::MAX, &[2]), Some(1));
        assert_eq!(AtomicOp::SignedMin.written(u32::MAX, &[2]), Some(u32::MAX));
        assert_eq!(AtomicOp::UnsignedMin.written(u32::MAX, &[2]), Some(2));
        assert_eq!(AtomicOp::CompareExchange.written(3, &[7, 3]), Some(7));
        assert_eq!(AtomicOp::CompareExchange.written(4, &[7, 3]), None);
        assert_eq!(AtomicOp::Increment.written(3, &[]), Some(4));
        assert_eq!(AtomicOp::Load.written(3, &[]), None);
    }
}
