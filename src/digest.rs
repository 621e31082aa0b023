//! Short names of long things, as rows carry them.

use sha2::{Digest, Sha256};

/// A letter and the first 64 bits of a SHA-256 in hex. The letter comes first so that no reader takes the name for a number:
/// hex digits may all be decimal, or look like `12e45`.
pub fn label(letter: char, hash: Sha256) -> String {
    let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = hash.finalize().into();
    format!("{letter}{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_letter_and_sixteen_digits() {
        assert_eq!(label('c', Sha256::new()), "ce3b0c44298fc1c14");
    }
}
