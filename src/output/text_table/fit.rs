//! Which columns have room on a page, and how much.

use std::cmp::Reverse;

use super::Need;

const GAP: usize = 3;
/// Beside the first column and the last.
const EDGES: usize = 2;

/// What a column asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Demand {
    /// The width of its widest cell, its title included.
    pub most: usize,
    /// What it can do with where room is scarce.
    pub scarce: usize,
    /// What it can do with where others would have no room.
    pub least: usize,
    /// Whether its cells may take several lines, and not its title alone.
    pub wraps: bool,
    pub need: Need,
}

/// The width of each column; nothing for those that have no room. One column is always shown.
pub fn fitted(demands: &[Demand], space: usize) -> Vec<Option<usize>> {
    let mut shown: Vec<usize> = (0..demands.len()).collect();
    let scarce = |shown: &[usize]| total(shown, |column| demands[column].scarce);
    let least = |shown: &[usize]| total(shown, |column| demands[column].least);
    leave_out(&mut shown, demands, Need::Useful, |shown| scarce(shown) <= space);
    let is_tight = scarce(&shown) > space;
    for need in [Need::Central, Need::Key] {
        leave_out(&mut shown, demands, need, |shown| shown.len() == 1 || least(shown) <= space);
    }
    put_back(&mut shown, demands, |shown| if is_tight { least(shown) } else { scarce(shown) } <= space);
    let width = |column: usize| if is_tight { demands[column].least } else { demands[column].scarce };
    let mut widths = vec![None; demands.len()];
    shown.iter().for_each(|column| widths[*column] = Some(width(*column).min(space.saturating_sub(EDGES))));
    share(demands, &mut widths, space.saturating_sub(total(&shown, width)));
    widths
}

/// Leaves out columns that are needed as much or less, the least needed first, until the others fit.
fn leave_out(shown: &mut Vec<usize>, demands: &[Demand], most: Need, fits: impl Fn(&[usize]) -> bool) {
    while !fits(shown) {
        let least = shown.iter().map(|column| demands[*column].need).filter(|need| *need <= most).min();
        let Some(place) = shown.iter().rposition(|column| Some(demands[*column].need) == least) else { return };
        shown.remove(place);
    }
}

/// Puts back what has room now that others went, the most needed first.
fn put_back(shown: &mut Vec<usize>, demands: &[Demand], fits: impl Fn(&[usize]) -> bool) {
    let mut others: Vec<usize> = (0..demands.len()).filter(|column| !shown.contains(column)).collect();
    others.sort_by_key(|column| Reverse(demands[*column].need));
    for column in others {
        let mut with: Vec<usize> = shown.iter().copied().chain([column]).collect();
        with.sort_unstable();
        if fits(&with) {
            *shown = with;
        }
    }
}

/// The width of a table of these columns.
fn total(shown: &[usize], width: impl Fn(usize) -> usize) -> usize {
    let content: usize = shown.iter().map(|column| width(*column)).sum();
    content + (GAP * shown.len() + EDGES).saturating_sub(GAP)
}

/// Gives what room is left to columns that can use it: titles are whole if all can be, words have each as much.
fn share(demands: &[Demand], widths: &mut [Option<usize>], mut spare: usize) {
    let lack = |demand: &Demand, width: Option<usize>| width.map_or(0, |width| demand.most.saturating_sub(width));
    let is_title = |(demand, _): &(&Demand, &mut Option<usize>)| !demand.wraps;
    let titles = demands.iter().zip(widths.iter_mut()).filter(is_title);
    let lacking: usize = titles.map(|(demand, width)| lack(demand, *width)).sum();
    if lacking <= spare {
        spare -= lacking;
        let titles = demands.iter().zip(widths.iter_mut()).filter(is_title);
        titles.for_each(|(demand, width)| *width = width.map(|width| width.max(demand.most)));
    }
    loop {
        let before = spare;
        for (demand, width) in demands.iter().zip(widths.iter_mut()).filter(|(demand, _)| demand.wraps) {
            if let Some(width) = width.as_mut().filter(|width| **width < demand.most && spare > 0) {
                *width += 1;
                spare -= 1;
            }
        }
        if spare == before {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(most: usize, need: Need) -> Demand {
        Demand { most, scarce: most.min(22), least: most.min(12), wraps: true, need }
    }

    fn numbers(most: usize, need: Need) -> Demand {
        Demand { most, scarce: most, least: most, wraps: false, need }
    }

    #[test]
    fn columns_have_room_by_how_needed_they_are() {
        let of = |demands: &[Demand], cases: &[(usize, &[usize])]| {
            for (space, widths) in cases {
                let shown = fitted(demands, *space).into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
                assert_eq!(shown, *widths, "{demands:?} in {space}");
            }
        };
        of(&[], &[(80, &[])]);
        // Words wrap before anything is left out.
        of(
            &[words(10, Need::Key), numbers(8, Need::Spare), words(200, Need::Central)],
            &[(300, &[10, 8, 200]), (80, &[10, 8, 54])],
        );
        of(&[words(60, Need::Key), words(200, Need::Central), numbers(4, Need::Central)], &[(80, &[34, 34, 4])]);
        // The least needed go first, and of equals the last.
        let needs = [Need::Key, Need::Useful, Need::Spare, Need::Useful].map(|need| numbers(9, need));
        let all = [&needs[..], &[words(9, Need::Central)]].concat();
        of(&all, &[(59, &[9, 9, 9, 9, 9]), (58, &[9, 9, 0, 9, 9]), (46, &[9, 9, 0, 0, 9]), (34, &[9, 0, 0, 0, 9])]);
        of(&all, &[(22, &[9, 0, 0, 0, 0])]);
        // Words get narrow before what a table is about is left out.
        of(
            &[words(30, Need::Key), numbers(9, Need::Useful), numbers(9, Need::Central), words(30, Need::Key)],
            &[(74, &[23, 9, 9, 22]), (62, &[23, 0, 9, 22]), (50, &[17, 0, 9, 16]), (40, &[18, 0, 0, 17])],
        );
        // Titles are broken all or none before anything is left out.
        let titled = Demand { scarce: 6, least: 6, ..numbers(12, Need::Central) };
        of(&[titled, titled, words(100, Need::Key)], &[(54, &[12, 12, 22]), (53, &[6, 6, 33])]);
        // What tells rows apart is left out last; a number may be wider than the page.
        of(&[words(30, Need::Key), words(30, Need::Key), numbers(9, Need::Key)], &[(50, &[17, 16, 9]), (30, &[13, 12, 0])]);
        of(&[numbers(90, Need::Key)], &[(30, &[28])]);
    }
}
