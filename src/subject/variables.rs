//! The names that expressions may use under one configuration.

use std::collections::BTreeMap;

use super::expression::{Expression, ExpressionError, Value};
use super::kernel::said;
use crate::model::Failure;

#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    pub(super) n: u64,
    /// The invocations that there are to be, whatever the workgroup size; nothing where workgroups are counted instead.
    pub(super) threads: Option<[u64; 3]>,
    values: BTreeMap<String, Value>,
}

impl Variables {
    pub(super) fn new(n: u64) -> Self {
        Self { n, threads: None, values: BTreeMap::from([("n".to_owned(), Value::Integer(n.into()))]) }
    }

    /// Adds one; a name that is there already stays.
    pub(super) fn add(&mut self, name: &str, value: Value) {
        self.values.entry(name.to_owned()).or_insert(value);
    }

    pub(super) fn integer(&self, text: &str, what: &str) -> Result<u64, Failure> {
        self.evaluate(text, what, Expression::integer)
    }

    pub(super) fn whole(&self, text: &str, what: &str) -> Result<i128, Failure> {
        let value = self.evaluate(text, what, Expression::value)?;
        match value {
            Value::Integer(whole) => Ok(whole),
            _ => Err(said(format!("{what}: `{text}` is no whole number"))),
        }
    }

    pub(super) fn number(&self, text: &str, what: &str) -> Result<f64, Failure> {
        self.evaluate(text, what, Expression::number)
    }

    pub(super) fn truth(&self, text: &str, what: &str) -> Result<bool, Failure> {
        self.evaluate(text, what, Expression::truth)
    }

    fn evaluate<T>(
        &self,
        text: &str,
        what: &str,
        as_what: impl Fn(&Expression, &dyn Fn(&str) -> Option<Value>) -> Result<T, ExpressionError>,
    ) -> Result<T, Failure> {
        let expression = Expression::parse(text).map_err(|error| said(format!("{what}: {error}")))?;
        as_what(&expression, &|name| self.values.get(name).cloned()).map_err(|error| said(format!("{what}: {error}")))
    }
}
