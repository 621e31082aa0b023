//! What unit tests of properties share.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::FileFailurePersistence;

/// Keeps what once failed below `tests`. proptest's own choice is a folder beside `src`.
pub fn config() -> ProptestConfig {
    let kept = FileFailurePersistence::SourceParallel("../tests/proptest-regressions");
    ProptestConfig { failure_persistence: Some(Box::new(kept)), ..ProptestConfig::default() }
}
