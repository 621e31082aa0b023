//! A module that notes how far it indexes its arrays.
//!
//! A device doesn't tell that a shader reads or writes beyond an array: at best it ignores that, at worst the process is gone. So
//! the module is rewritten here. Before each load, store and atomic operation, each index by which the pointer came about is held
//! against the largest one so far, in a variable of the invocation. Where the entry point returns and any of them lies beyond its
//! array, all go to a buffer of two words an array, with the array's length.
//!
//! The device must live through that. Buffers are the matter of robust buffer access. Shared memory, variables of the invocation, push
//! constants and built-in inputs have no such thing: what lies beyond them is the driver's own memory, or nobody's. There, an index
//! beyond the end is replaced by 0.
//!
//! Vectors and columns of matrices count as arrays here. Pointers are followed from variables, and from parameters that lead to
//! variables of the invocation, through access chains. What comes by another way (a buffer as a parameter, a choice between
//! pointers) is counted, and so are cooperative matrices, which reach further than their pointer; they are otherwise left alone.

mod writer;

use rspirv::binary::Assemble;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::edit::{Missing, keep_entry};
use super::loader::{LoadError, load};
use super::validator::{Invalid, validate};
use writer::Writer;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Noting {
    /// The module; the entry point is its only one.
    pub words: Vec<u32>,
    /// The set and binding of the storage buffer that it notes in, which must be filled with zeros before it runs.
    pub place: (u32, u32),
    pub arrays: Vec<NotedArray>,
    /// Loads, stores and atomic operations of which it can't be told how far they reach.
    pub unfollowed: usize,
    /// How many iterations of loops an invocation may have before that is noted, where they are counted.
    most_iterations: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
/// Where an array lies: in a buffer (or it is an array of buffers), in push constants, in memory that a workgroup shares, or with the
/// invocation, where its built-in inputs are as well.
pub enum Home {
    Buffer { set: u32, binding: u32 },
    PushConstants,
    Shared,
    Invocation,
}

impl Home {
    /// Whether the application gives it, and nothing but results comes of leaving it. What is beyond others is the driver's own.
    pub fn is_given(self) -> bool {
        matches!(self, Self::Buffer { .. } | Self::PushConstants)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notes {
    /// Nothing unless an invocation leaves one: thousands that raise the same words take their time.
    Overruns,
    Everything,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotedArray {
    pub home: Home,
    /// Its name, as in `lights[].weights`; empty where the module has none.
    pub path: String,
    pub is_runtime: bool,
    /// Whether all its indexes are signed: then those from 2^31 on are negative ones.
    is_signed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overrun {
    pub array: NotedArray,
    /// The largest index, or the last negative one.
    pub index: i64,
    pub length: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotingError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Missing(#[from] Missing),
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

impl Noting {
    /// Rewrites a module whose only purpose is this entry point. Where no invocation goes too far, it notes nothing.
    pub fn of_overruns(words: &[u32], entry: &str, most_iterations: Option<u32>) -> Result<Self, NotingError> {
        Self::rewrite(words, entry, Notes::Overruns, most_iterations)
    }

    /// The same, but it notes how far each array is indexed in any case: for seeing that it notes at all.
    pub fn of_everything(words: &[u32], entry: &str) -> Result<Self, NotingError> {
        Self::rewrite(words, entry, Notes::Everything, None)
    }

    fn rewrite(original: &[u32], entry: &str, notes: Notes, most_iterations: Option<u32>) -> Result<Self, NotingError> {
        let mut module = load(original)?;
        let function = keep_entry(&mut module, entry)?;
        let mut writer = Writer::new(module)?;
        writer.instrument(function);
        if let Some(most) = most_iterations {
            writer.count_iterations(function, most);
        }
        let (place, unfollowed) = (writer.place, writer.unfollowed);
        let (module, arrays) = writer.finish(function, notes)?;
        let words = module.assemble();
        match validate(&words) {
            // What isn't valid before was taken all the same.
            Err(invalid) if validate(original).is_ok() => return Err(invalid.into()),
            _ => {}
        }
        Ok(Self { words, place, arrays, unfollowed, most_iterations })
    }

    /// How large the buffer must be: two words for each array, and two for the iterations.
    pub fn bytes(&self) -> u64 {
        8 * (self.arrays.len() + 1) as u64
    }

    pub fn is_idle(&self) -> bool {
        self.arrays.is_empty() && self.most_iterations.is_none()
    }

    /// Whether an invocation came to as many iterations as are noted.
    pub fn loops_too_often(&self, noted: &[u8]) -> bool {
        let words = noted.chunks_exact(4).skip(2 * self.arrays.len());
        let count = words.map(|word| word.try_into().map_or(0, u32::from_ne_bytes)).next();
        self.most_iterations.zip(count).is_some_and(|(most, count)| count >= most)
    }

    /// What was noted that shouldn't be. Arrays of which nothing was noted have no length.
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
