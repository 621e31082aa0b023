//! Text as numbers, values of axes, and whole requests.
#![no_main]

#[path = "../../tests/host/fuzz/axes.rs"]
mod axes;
#[expect(dead_code, reason = "the target of rows uses the rest")]
#[path = "../../tests/host/fuzz/rows.rs"]
mod rows;

libfuzzer_sys::fuzz_target!(|text: &str| {
    axes::check(text);
});
