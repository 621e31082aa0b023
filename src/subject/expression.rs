//! Expressions over axes and sizes, as users write them: `ceil_div(n, local_size_x)`, `local_size_x * local_size_y <= 256`.
//!
//! The parser is our own. Of the crates for this, evalexpr is under the AGPL and gives no places in its errors, fasteval and meval
//! know floats alone and have been left for years, exmex has one type of number per expression and no checked overflow, and whole
//! languages (rhai, CEL) bring loops, containers and a hundred times the code. None has numbers such as `64Ki`, or takes `^`
//! for a power without further ado.

mod evaluate;
mod parse;
mod tokens;
mod value;

use std::fmt;
use std::ops::Range;

use self::parse::Node;

pub use value::Value;

/// An expression over named values.
///
/// - Numbers: `4096`, `64Ki`, `2^20`, `1.5`, `1e9`. Words stand in quotes: `layout == "row"`.
/// - Operators, the loosest first: `c ? a : b`, `||`, `&&`, comparisons (`==`, `!=`, `<`, `<=`, `>`, `>=`), `+` and `-`, `*`, `/` and `%`,
///   `-` and `!` before a value, and `^`, which is a power. Conditions decide which side is computed at all.
/// - Functions: `abs(a)`, `ceil(a)`, `ceil_div(a, b)`, `floor(a)`, `floor_div(a, b)`, `if(c, a, b)`, `log2(a)`, `max(a, ...)`,
///   `min(a, ...)`, `round(a)`, `sqrt(a)`.
///
/// Whole numbers are exact. A quotient of theirs that isn't whole is a real number, never rounded silently: `n / 4` where a
/// count is wanted is an error where `n` is 10, and `ceil_div(n, 4)` is 3.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    root: Node,
}

impl Expression {
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        let root = parse::parse(text).map_err(|fault| fault.in_text(text))?;
        Ok(Self { text: text.to_owned(), root })
    }

    pub fn value(&self, of: &dyn Fn(&str) -> Option<Value>) -> Result<Value, ExpressionError> {
        self.root.value(of).map_err(|fault| fault.in_text(&self.text))
    }

    /// Its value where a count is wanted: whole, not negative, below 2^64.
    pub fn integer(&self, of: &dyn Fn(&str) -> Option<Value>) -> Result<u64, ExpressionError> {
        let value = self.value(of)?;
        value.as_count().ok_or_else(|| self.not("a whole number from 0 to 2^64 - 1", &value))
    }

    pub fn number(&self, of: &dyn Fn(&str) -> Option<Value>) -> Result<f64, ExpressionError> {
        let value = self.value(of)?;
        value.as_real().ok_or_else(|| self.not("a number", &value))
    }

    pub fn truth(&self, of: &dyn Fn(&str) -> Option<Value>) -> Result<bool, ExpressionError> {
        match self.value(of)? {
            Value::Truth(truth) => Ok(truth),
            other => Err(self.not("true or false, as of a comparison", &other)),
        }
    }

    fn not(&self, wanted: &str, value: &Value) -> ExpressionError {
        Fault::new(self.root.place.clone(), format!("this has to be {wanted}, and is {value}")).in_text(&self.text)
    }
}

// ---- errors ---------------------------------------------------------------------------------------------------------------

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    place: Range<usize>,
    what: String,
}

impl Fault {
    fn new(place: Range<usize>, what: impl Into<String>) -> Self {
        Self { place, what: what.into() }
    }

    fn in_text(self, text: &str) -> ExpressionError {
        ExpressionError { text: text.to_owned(), fault: self }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    fault: Fault,
}

const SHOWN: usize = 60;

/// What is wrong; below it the text, or the part of a long one around the place, and below that a mark under the place.
impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let before = self.text.get(..self.fault.place.start).unwrap_or_default();
        let after = self.text.get(self.fault.place.start..).unwrap_or_default();
        let skipped = before.chars().count().saturating_sub(SHOWN);
        let before: String = before.chars().skip(skipped).map(plain).collect();
        let shown: String = after.chars().take(SHOWN).map(plain).collect();
        let (cut_before, cut_after) =
            (if skipped > 0 { "..." } else { "" }, if after.chars().count() > SHOWN { "..." } else { "" });
        let indent = cut_before.len() + before.chars().count();
        let marked = self.text.get(self.fault.place.clone()).map_or(0, |marked| marked.chars().count()).clamp(1, SHOWN);
        writeln!(f, "{}", self.fault.what)?;
        writeln!(f, "  {cut_before}{before}{shown}{cut_after}")?;
        write!(f, "  {:indent$}{}", "", "^".repeat(marked))
    }
}

