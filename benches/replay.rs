//! Searches replayed on spaces that were measured whole: how soon does each strategy of `lanescope tune` find the best?
//!
//! `cargo bench --bench replay [-- FILE.csv... [STRATEGY...] [seeds=N] [batch=N]]` reads rows of `lanescope tune` or `run`, which
//! have to hold every configuration, takes each experiment, variant and device as a space of its own, and prints what each strategy
//! reaches after a share of the evaluations: the best time found over the shortest of all, as the median of the seeds and, in
//! brackets, what nine in ten of them keep below. Without a file it takes the made-up spaces of `tests/host/search.rs`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints what it found")]

#[path = "../tests/support/recorded/mod.rs"]
mod recorded;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use lanescope::stats;
use lanescope::tuning::search::Strategy;
use recorded::{Recorded, models, rows};

/// The shares of the evaluations after which it is looked at what was found.
const SHARES: [f64; 6] = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2];

/// What is asked for.
struct Request {
    files: Vec<String>,
    strategies: Vec<Strategy>,
    seeds: u64,
    batch: usize,
}

impl Request {
    fn parse(arguments: impl Iterator<Item = String>) -> anyhow::Result<Self> {
        let mut request = Self { files: Vec::new(), strategies: Vec::new(), seeds: 50, batch: 1 };
        for argument in arguments {
            let number =
                |text: &str| text.parse::<u32>().ok().filter(|n| *n > 0).with_context(|| format!("`{text}` is no count"));
            if let Some(seeds) = argument.strip_prefix("seeds=") {
                request.seeds = number(seeds)?.into();
            } else if let Some(batch) = argument.strip_prefix("batch=") {
                request.batch = number(batch)? as usize;
            } else if let Some(strategy) = Strategy::ALL.into_iter().find(|strategy| strategy.as_str() == argument) {
                request.strategies.push(strategy);
            } else if Path::new(&argument).extension().is_some_and(|ending| ending == "csv") {
                request.files.push(argument);
            } else {
                bail!("`{argument}` is neither a .csv file, nor a strategy, nor seeds=N or batch=N");
            }
        }
        if request.strategies.is_empty() {
            request.strategies = Strategy::ALL[1..].to_vec();
        }
        Ok(request)
    }

    fn spaces(&self) -> anyhow::Result<Vec<Recorded>> {
        if self.files.is_empty() {
            return Ok(models::all());
        }
        let files: Vec<Vec<Recorded>> = self.files.iter().map(|file| rows::read(Path::new(file))).collect::<Result<_, _>>()?;
        Ok(files.into_iter().flatten().collect())
    }
}

fn main() -> ExitCode {
    // cargo bench adds `--bench` to what the user types.
    let arguments = std::env::args().skip(1).filter(|argument| !argument.starts_with('-'));
    match Request::parse(arguments).and_then(|request| Ok((request.spaces()?, request))) {
        Ok((spaces, request)) => {
            spaces.iter().for_each(|space| replay(space, &request));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn replay(recorded: &Recorded, request: &Request) {
    let failed = recorded.times.iter().filter(|time| time.is_none()).count();
    println!(
        "{}: {} configurations of {} axes, of which {failed} fail, {} are within 2 % of the best and {} within 10 %",
        recorded.name,
        recorded.times.len(),
        recorded.space.axes().len(),
        recorded.within(1.02),
        recorded.within(1.1),
    );
    let heads = SHARES.map(|share| format!("{:>20}", format!("{} %: {}", share * 100.0, recorded.share(share))));
    println!("  {:14}{}", "", heads.concat());
    for strategy in &request.strategies {
        let reached = recorded.replays(*strategy, request.seeds, request.batch, &SHARES);
        let cells = reached.iter().zip(SHARES).map(|(over, share)| match recorded.share(share) {
            0 => format!("{:>20}", "-"),
            _ => format!("{:>20}", format!("{:.3} ({:.3})", stats::median(over), stats::quantile(over, 0.9))),
        });
        println!("  {:14}{}", strategy.as_str(), cells.collect::<String>());
    }
    println!();
}
