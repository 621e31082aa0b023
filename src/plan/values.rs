//! The values of an axis, as a user writes them: `32..1024:*2`, `1,2,4`, `2^20`, `row`.

use crate::error::{Error, nearest};
use crate::model::{Axis, AxisKind, AxisValue};
use crate::units::parse_number;

/// More values than this on one axis are surely a slip of the pen.
const MOST_VALUES: usize = 1 << 20;

/// The values that a user asks for on an axis, in the user's order, each once.
///
/// Items are separated by commas: a number (`4096`, `2^12`, `4Ki`), a range with both ends (`1..8`, `0..64:+16`,
/// `32..1024:*2`), or a word.
pub fn parse_values(axis: &Axis, text: &str) -> Result<Vec<AxisValue>, Error> {
    let mut values = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut named = 0;
    for item in text.split(',') {
        let item = parse_item(axis, item.trim())?;
        if let Some(value) = item.iter().find(|value| !axis.accepts(value)) {
            return Err(not_a_value(axis, &value.to_string()));
        }
        // Repeated ones count: a short text may name a million values any number of times.
        named += item.len();
        if named > MOST_VALUES {
            return Err(Error::Usage(format!("axis `{}`: `{text}` has more than {MOST_VALUES} values", axis.name)));
        }
        values.extend(item.into_iter().filter(|value| seen.insert(value.clone())));
    }
    Ok(values)
}

fn parse_item(axis: &Axis, item: &str) -> Result<Vec<AxisValue>, Error> {
    if let AxisKind::Choices(words) = axis.kind {
        let word = words.iter().find(|word| **word == item).ok_or_else(|| not_a_value(axis, item))?;
        return Ok(vec![AxisValue::from(*word)]);
    }
    let numbers = match item.split_once("..") {
        Some((first, rest)) => range(first, rest),
        None => parse_number(item).map(|n| vec![n]),
    };
    let numbers = numbers.ok_or_else(|| {
        Error::Usage(format!(
            "axis `{}`: `{item}` is neither a number (4096, 2^12, 4Ki) nor a range (1..8, 0..64:+16, 32..1024:*2)",
            axis.name
        ))
    })?;
    Ok(numbers.into_iter().map(AxisValue::from).collect())
}

fn not_a_value(axis: &Axis, given: &str) -> Error {
    let near = match axis.kind {
        AxisKind::Choices(words) => nearest(given, words.iter().copied()),
        _ => Vec::new(),
    };
    let hint = if near.is_empty() { String::new() } else { format!("did you mean {}? ", near.join(", ")) };
    let valid = format!("{hint}it takes {}", axis.takes());
    Error::Usage(format!("axis `{}` can't be `{given}`: {valid}", axis.name))
}

/// `FIRST..LAST`, `FIRST..LAST:+STEP`, `FIRST..LAST:*FACTOR`; the last is included where a step meets it.
fn range(first: &str, rest: &str) -> Option<Vec<u64>> {
    let (last, step) = rest.split_once(':').unwrap_or((rest, "+1"));
    let (first, last) = (parse_number(first)?, parse_number(last)?);
    let next: Box<dyn Fn(u64) -> Option<u64>> = match (step.strip_prefix('+'), step.strip_prefix('*')) {
        (Some(step), _) => {
            let step = parse_number(step).filter(|step| *step > 0)?;
            Box::new(move |n| n.checked_add(step))
        }
        (_, Some(factor)) => {
            let factor = parse_number(factor).filter(|factor| *factor > 1 && first > 0)?;
            Box::new(move |n| n.checked_mul(factor))
        }
        _ => return None,
    };
    if first > last {
        return None;
    }
    // One more than allowed, so that the caller sees that there are too many.
    let values = std::iter::successors(Some(first), |n| next(*n)).take_while(|n| *n <= last);
    Some(values.take(MOST_VALUES + 1).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::MOST_NUMBER;

    fn integers() -> Axis {
        Axis::new("n", "", AxisKind::AtLeast(0), [1_u64])
    }

    fn parse(text: &str) -> Result<Vec<u64>, String> {
        let values = parse_values(&integers(), text).map_err(|error| error.to_string())?;
        Ok(values
            .into_iter()
            .map(|value| match value {
                AxisValue::Integer(n) => n,
                AxisValue::Choice(word) => panic!("{word}"),
            })
            .collect())
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(parse("1,2,4").unwrap(), [1, 2, 4]);
        assert_eq!(parse("32..1024:*2").unwrap(), [32, 64, 128, 256, 512, 1024]);
        assert_eq!(parse("0..64:+16").unwrap(), [0, 16, 32, 48, 64]);
        assert_eq!(parse("3..5").unwrap(), [3, 4, 5]);
        assert_eq!(parse("2^20").unwrap(), [1 << 20]);
        assert_eq!(parse("4Ki, 1Mi").unwrap(), [4096, 1 << 20]);
        assert_eq!(parse("1..4,2,9").unwrap(), [1, 2, 3, 4, 9]);
        assert_eq!(parse("1099511627776").unwrap(), [1 << 40]);
        assert_eq!(parse("1..2^40:*3").unwrap().len(), 26);
        assert!(parse("1..18446744073709551615:*3").unwrap_err().contains("to 2^40"));
    }

    #[test]
    fn nonsense_is_refused_with_the_forms() {
        for text in [
            "", "x", "-1", "+1", "1.5", "8..1", "0..8:*2", "1..8:*1", "1..8:+0", "1..8:/2", "2^64", "1..", "..", "1,,2",
            "1..2^40",
        ] {
            let error = parse(text).expect_err(text);
            assert!(error.starts_with("axis `n`"), "{error}");
        }
    }

    #[test]
    fn repeated_values_count() {
        let ranges = |count: usize| vec!["1..2^19"; count].join(",");
        assert_eq!(parse(&ranges(2)).unwrap().len(), 1 << 19);
        assert!(parse(&ranges(3)).unwrap_err().ends_with("has more than 1048576 values"));
    }

    #[test]
    fn a_wrong_word_names_the_right_ones() {
        let axis = Axis::new("op", "", AxisKind::Choices(&["copy", "read"]), ["copy"]);
        let error = parse_values(&axis, "cpoy").unwrap_err().to_string();
        assert_eq!(error, "axis `op` can't be `cpoy`: did you mean copy? it takes copy, read");
    }

    proptest! {
        #![proptest_config(crate::properties::config())]

        #[test]
        fn any_text_is_taken_or_refused(text in "\\PC{0,24}") {
            let _ = parse_values(&integers(), &text);
        }

        #[test]
        fn a_number_survives(n in 0..=MOST_NUMBER) {
            prop_assert_eq!(parse(&n.to_string()).unwrap(), [n]);
        }
    }
}
