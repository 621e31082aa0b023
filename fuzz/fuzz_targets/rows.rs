//! Bytes as a CSV file of rows.
#![no_main]

#[path = "../../tests/host/fuzz/rows.rs"]
mod rows;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    rows::check(bytes);
});
