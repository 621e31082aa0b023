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
    fn what_has_room_has_all_that_it_asks_for() {
        let demands = [words(10, Need::Key), numbers(8, Need::Central), words(200, Need::Central)];
        assert_eq!(fitted(&demands, 300), [Some(10), Some(8), Some(200)]);
        assert_eq!(fitted(&[], 80), []);
    }

    #[test]
    fn words_wrap_before_anything_is_left_out() {
        let demands = [words(10, Need::Key), numbers(8, Need::Spare), words(200, Need::Central)];
        assert_eq!(fitted(&demands, 80), [Some(10), Some(8), Some(54)]);
        let two = [words(60, Need::Key), words(200, Need::Central), numbers(4, Need::Central)];
        assert_eq!(fitted(&two, 80), [Some(34), Some(34), Some(4)]);
    }

    #[test]
    fn the_least_needed_go_first_and_of_equals_the_last() {
        let demands = [
            numbers(9, Need::Key),
            numbers(9, Need::Useful),
            numbers(9, Need::Spare),
            numbers(9, Need::Useful),
            words(9, Need::Central),
        ];
        let shown = |space| fitted(&demands, space).iter().map(Option::is_some).collect::<Vec<_>>();
        assert_eq!(shown(59), [true, true, true, true, true]);
        assert_eq!(shown(58), [true, true, false, true, true]);
        assert_eq!(shown(46), [true, true, false, false, true]);
        assert_eq!(shown(34), [true, false, false, false, true]);
        assert_eq!(shown(22), [true, false, false, false, false]);
    }

    #[test]
    fn words_get_narrow_before_what_a_table_is_about_is_left_out() {
        let demands = [words(30, Need::Key), numbers(9, Need::Useful), numbers(9, Need::Central), words(30, Need::Key)];
        assert_eq!(fitted(&demands, 74), [Some(23), Some(9), Some(9), Some(22)]);
        assert_eq!(fitted(&demands, 62), [Some(23), None, Some(9), Some(22)]);
        assert_eq!(fitted(&demands, 50), [Some(17), None, Some(9), Some(16)]);
        assert_eq!(fitted(&demands, 40), [Some(18), None, None, Some(17)]);
    }

    #[test]
    fn titles_are_broken_all_or_none_before_anything_is_left_out() {
        let titled = Demand { scarce: 6, least: 6, ..numbers(12, Need::Central) };
        let demands = [titled, titled, words(100, Need::Key)];
        assert_eq!(fitted(&demands, 54), [Some(12), Some(12), Some(22)]);
        assert_eq!(fitted(&demands, 53), [Some(6), Some(6), Some(33)]);
    }

    #[test]
    fn what_tells_rows_apart_is_left_out_last() {
        let demands = [words(30, Need::Key), words(30, Need::Key), numbers(9, Need::Key)];
        assert_eq!(fitted(&demands, 50), [Some(17), Some(16), Some(9)]);
        assert_eq!(fitted(&demands, 30), [Some(13), Some(12), None]);
        assert_eq!(fitted(&[numbers(90, Need::Key)], 30), [Some(28)], "a number that is wider than the page");
    }
}
