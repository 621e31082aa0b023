//! Products of cooperative matrices from registers: what `peak/coopmat` and `peak/coopmat_workgroup` measure.

use half::f16;

use super::components::{Kind, Types, kind};
use super::prelude::*;
use crate::model::{Component, DeviceInfo, MatrixProduct, MatrixScope, SpirvTarget};
use crate::validate::{Mismatch, Near, Output, Position, Verdict};

const DATA: &[&str] = &[WHOLE, MANTISSAS];
pub const WHOLE: &str = "whole";
/// Floats whose mantissas take all values.
const MANTISSAS: &str = "mantissas";

pub const TYPES: &[&str] = &["f16_f32", "f16_f16", "bf16_f32", "i8_i32", "u8_u32"];

/// Iterations of a round in the shader.
const ITERATIONS: u64 = 8;
const SETS: u64 = 64;

#[derive(Clone, Copy)]
struct Sizes {
    kind: Kind,
    m: u64,
    n: u64,
    k: u64,
    tiles: [u64; 2],
    rounds: u64,
    units: u64,
}

impl Sizes {
    fn new(config: &Config, units: u64) -> Self {
        let [m, n, k] = shape(config);
        let tiles = ["tiles_m", "tiles_n"].map(|axis| config.integer(axis));
        Self { kind: kind(config.variant), m, n, k, tiles, rounds: config.integer("iterations"), units }
    }

    fn sums(&self) -> u64 {
        product([self.units, self.tiles[0], self.tiles[1], self.m, self.n])
    }

    fn operations(&self) -> u64 {
        product([self.rounds * (2 * ITERATIONS + 1), 2 * self.k, self.sums()])
    }

    /// The largest absolute value that a sum can take on the way.
    fn largest(&self) -> u64 {
        let square = u64::from(self.kind.magnitude).pow(2) * self.k;
        let products = if self.kind.cancels() { self.rounds + 1 } else { self.rounds * (2 * ITERATIONS + 1) };
        product([products, square])
    }

    /// What each word of the results must hold, of whole numbers.
    fn words(self, left: Sequence, right: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
        let value = |of: Sequence| move |index| self.kind.value(of, index);
        let (left, right) = (Matrices::left(&self, value(left)), Matrices::right(&self, value(right)));
        let bits = move |index: u64| self.kind.bits(self.sum(index, &left, &right));
        let is_half = self.kind.sum_bytes() == 2;
        move |word| if is_half { bits(2 * word) | (bits(2 * word + 1) << 16) } else { bits(word) }
    }

    /// Where a sum's factors are, by its index in the results: the rows of the left ones that follow each other in a round, and the
    /// column of the right one.
    fn factors(&self, index: u64) -> ([u64; 3], u64) {
        let [tiles_m, tiles_n] = self.tiles;
        let (matrix, element) = (index / (self.m * self.n), index % (self.m * self.n));
        let (unit, i, j) = (matrix / (tiles_m * tiles_n), matrix / tiles_n % tiles_m, matrix % tiles_n);
        let (row, column) = (element / self.n, element % self.n);
        let first = unit * tiles_m + i;
        let rows = [first, first + SETS / 2, unit + SETS / 4].map(|matrix| (matrix % SETS) * self.m + row);
        (rows, ((unit * tiles_n + j) % SETS) * self.n + column)
    }

    /// The sum at an index of the results, from the matrices in memory.
    #[expect(clippy::cast_possible_wrap, reason = "rounds are fewer than 2^32")]
    fn sum(&self, index: u64, left: &Matrices<i32>, right: &Matrices<i32>) -> i64 {
        let (rows, column) = self.factors(index);
        let [first, second, third] = rows.map(|row| left.row(row));
        let iterations = if self.kind.cancels() { 0 } else { ITERATIONS as i64 };
        let products = first.iter().zip(second).zip(third).zip(right.row(column));
        let once: i64 = products
            .map(|(((a, b), c), d)| (iterations * (i64::from(*a) + i64::from(*b)) + i64::from(*c)) * i64::from(*d))
            .sum();
        once.wrapping_mul(self.rounds as i64)
    }

