//! A curve cut into stretches: the best way, and all others that are about as good.

use crate::model::NoFigure;
use std::collections::BTreeMap;

use super::curve::{Sample, bend};
use super::piece::{Line, Piece, Stretches};
use super::{ALONE, CLEARLY, Estimate, INTERVAL, LEAST_RISE, MOST_LEVELS, NUMBERS};
use crate::experiments::common::sweep::{count, price};

/// What is left unexplained at best, by the index of the first sample that is left over (or not yet taken).
type Least = BTreeMap<usize, f64>;

/// The ways to cut a curve. A break is the index of the first sample behind it; that one sample may belong to neither side, since a
/// cache doesn't begin to lose lines by the law by which it goes on.
pub(super) struct Cuts<'s> {
    samples: &'s [Sample],
    stretches: Stretches<'s>,
    /// Where the curve bends upwards.
    breaks: Vec<usize>,
    /// By the first sample and the one behind the last.
    pieces: BTreeMap<(usize, usize), Piece>,
    /// Of the samples before a break, or behind it, by the number of pieces.
    before: Vec<Least>,
    behind: Vec<Least>,
}

impl<'s> Cuts<'s> {
    pub(super) fn of(samples: &'s [Sample]) -> Self {
        let n = samples.len();
        let bends: Vec<bool> = (0..n).map(|at| bend(samples, at) >= CLEARLY).collect();
        // The bend is at the last sample before the break; noise may show it one sample off.
        let is_near = |end: &usize| bends[end - 2..=*end].contains(&true);
        let breaks: Vec<usize> = (Piece::LEAST..=n - Piece::LEAST).filter(is_near).collect();
        let stretches = Stretches::of(samples);
        let mut pieces = BTreeMap::new();
        for first in [0].into_iter().chain(breaks.iter().flat_map(|at| [*at, at + 1])) {
            for end in breaks.iter().copied().chain([n]).filter(|end| *end >= first + Piece::LEAST) {
                pieces.entry((first, end)).or_insert_with(|| stretches.piece(first, end));
            }
        }
        let mut cuts =
            Self { samples, stretches, breaks, pieces, before: vec![[(0, 0.0)].into()], behind: vec![[(n, 0.0)].into()] };
        for pieces in 0..=MOST_LEVELS {
            cuts.before.push(cuts.with_one_more(&cuts.before[pieces], |from, to| (from, to)));
            cuts.behind.push(cuts.with_one_more(&cuts.behind[pieces], |from, to| (to, from)));
        }
        cuts
    }

    /// With one piece more; `sides` tells of a piece where the others end and where it does.
    fn with_one_more(&self, others: &Least, sides: fn(usize, usize) -> (usize, usize)) -> Least {
        let mut least = Least::new();
        for (from, to, _, cost) in self.steps() {
            let (other, own) = sides(from, to);
            if let Some(others) = others.get(&other) {
                let slot = least.entry(own).or_insert(f64::INFINITY);
                *slot = slot.min(others + cost);
            }
        }
        least
    }

    /// All pieces: the break before, the one behind, the piece, and what it leaves unexplained, a sample left out included.
    fn steps(&self) -> impl Iterator<Item = (usize, usize, (usize, usize), f64)> {
        self.pieces.iter().flat_map(|(&(first, end), piece)| {
            let unexplained = piece.best().unexplained;
            let whole = (first == 0 || self.breaks.contains(&first)).then_some((first, end, (first, end), unexplained));
            let from = first.checked_sub(1).filter(|from| self.breaks.contains(from));
            let cost = unexplained + price(ALONE, self.samples.len());
            whole.into_iter().chain(from.map(|from| (from, end, (first, end), cost)))
        })
    }

