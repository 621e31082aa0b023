//! What chains of operations end at.

use super::table::{Operation, Reals, Type};
use crate::experiments::common::chains::{Chains, Coefficients, halves, mix, second_word};
use crate::validate::{Expected, Near};

use Operation::{Add, BitCount, Div, Exp2, Fma, Log2, Mul, Rcp, Rem, Rsqrt, Shift, Sin, Sqrt};

/// Inexact operations come together from wherever they start, by a factor of 0.7 at most in each step: a longer chain ends where
/// one of this many operations does, but for less than any type holds (0.7^256 = 2^-131).
const FORGOTTEN: u64 = 256;

pub fn expected(chains: Chains, operation: Operation, ty: Type) -> Expected {
    let invocations = chains.invocations();
    if operation.is_inexact(ty) {
        return Expected::near_from(invocations, move || {
            let ends = chains.of_starts(|word| near(operation, ty, word, chains.depth()));
            move |i| sum(&ends, &chains, i)
        });
    }
    Expected::words_from(invocations, move || {
        let ends = chains.of_starts(|word| exact(operation, ty, word, chains.depth()));
        move |i| mixed(&ends, &chains, i)
    })
}

/// All values of an invocation, mixed as the shader does: of each chain first x, then y.
fn mixed(ends: &[[u32; 2]], chains: &Chains, invocation: u64) -> u32 {
    let of_components = |chain| chains.ends(ends, invocation, chain);
    let of_chain = |chain| of_components(chain).map(|[x, _]| x).chain(of_components(chain).map(|[_, y]| y));
    (0..chains.chains).flat_map(of_chain).fold(0, mix)
}

fn exact(operation: Operation, ty: Type, word: u32, depth: u64) -> [u32; 2] {
    if ty.is_real() {
        let ends = reals(operation, word, depth);
        ends.map(|value| if ty == Type::F64 { folded(value.to_bits()) } else { narrowed(value).to_bits() })
    } else {
        let ends = wholes(operation, ty.bits(), word, depth);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "as the shader does")]
        ends.map(|value| if ty == Type::I64 { folded(value as u64) } else { value as u32 })
    }
}

/// 64 bits as the shader takes them up.
fn folded(wide: u64) -> u32 {
    let [low, high] = halves(wide);
    low.wrapping_add(high.wrapping_mul(3))
}

#[expect(clippy::cast_possible_truncation, reason = "a few bits, which are exact")]
fn narrowed(value: f64) -> f32 {
    value as f32
}

// ---- whole numbers --------------------------------------------------------------------------------------------------------

/// The value that so many bits hold.
fn wrapped(value: i64, bits: u32) -> i64 {
    value << (64 - bits) >> (64 - bits)
}

#[expect(clippy::cast_possible_wrap, reason = "bits are meant")]
fn whole_start(word: u32, mask: u64, bits: u32) -> i64 {
    let full = if bits == 64 { i64::from(word).wrapping_mul(6_364_136_223_846_793_005) } else { i64::from(word) };
    wrapped(full & mask as i64 | 1, bits)
}

