//! A module that notes how far it indexes its buffers' arrays.
//!
//! A device doesn't tell that a shader reads or writes beyond a buffer: at best it ignores that, at worst the process is gone. So
//! the module is rewritten here. Before each load, store and atomic operation, each index by which the pointer came about is held
//! against the largest one so far, in a variable of the invocation; where the entry point returns, that and the array's length go to
//! a buffer of two words an array. What the device does beyond the ends doesn't matter for that, as long as it lives.
//!
//! Pointers are followed from the buffer's variable through access chains. What comes by another way (a function's parameter, a
//! choice between pointers) is counted, and otherwise left alone.

mod writer;

use rspirv::binary::Assemble;
use rspirv::dr::{Instruction, Module, Operand};
use rspirv::spirv::Word;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::loader::{LoadError, id, load};
use super::validator::{Invalid, validate};
use writer::Writer;

/// A module that notes how far it indexes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noting {
    /// The module; the entry point is its only one.
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it notes in, which must be filled with zeros before it runs.
    pub place: (u32, u32),
    /// The arrays, in the order in which it notes them.
    pub arrays: Vec<NotedArray>,
    /// Loads, stores and atomic operations through pointers that can't be followed back to a buffer.
    pub unfollowed: usize,
}

/// An array in a buffer, or an array of buffers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedArray {
    /// The descriptor set of its buffer.
    pub set: u32,
    /// The binding of its buffer.
    pub binding: u32,
    /// Its name, as in `lights[].weights`.
    pub path: String,
    /// Whether its length is that of the buffer.
    pub is_runtime: bool,
    /// Whether all its indexes are signed: then those from 2^31 on are negative ones.
    is_signed: bool,
}

/// An array that is indexed beyond its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    /// The array.
    pub array: NotedArray,
    /// The largest index, or the last negative one.
    pub index: i64,
    /// How many elements the array has.
    pub length: u32,
}

/// Why a module can't note anything.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotingError {
    /// The words are no module.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The module lacks something that it must have.
    #[error("the module has no {0}")]
    Missing(&'static str),
    /// The rewritten module isn't valid.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Noting {
    /// Rewrites a module whose only purpose is this entry point.
    ///
    /// # Errors
    /// Where the words are no module, or the new ones aren't valid.
    pub fn of(words: &[u32], entry: &str) -> Result<Self, NotingError> {
        let mut module = load(words)?;
        let function = keep_entry(&mut module, entry)?;
        let mut writer = Writer::new(module)?;
        writer.instrument(function);
        writer.finish(function)?;
        let Writer { module, place, arrays, unfollowed, .. } = writer;
        let words = module.assemble();
        validate(&words)?;
        Ok(Self { words, place, arrays: arrays.into_iter().map(|array| array.told).collect(), unfollowed })
    }

    /// How large the buffer must be.
    pub fn bytes(&self) -> u64 {
        8 * self.arrays.len().max(1) as u64
    }

    /// What was noted that shouldn't be. Arrays that weren't touched have no length.
    pub fn overruns(&self, noted: &[u8]) -> Vec<Overrun> {
        let words = noted.chunks_exact(4).map(|word| word.try_into().map_or(0, u32::from_ne_bytes)).collect::<Vec<u32>>();
        let pairs = self.arrays.iter().zip(words.chunks_exact(2));
        let beyond = pairs.filter(|(_, pair)| pair[0] >= pair[1] && pair[0] > 0);
        let told = |(array, pair): (&NotedArray, &[u32])| Overrun {
            array: array.clone(),
            index: if array.is_signed { i32::from_ne_bytes(pair[0].to_ne_bytes()).into() } else { pair[0].into() },
            length: pair[1],
        };
        beyond.map(told).collect()
    }
}

/// Takes the other entry points out, and gives the function of this one.
fn keep_entry(module: &mut Module, name: &str) -> Result<Word, NotingError> {
    let is_it = |instruction: &Instruction| matches!(&instruction.operands[..], [_, _, Operand::LiteralString(known), ..] if known == name);
    module.entry_points.retain(is_it);
    let function = module.entry_points.first().and_then(|entry| id(entry.operands.get(1)?));
    let function = function.ok_or(NotingError::Missing("such entry point"))?;
    module.execution_modes.retain(|mode| mode.operands.first().and_then(id) == Some(function));
    Ok(function)
}
