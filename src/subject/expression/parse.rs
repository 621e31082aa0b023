//! From tokens to a tree, by precedence climbing.

use std::ops::Range;

use super::tokens::{Token, tokens};
use super::{Fault, Value};
use crate::error::{nearest, suggestion};

/// Bytes of an expression: more is surely none.
const LONGEST: usize = 4096;
/// How deep expressions nest, long sums among them: evaluation takes this much stack.
const DEEPEST: usize = 128;

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) place: Range<usize>,
    depth: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Value(Value),
    Name(String),
    Negative(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// The condition, the value where it holds, the value where it doesn't.
    Choice(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    Different,
    Less,
    AtMost,
    More,
    AtLeast,
    Plus,
    Minus,
    Times,
    Over,
    Remainder,
    Power,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Abs,
    Ceil,
    CeilDiv,
    Floor,
    FloorDiv,
    Log2,
    Max,
    Min,
    Round,
    Sqrt,
}

/// How tightly operators hold their operands.
const CHOICE: u8 = 1;
const COMPARISON: u8 = 4;
const PREFIX: u8 = 7;
const POWER: u8 = 8;

impl Operator {
    fn of(sign: &str) -> Option<(Self, u8)> {
        Some(match sign {
            "||" => (Self::Or, 2),
            "&&" => (Self::And, 3),
            "==" => (Self::Equal, COMPARISON),
            "!=" => (Self::Different, COMPARISON),
            "<" => (Self::Less, COMPARISON),
            "<=" => (Self::AtMost, COMPARISON),
            ">" => (Self::More, COMPARISON),
            ">=" => (Self::AtLeast, COMPARISON),
            "+" => (Self::Plus, 5),
            "-" => (Self::Minus, 5),
            "*" => (Self::Times, 6),
            "/" => (Self::Over, 6),
            "%" => (Self::Remainder, 6),
            "^" => (Self::Power, POWER),
            _ => return None,
        })
    }
}

/// The functions by name, with the fewest and the most arguments that they take. `if` is a choice.
const FUNCTIONS: [(&str, Option<Function>, usize, usize); 11] = [
    ("abs", Some(Function::Abs), 1, 1),
    ("ceil", Some(Function::Ceil), 1, 1),
    ("ceil_div", Some(Function::CeilDiv), 2, 2),
    ("floor", Some(Function::Floor), 1, 1),
    ("floor_div", Some(Function::FloorDiv), 2, 2),
    ("log2", Some(Function::Log2), 1, 1),
    ("max", Some(Function::Max), 1, usize::MAX),
    ("min", Some(Function::Min), 1, usize::MAX),
    ("round", Some(Function::Round), 1, 1),
    ("sqrt", Some(Function::Sqrt), 1, 1),
    ("if", None, 3, 3),
];

impl Node {
    fn children(&self) -> Vec<&Node> {
        match &self.kind {
            Kind::Value(_) | Kind::Name(_) => Vec::new(),
            Kind::Negative(a) | Kind::Not(a) => vec![a],
            Kind::Binary(_, a, b) => vec![a, b],
            Kind::Choice(parts) => parts.iter().collect(),
            Kind::Call(_, arguments) => arguments.iter().collect(),
        }
    }
}

pub(super) fn parse(text: &str) -> Result<Node, Fault> {
    if text.len() > LONGEST {
        return Err(Fault::new(0..0, format!("an expression has at most {LONGEST} bytes, and this has {}", text.len())));
    }
    let mut parser = Parser { tokens: tokens(text)?, at: 0, depth: 0 };
    let root = parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(root),
        token => Err(parser.fault_here(after_a_value(token))),
    }
}

/// What is wrong with a token where an operator or the end is expected.
fn after_a_value(token: &Token) -> String {
    match token {
        Token::Sign(")") => "this parenthesis closes none".to_owned(),
        Token::Sign(sign) => format!("`{sign}` can't stand here"),
        Token::Name(name) if name == "and" => "expected an operator; did you mean `&&`?".to_owned(),
        Token::Name(name) if name == "or" => "expected an operator; did you mean `||`?".to_owned(),
        _ => "expected an operator before this".to_owned(),
    }
}

struct Parser {
    tokens: Vec<(Token, Range<usize>)>,
    at: usize,
    depth: usize,
}

