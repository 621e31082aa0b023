//! One cell of a row: what it can hold, and how that is written so that every reader takes it for what it is.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::model::AxisValue;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// UTF-8 text on one line.
    Text,
    /// A whole number from 0 to 2^64 - 1.
    Integer,
    /// A finite 64-bit floating-point number, in the shortest decimal form that reads back as the same number.
    Real,
    Boolean,
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Real => "real",
            Self::Boolean => "boolean",
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub enum Cell<'a> {
    Empty,
    Text(Cow<'a, str>),
    Integer(u64),
    Real(f64),
    Boolean(bool),
}

/// What readers of tables take, in any case, for a missing value or for a number that isn't one: pandas' `na_values`, R, Julia,
/// and what `strtod` and its kind accept.
#[rustfmt::skip]
const MISSING: &[&str] = &[
    "na", "n/a", "<na>", "#na", "#n/a", "#n/a n/a", "nan", "+nan", "-nan", "nat", "null", "nil", "none", "missing",
    "inf", "+inf", "-inf", "infinity", "+infinity", "-infinity", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan",
];

impl<'a> Cell<'a> {
    /// Text as a row can hold it: on one line, so that one line of a file is one row (runs of control characters become one
    /// space, outer white space goes), and in parentheses where a reader would take it for a missing value: a host named `null`
    /// is `(null)`.
    pub fn text(text: &'a str) -> Self {
        let line = one_line(text);
        if line.is_empty() {
            Self::Empty
        } else if MISSING.iter().any(|word| word.eq_ignore_ascii_case(&line)) {
            Self::Text(Cow::Owned(format!("({line})")))
        } else {
            Self::Text(line)
        }
    }

    /// A number, or an empty cell where it isn't finite.
    pub fn real(value: f64) -> Self {
        if value.is_finite() { Self::Real(value) } else { Self::Empty }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::Empty
    }
}

impl<'a> From<&'a AxisValue> for Cell<'a> {
    fn from(value: &'a AxisValue) -> Self {
        match value {
            AxisValue::Integer(n) => Self::Integer(*n),
            AxisValue::Choice(word) => Self::text(word),
        }
    }
}

/// As written in CSV. A real number always has a point and never an exponent: type inference from the first rows of a file must
/// not take a column of times for whole numbers because those rows happen to be whole.
impl fmt::Display for Cell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => Ok(()),
            Self::Text(text) => f.write_str(text),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Real(value) if value.fract() == 0.0 => write!(f, "{value}.0"),
            Self::Real(value) => write!(f, "{value}"),
            Self::Boolean(truth) => write!(f, "{truth}"),
        }
    }
}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Empty => serializer.serialize_none(),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Integer(n) => serializer.serialize_u64(*n),
            Self::Real(value) => serializer.serialize_f64(*value),
            Self::Boolean(truth) => serializer.serialize_bool(*truth),
        }
    }
}

fn one_line(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let pieces: Vec<&str> = text.split(char::is_control).filter(|piece| !piece.is_empty()).collect();
    Cow::Owned(pieces.join(" ").trim().to_owned())
}

/// A field of a record: what it shows, and how it is read back.
pub(super) trait Field {
    fn cell(&self) -> Cell<'_>;
    /// Takes the value that a cell's text stands for; `false` where that is none of this field's kind.
    fn read(&mut self, text: &str) -> bool;
}

impl Field for String {
    fn cell(&self) -> Cell<'_> {
        Cell::text(self)
    }

    fn read(&mut self, text: &str) -> bool {
        text.clone_into(self);
        true
    }
}

impl Field for Option<u64> {
    fn cell(&self) -> Cell<'_> {
        self.map_or(Cell::Empty, Cell::Integer)
    }

    fn read(&mut self, text: &str) -> bool {
        parse_into(self, text)
    }
}

impl Field for Option<f64> {
    fn cell(&self) -> Cell<'_> {
        self.map_or(Cell::Empty, Cell::real)
    }

    fn read(&mut self, text: &str) -> bool {
        // The standard library also reads `inf` and `nan`, which no row holds.
        parse_into(self, text) && self.is_none_or(f64::is_finite)
    }
}

impl Field for Option<bool> {
    fn cell(&self) -> Cell<'_> {
        self.map_or(Cell::Empty, Cell::Boolean)
    }

    fn read(&mut self, text: &str) -> bool {
        // A spreadsheet writes them in capitals.
        parse_into(self, &text.to_ascii_lowercase())
    }
}

fn parse_into<T: std::str::FromStr>(field: &mut Option<T>, text: &str) -> bool {
    *field = text.parse().ok();
    field.is_some() || text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_reads_as_missing() {
        for word in ["NA", "n/a", "NULL", "Null", "NaN", "None", "inf", "-Infinity", "#N/A", "<NA>", "nil"] {
            assert_eq!(Cell::text(word).to_string(), format!("({word})"));
            assert_eq!(Cell::text(&Cell::text(word).to_string()).to_string(), format!("({word})"));
        }
        assert_eq!(Cell::text("nanosecond").to_string(), "nanosecond");
    }

    #[test]
    fn a_spreadsheets_truth_is_read() {
        let read = |text: &str| {
            let mut truth = None;
            Field::read(&mut truth, text).then_some(truth)
        };
        assert_eq!(
            ["TRUE", "False", "true", ""].map(read),
            [Some(Some(true)), Some(Some(false)), Some(Some(true)), Some(None)]
        );
        assert_eq!(["1", "yes", "=TRUE()"].map(read), [None; 3]);
    }

    #[test]
    fn a_text_stays_on_one_line() {
        assert_eq!(Cell::text(" a.comp:3: error\r\n\ta.comp:4: error\n").to_string(), "a.comp:3: error a.comp:4: error");
        assert_eq!(Cell::text("\r\nnull\0").to_string(), "(null)");
        assert!(Cell::text(" \n").is_empty());
    }

    #[test]
    fn reals_are_exact_decimals_with_a_point() {
        for (value, text) in
            [(1000.0, "1000.0"), (0.1, "0.1"), (-0.0, "-0.0"), (1e21, "1000000000000000000000.0"), (1e-7, "0.0000001")]
        {
            assert_eq!(Cell::real(value).to_string(), text);
        }
        for value in [f64::MIN_POSITIVE, f64::MAX, 1.0 / 3.0] {
            assert_eq!(Cell::real(value).to_string().parse::<f64>(), Ok(value));
        }
        assert!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].into_iter().all(|value| Cell::real(value).is_empty()));
    }
}