    /// The same of floats of any mantissas, and how far a sum of `f32` may be off. Vulkan leaves the precision of products of matrices
    /// to devices. Here each of the `k` products and the sum that they are added to may be off by a unit of `f32` in the last place of
    /// the largest sum on the way, and so may what they come to: as much as where all are cut off at the digits of the largest one.
    ///
    /// Fasi, Higham, Mikaitis, Pranesh: Numerical behavior of NVIDIA tensor cores, 2021, who found those to be nearer.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn near(&self, index: u64, left: &Matrices<f64>, right: &Matrices<f64>) -> Near {
        let (rows, column) = self.factors(index);
        let factor = right.row(column);
        let products = |row: u64| left.row(row).iter().zip(factor).map(|(a, b)| a * b);
        let [first, second, third] = rows.map(|row| products(row).sum::<f64>());
        let terms: f64 = rows.iter().flat_map(|row| products(*row)).map(f64::abs).sum();
        let rounds = self.rounds as f64;
        let pairs = if self.kind.cancels() { 0.0 } else { ITERATIONS as f64 * (first + second) };
        let round = pairs + third;
        // On the way through a round; and of all rounds, each of which begins at a sum that has grown.
        let largest = pairs.abs() + terms;
        let sums = rounds * (rounds - 1.0) / 2.0 * round.abs() + rounds * largest;
        let steps = (2 * ITERATIONS + 1) as f64;
        // What errors add to errors is far less than the hundredth.
        let unit = 1.01 * f64::from(f32::EPSILON);
        Near { value: rounds * round, error: unit * (self.k + 2) as f64 * steps * sums }
    }
}

/// Matrices of one side: rows of the left ones, columns of the right ones, each of them together.
struct Matrices<T> {
    values: Vec<T>,
    k: usize,
}

impl<T> Matrices<T> {
    /// The left ones lie in memory row by row.
    fn left(sizes: &Sizes, value: impl Fn(u64) -> T) -> Self {
        let values = (0..SETS * sizes.m * sizes.k).map(value);
        Self { values: values.collect(), k: usize::try_from(sizes.k).unwrap_or(1) }
    }

    /// So do the right ones, whose columns are wanted.
    fn right(sizes: &Sizes, value: impl Fn(u64) -> T) -> Self {
        let Sizes { n, k, .. } = *sizes;
        let place = |index: u64| (index / (n * k) * k + index % k) * n + index / k % n;
        let values = (0..SETS * n * k).map(|index| value(place(index)));
        Self { values: values.collect(), k: usize::try_from(k).unwrap_or(1) }
    }

    fn row(&self, index: u64) -> &[T] {
        let start = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(self.k);
        self.values.get(start..start.saturating_add(self.k)).unwrap_or_default()
    }
}

// ---- sums of floats with full mantissas -----------------------------------------------------------------------------------

/// What is true of their sums, as rows say it.
const INVARIANT: &str = "sums of whole numbers by the same module are exact; those of full mantissas are as near as f32 adds up, or \
                         bounded where they are f16, and the same bit by bit wherever the same matrices are multiplied";

/// What the sums of the timed pass must hold.
#[derive(Clone, Copy)]
struct FullSums {
    sizes: Sizes,
    left: Sequence,
    right: Sequence,
}

impl FullSums {
    /// The nearest that the device can come: for comparing where sums are of `f32`.
    fn expected(self) -> Expected {
        self.expected_of(self.sizes.units)
    }

    fn expected_of(self, units: u64) -> Expected {
        let Self { sizes, left, right } = self;
        let words = words_of(Sizes { units, ..sizes }.sums(), sizes.kind);
        let near = move || {
            let value = |of: Sequence| move |index| sizes.kind.real(of, index);
            let (left, right) = (Matrices::left(&sizes, value(left)), Matrices::right(&sizes, value(right)));
            move |index| sizes.near(index, &left, &right)
        };
        if sizes.kind.sum == Component::F32 {
            return Expected::near_from(words, near);
        }
        Expected::words_from(words, move || {
            let near = near();
            let half = move |index| u32::from(f16::from_f64(near(index).value).to_bits());
            move |word| half(2 * word) | (half(2 * word + 1) << 16)
        })
    }