/// A character that takes one place in a line.
fn plain(c: char) -> char {
    if c.is_control() { ' ' } else { c }
}

/// What commas separate that no bracket encloses: those within belong to calls.
pub fn listed(text: &str) -> Vec<&str> {
    let (mut parts, mut rest) = (Vec::new(), text);
    while let Some((part, behind)) = split_outside(rest, ',') {
        parts.push(part.trim());
        rest = behind;
    }
    parts.push(rest.trim());
    parts
}

/// What stands before and behind the first such character that no bracket encloses.
pub(super) fn split_outside(text: &str, separator: char) -> Option<(&str, &str)> {
    let mut depth = 0;
    let is_it = |c| {
        depth += i32::from(matches!(c, '(' | '[' | '{')) - i32::from(matches!(c, ')' | ']' | '}'));
        c == separator && depth == 0
    };
    let at = text.find(is_it)?;
    Some((&text[..at], &text[at + separator.len_utf8()..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names(name: &str) -> Option<Value> {
        Some(match name {
            "n" => Value::Integer(1000),
            "tile" => Value::Integer(16),
            "x" => Value::Real(2.5),
            "layout" => Value::Word("row".to_owned()),
            "wide" => Value::Truth(true),
            "most" => Value::Integer(u64::MAX.into()),
            _ => return None,
        })
    }

    fn value(text: &str) -> Result<Value, String> {
        let value = Expression::parse(text).and_then(|expression| expression.value(&names));
        value.map_err(|error| error.fault.what)
    }

    fn integer(text: &str) -> i128 {
        match value(text) {
            Ok(Value::Integer(n)) => n,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn truth(text: &str) -> bool {
        Expression::parse(text).unwrap().truth(&names).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn operators_bind_as_in_mathematics() {
        for (text, expected) in [
            ("1 + 2 * 3", 7),
            ("(1 + 2) * 3", 9),
            ("10 - 4 - 3", 3),
            ("100 / 10 / 5", 2),
            ("100 % 7 * 2", 4),
            ("2^3^2", 512),
            ("-2^2", -4),
            ("2 * -3 + 4", -2),
            ("--3", 3),
            ("64Ki / 2^10", 64),
            ("1Mi + 1Gi - 1Gi", 1 << 20),
            ("n / 8 + n % 16", 133),
            ("wide ? 1 : 2", 1),
            ("!wide ? 1 : wide ? 2 : 3", 2),
            ("if(n > 999, n, 0)", 1000),
            ("(-1)^1000000000000", 1),
            ("most + most", 36_893_488_147_419_103_230),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
        assert_eq!(value("2^-1"), Ok(Value::Real(0.5)));
        assert_eq!(value("1.5e3 * 2"), Ok(Value::Real(3000.0)));
    }

    #[test]
    fn functions_are_what_they_are_called() {
        for (text, expected) in [
            ("min(n, 4096)", 1000),
            ("max(1, 3, 2)", 3),
            ("abs(-7)", 7),
            ("ceil_div(n, 64)", 16),
            ("ceil_div(-7, 2)", -3),
            ("floor_div(-7, 2)", -4),
            ("floor_div(7, 2)", 3),
            ("ceil_div(n, -3)", -333),
            ("floor(x) + ceil(x) + round(-x)", 2),
            ("log2(tile)", 4),
        ] {
            assert_eq!(integer(text), expected, "{text}");
        }
        assert_eq!(value("sqrt(x * x)"), Ok(Value::Real(2.5)));
        assert_eq!(value("max(x, 2)"), Ok(Value::Real(2.5)));
        assert_eq!(value("log2(1000)"), Ok(Value::Real(1000_f64.log2())));
    }

    #[test]
    fn conditions_compare_like_with_like() {
        assert!(truth("layout == \"row\" && layout != 'column'"));
        assert!(truth("n * tile <= 16000 && n % 8 == 0 || false"));
        assert!(truth("wide == true && !(n < tile)"));
        assert!(truth("most > 18446744073709551614 && x > 2 && x <= 2.5"));
        // What isn't needed isn't computed.
        assert!(truth("wide || 1 / 0 == 1"));
        assert!(!truth("!wide && 1 / 0 == 1"));
        assert!(value("layout == 1").unwrap_err().contains("a word can't equal a number"));
        assert!(value("layout < 'z'").unwrap_err().contains("has to be a number, and is a word"));
        assert!(value("n && wide").unwrap_err().contains("has to be true or false, and is a number"));
    }

    #[test]
    fn counts_are_whole_and_neither_negative_nor_too_large() {
        let count = |text: &str| Expression::parse(text).unwrap().integer(&names).map_err(|error| error.fault.what);
        assert_eq!(count("n / 8"), Ok(125));
        assert_eq!(count("x * 2"), Ok(5));
        assert_eq!(count("n / 3 * 3"), Ok(1000));
        assert_eq!(count("2^64 - 1"), Ok(u64::MAX));
        for (text, given) in
            [("n / 16", "62.5"), ("-1", "-1"), ("2^64", "18446744073709551616"), ("wide", "true"), ("layout", "\"row\"")]
        {
            let expected = format!("this has to be a whole number from 0 to 2^64 - 1, and is {given}");
            assert_eq!(count(text), Err(expected));
        }
        let real = |text: &str| Expression::parse(text).unwrap().number(&names).unwrap();
        assert_eq!((real("n / 16"), real("2")), (62.5, 2.0));
    }

    #[test]
    fn what_has_no_value_is_an_error() {
        for text in ["n / 0", "n % (tile - 16)", "x / 0", "ceil_div(1, 0)", "floor_div(x * 2, 0.0)"] {
            assert!(value(text).unwrap_err().contains("zero"), "{text}");
        }
        for text in ["2^127", "most * most * most", "-(2^126) * 4", "1e308 * 10", "3^2^100", "floor(1e40)", "2^(2^40)"] {
            assert_eq!(value(text), Err("this is too large".to_owned()), "{text}");
        }
        for text in ["sqrt(-1)", "(-8)^0.5", "log2(0)"] {
            assert_eq!(value(text), Err("this has no value".to_owned()), "{text}");
        }
        assert_eq!(value("ceil_div(x, 2)"), Err("this has to be whole, and is 2.5".to_owned()));
        assert_eq!(value("tiel + 1"), Err("`tiel` has no value here".to_owned()));
    }

    fn refused(text: &str) -> (String, String) {
        let error = Expression::parse(text).expect_err(text);
        (error.fault.what, text[error.fault.place].to_owned())
    }

    #[test]
    fn what_does_not_parse_is_marked() {
        for (text, what, place) in [
            ("", "expected a value, but the expression ends", ""),
            ("1 +", "expected a value, but the expression ends", ""),
            ("1 + * 2", "expected a value, and not `*`", "*"),
            ("2 ** 3", "expected a value, and not `*`", "*"),
            ("(1 + 2", "this parenthesis isn't closed", "("),
            ("(1 2)", "expected an operator before this", "2"),
            ("1 + 2)", "this parenthesis closes none", ")"),
            ("a and b", "expected an operator; did you mean `&&`?", "and"),
            ("a = 1", "`=` is no operator; did you mean `==`?", "="),
            ("a & b", "`&` is no operator; did you mean `&&`?", "&"),
            ("a ~ b", "`~` is no operator", "~"),
            ("1 < n < 3", "comparisons don't chain: join two of them by `&&`", "<"),
            ("a ? b", "expected the `:` of `? :`, but the expression ends", ""),
            ("a ? b, c", "`,` can't stand here", ","),
            ("\"row", "this quote isn't closed", "\""),
            ("64K", "`64K` is no number, as are 4096, 0x1000, 64Ki, 1Mi, 1Gi, 1.5 and 1e9", "64K"),
            ("1.2.3", "`1.2.3` is no number, as are 4096, 0x1000, 64Ki, 1Mi, 1Gi, 1.5 and 1e9", "1.2.3"),
            ("18446744073709551616", "18446744073709551616 is too large: whole numbers are below 2^64", "18446744073709551616"),
            ("cell_div(1, 2)", "unknown function `cell_div`; did you mean ceil_div?", "cell_div"),
            ("1 + abs(1, 2)", "`abs` takes 1 argument, and not 2", "abs(1, 2)"),
            ("min()", "`min` takes 1 or more arguments, and not 0", "min()"),
            ("if(wide, 1)", "`if` takes 3 arguments, and not 2", "if(wide, 1)"),
            ("min(1, 2", "the arguments of this aren't closed by `)`", "min"),
        ] {
            assert_eq!(refused(text), (what.to_owned(), place.to_owned()), "{text}");
        }
    }

    #[test]
    fn errors_show_the_place() {
        let error = Expression::parse("n / 'é' + tile").unwrap().value(&names).unwrap_err();
        assert_eq!(error.to_string(), "this has to be a number, and is a word\n  n / 'é' + tile\n      ^^^");
        let long = format!("{}\n/ 0 {}", "n + ".repeat(30) + "n", "+ n".repeat(30));
        let error = Expression::parse(&long).unwrap().value(&names).unwrap_err().to_string();
        let lines: Vec<&str> = error.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1].chars().nth(lines[2].len() - 1), Some('0'));
        assert!(lines[1].starts_with("  ...") && lines[1].ends_with("...") && lines[1].len() < 140);
    }

    #[test]
    fn depth_and_length_have_an_end() {
        for text in [
            "(".repeat(2000),
            "-".repeat(4000),
            "1+".repeat(1000) + "1",
            "2^".repeat(1000) + "1",
            "1?".repeat(999),
            "!(".repeat(999),
        ] {
            assert!(refused(&text).0.contains("deeper than"), "{text}");
        }
        assert_eq!(integer(&("1+".repeat(100) + "1")), 101);
        assert_eq!(integer(&format!("{}1{}", "(".repeat(100), ")".repeat(100))), 1);
        assert!(refused(&" ".repeat(5000)).0.contains("at most 4096 bytes, and this has 5000"));
    }

    fn like_an_expression() -> impl Strategy<Value = String> {
        let pieces = "n tile x layout wide 0 1 64Ki 2.5 1e308 18446744073709551615 'row' + - * / % ^ \
                      ( ) , ? : == < && || ! min( ceil_div( if( é"
            .split(' ')
            .chain([" "]);
        prop::collection::vec(prop::sample::select(pieces.collect::<Vec<_>>()), 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..crate::properties::config() })]

        #[test]
        fn any_text_has_a_value_or_an_error(text in prop_oneof![4 => like_an_expression(), 1 => "\\PC{0,40}"]) {
            match Expression::parse(&text) {
                Ok(expression) => {
                    let values = (expression.value(&names), expression.integer(&names), expression.truth(&names));
                    if let (Err(error), ..) = values {
                        prop_assert!(text.get(error.fault.place.clone()).is_some() && error.to_string().lines().count() == 3);
                    }
                }
                Err(error) => prop_assert!(text.get(error.fault.place.clone()).is_some() && error.to_string().lines().count() == 3),
            }
        }

        #[test]
        fn whole_numbers_are_exact(a in any::<u32>(), b in 1..u32::MAX, c in any::<u32>()) {
            let [wide_a, wide_b, wide_c] = [a, b, c].map(i128::from);
            let expected = wide_a * wide_b - wide_c + wide_a % wide_b + wide_a.div_euclid(wide_b);
            prop_assert_eq!(integer(&format!("{a}*{b}-{c}+{a}%{b}+floor_div({a},{b})")), expected);
            prop_assert_eq!(integer(&format!("ceil_div({a}, {b})")), (wide_a + wide_b - 1) / wide_b);
        }
    }
}
