//! Macros as `--define` takes them.

use crate::error::Error;

/// A macro's name, with its parameters where it has some, and its text: of `NAME`, which is 1 as with other compilers, of `NAME=TEXT`, or
/// of `NAME(PARAMETERS)=TEXT`.
/// Errors: where GLSL would take it for no macro.
pub fn split(define: &str) -> Result<(&str, &str), Error> {
    let (name, text) = define.split_once('=').unwrap_or((define, "1"));
    let is_macro = match name.split_once('(') {
        Some((plain, parameters)) => is_name(plain) && parameters.strip_suffix(')').is_some_and(are_parameters),
        None => is_name(name),
    };
    if is_macro {
        return Ok((name, text));
    }
    Err(Error::Usage(format!("`{define}` defines no macro: NAME, NAME=VALUE or NAME(PARAMETERS)=TEXT is needed")))
}

/// Whether a macro has parameters: its text's commas separate no values.
pub fn has_parameters(name: &str) -> bool {
    name.ends_with(')')
}

fn are_parameters(list: &str) -> bool {
    list.trim().is_empty() || list.split(',').all(|parameter| is_name(parameter.trim()))
}

fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.chars().all(is_part) && text.starts_with(|c: char| is_part(c) && !c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn macros_have_names_parameters_and_texts() {
        for (define, expected) in [
            ("A", ("A", "1")),
            ("_a1=", ("_a1", "")),
            ("A=b==c", ("A", "b==c")),
            ("f(x)=x", ("f(x)", "x")),
            ("max3( a, b,c )=max(a, max(b, c))", ("max3( a, b,c )", "max(a, max(b, c))")),
            ("now()=t", ("now()", "t")),
        ] {
            assert_eq!(split(define).unwrap(), expected);
        }
        for wrong in ["", "1A", "a b", "f(1)=2", "f(x", "f(x)y=1", "(x)=x", "f(a,)=1", "f(a b)=1", "=1"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
