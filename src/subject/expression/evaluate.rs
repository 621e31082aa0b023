//! What an expression comes to. Nothing wraps, rounds or panics: what has no value is a fault at its place.

use std::cmp::Ordering;

use super::parse::{Function, Kind, Node, Operator};
use super::{Fault, Value};

/// Floats of this size and more are far beyond all that is counted.
const MOST: f64 = 1e30;

type Names<'a> = &'a dyn Fn(&str) -> Option<Value>;

impl Node {
    pub(super) fn value(&self, of: Names) -> Result<Value, Fault> {
        match &self.kind {
            Kind::Value(value) => Ok(value.clone()),
            Kind::Name(name) => of(name).ok_or_else(|| self.fault(format!("`{name}` has no value here"))),
            Kind::Negative(operand) => match operand.number(of)? {
                Value::Integer(n) => self.whole(n.checked_neg()),
                other => self.real(-other.as_real().unwrap_or(f64::NAN)),
            },
            Kind::Not(operand) => Ok(Value::Truth(!operand.truth(of)?)),
            Kind::Binary(Operator::And, a, b) => Ok(Value::Truth(a.truth(of)? && b.truth(of)?)),
            Kind::Binary(Operator::Or, a, b) => Ok(Value::Truth(a.truth(of)? || b.truth(of)?)),
            Kind::Binary(operator @ (Operator::Equal | Operator::Different), a, b) => {
                Ok(Value::Truth(self.equal(&a.value(of)?, &b.value(of)?)? == (*operator == Operator::Equal)))
            }
            Kind::Binary(operator, a, b) => self.binary(*operator, &a.number(of)?, &b.number(of)?, b),
            Kind::Choice(parts) => {
                let [condition, holds, fails] = &**parts;
                if condition.truth(of)? { holds.value(of) } else { fails.value(of) }
            }
            Kind::Call(function, arguments) => self.call(*function, arguments, of),
        }
    }

    fn truth(&self, of: Names) -> Result<bool, Fault> {
        match self.value(of)? {
            Value::Truth(truth) => Ok(truth),
            other => Err(self.fault(format!("this has to be true or false, and is {}", other.kind()))),
        }
    }

    fn number(&self, of: Names) -> Result<Value, Fault> {
        match self.value(of)? {
            number @ Value::Integer(_) => Ok(number),
            // One that was handed in may be anything.
            Value::Real(x) => self.real(x),
            other => Err(self.fault(format!("this has to be a number, and is {}", other.kind()))),
        }
    }

    fn equal(&self, a: &Value, b: &Value) -> Result<bool, Fault> {
        if let (Some(a_real), Some(b_real)) = (a.as_real(), b.as_real()) {
            return Ok(match (a, b) {
                (Value::Integer(a), Value::Integer(b)) => a == b,
                _ => a_real == b_real,
            });
        }
        if a.kind() != b.kind() {
            return Err(self.fault(format!("{} can't equal {}", a.kind(), b.kind())));
        }
        Ok(a == b)
    }

    fn binary(&self, operator: Operator, a: &Value, b: &Value, divisor: &Node) -> Result<Value, Fault> {
        if let Some(test) = comparison(operator) {
            return Ok(Value::Truth(test(compare(a, b))));
        }
        if matches!(operator, Operator::Over | Operator::Remainder) && b.as_real() == Some(0.0) {
            return Err(divisor.fault("this is zero: nothing can be divided by it"));
        }
        if let (Value::Integer(a), Value::Integer(b)) = (a, b) {
            if let Some(whole) = whole(operator, *a, *b) {
                return self.whole(whole);
            }
        }
        let (Some(a), Some(b)) = (a.as_real(), b.as_real()) else { return Err(self.fault("this has no value")) };
        self.real(match operator {
            Operator::Plus => a + b,
            Operator::Minus => a - b,
            Operator::Times => a * b,
            Operator::Over => a / b,
            Operator::Remainder => a % b,
            Operator::Power => a.powf(b),
            _ => f64::NAN,
        })
    }