fn wholes(operation: Operation, bits: u32, word: u32, depth: u64) -> [i64; 2] {
    let Coefficients { a, b, x_shape, y_shape } = operation.coefficients(of_bits(bits));
    #[expect(clippy::cast_possible_wrap, reason = "bits are meant")]
    let (a, b) = (wrapped(a as i64, bits), wrapped(b as i64, bits));
    let mut x = whole_start(word, x_shape, bits);
    let mut y = whole_start(second_word(word), y_shape, bits);
    for _ in 0..depth / 2 {
        match operation {
            Fma => {
                x = wrapped(x.wrapping_mul(a).wrapping_add(y), bits);
                y = wrapped(y.wrapping_mul(a).wrapping_add(x), bits);
            }
            Add => {
                x = wrapped(x.wrapping_add(y), bits);
                y = wrapped(y.wrapping_add(x), bits);
            }
            Mul => {
                x = wrapped(x.wrapping_mul(y), bits);
                y = wrapped(y.wrapping_mul(x), bits);
            }
            Div => x = b / (a / (x + y) + y),
            Rem => x = ((x + y) % a + y) % b,
            Shift => x = a >> (y >> x),
            BitCount => x = i64::from((low(x ^ y).count_ones() ^ low(a)).count_ones()),
            Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin => panic!("whole numbers have no {operation:?}"),
        }
    }
    [x, y]
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bits of 32 are counted")]
fn low(value: i64) -> u32 {
    value as u32
}

fn of_bits(bits: u32) -> Type {
    match bits {
        8 => Type::I8,
        16 => Type::I16,
        32 => Type::I32,
        _ => Type::I64,
    }
}

// ---- floats, exactly ------------------------------------------------------------------------------------------------------

/// A chain's two values before the first operation.
fn real_starts(operation: Operation, word: u32) -> [f64; 2] {
    let Reals { x, y, .. } = operation.of_reals();
    let kept = if matches!(operation, Mul | Fma) { 1 } else { 31 };
    let start = |bits: u32, (scale, offset): (f32, f32)| f64::from(bits & kept) * f64::from(scale) + f64::from(offset);
    [start(word, x), start(word >> 5, y)]
}

/// In f64, whatever the type: no value has more bits than any of them holds, so that none is rounded, and whether multiply-adds are
/// fused makes no difference.
fn reals(operation: Operation, word: u32, depth: u64) -> [f64; 2] {
    let Reals { a, b, .. } = operation.of_reals();
    let (a, b) = (f64::from(a), f64::from(b));
    let [mut x, mut y] = real_starts(operation, word);
    for _ in 0..depth / 2 {
        match operation {
            Fma => {
                x = y * y + a;
                y = x * x + a;
            }
            Add => {
                x += y;
                y -= x;
            }
            Mul => {
                x *= y;
                y *= x;
            }
            Rem => x = ((x + y).rem_euclid(a) + y).rem_euclid(b),
            Div | Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin | Shift | BitCount => panic!("floats have no exact {operation:?}"),
        }
    }
    [x, y]
}

// ---- floats, as near as Vulkan asks ---------------------------------------------------------------------------------------

/// Follows a chain and the error that it may have by then: what comes in is spread by the function as far as its ends go apart,
/// and the function adds its own.
fn near(operation: Operation, ty: Type, word: u32, depth: u64) -> Near {
    let Reals { a, b, .. } = operation.of_reals();
    let [x, y] = real_starts(operation, word);
    // Of the first operation of a pair, and of the second: what is added, and what is divided.
    let [first, second] = match operation {
        Div => [(y, f64::from(a)), (y, f64::from(b))],
        Rcp | Sqrt | Rsqrt | Exp2 | Log2 | Sin => [(y, 1.0), (f64::from(a), 1.0)],
        Fma | Add | Mul | Rem | Shift | BitCount => panic!("{operation:?} is exact"),
    };
    (0..depth.min(FORGOTTEN)).fold(Near { value: x, error: 0.0 }, |at, step| {
        let (term, numerator) = if step % 2 == 0 { first } else { second };
        applied(operation, ty, at, term, numerator)
    })
}

fn applied(operation: Operation, ty: Type, at: Near, term: f64, numerator: f64) -> Near {
    let input = at.value + term;
    // Correctly rounded is either neighbour: a whole unit.
    let spread = at.error + ulp(ty, input);
    let function = |v: f64| match operation {
        Sqrt => v.sqrt(),
        Rsqrt => v.sqrt().recip(),
        Exp2 => v.exp2(),
        Log2 => v.log2(),
        Sin => v.sin(),
        Div | Rcp => numerator / v,
        Fma | Add | Mul | Rem | Shift | BitCount => panic!("{operation:?} is exact"),
    };
    let value = function(input);
    let carried = if operation == Sin {
        // Not monotone: by Taylor's theorem.
        input.cos().abs() * spread + spread * spread / 2.0
    } else {
        [spread, -spread].map(|by| (function(input + by) - value).abs()).into_iter().fold(0.0, f64::max)
    };
    Near { value, error: carried + own_error(operation, ty, input.abs(), value) }
}

/// How far an operation's result may be off: Vulkan specification, appendix A, "Precision and Operation of SPIR-V Instructions",
/// tables of core and of GLSL.std.450 instructions. Of doubles it asks no more than of single precision.
fn own_error(operation: Operation, ty: Type, input: f64, value: f64) -> f64 {
    let is_half = ty == Type::F16;
    let units = match operation {
        Sin => return if is_half { 2_f64.powi(-7) } else { 2_f64.powi(-11) },
        Exp2 => 2.0_f64.mul_add(input, if is_half { 1.0 } else { 3.0 }),
        // Outside [0.5, 2].
        Log2 => 3.0,
        Rsqrt => 2.0,
        // Inherited from 1.0 / inversesqrt().
        Sqrt => 2.0 + 2.5,
        Div | Rcp => 2.5,
        Fma | Add | Mul | Rem | Shift | BitCount => panic!("{operation:?} is exact"),
    };
    units * ulp(ty, value)
}

/// A unit in the last place; of the next binade where a value is so near to it that the device's may lie there.
fn ulp(ty: Type, value: f64) -> f64 {
    let fraction_bits = if ty == Type::F16 { 10 } else { 23 };
    #[expect(clippy::cast_possible_truncation, reason = "exponents are small")]
    let exponent = (value.abs() * 1.02).log2().floor() as i32;
    2_f64.powi(exponent - fraction_bits)
}

/// The sum that the shader makes of an invocation's chains, in f32.
fn sum(ends: &[Near], chains: &Chains, invocation: u64) -> Near {
    let ends = || (0..chains.chains).flat_map(|chain| chains.ends(ends, invocation, chain));
    let largest = ends().map(|end| end.value.abs() + end.error).sum();
    ends().sum::<Near>().rounded(chains.lanes(), largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    const INEXACT: [&str; 7] = ["div", "rcp", "sqrt", "rsqrt", "exp2", "log2", "sin"];

    /// Every value of every chain of exact floats, sums on the way included, is one of bfloat16, which holds the fewest bits.
    #[test]
    fn exact_floats_are_exact_in_every_type() {
        for operation in ["fma", "add", "mul", "rem"].map(Operation::of) {
            for word in 0..1024 {
                for depth in (0..200).step_by(2) {
                    let [x, y] = reals(operation, word, depth);
                    // A zero has two signs.
                    assert!(x != 0.0 && y != 0.0, "{operation:?}");
                    for value in [x, y, x + y] {
                        assert_eq!(f64::from(half::bf16::from_f64(value)), value, "{operation:?} from {word} after {depth}");
                    }
                }
            }
        }
    }

    /// A chain that is back where it began would let a kernel pass that does nothing.
    #[test]
    fn chains_that_end_where_they_began_are_known() {
        for op in ["fma", "add", "mul", "rem"] {
            let operation = Operation::of(op);
            for depth in (2..200).step_by(2) {
                let is_back = (0..1024).all(|word| reals(operation, word, depth) == real_starts(operation, word));
                assert_eq!(operation.require_motion(Type::F32, depth).is_err(), is_back, "{op} {depth}");
            }
            assert!(operation.require_motion(Type::I32, 12).is_ok());
        }
    }

    /// Whole numbers that are divided and shifted stay within what their type holds, and positive.
    #[test]
    fn whole_numbers_stay_where_they_are_defined() {
        for bits in [8, 16, 32, 64] {
            for word in (0..1024_u32).map(second_word) {
                for depth in (0..40).step_by(2) {
                    for operation in ["div", "rem", "shift"].map(Operation::of) {
                        let [x, y] = wholes(operation, bits, word, depth);
                        assert!(x >= 0 && y > 0 && wrapped(x.checked_add(y).unwrap(), bits) == x + y, "{operation:?} {bits}");
                        assert!(operation != Shift || (x < bits.into() && y < bits.into()));
                    }
                }
            }
        }
    }

    /// What the tolerance rests on: errors stay as small as those of a few operations, and starts are forgotten.
    #[test]
    fn inexact_chains_contract() {
        for operation in INEXACT.map(Operation::of) {
            for ty in [Type::F16, Type::F32] {
                for word in 0..1024 {
                    let ends = [64, 128, FORGOTTEN, 1 << 20].map(|depth| near(operation, ty, word, depth));
                    let own = own_error(operation, ty, 2.0, ends[0].value);
                    assert!(ends.iter().all(|end| end.error < 6.0 * own + 8.0 * ulp(ty, 8.0)), "{operation:?} {ends:?}");
                    // The lower five bits say where x starts, and only they.
                    let other = near(operation, ty, word ^ 31, FORGOTTEN);
                    assert!((other.value - ends[2].value).abs() < 1e-12, "{operation:?} {ends:?}");
                    assert!((ends[3].value - ends[1].value).abs() < 1e-12, "{operation:?} {ends:?}");
                }
            }
        }
    }

    /// Each operation leaves something else than each other one, and than one more or one less of its own.
    #[test]
    fn inexact_ends_tell_operations_apart() {
        for ty in [Type::F16, Type::F32] {
            for operation in INEXACT.map(Operation::of) {
                let end = near(operation, ty, 77, 64);
                let more = near(operation, ty, 77, 65);
                assert!((end.value - more.value).abs() > end.error + more.error || operation == Sin, "{operation:?}");
            }
        }
    }

    #[test]
    fn what_goes_together_is_told() {
        let device = DeviceInfo::mock();
        let pairs = Type::ALL.iter().flat_map(|ty| Operation::ALL.iter().map(move |operation| (*ty, *operation)));
        let known = pairs.filter(|(ty, operation)| {
            let refused = operation.require(*ty, &device).err();
            refused.is_none_or(|skip| skip.reason.starts_with("shader"))
        });
        // Floats: 11, 11, 8, 3 and 3; whole numbers: 6, 6, 7 and 6.
        assert_eq!(known.count(), 61);
    }
}
