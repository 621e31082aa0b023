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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn a_large_module_comes_in_parts_and_the_inquiry_last() {
        let device = Identity::of(&DeviceInfo::mock(), 0);
        let inquiry = Inquiry { device, entry: "main".into(), values: vec![(1, 2)], detail: PipelineDetail::Statistics };
        let words: Vec<u32> = (0..).take(WORDS_AT_A_TIME + 1).collect();
        let requests: Vec<Request> = inquiry.clone().requests(&words).collect();
        let [Request::Words(first), Request::Words(rest), Request::Inquire(last)] = &requests[..] else {
            panic!("{} requests", requests.len());
        };
        assert_eq!((first.len(), rest.len(), &**last), (WORDS_AT_A_TIME, 1, &inquiry));
        assert!(first.iter().chain(rest).eq(&words));
    }

    #[test]
    fn what_is_no_module_is_said() {
        let device = Identity::of(&DeviceInfo::mock(), 0);
        let inquiry = Inquiry { device, entry: "main".into(), values: Vec::new(), detail: PipelineDetail::Statistics };
        let failure = inquiry.specialized(vec![1, 2, 3]).unwrap_err();
        assert!(failure.status == Status::Error && failure.reason.contains("header"), "{failure:?}");
    }
}
