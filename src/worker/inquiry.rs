//! What a driver makes of a user's shader, asked in a process of its own: a compiler may crash on it, or never end.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::host::Identity;
use super::protocol::Request;
use crate::model::{Failure, PipelineDetail, Status};
use crate::shader::{Module, Specialized, specialize_entry};

/// Words in one message: as digits, far below the longest line.
const WORDS_AT_A_TIME: usize = 1 << 20;

/// Which pipeline is meant. The module's words are sent before it: so every driver is given the very same, whatever becomes of the
/// user's files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inquiry {
    /// The device.
    pub device: Identity,
    /// The entry point.
    pub entry: String,
    /// The bits of specialization constants, by `constant_id`; the others have their defaults.
    pub values: Vec<(u32, u64)>,
    /// What to ask.
    pub detail: PipelineDetail,
}

impl Inquiry {
    /// All that is to be said to ask this of a module.
    pub(super) fn requests(self, words: &[u32]) -> impl Iterator<Item = Request> {
        let words = words.chunks(WORDS_AT_A_TIME).map(|part| Request::Words(part.to_vec()));
        words.chain([Request::Inquire(Box::new(self))])
    }

    /// The module under its specialization.
    pub(super) fn specialized(&self, words: Vec<u32>) -> Result<Specialized, Failure> {
        let failed = |words: String| Failure::new(Status::Error, words);
        let module = Module::of_spirv(words, Some(&self.entry)).map_err(|error| failed(error.to_string()))?;
        let module = Arc::new(module);
        let entry = module.reflection.entry_points.first().ok_or_else(|| failed("the entry point is gone".to_owned()))?;
        let values = self.values.iter().copied().collect();
        specialize_entry(&module, entry, &values).map_err(|error| failed(error.to_string()))
    }
}