    fn check(self, sums: Output) -> Verdict {
        let Self { sizes, .. } = self;
        let words = sums.words();
        let all = words_of(sizes.sums(), sizes.kind);
        if words.len() as u64 != all {
            let told = |words: u64| format!("{words} words long");
            return Err(Mismatch::single(sums.name, Position::Whole, told(words.len() as u64), told(all)));
        }
        // After so many units, the same matrices come again.
        let units = SETS.min(sizes.units);
        let first = usize::try_from(words_of(Sizes { units, ..sizes }.sums(), sizes.kind)).unwrap_or(words.len());
        if sizes.kind.sum == Component::F32 {
            let bytes = &sums.bytes[..4 * first];
            Output { bytes, ..sums }.compare(&self.expected_of(units))?;
        } else {
            self.check_halves(sums.name, &words[..first])?;
        }
        let Some(other) = (first..words.len()).find(|&word| words[word] != words[word % first]) else { return Ok(()) };
        let right = format!("{:#010x}, as word {} has it of the same matrices", words[other % first], other % first);
        Err(Mismatch::single(sums.name, Position::Element(other as u64), format!("{:#010x}", words[other]), right))
    }

    /// Sums of `f16` round so much on the way that no bound on their errors says more than that of the sums: no partial sum, and so
    /// no sum, is larger than that of all absolute values.
    #[expect(clippy::cast_precision_loss, reason = "counts are small")]
    fn check_halves(self, name: &str, words: &[u32]) -> Verdict {
        // Factors are below two. A hundredth is more than all that rounding adds.
        let largest = 1.01 * ((self.sizes.rounds + 1) * 4 * self.sizes.k) as f64;
        #[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
        let halves = words.iter().flat_map(|word| [*word as u16, (*word >> 16) as u16]).map(f16::from_bits);
        let Some((at, half)) = halves.enumerate().find(|(_, half)| half.is_nan() || half.to_f64().abs() > largest) else {
            return Ok(());
        };
        let right = format!("{largest} at most");
        Err(Mismatch::single(name, Position::Element(at as u64), half.to_string(), right))
    }
}

fn words_of(sums: u64, kind: Kind) -> u64 {
    product([sums, kind.sum_bytes()]) / 4
}

/// What the two experiments measure unless they are told otherwise.
pub struct Defaults<'a> {
    pub shapes: &'a [&'static str],
    /// Sums in a column, and in a row.
    pub tiles: [u64; 2],
    pub local_size: u64,
    pub groups: u64,
    pub rounds: u64,
}

/// The axes, `shapes` being the words that there are for shapes.
/// Floats are multiplied with full mantissas; with small whole numbers as well where everything is measured.
pub fn axes(variant: &str, setting: &Setting, shapes: &'static [&'static str], defaults: &Defaults<'_>) -> Vec<Axis> {
    const TILES: &[u64] = &[1, 2, 3, 4, 6, 8];
    let [groups, rounds] = [setting.by_class(4, defaults.groups), setting.by_class(1, defaults.rounds)];
    let [tiles_m, tiles_n] = defaults.tiles;
    let what = "rows and columns of a sum, and what a product runs over";
    let data = match setting.preset {
        _ if !kind(variant).is_float() => &[WHOLE][..],
        Preset::Thorough => DATA,
        Preset::Quick | Preset::Default => &[MANTISSAS],
    };
    vec![
        Axis::new("shape", what, AxisKind::Choices(shapes), defaults.shapes.iter().copied()),
        Axis::new("tiles_m", "sums beside each other in a column", AxisKind::Numbers(TILES), [tiles_m]),
        Axis::new("tiles_n", "sums beside each other in a row", AxisKind::Numbers(TILES), [tiles_n]),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [defaults.local_size]),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
        Axis::new("iterations", "times 17 products for each sum", AxisKind::AtLeast(1), [rounds]).of_work(),
        data_axis(data),
    ]
}

