//! What a row has of each round: its time, and the core's clock beside it.

use crate::model::CoreClocks;

/// The process and the time, ns, of each round of `round_medians_ns`. Nothing where there is none, or one can't be read or is no time.
pub fn round_medians(text: &str) -> Option<Vec<(u32, f64)>> {
    listed_rounds(text).filter(|rounds| rounds.iter().all(|(_, time)| *time > 0.0))
}

/// The same, whatever numbers are there.
pub fn listed_rounds(text: &str) -> Option<Vec<(u32, f64)>> {
    let round = |round: &str| {
        let (process, time) = round.split_once(':')?;
        Some((process.parse().ok()?, time.parse().ok()?))
    };
    let rounds: Option<Vec<(u32, f64)>> = text.split(';').filter(|round| !round.is_empty()).map(round).collect();
    rounds.filter(|rounds| !rounds.is_empty())
}

/// Those of `round_clocks_mhz`, in the order of its rounds; nothing for a round without one, or one that can't be read.
pub fn round_clocks(text: &str) -> Vec<Option<CoreClocks>> {
    text.split(';').filter(|round| !round.is_empty()).map(round_clock).collect()
}

fn round_clock(round: &str) -> Option<CoreClocks> {
    let (_, clocks) = round.split_once(':')?;
    let (before, after) = clocks.split_once('/').unwrap_or((clocks, clocks));
    let mhz = |text: &str| text.parse().ok().filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0);
    Some(CoreClocks { before: mhz(before)?, after: mhz(after)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_has_one_clock_or_two_or_none() {
        let steady = CoreClocks { before: 1980.1, after: 1980.1 };
        let stepped = CoreClocks { before: 1995.0, after: 1980.0 };
        assert_eq!(round_clocks("1:1980.1;2:1995.0/1980.0;2:;x;3:-1"), [Some(steady), Some(stepped), None, None, None]);
        assert_eq!(round_clocks(""), []);
        assert_eq!(round_medians("1:2.5;2:3"), Some(vec![(1, 2.5), (2, 3.0)]));
        assert!(["", "1", "1:x", "x:1", "1:0", "1:2;1:-5"].iter().all(|text| round_medians(text).is_none()));
    }
}
