//! What the driver's compiler made of the cases on both sides.

use super::Compared;
use super::effect::Matched;
use super::observation::Code;
use super::verdict::Verdict;

/// The figures of a compiler: what they are called, and their place among [`Code::figures`].
const FIGURES: [&str; 3] = ["registers", "spill_bytes", "code_bytes"];

/// How one of the compiler's figures changed, over all cases that have it on both sides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeChange {
    /// The column: registers per invocation, bytes spilled, bytes of code.
    pub column: &'static str,
    pub helped: usize,
    pub hurt: usize,
    pub unchanged: usize,
    pub totals: [u64; 2],
}

/// Sums up what the compiler made, and says of a case that changed though its code didn't.
pub fn note_code(compared: &mut [Compared], cases: &[(usize, &Matched)]) -> Vec<CodeChange> {
    let codes: Vec<(usize, [Code; 2])> = cases.iter().filter_map(|(place, case)| Some((*place, both(case)?))).collect();
    for (place, [base, new]) in &codes {
        let case = &mut compared[*place];
        if matches!(case.verdict, Verdict::Faster | Verdict::Slower) {
            case.because(if base == new { "the driver's compiler tells the same of its code" } else { "its code changed" });
        }
    }
    let change = |(place, column): (usize, &&'static str)| {
        let values: Vec<[u64; 2]> =
            codes.iter().filter_map(|(_, [base, new])| Some([base.figures[place]?, new.figures[place]?])).collect();
        let count = |is_so: fn(&u64, &u64) -> bool| values.iter().filter(|[base, new]| is_so(new, base)).count();
        (!values.is_empty()).then(|| CodeChange {
            column,
            helped: count(|new, base| new < base),
            hurt: count(|new, base| new > base),
            unchanged: count(|new, base| new == base),
            totals: [0, 1].map(|side| values.iter().map(|value| value[side]).sum()),
        })
    };
    FIGURES.iter().enumerate().filter_map(change).collect()
}

/// What the compiler told on both sides: of several runs, the first.
fn both(case: &Matched) -> Option<[Code; 2]> {
    let [base, new] = [0, 1].map(|side: usize| case.rows(side).find_map(|row| row.code()));
    Some([base?, new?])
}
