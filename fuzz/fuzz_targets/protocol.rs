//! Bytes as what supervisor and worker say to each other.
#![no_main]

#[path = "../../tests/host/fuzz/protocol.rs"]
mod protocol;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    protocol::check(bytes);
});
