//! Integer and Boolean arithmetic of `OpSpecConstantOp`, as the Shader capability allows it.

use rspirv::spirv::Op;

use super::ScalarType;
use super::scalar::unsigned;

/// The result's bits; nothing for operations on floats, and for what SPIR-V leaves undefined (division by zero).
pub(super) fn evaluate(operation: Op, operand: ScalarType, result: ScalarType, arguments: &[u64]) -> Option<u64> {
    if operand.is_float() || result.is_float() {
        return None;
    }
    let bits = match *arguments {
        [a] => unary(operation, operand, a)?,
        [a, b] => binary(operation, operand, operand.truncate(a), operand.truncate(b))?,
        [condition, yes, no] if operation == Op::Select => [no, yes][usize::from(condition != 0)],
        _ => return None,
    };
    Some(result.truncate(bits))
}

fn unary(operation: Op, operand: ScalarType, a: u64) -> Option<u64> {
    Some(match operation {
        Op::SNegate => a.wrapping_neg(),
        Op::Not => !a,
        Op::LogicalNot => u64::from(a == 0),
        Op::UConvert | Op::Bitcast => operand.truncate(a),
        Op::SConvert => unsigned(operand.extend(a)),
        _ => return None,
    })
}

fn binary(operation: Op, operand: ScalarType, a: u64, b: u64) -> Option<u64> {
    let (x, y) = (operand.extend(a), operand.extend(b));
    Some(match operation {
        Op::IAdd => a.wrapping_add(b),
        Op::ISub => a.wrapping_sub(b),
        Op::IMul => a.wrapping_mul(b),
        Op::UDiv => a.checked_div(b)?,
        Op::UMod => a.checked_rem(b)?,
        Op::SDiv => unsigned(x.checked_div(y)?),
        Op::SRem => unsigned(x.checked_rem(y)?),
        // The remainder that takes the divisor's sign.
        Op::SMod => {
            let remainder = x.checked_rem(y)?;
            let other_sign = remainder != 0 && (remainder < 0) != (y < 0);
            unsigned(if other_sign { remainder + y } else { remainder })
        }
        Op::BitwiseAnd => a & b,
        Op::BitwiseOr => a | b,
        Op::BitwiseXor => a ^ b,
        Op::ShiftLeftLogical => a.checked_shl(u32::try_from(b).ok()?)?,
        Op::ShiftRightLogical => a.checked_shr(u32::try_from(b).ok()?)?,
        Op::ShiftRightArithmetic => unsigned(x.checked_shr(u32::try_from(b).ok()?)?),
        _ => u64::from(comparison(operation, a, b, x, y)?),
    })
}

fn comparison(operation: Op, a: u64, b: u64, x: i64, y: i64) -> Option<bool> {
    Some(match operation {
        Op::LogicalAnd => a != 0 && b != 0,
        Op::LogicalOr => a != 0 || b != 0,
        Op::LogicalEqual => (a != 0) == (b != 0),
        Op::LogicalNotEqual => (a != 0) != (b != 0),
        Op::IEqual => a == b,
        Op::INotEqual => a != b,
        Op::ULessThan => a < b,
        Op::ULessThanEqual => a <= b,
        Op::UGreaterThan => a > b,
        Op::UGreaterThanEqual => a >= b,
        Op::SLessThan => x < y,
        Op::SLessThanEqual => x <= y,
        Op::SGreaterThan => x > y,
        Op::SGreaterThanEqual => x >= y,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Scalar;

    fn i32s(operation: Op, a: i32, b: i32) -> Option<i32> {
        let bits = |n: i32| ScalarType::typed(Scalar::I32(n)).1;
        let result = evaluate(operation, ScalarType::I32, ScalarType::I32, &[bits(a), bits(b)])?;
        Some(i32::try_from(ScalarType::I32.extend(result)).unwrap())
    }

    #[test]
    fn signed_arithmetic_keeps_its_signs() {
        assert_eq!(i32s(Op::IAdd, 3, -5), Some(-2));
        assert_eq!(i32s(Op::SDiv, -7, 2), Some(-3));
        assert_eq!(i32s(Op::SRem, -7, 2), Some(-1));
        assert_eq!(i32s(Op::SMod, -7, 2), Some(1));
        assert_eq!(i32s(Op::SMod, 7, -2), Some(-1));
        assert_eq!(i32s(Op::SDiv, 7, 0), None);
        assert_eq!(i32s(Op::ShiftRightArithmetic, -8, 1), Some(-4));
        assert_eq!(i32s(Op::SLessThan, -1, 0), Some(1));
        assert_eq!(i32s(Op::ULessThan, -1, 0), Some(0));
        assert_eq!(i32s(Op::SDiv, i32::MIN, -1), Some(i32::MIN));
    }

    #[test]
    fn widths_convert() {
        let convert = |operation, from, to, bits| evaluate(operation, from, to, &[bits]);
        assert_eq!(convert(Op::UConvert, ScalarType::U64, ScalarType::U32, 0x1_0000_0002), Some(2));
        assert_eq!(convert(Op::SConvert, ScalarType::I32, ScalarType::I64, 0xffff_ffff), Some(u64::MAX));
        assert_eq!(convert(Op::UConvert, ScalarType::U32, ScalarType::U64, 0xffff_ffff), Some(0xffff_ffff));
    }

    #[test]
    fn conditions_select() {
        assert_eq!(evaluate(Op::Select, ScalarType::U32, ScalarType::U32, &[1, 10, 20]), Some(10));
        assert_eq!(evaluate(Op::Select, ScalarType::U32, ScalarType::U32, &[0, 10, 20]), Some(20));
        assert_eq!(evaluate(Op::FAdd, ScalarType::F32, ScalarType::F32, &[0, 0]), None);
    }
}
