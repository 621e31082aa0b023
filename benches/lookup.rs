//! What it costs a program to look up a workgroup's size in a tuning table.
//!
//! `cargo bench --bench lookup -- TABLE.json` asks the table for each of its entries' own kernel, device, driver and size, and for sizes
//! between them, and prints the median time of a lookup.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use lanescope::tuning::{Query, Table};

/// Times that every entry is looked up, each timed as one.
const ROUNDS: usize = 1000;

fn main() -> ExitCode {
    let Some(path) = std::env::args().skip(1).find(|argument| argument != "--bench") else {
        eprintln!("error: name a tuning table, as `lanescope merge rows.csv --save-table table.json` writes one");
        return ExitCode::from(2);
    };
    let table = match Table::load(&path) {
        Ok(table) => table,
        Err(error) => {
            eprintln!("error: {error}");
            return ExitCode::from(2);
        }
    };
    for (what, shift) in [("sizes that are there", 0), ("the nearest size", 1)] {
        let mut times: Vec<f64> = (0..ROUNDS).map(|_| lookup(&table, shift)).collect();
        times.sort_unstable_by(f64::total_cmp);
        println!("{:8.0} ns  {what}, of {} entries", times[ROUNDS / 2], table.entries().len());
    }
    ExitCode::SUCCESS
}

/// The time of a lookup, ns, where sizes are so much larger than those of the entries.
#[allow(clippy::cast_precision_loss, reason = "entries are few")]
fn lookup(table: &Table, more: u64) -> f64 {
    let sizes: Vec<_> =
        table.entries().map(|entry| entry.size.iter().map(|(name, n)| (name.clone(), n + more)).collect()).collect();
    let started = Instant::now();
    for (entry, size) in table.entries().zip(&sizes) {
        let query = Query { kernel: &entry.kernel.name, device: &entry.device, driver: &entry.driver, size };
        black_box(table.find(black_box(&query)));
    }
    started.elapsed().as_secs_f64() * 1e9 / table.entries().len().max(1) as f64
}
