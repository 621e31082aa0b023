//! What the kernels of an application take on both sides: engines choose other kernels on other devices.

use super::sides::SideCase;

/// What all calls of an application's kernels take: ns, by side.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Application {
    pub all: [f64; 2],
    /// Of the kernels that both sides have.
    pub matched: [f64; 2],
}

impl Application {
    /// Nothing where no row is of an application.
    pub(super) fn of(pairs: &[[Option<&SideCase>; 2]]) -> Option<Self> {
        let mut new = Self::default();
        for pair in pairs {
            let times = pair.map(|case| case.and_then(time));
            for (side, time) in times.iter().enumerate() {
                let time = time.unwrap_or(0.0);
                new.all[side] += time;
                new.matched[side] += if times.iter().all(Option::is_some) { time } else { 0.0 };
            }
        }
        new.all.iter().any(|time| *time > 0.0).then_some(new)
    }
}

/// What all calls take in a run; of several runs, on average.
fn time(case: &SideCase) -> Option<f64> {
    let times: Vec<f64> = case.rows.iter().filter_map(|row| row.calls_time()).collect();
    (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
}
