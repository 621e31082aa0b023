//! Words as a SPIR-V module, changed instruction by instruction.
#![no_main]

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

#[path = "../../tests/host/fuzz/mutate.rs"]
mod mutate;
#[path = "../../tests/host/fuzz/spirv.rs"]
mod spirv;

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.chunks_exact(4).map(|word| u32::from_ne_bytes([word[0], word[1], word[2], word[3]])).collect()
}

fuzz_target!(|bytes: &[u8]| {
    spirv::check(&words(bytes));
});

fuzz_mutator!(|bytes: &mut [u8], size: usize, most: usize, seed: u32| {
    let mut random = ChaCha8Rng::seed_from_u64(seed.into());
    // The library's own mutator knows the values that comparisons waited for.
    if random.random_bool(0.2) {
        return fuzzer_mutate(bytes, size, most);
    }
    let mut words = words(&bytes[..size]);
    for _ in 0..random.random_range(1..4) {
        mutate::change(&mut words, most / 4, &mut random);
    }
    for (place, word) in bytes.chunks_exact_mut(4).zip(&words) {
        place.copy_from_slice(&word.to_ne_bytes());
    }
    words.len() * 4
});
