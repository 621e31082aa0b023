//! Text as numbers, values of axes, and whole requests.
#![no_main]

#[path = "../../tests/fuzz/axes.rs"]
mod axes;
#[expect(dead_code, reason = "the target of rows uses the rest")]
#[path = "../../tests/fuzz/rows.rs"]
mod rows;

libfuzzer_sys::fuzz_target!(|text: &str| {
    axes::check(text);
});