    fn call(&self, function: Function, arguments: &[Node], of: Names) -> Result<Value, Fault> {
        let values: Vec<Value> = arguments.iter().map(|argument| argument.number(of)).collect::<Result<_, _>>()?;
        match (function, &values[..]) {
            (Function::Abs, [Value::Integer(n)]) => self.whole(n.checked_abs()),
            (Function::Abs, [a]) => self.real_of(a, f64::abs),
            (Function::Ceil, [a]) => self.rounded(a, f64::ceil),
            (Function::Floor, [a]) => self.rounded(a, f64::floor),
            (Function::Round, [a]) => self.rounded(a, f64::round),
            (Function::Sqrt, [a]) => self.real_of(a, f64::sqrt),
            (Function::Log2, [Value::Integer(n)]) if *n > 0 && n.count_ones() == 1 => {
                Ok(Value::Integer(n.trailing_zeros().into()))
            }
            (Function::Log2, [a]) => self.real_of(a, |x| if x > 0.0 { x.log2() } else { f64::NAN }),
            (Function::CeilDiv | Function::FloorDiv, [a, b]) => self.quotient(function, [a, b], arguments),
            (Function::Max, [first, rest @ ..]) => Ok(farthest(first, rest, Ordering::Greater)),
            (Function::Min, [first, rest @ ..]) => Ok(farthest(first, rest, Ordering::Less)),
            _ => Err(self.fault("the number of arguments is wrong")),
        }
    }

    /// The whole quotient of whole numbers, rounded up or down.
    fn quotient(&self, function: Function, values: [&Value; 2], arguments: &[Node]) -> Result<Value, Fault> {
        let mut whole = [0; 2];
        for ((whole, value), argument) in whole.iter_mut().zip(values).zip(arguments) {
            *whole = value.as_whole().ok_or_else(|| argument.fault(format!("this has to be whole, and is {value}")))?;
        }
        let [a, b] = whole;
        if b == 0 {
            return Err(arguments[1].fault("this is zero: nothing can be divided by it"));
        }
        let is_exact = a.checked_rem(b) == Some(0);
        let is_below = (a < 0) != (b < 0);
        self.whole(a.checked_div(b).and_then(|towards_zero| match (function, is_exact, is_below) {
            (Function::CeilDiv, false, false) => towards_zero.checked_add(1),
            (Function::FloorDiv, false, true) => towards_zero.checked_sub(1),
            _ => Some(towards_zero),
        }))
    }

    #[expect(clippy::cast_possible_truncation, reason = "it is whole and below 10^30")]
    fn rounded(&self, value: &Value, round: impl Fn(f64) -> f64) -> Result<Value, Fault> {
        match value {
            Value::Real(x) if x.abs() < MOST => Ok(Value::Integer(round(*x) as i128)),
            Value::Integer(n) => Ok(Value::Integer(*n)),
            _ => self.whole(None),
        }
    }

    fn real_of(&self, value: &Value, function: impl Fn(f64) -> f64) -> Result<Value, Fault> {
        self.real(value.as_real().map_or(f64::NAN, function))
    }

    fn real(&self, x: f64) -> Result<Value, Fault> {
        match x {
            x if x.is_finite() => Ok(Value::Real(x)),
            x if x.is_nan() => Err(self.fault("this has no value")),
            _ => Err(self.fault("this is too large")),
        }
    }

    fn whole(&self, n: Option<i128>) -> Result<Value, Fault> {
        n.map(Value::Integer).ok_or_else(|| self.fault("this is too large"))
    }

    fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.place.clone(), what)
    }
}

/// The whole result of whole numbers, where there is one: else it is a real number. Inside, nothing where it is too large.
fn whole(operator: Operator, a: i128, b: i128) -> Option<Option<i128>> {
    match operator {
        Operator::Plus => Some(a.checked_add(b)),
        Operator::Minus => Some(a.checked_sub(b)),
        Operator::Times => Some(a.checked_mul(b)),
        Operator::Over => (a.checked_rem(b) == Some(0)).then(|| a.checked_div(b)),
        Operator::Remainder => Some(a.checked_rem(b)),
        Operator::Power if b >= 0 => Some(power(a, b)),
        _ => None,
    }
}

/// Exponents beyond 32 bits are too large for all but these bases.
fn power(base: i128, exponent: i128) -> Option<i128> {
    match (base, u32::try_from(exponent)) {
        (0 | 1, _) if exponent > 0 => Some(base),
        (-1, _) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (_, Err(_)) => None,
    }
}

fn comparison(operator: Operator) -> Option<fn(Ordering) -> bool> {
    Some(match operator {
        Operator::Less => Ordering::is_lt,
        Operator::AtMost => Ordering::is_le,
        Operator::More => Ordering::is_gt,
        Operator::AtLeast => Ordering::is_ge,
        _ => return None,
    })
}

/// Whole numbers are compared exactly, all others as floats.
fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Integer(a), Value::Integer(b)) => a.cmp(b),
        _ => a.as_real().partial_cmp(&b.as_real()).unwrap_or(Ordering::Equal),
    }
}

/// The value that lies farthest in a direction; the first of several.
fn farthest(first: &Value, rest: &[Value], direction: Ordering) -> Value {
    rest.iter().fold(first, |best, value| if compare(value, best) == direction { value } else { best }).clone()
}
