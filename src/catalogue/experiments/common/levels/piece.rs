//! A stretch of a curve, and what explains it.

use super::curve::Sample;
use super::{CLEARLY, LEAST_RISE};

/// Exponents of the law by which a cache's share of hits falls beyond its capacity, eight to an octave: 1 where what it holds is any
/// part of the set, about 2 where a walk in a cycle meets random replacement, and more the nearer the replacement is to taking the
/// oldest line. With less than a half, the next level would be near only after many octaves; with more than 16, all of the step lies
/// between two samples. Eight to an octave: with fewer, what lies between two exponents is left unexplained, and looks like a step.
const EXPONENTS: usize = 41;

fn exponents() -> [f64; EXPONENTS] {
    let mut exponent = 0.5 / 2.0_f64.powf(0.125);
    [(); EXPONENTS].map(|()| {
        exponent *= 2.0_f64.powf(0.125);
        exponent
    })
}

/// How a cost grows with the size.
#[derive(Clone, Copy, Debug)]
enum Growth {
    /// By as much in every octave.
    Steadily,
    /// Nearer and nearer to a level, as fewer and fewer loads hit the one before; how fast.
    ToALevel(f64),
}

impl Growth {
    /// By octaves behind the first sample.
    fn at(self, octaves: f64) -> f64 {
        match self {
            Self::Steadily => octaves,
            Self::ToALevel(exponent) => -(-exponent * octaves).exp2(),
        }
    }
}

/// The curve of a growth that is nearest to some samples, among those that don't fall.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    growth: Growth,
    first: f64,
    rise: f64,
    /// Where it leads to, if it has such a growth.
    pub(super) level: f64,
    pub(super) level_variance: f64,
    /// The sum of the squares of the errors, in standard deviations.
    pub(super) unexplained: f64,
}

impl Line {
    /// By least squares, from sums over the samples.
    fn of(growth: Growth, first: f64, [one, u, uu, y, uy, yy]: [f64; 6]) -> Self {
        let determinant = one * uu - u * u;
        let rise = (one * uy - u * y) / determinant;
        // Where all are alike, there is nothing to tell a rise from.
        let is_flat = determinant <= 1e-12 * one * uu || rise <= 0.0;
        let rise = if is_flat { 0.0 } else { rise };
        let level = (y - rise * u) / one;
        Self {
            growth,
            first,
            rise,
            level,
            level_variance: if is_flat { 1.0 / one } else { uu / determinant },
            unexplained: (yy - level * y - rise * uy).max(0.0),
        }
    }

    /// The cost of a size, by its binary logarithm.
    pub(super) fn at(&self, size: f64) -> f64 {
        self.level + self.rise * self.growth.at(size - self.first)
    }
}

/// A stretch of the curve.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// That it rises steadily, and from what to what.
    steady: Line,
    from: f64,
    to: f64,
    /// That it leads to a level, by exponent.
    levelling: [Line; EXPONENTS],
    levelled: Line,
}

impl Piece {
    /// The fewest samples: leading to a level takes three numbers, and a fourth sample is the first that can contradict them.
    pub(super) const LEAST: usize = 4;

    /// What explains it best, of all that leads to a level.
    pub(super) fn levelled(&self) -> &Line {
        &self.levelled
    }

    pub(super) fn best(&self) -> &Line {
        if self.levelled.unexplained <= self.steady.unexplained { &self.levelled } else { &self.steady }
    }

    /// Whether it leads to a level: that explains it clearly better than a steady rise, or it rises by less than levels differ.
    pub(super) fn levels_off(&self) -> bool {
        let better = self.steady.unexplained - self.levelled.unexplained;
        better >= CLEARLY.powi(2) || (better > -CLEARLY.powi(2) && self.is_level())
    }

    /// Whether it rises by less than levels differ.
    fn is_level(&self) -> bool {
        self.to < LEAST_RISE * self.from
    }

    /// The range of levels that leave no more than so much unexplained: nothing where none does, and open above where it may as well
    /// rise steadily, by as much as levels differ.
    pub(super) fn levels(&self, most: f64) -> Option<(f64, f64)> {
        let lines = self.levelling.iter().filter(|line| line.unexplained <= most);
        let reach = |line: &Line| ((most - line.unexplained) * line.level_variance).sqrt();
        let levels = lines.map(|line| (line.level - reach(line), line.level + reach(line)));
        let rise = (self.from, if self.is_level() { self.to } else { f64::INFINITY });
        let rise = (self.steady.unexplained <= most).then_some(rise);
        levels.chain(rise).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

/// The samples, ready to fit any stretch of them.
pub(super) struct Stretches<'s> {
    samples: &'s [Sample],
    growths: [Growth; EXPONENTS],
    steadily: Vec<[f64; 6]>,
    to_a_level: Vec<Vec<[f64; 6]>>,
}

impl<'s> Stretches<'s> {
    pub(super) fn of(samples: &'s [Sample]) -> Self {
        let growths = exponents().map(Growth::ToALevel);
        let sums = |growth: &Growth| sums(samples, *growth);
        Self { samples, growths, steadily: sums(&Growth::Steadily), to_a_level: growths.iter().map(sums).collect() }
    }

    /// From a sample to the one before another.
    pub(super) fn piece(&self, first: usize, end: usize) -> Piece {
        let from = self.samples[first].size;
        let within = |sums: &[[f64; 6]]| std::array::from_fn(|i| sums[first][i] - sums[end][i]);
        let levelling = std::array::from_fn(|i| {
            let [one, u, uu, y, uy, yy] = within(&self.to_a_level[i]);
            // As if it had been counted in octaves behind the first of these samples.
            let scale = -1.0 / self.growths[i].at(from - self.samples[0].size);
            Line::of(self.growths[i], from, [one, scale * u, scale * scale * uu, y, scale * uy, yy])
        });
        let better = |a: Line, b: Line| if b.unexplained < a.unexplained { b } else { a };
        let levelled = levelling.into_iter().fold(levelling[0], better);
        let steady = Line::of(Growth::Steadily, self.samples[0].size, within(&self.steadily));
        let (from, to) = (steady.at(from), steady.at(self.samples[end - 1].size));
        Piece { steady, from, to, levelling, levelled }
    }
}

/// For each sample, and the end, the weighted sums over it and all behind it that a fit needs: of 1, u, u x u, the cost, u x cost, and
/// cost x cost. From the end, since u is next to nothing there.
fn sums(samples: &[Sample], growth: Growth) -> Vec<[f64; 6]> {
    let mut sums = vec![[0.0; 6]];
    for sample in samples.iter().rev() {
        let (weight, u, y) = (sample.deviation.powi(-2), growth.at(sample.size - samples[0].size), sample.cost);
        let terms = [1.0, u, u * u, y, u * y, y * y];
        let behind = sums[sums.len() - 1];
        sums.push(std::array::from_fn(|i| behind[i] + weight * terms[i]));
    }
    sums.reverse();
    sums
}
