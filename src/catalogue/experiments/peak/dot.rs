//! `peak/dot`: how fast does the device multiply and add four bytes at a time?

use super::arith::{groups_axis, iterations_axis, unroll_axis};
use crate::experiments::common::chains::{Chains, Coefficients, mix, second_word};
use crate::experiments::common::prelude::*;

pub const EXPERIMENT: Experiment =
    Experiment { variants: Signs::WORDS, quick_variants: &[Signs::Signed.word()], ..Experiment::new("peak/dot", axes, build) };

choices! {
    /// Of the two factors' bytes; in capitals, they are the shader's macros.
    enum Signs { Unsigned = "unsigned", Signed = "signed", Mixed = "mixed" }
}

const OPS: &[&str] = &["dot", "dot_acc_sat"];

const PAIRS: u64 = 8;

/// Four products and four sums.
const WEIGHT: u64 = 8;

/// Bytes of all values, so that no sign and no byte is left out.
const FACTORS: [u32; 2] = [0x93C5_7E2D, 0x4BF8_21D6];

/// What a product is added to: so much that no sum can overflow, where it would saturate.
const TERM_MASK: u32 = 0x0FFF_FFFF;

fn axes(setting: &Setting) -> Vec<Axis> {
    let ops = setting.quick_or(&OPS[..1], OPS).iter().copied();
    // Eight chains are a sixth slower on an H100, probably since their code is longer than its cache for instructions holds.
    let few = [setting.by_class(8_u64, 4)];
    let chains: &[u64] = if setting.preset == Preset::Thorough { &[1, 2, 4, 8] } else { &few };
    vec![
        Axis::new("op", "the operation", AxisKind::Choices(OPS), ops),
        Axis::new("chains", "independent chains per invocation", AxisKind::Numbers(&[1, 2, 4, 8]), chains.iter().copied()),
        local_size_axis(setting),
        unroll_axis(setting),
        iterations_axis(setting, 256),
        groups_axis(setting, 16),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    config.require(&[Feature::IntegerDotProduct])?;
    let (signs, chains) = (Signs::of(config.variant), Chains::new(config, PAIRS));
    let kernel = config.kernel("peak/dot.comp", &[]).define(&signs.word().to_uppercase(), "");
    let kernel = if config.choice("op") == "dot_acc_sat" { kernel.define("SATURATING", "") } else { kernel };
    let [a, b] = FACTORS.map(u64::from);
    let told = Coefficients { a, b, x_shape: 0, y_shape: TERM_MASK.into() };
    let expected = Expected::words_from(chains.invocations(), move || {
        let ends = chains.of_starts(|word| end(signs, word, chains.depth()));
        move |i| (0..chains.chains).flat_map(|chain| chains.ends(&ends, i, chain)).fold(0, mix)
    });
    let case = chains.case(EXPERIMENT.name, config, kernel, told, expected)?;
    let work = Work { ops: Some(product([chains.operations(), WEIGHT])), ..Work::default() };
    Ok(case.build(work, Headline::OPS))
}

/// What a chain comes to. No sum overflows, so that saturating ones are no different.
fn end(signs: Signs, word: u32, depth: u64) -> u32 {
    let term = second_word(word) & TERM_MASK;
    let step = |x: u32, factor: &u32| dot(signs, x, *factor).wrapping_add(term);
    (0..depth / 2).fold(word, |x, _| FACTORS.iter().fold(x, step))
}

/// The sum of the products of four bytes each.
#[expect(clippy::cast_sign_loss, reason = "bits are meant")]
fn dot(signs: Signs, x: u32, factors: u32) -> u32 {
    let unsigned = |byte: u8| i32::from(byte);
    let signed = |byte: u8| i32::from(i8::from_ne_bytes([byte]));
    let product = |(x, factor): (u8, u8)| match signs {
        Signs::Unsigned => unsigned(x) * unsigned(factor),
        Signs::Signed => signed(x) * signed(factor),
        Signs::Mixed => signed(x) * unsigned(factor),
    };
    x.to_le_bytes().into_iter().zip(factors.to_le_bytes()).map(product).sum::<i32>() as u32
}

#[cfg(test)]
#[expect(clippy::cast_possible_wrap, reason = "sums of the signed variants are in two's complement")]
mod tests {
    use super::*;

    #[test]
    fn signs_are_the_variants() {
        // 1 by 255, 255 by 1, 2 by 3, and 128 by 128, the first in the lowest byte.
        let (x, factors) = (0x8002_FF01, 0x8003_01FF);
        let of = |signs| dot(signs, x, factors);
        assert_eq!(of(Signs::Unsigned), 255 + 255 + 6 + 16_384);
        assert_eq!(of(Signs::Signed), 16_384 + 6 - 2);
        assert_eq!(of(Signs::Mixed) as i32, 255 - 1 + 6 - 16_384);
    }

    /// All sums stay far from where they would overflow.
    #[test]
    fn no_sum_saturates() {
        for signs in Signs::ALL {
            let mut all = (0..1000_u32).map(second_word).map(|word| end(*signs, word, 8));
            assert!(all.all(|end| (-1_000_000..0x1100_0000).contains(&(end as i32))), "{signs:?}");
        }
    }
}
