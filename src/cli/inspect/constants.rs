//! Values of specialization constants in words.

use crate::error::Error;
use crate::plan::parse_number;
use crate::shader::{Reflection, ScalarType, SpecConstant, SpecValues};

/// The bits of the constants that are given as `NAME=VALUE` or `ID=VALUE`.
pub(super) fn values(reflection: &Reflection, given: &[String]) -> Result<SpecValues, Error> {
    given.iter().map(|given| value(reflection, given)).collect()
}

fn value(reflection: &Reflection, given: &str) -> Result<(u32, u64), Error> {
    let usage = |words: String| Error::Usage(format!("constant `{given}`: {words}"));
    let (name, value) = given.split_once('=').ok_or_else(|| usage("NAME=VALUE or ID=VALUE is needed".to_owned()))?;
    let is_meant = |constant: &&SpecConstant| constant.name == name || name.parse() == Ok(constant.id);
    let constant = reflection.spec_constants.iter().find(is_meant).ok_or_else(|| {
        let known: Vec<String> = reflection.spec_constants.iter().map(title).collect();
        usage(match known.len() {
            0 => "the shader has no specialization constants".to_owned(),
            _ => format!("the shader has no such one; it has {}", known.join(", ")),
        })
    })?;
    let bits = bits(constant.ty, value).ok_or_else(|| usage(format!("`{value}` is no {}", constant.ty)))?;
    Ok((constant.id, bits))
}

pub(super) fn title(constant: &SpecConstant) -> String {
    if constant.name.is_empty() { constant.id.to_string() } else { format!("{} {}", constant.id, constant.name) }
}

/// The bits of a value in words; nothing where it is none of the type, or the type has none in words (floats of 16 bits and less).
fn bits(ty: ScalarType, value: &str) -> Option<u64> {
    let signed = || match value.strip_prefix('-') {
        Some(rest) => parse_number(rest).and_then(|number| 0_i64.checked_sub_unsigned(number)),
        None => parse_number(value).and_then(|number| i64::try_from(number).ok()),
    };
    let low = |value: i64| u64::from_ne_bytes(value.to_ne_bytes());
    match ty {
        ScalarType::Bool => match value {
            "true" | "1" => Some(1),
            "false" | "0" => Some(0),
            _ => None,
        },
        ScalarType::U8 => parse_number(value).filter(|number| *number <= u8::MAX.into()),
        ScalarType::U16 => parse_number(value).filter(|number| *number <= u16::MAX.into()),
        ScalarType::U32 => parse_number(value).filter(|number| *number <= u32::MAX.into()),
        ScalarType::U64 => parse_number(value),
        ScalarType::I8 => signed().filter(|number| i8::try_from(*number).is_ok()).map(|number| low(number) & 0xFF),
        ScalarType::I16 => signed().filter(|number| i16::try_from(*number).is_ok()).map(|number| low(number) & 0xFFFF),
        ScalarType::I32 => signed().filter(|number| i32::try_from(*number).is_ok()).map(|number| low(number) & 0xFFFF_FFFF),
        ScalarType::I64 => signed().map(low),
        ScalarType::F32 => value.parse::<f32>().ok().map(|number| number.to_bits().into()),
        ScalarType::F64 => value.parse::<f64>().ok().map(f64::to_bits),
        ScalarType::F16 | ScalarType::OtherFloat(_) => None,
    }
}

/// A constant's value in words.
pub(super) fn shown(ty: ScalarType, bits: u64) -> String {
    let bytes = bits.to_le_bytes();
    let [a, b, c, d, ..] = bytes;
    match ty {
        ScalarType::Bool => (bits != 0).to_string(),
        ScalarType::I8 => i8::from_le_bytes([a]).to_string(),
        ScalarType::I16 => i16::from_le_bytes([a, b]).to_string(),
        ScalarType::I32 => i32::from_le_bytes([a, b, c, d]).to_string(),
        ScalarType::I64 => i64::from_le_bytes(bytes).to_string(),
        ScalarType::F32 => f32::from_le_bytes([a, b, c, d]).to_string(),
        ScalarType::F64 => f64::from_bits(bits).to_string(),
        ScalarType::F16 | ScalarType::OtherFloat(_) => format!("{bits:#x}"),
        ScalarType::U8 | ScalarType::U16 | ScalarType::U32 | ScalarType::U64 => bits.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_fit_their_types() {
        assert_eq!(bits(ScalarType::U32, "2^10"), Some(1024));
        assert_eq!(bits(ScalarType::U8, "256"), None);
        assert_eq!(bits(ScalarType::I8, "-128"), Some(0x80));
        assert_eq!(bits(ScalarType::I32, "-1"), Some(0xFFFF_FFFF));
        assert_eq!(bits(ScalarType::I64, "-1"), Some(u64::MAX));
        assert_eq!(bits(ScalarType::F32, "0.5"), Some(0x3F00_0000));
        assert_eq!(bits(ScalarType::Bool, "yes"), None);
        assert_eq!(bits(ScalarType::F16, "1"), None);
        for (ty, value) in
            [(ScalarType::I16, "-3"), (ScalarType::U64, "7"), (ScalarType::F64, "-0.25"), (ScalarType::Bool, "true")]
        {
            assert_eq!(shown(ty, bits(ty, value).unwrap()), value);
        }
    }
}