    pub(super) fn best(&self) -> Cut<'_> {
        let n = self.samples.len();
        let cost = |pieces: &usize| {
            self.before[*pieces].get(&n).map_or(f64::INFINITY, |cost| cost + count(*pieces) * price(NUMBERS, n))
        };
        let pieces = (1..self.before.len()).min_by(|a, b| cost(a).total_cmp(&cost(b))).unwrap_or(1);
        let mut cut = Cut { cuts: self, pieces: Vec::new(), unexplained: self.before[pieces][&n] };
        let mut at = 0;
        for left in (0..pieces).rev() {
            let steps = self.steps().filter(|(from, ..)| *from == at);
            let whole = steps.filter_map(|(_, to, piece, cost)| Some((cost + self.behind[left].get(&to)?, to, piece)));
            let Some((_, to, piece)) = whole.min_by(|a, b| a.0.total_cmp(&b.0)) else { break };
            cut.pieces.push(piece);
            at = to;
        }
        cut
    }
}

/// A way to cut the curve.
pub(super) struct Cut<'c> {
    cuts: &'c Cuts<'c>,
    /// By the first sample and the one behind the last.
    pieces: Vec<(usize, usize)>,
    /// With what samples cost that belong to no piece.
    unexplained: f64,
}

impl Cut<'_> {
    fn piece(&self, index: usize) -> &Piece {
        &self.cuts.pieces[&self.pieces[index]]
    }

    fn sample(&self, index: usize) -> &Sample {
        &self.cuts.samples[index]
    }

    /// The pieces that are levels behind others: where the curve rises to something level, not just more steeply. The first piece
    /// has to be level itself: else it shows no cache that ends.
    pub(super) fn levels(&self) -> Vec<usize> {
        let is_level =
            |index: &usize| self.rise(*index) >= LEAST_RISE && self.levels_off(*index) && !self.rises_steadily(*index);
        if self.piece(0).levels_off() { (1..self.pieces.len()).filter(is_level).collect() } else { Vec::new() }
    }

    /// Whether a piece levels off, alone or together with the last sample before it, from which it may rise steeply to something
    /// that rises slowly.
    fn levels_off(&self, index: usize) -> bool {
        let last = self.pieces[index - 1].1 - 1;
        self.piece(index).levels_off() || self.cuts.stretches.piece(last, self.pieces[index].1).levels_off()
    }

    /// Whether the last two of the pieces up to this one are explained about as well by the first alone and, from some sample on, a
    /// steady rise.
    fn rises_steadily(&self, index: usize) -> bool {
        let ((first, last), (begin, end)) = (self.pieces[index - 1], self.pieces[index]);
        let skipped = count(begin - last) * price(ALONE, self.cuts.samples.len());
        let own = self.piece(index - 1).best().unexplained + self.piece(index).best().unexplained + skipped;
        let rise = |at: usize| {
            let before = self.cuts.stretches.piece(first, at);
            before.best().unexplained + unexplained_by_a_rise(before.best(), &self.cuts.samples[at - 1..end])
        };
        (first + Piece::LEAST..end).map(rise).any(|unexplained| unexplained - own < CLEARLY.powi(2))
    }

    /// How much more a level costs than the end of the piece before.
    fn rise(&self, index: usize) -> f64 {
        self.piece(index).levelled().level / self.piece(index - 1).best().at(self.sample(self.pieces[index - 1].1 - 1).size)
    }

    /// The most that another cut may leave unexplained and still be about as good: what a number changes that moves by so many
    /// standard deviations, in units of what this cut leaves unexplained.
    fn most(&self) -> f64 {
        // A piece has three numbers and a beginning.
        let freedom = count(self.cuts.samples.len()) - 4.0 * count(self.pieces.len());
        self.unexplained + INTERVAL.powi(2) * (self.unexplained / freedom.max(1.0)).max(1.0)
    }

    /// The size at which a piece's level is left for the next piece's: between the last sample before the break and the first
    /// behind it that clearly costs more, of each cut that is about as good.
    pub(super) fn capacity(&self, before: usize) -> Estimate {
        let line = self.piece(before).best();
        let is_above = |index: &usize| {
            let sample = self.sample(*index);
            sample.cost > line.at(sample.size) + CLEARLY * sample.deviation
        };
        let above = |at: usize| (at..self.cuts.samples.len() - 1).find(is_above).unwrap_or(self.cuts.samples.len() - 1);
        let own = self.pieces[before].1;
        let others = self.pieces.len() - before - 1;
        let is_as_good = |at: &&usize| {
            let sides = (self.cuts.before[before + 1].get(at), self.cuts.behind[others].get(at));
            matches!(sides, (Some(before), Some(behind)) if before + behind <= self.most())
        };
        let mut as_good: Vec<usize> = self.cuts.breaks.iter().filter(is_as_good).copied().chain([own]).collect();
        as_good.sort_unstable();
        let (first, last) = (as_good[0], as_good[as_good.len() - 1]);
        let behind = above(own);
        let meeting = meeting(line, self.piece(before + 1).best(), self.sample(behind - 1).size, self.sample(behind).size);
        Estimate { value: meeting.exp2(), low: self.sample(first - 1).size.exp2(), high: self.sample(above(last)).size.exp2() }
    }

    /// What a piece's level costs: the levels of all pieces of all cuts that are about as good.
    pub(super) fn cost(&self, index: usize) -> Result<Estimate, NoFigure> {
        let others = self.pieces.len() - index - 1;
        let ranges = self.cuts.steps().filter_map(|(from, to, piece, cost)| {
            let elsewhere = self.cuts.before[index].get(&from)? + self.cuts.behind[others].get(&to)?;
            let piece = &self.cuts.pieces[&piece];
            piece.levels(self.most() - elsewhere - (cost - piece.best().unexplained))
        });
        let value = self.piece(index).levelled().level;
        match ranges.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) {
            Some((low, high)) if high.is_finite() => Ok(Estimate { value, low: low.max(0.0), high }),
            _ => Err("not told: the curve rises up to where the level ends, however far that would lead".to_owned().into()),
        }
    }

    /// How far the curve is from what explains it, as a share: root mean square.
    pub(super) fn error(&self) -> f64 {
        let squares = |index: usize| {
            let ((first, end), line) = (self.pieces[index], self.piece(index).best());
            let error = |sample: &Sample| (sample.cost / line.at(sample.size) - 1.0).powi(2);
            self.cuts.samples[first..end].iter().map(error).sum::<f64>()
        };
        let samples: usize = self.pieces.iter().map(|(first, end)| end - first).sum();
        ((0..self.pieces.len()).map(squares).sum::<f64>() / count(samples)).sqrt()
    }
}

/// What a steady rise on top of a line, from the first of some samples on, leaves unexplained of the others.
fn unexplained_by_a_rise(line: &Line, samples: &[Sample]) -> f64 {
    let others = || {
        let rest = samples[1..].iter();
        rest.map(|sample| (sample.size - samples[0].size, sample.cost - line.at(sample.size), sample.deviation.powi(-2)))
    };
    let products: f64 = others().map(|(octaves, above, weight)| weight * octaves * above).sum();
    let squares: f64 = others().map(|(octaves, _, weight)| weight * octaves * octaves).sum();
    others().map(|(octaves, above, weight)| weight * (above - products / squares * octaves).powi(2)).sum()
}

/// Where one line rises above another, between two sizes: in the middle, where it doesn't or does so all over.
fn meeting(before: &Line, behind: &Line, low: f64, high: f64) -> f64 {
    let is_above = |size: f64| behind.at(size) >= before.at(size);
    let (mut low, mut high) = (low, high);
    if is_above(low) == is_above(high) {
        return (low + high) / 2.0;
    }
    while high - low > 1e-6 {
        let middle = (low + high) / 2.0;
        if is_above(middle) { high = middle } else { low = middle }
    }
    (low + high) / 2.0
}