impl Parser {
    /// An expression whose operators hold at least this tightly.
    fn expression(&mut self, least: u8) -> Result<Node, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(too_deep(self.place()));
        }
        let mut left = self.prefixed()?;
        let mut is_compared = false;
        while let Token::Sign(sign) = *self.peek() {
            if sign == "?" && least <= CHOICE {
                left = self.choice(left)?;
                continue;
            }
            let Some((operator, strength)) = Operator::of(sign).filter(|(_, strength)| *strength >= least) else { break };
            if strength == COMPARISON && std::mem::replace(&mut is_compared, true) {
                return Err(self.fault_here("comparisons don't chain: join two of them by `&&`"));
            }
            self.at += 1;
            // Powers are taken from right to left, all else from left to right.
            let right = self.expression(if strength == POWER { PREFIX } else { strength + 1 })?;
            is_compared &= strength >= COMPARISON;
            left = node(Kind::Binary(operator, Box::new(left), Box::new(right)))?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn choice(&mut self, condition: Node) -> Result<Node, Fault> {
        self.at += 1;
        let holds = self.expression(0)?;
        let end = self.place();
        self.expect(":", end, "expected the `:` of `? :`, but the expression ends")?;
        let fails = self.expression(CHOICE)?;
        node(Kind::Choice(Box::new([condition, holds, fails])))
    }

    fn prefixed(&mut self) -> Result<Node, Fault> {
        let start = self.place().start;
        let make = match self.peek() {
            Token::Sign("-") => Kind::Negative,
            Token::Sign("!") => Kind::Not,
            _ => return self.value(),
        };
        self.at += 1;
        let operand = self.expression(PREFIX)?;
        let end = operand.place.end;
        placed(make(Box::new(operand)), start..end)
    }

    fn value(&mut self) -> Result<Node, Fault> {
        let place = self.place();
        let token = self.peek().clone();
        self.at += usize::from(token != Token::End);
        match token {
            Token::Value(value) => placed(Kind::Value(value), place),
            Token::Name(name) if *self.peek() == Token::Sign("(") => self.call(&name, place),
            Token::Name(name) => placed(Kind::Name(name), place),
            Token::Sign("(") => {
                let inner = self.expression(0)?;
                let end = self.expect(")", place.clone(), "this parenthesis isn't closed")?;
                Ok(Node { place: place.start..end, ..inner })
            }
            Token::Sign(sign) => Err(Fault::new(place, format!("expected a value, and not `{sign}`"))),
            Token::End => Err(Fault::new(place, "expected a value, but the expression ends")),
        }
    }

    fn call(&mut self, name: &str, place: Range<usize>) -> Result<Node, Fault> {
        let known = FUNCTIONS.into_iter().find(|(known, ..)| *known == name);
        let (_, function, least, most) = known.ok_or_else(|| {
            let hint = suggestion(&nearest(name, FUNCTIONS.iter().map(|(name, ..)| *name)));
            Fault::new(place.clone(), format!("unknown function `{name}`{hint}"))
        })?;
        let (arguments, end) = self.arguments(&place)?;
        let whole = place.start..end;
        let given = arguments.len();
        let kind = match function {
            Some(function) if (least..=most).contains(&given) => Some(Kind::Call(function, arguments)),
            Some(_) => None,
            None => arguments.try_into().ok().map(Kind::Choice),
        };
        let Some(kind) = kind else {
            let takes = match (least, most) {
                (_, usize::MAX) => format!("{least} or more arguments"),
                (1, _) => "1 argument".to_owned(),
                _ => format!("{least} arguments"),
            };
            return Err(Fault::new(whole, format!("`{name}` takes {takes}, and not {given}")));
        };
        placed(kind, whole)
    }

    fn arguments(&mut self, name: &Range<usize>) -> Result<(Vec<Node>, usize), Fault> {
        self.at += 1;
        let mut arguments = Vec::new();
        if *self.peek() != Token::Sign(")") {
            arguments.push(self.expression(0)?);
            while *self.peek() == Token::Sign(",") {
                self.at += 1;
                arguments.push(self.expression(0)?);
            }
        }
        let end = self.expect(")", name.clone(), "the arguments of this aren't closed by `)`")?;
        Ok((arguments, end))
    }

    /// Takes a sign, and tells where it ends. Where the text ends instead, something else is incomplete.
    fn expect(&mut self, sign: &str, incomplete: Range<usize>, what: &str) -> Result<usize, Fault> {
        match self.peek() {
            Token::Sign(found) if *found == sign => {
                let end = self.place().end;
                self.at += 1;
                Ok(end)
            }
            Token::End => Err(Fault::new(incomplete, what)),
            token => Err(self.fault_here(after_a_value(token))),
        }
    }

    fn peek(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |(token, _)| token)
    }

    fn place(&self) -> Range<usize> {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(0..0, |(_, place)| place.clone())
    }

    fn fault_here(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.place(), what)
    }
}

/// An operation, which stands where its operands do.
fn node(kind: Kind) -> Result<Node, Fault> {
    let mut node = placed(kind, 0..0)?;
    let places = || node.children().into_iter().map(|child| &child.place);
    node.place = places().map(|place| place.start).min().unwrap_or(0)..places().map(|place| place.end).max().unwrap_or(0);
    Ok(node)
}

fn placed(kind: Kind, place: Range<usize>) -> Result<Node, Fault> {
    let mut node = Node { kind, place, depth: 0 };
    node.depth = node.children().iter().map(|child| child.depth).max().unwrap_or(0) + 1;
    if node.depth > DEEPEST { Err(too_deep(node.place)) } else { Ok(node) }
}

fn too_deep(place: Range<usize>) -> Fault {
    Fault::new(place, format!("the expression nests deeper than {DEEPEST} levels"))
}
