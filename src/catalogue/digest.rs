//! Short names of long things, as rows carry them.

use std::hash::{DefaultHasher, Hash, Hasher};

use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// Bytes that one processor hashes at a time.
const PART: usize = 1 << 20;

/// What stands for the bytes of several outputs: two with the same fingerprint hold the same bytes.
pub type Fingerprint = [u8; 32];

/// A SHA-256 of the SHA-256 of every part of every output, so that all processors share the work.
pub fn fingerprint(outputs: &[Vec<u8>]) -> Fingerprint {
    let mut all = Sha256::new();
    for output in outputs {
        let parts: Vec<_> = output.par_chunks(PART).map(Sha256::digest).collect();
        all.update((output.len() as u64).to_le_bytes());
        parts.iter().for_each(|part| all.update(part));
    }
    all.finalize().into()
}

/// A hash that stands for a name where names would take too much room. It is the same in every process of one build, and no longer.
pub fn hash64(name: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}

/// A letter and the first 64 bits of a SHA-256 in hex. The letter comes first so that no reader takes the name for a number:
/// hex digits may all be decimal, or look like `12e45`.
pub fn label(letter: char, hash: Sha256) -> String {
    let [a, b, c, d, e, f, g, h, ..]: [u8; 32] = hash.finalize().into();
    format!("{letter}{:016x}", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

/// What files are called, but for their ending, that hold these bytes, compressed or not.
pub fn of_contents(bytes: &[u8]) -> String {
    label('d', Sha256::new_with_prefix(bytes))
}

/// Whether a file's name may be one that [`of_contents`] made.
pub fn names_contents(name: &str) -> bool {
    let digits = name.split('.').next().and_then(|stem| stem.strip_prefix('d'));
    digits.is_some_and(|digits| digits.len() == 16 && digits.bytes().all(|digit| b"0123456789abcdef".contains(&digit)))
}

/// What stands for several labels of one letter: the label itself where they are all the same, else one of them all, in their order.
pub fn joint<'l>(labels: impl Iterator<Item = &'l str> + Clone) -> String {
    let first = labels.clone().next().unwrap_or_default();
    let letter = first.chars().next().filter(|_| labels.clone().any(|label| label != first));
    match letter {
        Some(letter) => label(letter, labels.fold(Sha256::new(), |hash, label| hash.chain_update(label).chain_update(b"\n"))),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_tells_bytes_lengths_and_outputs_apart() {
        let outputs = vec![vec![7; 2 * PART + 3], vec![]];
        let known = fingerprint(&outputs);
        assert_eq!(fingerprint(&outputs.clone()), known);
        for place in [0, PART - 1, PART, 2 * PART + 2] {
            let mut changed = outputs.clone();
            changed[0][place] ^= 1;
            assert_ne!(fingerprint(&changed), known, "{place}");
        }
        assert_ne!(fingerprint(&[vec![7; 2 * PART], vec![7; 3]]), known);
        assert_ne!(fingerprint(&[vec![], vec![7; 2 * PART + 3]]), known);
        assert_ne!(fingerprint(&outputs[..1]), known);
    }

    #[test]
    fn labels_together_have_one_of_their_own_unless_they_are_the_same() {
        let joint = |labels: &[&str]| joint(labels.iter().copied());
        assert_eq!([joint(&[]), joint(&["c1"]), joint(&["c1", "c1"])], ["", "c1", "c1"]);
        let both = joint(&["c1", "c2"]);
        assert!(both.len() == 17 && both.starts_with('c'), "{both}");
        assert!(![joint(&["c2", "c1"]), joint(&["c1", "c2", "c2"]), joint(&["c1c2"])].contains(&both));
    }

    #[test]
    fn a_name_tells_whether_it_is_of_contents() {
        let name = of_contents(b"abc");
        assert!([&name, &format!("{name}.bin"), &format!("{name}.bin.gz")].into_iter().all(|name| names_contents(name)));
        assert!(!["data.bin", "d12.bin", "before.bin", "d0123456789abcdeF.bin"].into_iter().any(names_contents));
    }

    #[test]
    fn a_label_is_a_letter_and_sixteen_digits() {
        assert_eq!(label('c', Sha256::new()), "ce3b0c44298fc1c14");
    }
}