/// The axis `data`, which measures these unless told otherwise.
pub fn data_axis(data: &[&'static str]) -> Axis {
    let data = Axis::new("data", "what is multiplied", AxisKind::Choices(DATA), data.iter().copied());
    Axis { neutral: Some(WHOLE.into()), ..data.relative_to(WHOLE) }
}

/// The same of an algorithm: a GPU multiplies full mantissas, as applications do, a CPU small whole numbers, whose check is quicker.
pub fn data_axis_of(setting: &Setting) -> Axis {
    data_axis(match setting.preset {
        Preset::Thorough => DATA,
        Preset::Quick | Preset::Default if setting.device.is_cpu() => &[WHOLE],
        Preset::Quick | Preset::Default => &[MANTISSAS],
    })
}

/// Of the shapes that have a name those that the device has products of.
pub fn listed(shapes: &[&'static str], device: &DeviceInfo, is_wanted: impl Fn(&MatrixProduct) -> bool) -> Vec<&'static str> {
    let of = |product: &MatrixProduct| format!("{}x{}x{}", product.m, product.n, product.k);
    let has = |shape: &&&'static str| device.matrices.iter().any(|product| is_wanted(product) && of(product) == **shape);
    shapes.iter().filter(has).copied().collect()
}

fn require_types(kind: Kind, device: &DeviceInfo) -> Result<(), Skip> {
    let of_factors = match kind.types {
        Types::F16F16 | Types::F16F32 => Feature::Float16,
        Types::Bf16F32 => Feature::BFloat16CooperativeMatrix,
        Types::F32 | Types::I8I32 | Types::U8U32 => Feature::Int8,
    };
    let needed = [Feature::CooperativeMatrix, Feature::MemoryModel, of_factors];
    let lacks = needed.into_iter().find(|feature| !device.has(*feature));
    lacks.map_or(Ok(()), |feature| Err(Skip::new(format!("the case needs {}, which the device lacks", feature.vulkan_name()))))
}

/// A case and its twin: products of the variant's types, each subgroup's (or workgroup's) on its own.
/// Skipped: where the device has no such product, or the sums wouldn't be exact.
pub fn build(experiment: &str, config: &Config, scope: MatrixScope) -> Result<Built, Skip> {
    let device = config.device();
    let (local_size, groups) = (config.u32("local_size_x"), config.u32("groups"));
    let subgroup = device.subgroup.size.max(1);
    let units_per_group = if scope == MatrixScope::Workgroup { 1 } else { local_size.div_ceil(subgroup) };
    let sizes = Sizes::new(config, u64::from(groups) * u64::from(units_per_group));
    let kind = sizes.kind;
    require_product(kind, [sizes.m, sizes.n, sizes.k], scope, local_size, device)?;
    if scope == MatrixScope::Subgroup && local_size % subgroup != 0 {
        return Err(Skip::new(format!("the case needs whole subgroups of {subgroup}, local_size_x is {local_size}")));
    }
    let (largest, exact) = (sizes.largest(), kind.exact.unwrap_or(u64::MAX));
    if largest > exact {
        return Err(Skip::new(format!(
            "sums of {} are exact up to {exact}, the case needs {largest}: take fewer iterations",
            config.variant
        )));
    }
    let seeds = [config.seed(), !config.seed()];
    let whole = seeds.map(|seed| kind.contents(seed));
    let mut case = CaseBuilder::new(experiment, config);
    let push = [config.u32("iterations")];
    let kernel = kernel(config, &sizes, scope);
    let resources = |case: &mut CaseBuilder, names: [&'static str; 2], sums: Handle, contents: [Sequence; 2]| {
        let words = |side: u64| SETS * kind.factor_bytes() / 4 * side * sizes.k;
        let [left, right] = [0, 1].map(|i| case.input(names[i], words([sizes.m, sizes.n][i]), contents[i]));
        [sums, left, right]
    };
    let case = if config.choice("data") == WHOLE {
        let sums = case.output("sums", exact_sums(sizes, whole));
        let resources = resources(&mut case, ["left", "right"], sums, whole);
        case.run(kernel, &resources, [groups, 1, 1], &push);
        case
    } else {
        if !kind.is_float() {
            return Err(Skip::new("bytes take all their values as `whole` numbers: the case needs data=whole"));
        }
        let contents @ [left, right] = seeds.map(|seed| kind.full_contents(seed));
        let full = FullSums { sizes, left, right };
        let sums = case.output("sums", full.expected());
        let timed = resources(&mut case, ["left", "right"], sums, contents);
        case.run(kernel.clone(), &timed, [groups, 1, 1], &push);
        // So many subgroups multiply all matrices; the others' sums are compared with theirs.
        let few = groups.min(narrow(SETS).div_ceil(units_per_group));
        let few_sizes = Sizes { units: u64::from(few) * u64::from(units_per_group), ..sizes };
        let exact = case.output("whole sums", exact_sums(few_sizes, whole));
        let checked = resources(&mut case, ["whole left", "whole right"], exact, whole);
        case.reset(|case| case.run(kernel, &checked, [few, 1, 1], &push));
        case.holds(INVARIANT, move |made| {
            made.of(exact).compare(&exact_sums(few_sizes, whole))?;
            full.check(made.of(sums))
        })
    };
    let operations = Some(sizes.operations());
    let (work, headline) = if kind.is_float() {
        (Work { flops: operations, ..Work::default() }, Headline::FLOPS)
    } else {
        (Work { ops: operations, ..Work::default() }, Headline::OPS)
    };
    let bound = match kind.types {
        Types::F32 => None,
        Types::F16F16 | Types::F16F32 => Some(Bound::MatrixF16),
        Types::Bf16F32 => Some(Bound::MatrixBf16),
        Types::I8I32 | Types::U8U32 => Some(Bound::MatrixI8),
    };
    Ok(case.bound(bound).iterations(sizes.rounds * ITERATIONS).build(work, headline))
}

fn exact_sums(sizes: Sizes, [left, right]: [Sequence; 2]) -> Expected {
    Expected::words_from(words_of(sizes.sums(), sizes.kind), move || sizes.words(left, right))
}

fn kernel(config: &Config, sizes: &Sizes, scope: MatrixScope) -> Kernel {
    let (kind, device, local_size) = (sizes.kind, config.device(), config.u32("local_size_x"));
    let mut kernel = kind
        .defines(Kernel::new("peak/coopmat.comp", config.workgroup()))
        .constant("M", number(sizes.m))
        .constant("N", number(sizes.n))
        .constant("K", number(sizes.k))
        .constant("TILES_M", number(sizes.tiles[0]))
        .constant("TILES_N", number(sizes.tiles[1]))
        .define("C_BYTES", kind.sum_bytes());
    // How many subgroups there are follows from their size.
    kernel.required_subgroup_size = size_to_require(device, local_size.into());
    if kind.cancels() {
        kernel = kernel.define("CANCEL", 1);
    }
    if scope == MatrixScope::Workgroup {
        kernel = Kernel { target: SpirvTarget::Vulkan1_3, ..kernel.define("WORKGROUP", 1) };
    }
    kernel
}

/// Whether matrices of these types can be declared at all, and whether the device lists their product of this shape, or one whose
/// multiple it is.
pub fn require_product(
    kind: Kind,
    shape: [u64; 3],
    scope: MatrixScope,
    local_size: u32,
    device: &DeviceInfo,
) -> Result<(), Skip> {
    require_types(kind, device)?;
    let Kind { factor, sum, .. } = kind;
    let is_of_kind = |product: &&MatrixProduct| {
        product.scope == scope
            && !product.saturating
            && [product.a, product.b] == [factor; 2]
            && [product.c, product.result] == [sum; 2]
    };
    let fits = |product: &MatrixProduct| {
        let listed = [product.m, product.n, product.k].map(u64::from);
        match product.workgroup_invocations {
            None => listed == shape,
            Some(invocations) => {
                (invocations == 0 || invocations == local_size)
                    && shape.iter().zip(listed).all(|(asked, of)| of > 0 && asked % of == 0)
            }
        }
    };
    if device.matrices.iter().filter(is_of_kind).any(fits) {
        return Ok(());
    }
    let [m, n, k] = shape;
    let scope = if scope == MatrixScope::Workgroup { "a workgroup" } else { "a subgroup" };
    Err(Skip::new(format!(
        "the case needs a product {m}x{n}x{k} {factor} {factor} {sum} {sum} of {scope}, which the device doesn't list"
    )))
}

/// Rows and columns of a sum, and what a product runs over, as the axis `shape` tells them.
pub fn shape(config: &Config) -> [u64; 3] {
    let mut sides = config.choice("shape").split('x').map(|side| side.parse().unwrap_or(1));
    [0; 3].map(|_: u64| sides.next().unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{asked, bytes, input, matrix, mock_with, point};
    use crate::model::Case;

    const SUBGROUP: MatrixScope = MatrixScope::Subgroup;

    fn product(variant: &str, shape: [u32; 3]) -> MatrixProduct {
        let Kind { factor, sum, .. } = kind(variant);
        matrix(shape, [factor, sum])
    }

    fn device(product: MatrixProduct) -> DeviceInfo {
        let features = [
            Feature::CooperativeMatrix,
            Feature::MemoryModel,
            Feature::Float16,
            Feature::Int8,
            Feature::BFloat16CooperativeMatrix,
        ];
        DeviceInfo { matrices: vec![product], ..mock_with(&features, &[]) }
    }

    fn built<T>(
        variant: &str,
        scope: MatrixScope,
        device: &DeviceInfo,
        told: &str,
        then: impl FnOnce(Built) -> T,
    ) -> Result<T, Skip> {
        let point = point(&format!("tiles_m=2 tiles_n=1 local_size_x=64 groups=40 {told}"));
        let setting = asked(device, Preset::Default);
        build("peak/coopmat", &Config::new(variant, &point, &setting), scope).map(then)
    }

    /// What becomes of the smallest product, of such data, so many times.
    fn small<T>(variant: &str, data: &str, rounds: u64, then: impl FnOnce(Built) -> T) -> T {
        let told = format!("shape=4x2x8 data={data} iterations={rounds}");
        built(variant, SUBGROUP, &device(product(variant, [4, 2, 8])), &told, then).unwrap()
    }

    /// What the shader does, step by step and by the definition of a product.
    fn played(case: &Case, [m, n, k]: [u64; 3], rounds: u64) -> Vec<u32> {
        let kind = kind(&case.variant);
        let [left, right] = ["left", "right"].map(|name| input(case, name));
        let at_left = |set: u64, row: u64, at: u64| i64::from(kind.value(left, (set % SETS) * m * k + row * k + at));
        let at_right = |set: u64, at: u64, column: u64| i64::from(kind.value(right, (set % SETS) * k * n + at * n + column));
        let mut bits = Vec::new();
        for unit in 0..80_u64 {
            for i in 0..2 {
                for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
                    let product = |set: u64| (0..k).map(|at| at_left(set, row, at) * at_right(unit, at, column)).sum::<i64>();
                    let first = product(unit * 2 + i);
                    let second = if kind.cancels() { -first } else { product(unit * 2 + i + 32) };
                    let mut sum = 0_i64;
                    for _ in 0..rounds {
                        (0..8).for_each(|_| sum += first + second);
                        sum += product(unit + 16);
                    }
                    bits.push(kind.bits(sum));
                }
            }
        }
        if kind.sum_bytes() == 2 { bits.chunks(2).map(|pair| pair[0] | (pair[1] << 16)).collect() } else { bits }
    }

    #[test]
    fn the_twin_is_what_the_shader_does() {
        for variant in TYPES {
            small(variant, WHOLE, 3, |built| {
                assert_eq!(built.expected()[0].bytes(), bytes(&played(&built.case, [4, 2, 8], 3)), "{variant}");
                let operations = 2 * 4 * 2 * 8 * 80 * 2 * 3 * 17;
                assert_eq!(built.case.work.flops.or(built.case.work.ops), Some(operations));
            });
        }
    }

    /// The sums of full mantissas by an adder that rounds each result so, in the order of the shader.
    #[expect(clippy::cast_possible_truncation, reason = "it is what rounds")]
    fn full_sums(case: &Case, [m, n, k]: [u64; 3], rounds: u64, round: fn(f32) -> f32) -> Vec<f32> {
        let kind = kind(&case.variant);
        let [left, right] = ["left", "right"].map(|name| input(case, name));
        let mut sums = Vec::new();
        for unit in 0..80_u64 {
            for (i, row, column) in (0..2).flat_map(|i| (0..m * n).map(move |at| (i, at / n, at % n))) {
                let mut sum = 0.0;
                let mut add = |set: u64| {
                    for at in 0..k {
                        let a = kind.real(left, (set % SETS) * m * k + row * k + at);
                        let b = kind.real(right, (unit % SETS) * k * n + at * n + column);
                        // Exact in f32, and so is the sum in f64.
                        sum = round((f64::from(sum) + a * b) as f32);
                    }
                };
                for _ in 0..rounds {
                    (0..8).for_each(|_| [unit * 2 + i, unit * 2 + i + 32].into_iter().for_each(&mut add));
                    add(unit + 16);
                }
                sums.push(sum);
            }
        }
        sums
    }

    #[test]
    fn full_mantissas_are_checked_by_their_bound_and_beside_whole_numbers() {
        let check = |variant: &str, built: Built| {
            let whole = built.expected()[1].bytes();
            let few = small(variant, WHOLE, 16, |built| built.expected()[0].bytes().len());
            assert!(whole.len() * 40 == few * 32, "as many workgroups as multiply all matrices");
            let of = |sums: &[f32]| bytes(&sums.iter().map(|sum| sum.to_bits()).collect::<Vec<u32>>());
            let verdict = |sums: &[f32]| built.check(&[of(sums), whole.clone()]);
            for round in [|sum: f32| sum, f32::next_down, f32::next_up] {
                assert_eq!(verdict(&full_sums(&built.case, [4, 2, 8], 16, round)), Ok(()), "{variant}");
            }
            let right = full_sums(&built.case, [4, 2, 8], 16, |sum| sum);
            // A bound that is far too wide finds nothing: a twentieth of the work more is no rounding, but for sums near zero.
            let more: Vec<f32> = right.iter().map(|sum| sum * 1.05).collect();
            let found = verdict(&more).unwrap_err();
            assert!(found.wrong * 10 > found.total * 9, "{variant}: {found}");
            for (at, sum) in [(3, f32::NAN), (3, -right[3]), (1100, right[1100].next_up()), (1100, 0.0)] {
                let mut wrong = right.clone();
                wrong[at] = sum;
                assert!(verdict(&wrong).is_err(), "{variant} {at} {sum}");
            }
            assert!(verdict(&right[..right.len() - 1]).is_err());
            let mut lost = whole.clone();
            lost[5] ^= 1;
            let found = built.check(&[of(&right), lost]).unwrap_err();
            assert_eq!(found.output, "whole sums");
            assert_eq!(built.check(&[built.expected()[0].bytes(), whole.clone()]), Ok(()), "what stands for a device's");
        };
        for variant in ["f16_f32", "bf16_f32"] {
            small(variant, MANTISSAS, 16, |built| check(variant, built));
        }
    }

    #[test]
    fn halves_of_full_mantissas_are_bounded_and_alike() {
        small("f16_f16", MANTISSAS, 3, |built| {
            let [sums, whole] = [0, 1].map(|output: usize| built.expected()[output].bytes());
            assert_eq!(built.check(&[sums.clone(), whole.clone()]), Ok(()));
            let with = |at: usize, half: f16| {
                let mut wrong = sums.clone();
                wrong[2 * at..2 * at + 2].copy_from_slice(&half.to_ne_bytes());
                built.check(&[wrong, whole.clone()])
            };
            let places = [(0, f16::INFINITY), (1, f16::NAN), (2, f16::from_f32(130.0)), (1100, f16::from_f32(0.25))];
            assert!(places.into_iter().all(|(at, half)| with(at, half).is_err()));
        });
    }

    #[test]
    fn floats_have_full_mantissas_by_default() {
        let device = DeviceInfo::mock();
        let data = |variant, preset| {
            let defaults = Defaults { shapes: &[], tiles: [1, 1], local_size: 1, groups: 1, rounds: 1 };
            axes(variant, &asked(&device, preset), &[], &defaults).last().map(|axis| axis.defaults.clone()).unwrap()
        };
        assert_eq!(data("i8_i32", Preset::Thorough), [WHOLE.into()]);
        assert_eq!(data("f16_f32", Preset::Quick), [MANTISSAS.into()]);
        assert_eq!(data("f16_f32", Preset::Thorough), [WHOLE.into(), MANTISSAS.into()]);
    }

    #[test]
    fn what_the_device_does_not_list_is_skipped() {
        let fixed = device(product("f16_f32", [16, 16, 16]));
        let flexible = |invocations| MatrixProduct {
            scope: MatrixScope::Workgroup,
            workgroup_invocations: Some(invocations),
            ..product("i8_i32", [32, 16, 32])
        };
        let [flexible, others] = [64, 128].map(|invocations| device(flexible(invocations)));
        let mut lacking = flexible.clone();
        lacking.features.remove(&Feature::Int8);
        let (whole, workgroup) = ("data=whole iterations=1", MatrixScope::Workgroup);
        for (variant, scope, device, shape, why) in [
            ("f16_f32", SUBGROUP, &fixed, "16x16x16", ""),
            ("f16_f32", SUBGROUP, &fixed, "16x8x16", "16x8x16 f16 f16 f32 f32 of a subgroup"),
            ("f16_f16", SUBGROUP, &fixed, "16x16x16", "doesn't list"),
            ("f16_f32", workgroup, &fixed, "16x16x16", "of a workgroup"),
            ("i8_i32", workgroup, &flexible, "64x64x64", ""),
            ("i8_i32", workgroup, &flexible, "64x64x64 data=mantissas", "data=whole"),
            ("i8_i32", workgroup, &flexible, "64x64x16", "doesn't list"),
            ("i8_i32", workgroup, &others, "64x64x64", "doesn't list"),
            ("i8_i32", workgroup, &lacking, "64x64x64", "shaderInt8"),
        ] {
            let told =
                if shape.contains("data") { format!("iterations=1 shape={shape}") } else { format!("{whole} shape={shape}") };
            let reason = built(variant, scope, device, &told, |_| ()).err().map(|skip| skip.reason).unwrap_or_default();
            assert!(reason.contains(why) && reason.is_empty() == why.is_empty(), "{variant} {shape}: {reason}");
        }
    }

    #[test]
    fn a_subgroup_size_that_varies_is_required() {
        let mut device = device(product("f16_f32", [16, 16, 16]));
        let required = |device: &DeviceInfo| {
            let size = |built: Built| built.case.kernels.iter().find_map(|kernel| kernel.required_subgroup_size);
            built("f16_f32", SUBGROUP, device, "shape=16x16x16 data=whole iterations=1", size).unwrap()
        };
        assert_eq!(required(&device), None);
        device.subgroup.size_control = true;
        (device.subgroup.min_size, device.subgroup.max_workgroup_subgroups) = (8, 32);
        assert_eq!(required(&device), Some(32));
    }

    #[test]
    fn sums_that_would_not_be_exact_are_skipped() {
        let device = device(product("f16_f16", [16, 16, 16]));
        let build = |rounds: u64| {
            built("f16_f16", SUBGROUP, &device, &format!("shape=16x16x16 data=whole iterations={rounds}"), |_| ())
        };
        assert_eq!(build(127), Ok(()));
        assert!(build(128).unwrap_err().reason.contains("take fewer iterations"));
    }
}
