//! Bytes that were made beforehand: what users fill their buffers with.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::digest::{Fingerprint, fingerprint};

/// Bytes that are shared, and compared by their fingerprint.
#[derive(Clone)]
pub struct Data {
    bytes: Arc<Vec<u8>>,
    fingerprint: Fingerprint,
}

impl Data {
    pub fn new(bytes: Vec<u8>) -> Self {
        let outputs = [bytes];
        let fingerprint = fingerprint(&outputs);
        let [bytes] = outputs;
        Self { bytes: Arc::new(bytes), fingerprint }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        self.fingerprint == other.fingerprint
    }
}

impl Eq for Data {}

impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_bytes_are_equal_data() {
        let (one, other) = (Data::new(vec![1, 2, 3, 4]), Data::new(vec![1, 2, 3, 5]));
        assert_eq!(one, Data::new(one.bytes().to_vec()));
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "Data(4 bytes)");
    }
}
