//! Values of specialization constants in words.

use crate::error::Error;
use crate::shader::{Reflection, SpecConstant, SpecValues};

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
    let bits = constant.ty.parse(value).ok_or_else(|| usage(format!("`{value}` is no {}", constant.ty)))?;
    Ok((constant.id, bits))
}

pub(super) fn title(constant: &SpecConstant) -> String {
    if constant.name.is_empty() { constant.id.to_string() } else { format!("{} {}", constant.id, constant.name) }
}
