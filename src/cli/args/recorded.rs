//! Which case is recorded, where, and how: the flags of the commands that record.

use std::time::Duration;

use clap::Args;

use super::colours::Colours;
use super::described::Described;
use super::values::duration;
use crate::campaign::trace::Groups;
use crate::model::QueueChoice;

#[derive(Clone, Debug, Args)]
pub struct RecordedCase {
    #[command(flatten)]
    pub described: Described,

    /// A value of an axis: the workgroup size (local_size_x=64) or a specialization constant; of a case of the catalogue, any of its axes
    #[arg(short, long, value_name = "NAME=VALUE")]
    pub axis: Vec<String>,

    /// Which workgroups to record: a count of them, spread over the dispatch with its first and its last, `all`, or a list of linear
    /// numbers such as 0,7,100..107 (7..7 is the one numbered 7). With a count, `trace --check` looks for more that come to other code
    #[arg(long, value_name = "COUNT|all|LIST", value_parser = groups, default_value = "4")]
    pub workgroups: Groups,

    /// Group this many invocations in a row to a subgroup, or `device` for the device's own (default: the device's; 32 where those are
    /// smaller)
    #[arg(long, value_name = "NUMBER|device", value_parser = lanes)]
    pub lanes: Option<LaneChoice>,

    /// Device by index, part of its name, or UUID, as `devices` shows them
    #[arg(short, long, value_name = "INDEX|NAME|UUID")]
    pub device: Option<String>,

    /// Queue family to run on, or `compute` for one that does no graphics
    #[arg(long, value_name = "FAMILY|compute", default_value = "", hide_default_value = true)]
    pub queue: QueueChoice,

    /// Select test data
    #[arg(long, default_value_t = 1)]
    pub seed: u64,

    /// Turn on the Khronos validation layer
    #[arg(long)]
    pub validation: bool,

    /// How long a pass may take; beyond it, its process is killed
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "60s")]
    pub timeout: Duration,

    /// Record even where another run measures on the same device
    #[arg(long)]
    pub no_lock: bool,

    /// Wait for a device that another run has: as long as it takes, or at most this long, such as 10min (default: end at once, with
    /// exit code 75)
    #[arg(long, value_name = "TIME", value_parser = duration, num_args = 0..=1, require_equals = true, conflicts_with = "no_lock")]
    pub wait: Option<Option<Duration>>,

    /// No remarks
    #[arg(short, long, conflicts_with = "verbose")]
    pub quiet: bool,

    /// More remarks
    #[arg(short, long)]
    pub verbose: bool,

    #[command(flatten)]
    pub colours: Colours,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneChoice {
    Device,
    InRow(u32),
}

fn lanes(text: &str) -> Result<LaneChoice, String> {
    match text.parse() {
        _ if text == "device" => Ok(LaneChoice::Device),
        Ok(count @ 1..=128) => Ok(LaneChoice::InRow(count)),
        _ => Err("a number from 1 to 128 is needed, or `device`".to_owned()),
    }
}

fn groups(text: &str) -> Result<Groups, String> {
    const ADVICE: &str = "a number of workgroups is needed, `all`, or linear numbers such as 0,7,100..107";
    if text == "all" {
        return Ok(Groups::All);
    }
    if let Some(count) = text.parse().ok().filter(|count| *count > 0) {
        return Ok(Groups::Spread(count));
    }
    let of = |part: &str| -> Option<Vec<u32>> {
        match part.trim().split_once("..") {
            Some((first, last)) => {
                let (first, last): (u32, u32) = (first.parse().ok()?, last.parse().ok()?);
                (first <= last && last - first < 1 << 24).then(|| (first..=last).collect())
            }
            None => Some(vec![part.trim().parse().ok()?]),
        }
    };
    let numbers: Option<Vec<Vec<u32>>> = text.split(',').map(of).collect();
    numbers.filter(|_| text.contains([',', '.'])).map(|all| Groups::Named(all.concat())).ok_or_else(|| ADVICE.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workgroups_are_counted_or_named() {
        assert_eq!(groups("4"), Ok(Groups::Spread(4)));
        assert_eq!(groups("all"), Ok(Groups::All));
        assert_eq!(groups("0,7,10..12"), Ok(Groups::Named(vec![0, 7, 10, 11, 12])));
        assert_eq!(groups("7..7"), Ok(Groups::Named(vec![7])));
        for wrong in ["0", "", "-1", "7..3", "a", "1,"] {
            assert!(groups(wrong).is_err(), "{wrong}");
        }
        assert_eq!((lanes("device"), lanes("32")), (Ok(LaneChoice::Device), Ok(LaneChoice::InRow(32))));
        assert!(lanes("0").is_err() && lanes("200").is_err());
    }
}
