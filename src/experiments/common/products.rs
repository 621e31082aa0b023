//! Products of cooperative matrices from registers: what `peak/coopmat` and `peak/coopmat_workgroup` measure.

use half::f16;

use crate::experiments::{Built, CaseBuilder, Config, Setting, product, size_to_require};
use crate::model::{
    Axis, AxisKind, Bound, Component, DeviceInfo, Feature, Headline, Kernel, MatrixProduct, MatrixScope, Preset, Scalar,
    Sequence, Skip, SpirvTarget, Work,
};
use crate::validate::Expected;

/// The types of the matrices and of the sums.
pub const TYPES: &[&str] = &["f16_f32", "f16_f16", "bf16_f32", "i8_i32", "u8_u32"];

/// Iterations of a round in the shader.
const ITERATIONS: u64 = 8;
/// Different matrices in memory.
const SETS: u64 = 64;

/// What a product is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Kind {
    /// Components of both factors.
    factor: Component,
    /// Components of the sum.
    sum: Component,
    /// The shader's names of them.
    names: [&'static str; 2],
    /// The largest absolute value in memory; bytes of whole numbers take all values.
    magnitude: u32,
    /// Up to here every whole number is exact in a sum; `None` where sums wrap around.
    exact: Option<u64>,
}

fn kind(variant: &str) -> Kind {
    let (factor, sum, names, magnitude, exact) = match variant {
        "f16_f16" => (Component::F16, Component::F16, ["float16_t", "float16_t"], 1, Some(1 << 11)),
        "bf16_f32" => (Component::Bf16, Component::F32, ["bfloat16_t", "float"], 4, Some(1 << 24)),
        "i8_i32" => (Component::I8, Component::I32, ["int8_t", "int32_t"], 128, None),
        "u8_u32" => (Component::U8, Component::U32, ["uint8_t", "uint32_t"], 255, None),
        _ => (Component::F16, Component::F32, ["float16_t", "float"], 4, Some(1 << 24)),
    };
    Kind { factor, sum, names, magnitude, exact }
}

impl Kind {
    fn factor_bytes(self) -> u64 {
        if matches!(self.factor, Component::I8 | Component::U8) { 1 } else { 2 }
    }

    fn sum_bytes(self) -> u64 {
        if self.sum == Component::F16 { 2 } else { 4 }
    }

    /// Whether every second product takes the one before back: sums of few bits would not stay exact.
    fn cancels(self) -> bool {
        self.sum == Component::F16
    }

    fn is_float(self) -> bool {
        self.exact.is_some()
    }

    fn contents(self, seed: u64) -> Sequence {
        let magnitude = self.magnitude;
        match self.factor {
            Component::F16 => Sequence::WholeHalves { seed, magnitude },
            Component::Bf16 => Sequence::WholeBfloats { seed, magnitude },
            _ => Sequence::Words { seed },
        }
    }

    /// A component of a factor, as a whole number.
    #[expect(clippy::cast_possible_truncation, reason = "magnitudes are small")]
    fn value(self, of: Sequence, index: u64) -> i32 {
        match self.factor {
            Component::F16 => f32::from(of.half(index)) as i32,
            Component::Bf16 => of.bfloat(index).to_f32() as i32,
            Component::I8 => i32::from(i8::from_ne_bytes([byte(of, index)])),
            _ => i32::from(byte(of, index)),
        }
    }

    /// The bits of a sum; the value is exact, or wraps around.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "sums of floats are exact, those of whole numbers wrap"
    )]
    fn bits(self, sum: i64) -> u32 {
        match self.sum {
            Component::F16 => f16::from_f32(sum as f32).to_bits().into(),
            Component::F32 => (sum as f32).to_bits(),
            _ => sum as u32,
        }
    }
}

/// A byte of a sequence of words.
#[expect(clippy::cast_possible_truncation, reason = "a byte of a word")]
fn byte(of: Sequence, index: u64) -> u8 {
    (of.word(index / 4) >> (8 * (index % 4))) as u8
}

/// How much is multiplied.
#[derive(Clone, Copy)]
struct Sizes {
    kind: Kind,
    m: u64,
    n: u64,
    k: u64,
    tiles: [u64; 2],
    rounds: u64,
    /// Subgroups, or workgroups, of the whole grid.
    units: u64,
}

impl Sizes {
    fn new(config: &Config, units: u64) -> Self {
        let sides: Vec<u64> = config.choice("shape").split('x').filter_map(|side| side.parse().ok()).collect();
        let [m, n, k] = [0, 1, 2].map(|i| sides.get(i).copied().unwrap_or(1));
        let tiles = ["tiles_m", "tiles_n"].map(|axis| config.integer(axis));
        Self { kind: kind(config.variant), m, n, k, tiles, rounds: config.integer("iterations"), units }
    }

    fn sums(&self) -> u64 {
        product([self.units, self.tiles[0], self.tiles[1], self.m, self.n])
    }

    /// Multiplications and additions of all products.
    fn operations(&self) -> u64 {
        product([self.rounds * (2 * ITERATIONS + 1), 2 * self.k, self.sums()])
    }

    /// The largest absolute value that a sum can take on the way.
    fn largest(&self) -> u64 {
        let square = u64::from(self.kind.magnitude).pow(2) * self.k;
        let products = if self.kind.cancels() { self.rounds + 1 } else { self.rounds * (2 * ITERATIONS + 1) };
        product([products, square])
    }

    /// What each word of the results must hold.
    fn words(self, left: Sequence, right: Sequence) -> impl Fn(u64) -> u32 + Send + Sync {
        let (left, right) = (Matrices::left(&self, left), Matrices::right(&self, right));
        let bits = move |index: u64| self.kind.bits(self.sum(index, &left, &right));
        let is_half = self.kind.sum_bytes() == 2;
        move |word| if is_half { bits(2 * word) | (bits(2 * word + 1) << 16) } else { bits(word) }
    }

    /// The sum at an index of the results, from the matrices in memory.
    #[expect(clippy::cast_possible_wrap, reason = "rounds are fewer than 2^32")]
    fn sum(&self, index: u64, left: &Matrices, right: &Matrices) -> i64 {
        let [tiles_m, tiles_n] = self.tiles;
        let (matrix, element) = (index / (self.m * self.n), index % (self.m * self.n));
        let (unit, i, j) = (matrix / (tiles_m * tiles_n), matrix / tiles_n % tiles_m, matrix % tiles_n);
        let (row, column) = (element / self.n, element % self.n);
        let first = unit * tiles_m + i;
        let [first, second, third] =
            [first, first + SETS / 2, unit + SETS / 4].map(|matrix| left.row((matrix % SETS) * self.m + row));
        let iterations = if self.kind.cancels() { 0 } else { ITERATIONS as i64 };
        let factor = right.row(((unit * tiles_n + j) % SETS) * self.n + column);
        let products = first.iter().zip(second).zip(third).zip(factor);
        let once: i64 = products
            .map(|(((a, b), c), d)| (iterations * (i64::from(*a) + i64::from(*b)) + i64::from(*c)) * i64::from(*d))
            .sum();
        once.wrapping_mul(self.rounds as i64)
    }
}

/// Matrices of one side as whole numbers: rows of the left ones, columns of the right ones, each of them together.
struct Matrices {
    values: Vec<i32>,
    k: usize,
}

impl Matrices {
    /// The left ones lie in memory row by row.
    fn left(sizes: &Sizes, of: Sequence) -> Self {
        let values = (0..SETS * sizes.m * sizes.k).map(|index| sizes.kind.value(of, index));
        Self { values: values.collect(), k: usize::try_from(sizes.k).unwrap_or(1) }
    }

    /// So do the right ones, whose columns are wanted.
    fn right(sizes: &Sizes, of: Sequence) -> Self {
        let Sizes { n, k, .. } = *sizes;
        let place = |index: u64| (index / (n * k) * k + index % k) * n + index / k % n;
        let values = (0..SETS * n * k).map(|index| sizes.kind.value(of, place(index)));
        Self { values: values.collect(), k: usize::try_from(k).unwrap_or(1) }
    }

    /// Numbers that belong together.
    fn row(&self, index: u64) -> &[i32] {
        let start = usize::try_from(index).unwrap_or(usize::MAX).saturating_mul(self.k);
        self.values.get(start..start + self.k).unwrap_or_default()
    }
}

/// What the two experiments measure unless they are told otherwise.
pub struct Defaults<'a> {
    /// Shapes.
    pub shapes: &'a [&'static str],
    /// Sums in a column, and in a row.
    pub tiles: [u64; 2],
    /// Invocations per workgroup.
    pub local_size: u64,
    /// Workgroups on a GPU.
    pub groups: u64,
    /// Rounds on a GPU.
    pub rounds: u64,
}

/// The axes, `shapes` being the words that there are for shapes.
pub fn axes(setting: &Setting, shapes: &'static [&'static str], defaults: &Defaults<'_>) -> Vec<Axis> {
    const TILES: &[u64] = &[1, 2, 3, 4, 6, 8];
    let [groups, rounds] = [setting.by_class(4, defaults.groups), setting.by_class(1, defaults.rounds)];
    let [tiles_m, tiles_n] = defaults.tiles;
    let what = "rows and columns of a sum, and what a product runs over";
    vec![
        Axis::new("shape", what, AxisKind::Choices(shapes), defaults.shapes.iter().copied()),
        Axis::new("tiles_m", "sums beside each other in a column", AxisKind::Numbers(TILES), [tiles_m]),
        Axis::new("tiles_n", "sums beside each other in a row", AxisKind::Numbers(TILES), [tiles_n]),
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), [defaults.local_size]),
        Axis::new("groups", "workgroups", AxisKind::AtLeast(1), [groups]),
        Axis::new("iterations", "times 17 products for each sum", AxisKind::AtLeast(1), [rounds]).of_work(),
    ]
}

/// Of the shapes that have a name those that the device has products of.
pub fn listed(shapes: &[&'static str], device: &DeviceInfo, is_wanted: impl Fn(&MatrixProduct) -> bool) -> Vec<&'static str> {
    let of = |product: &MatrixProduct| format!("{}x{}x{}", product.m, product.n, product.k);
    let has = |shape: &&&'static str| device.matrices.iter().any(|product| is_wanted(product) && of(product) == **shape);
    shapes.iter().filter(has).copied().collect()
}

/// Whether matrices of these types can be declared at all.
fn require_types(kind: Kind, device: &DeviceInfo) -> Result<(), Skip> {
    let of_factors = match kind.factor {
        Component::F16 => Feature::Float16,
        Component::Bf16 => Feature::BFloat16CooperativeMatrix,
        _ => Feature::Int8,
    };
    let needed = [Feature::CooperativeMatrix, Feature::MemoryModel, of_factors];
    needed
        .into_iter()
        .find(|feature| !device.has(*feature))
        .map_or(Ok(()), |feature| Err(Skip::new(format!("the case needs {}, which the device lacks", feature.vulkan_name()))))
}

/// A case and its twin: products of the variant's types, each subgroup's (or workgroup's) on its own.
///
/// # Errors
/// Where the device has no such product, or the sums wouldn't be exact.
pub fn build<'a>(experiment: &str, config: &Config<'a>, scope: MatrixScope) -> Result<Built<'a>, Skip> {
    let device = config.device();
    let (local_size, groups) = (config.u32("local_size_x"), config.u32("groups"));
    let subgroup = device.subgroup.size.max(1);
    let units_per_group = if scope == MatrixScope::Workgroup { 1 } else { local_size.div_ceil(subgroup) };
    let sizes = Sizes::new(config, u64::from(groups) * u64::from(units_per_group));
    let kind = sizes.kind;
    require_types(kind, device)?;
    require_product(&sizes, scope, local_size, device)?;
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
    let [left, right] = [config.seed(), !config.seed()].map(|seed| kind.contents(seed));
    let words_of_sums = product([sizes.sums(), kind.sum_bytes()]) / 4;
    let words_of = |side: u64| SETS * kind.factor_bytes() / 4 * side * sizes.k;
    let mut case = CaseBuilder::new(experiment, config);
    let resources = [
        case.output("sums", Expected::words_from(words_of_sums, move || sizes.words(left, right))),
        case.input("left", words_of(sizes.m), left),
        case.input("right", words_of(sizes.n), right),
    ];
    let side = |value: u64| Scalar::U32(u32::try_from(value).unwrap_or(u32::MAX));
    let mut kernel = Kernel::new("peak/coopmat.comp", config.workgroup())
        .constant("M", side(sizes.m))
        .constant("N", side(sizes.n))
        .constant("K", side(sizes.k))
        .constant("TILES_M", side(sizes.tiles[0]))
        .constant("TILES_N", side(sizes.tiles[1]))
        .define("A", kind.names[0])
        .define("A_BYTES", kind.factor_bytes())
        .define("C", kind.names[1])
        .define("C_BYTES", kind.sum_bytes());
    // How many subgroups there are follows from their size.
    kernel.required_subgroup_size = size_to_require(device, local_size.into());
    if kind.cancels() {
        kernel = kernel.define("CANCEL", 1);
    }
    if kind.factor == Component::Bf16 {
        kernel = kernel.define("BFLOAT16", 1);
    }
    if scope == MatrixScope::Workgroup {
        kernel = Kernel { target: SpirvTarget::Vulkan1_3, ..kernel.define("WORKGROUP", 1) };
    }
    case.run(kernel, &resources, [groups, 1, 1], &[config.u32("iterations")]);
    let operations = Some(sizes.operations());
    let (work, headline) = if kind.is_float() {
        (Work { flops: operations, ..Work::default() }, Headline::FLOPS)
    } else {
        (Work { ops: operations, ..Work::default() }, Headline::OPS)
    };
    let bound = match kind.factor {
        Component::F16 => Some(Bound::MatrixF16),
        Component::Bf16 => Some(Bound::MatrixBf16),
        Component::I8 | Component::U8 => Some(Bound::MatrixI8),
        _ => None,
    };
    Ok(case.bound(bound).iterations(sizes.rounds * ITERATIONS).build(work, headline))
}

/// Whether the device lists the product, or one whose multiple it is.
fn require_product(sizes: &Sizes, scope: MatrixScope, local_size: u32, device: &DeviceInfo) -> Result<(), Skip> {
    let Kind { factor, sum, .. } = sizes.kind;
    let is_of_kind = |product: &&MatrixProduct| {
        product.scope == scope
            && !product.saturating
            && [product.a, product.b] == [factor; 2]
            && [product.c, product.result] == [sum; 2]
    };
    let fits = |product: &MatrixProduct| {
        let listed = [product.m, product.n, product.k].map(u64::from);
        let asked = [sizes.m, sizes.n, sizes.k];
        match product.workgroup_invocations {
            None => listed == asked,
            Some(invocations) => {
                (invocations == 0 || invocations == local_size)
                    && asked.iter().zip(listed).all(|(asked, of)| of > 0 && asked % of == 0)
            }
        }
    };
    if device.matrices.iter().filter(is_of_kind).any(fits) {
        return Ok(());
    }
    let (Sizes { m, n, k, .. }, scope) = (sizes, if scope == MatrixScope::Workgroup { "a workgroup" } else { "a subgroup" });
    Err(Skip::new(format!(
        "the case needs a product {m}x{n}x{k} {factor} {factor} {sum} {sum} of {scope}, which the device doesn't list"
    )))
}

/// Whether a run is a quick one.
pub fn is_quick(setting: &Setting) -> bool {
    setting.preset == Preset::Quick
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Case, Point};

    fn product(variant: &str, [m, n, k]: [u32; 3], scope: MatrixScope, flexible: Option<u32>) -> MatrixProduct {
        let Kind { factor, sum, .. } = kind(variant);
        MatrixProduct {
            m,
            n,
            k,
            a: factor,
            b: factor,
            c: sum,
            result: sum,
            saturating: false,
            scope,
            workgroup_invocations: flexible,
        }
    }

    fn device(product: MatrixProduct) -> DeviceInfo {
        let mut device = DeviceInfo { matrices: vec![product], ..DeviceInfo::mock() };
        let features = [
            Feature::CooperativeMatrix,
            Feature::MemoryModel,
            Feature::Float16,
            Feature::Int8,
            Feature::BFloat16CooperativeMatrix,
        ];
        device.features.extend(features);
        device
    }

    fn setting(device: &DeviceInfo) -> Setting<'_> {
        Setting { device, queue: None, preset: Preset::Default, seed: 1 }
    }

    fn point(shape: &'static str, rounds: u64) -> Point {
        let numbers = [("tiles_m", 2_u64), ("tiles_n", 1), ("local_size_x", 64), ("groups", 40), ("iterations", rounds)];
        let numbers = numbers.into_iter().map(|(name, value)| (name.into(), value.into()));
        Point::new(numbers.chain([("shape".into(), shape.into())]))
    }

    fn case_of(variant: &str, scope: MatrixScope, device: &DeviceInfo, shape: &'static str, rounds: u64) -> Result<Case, Skip> {
        let (point, setting) = (point(shape, rounds), setting(device));
        build("peak/coopmat", &Config::new(variant, &point, &setting), scope).map(|built| built.case)
    }

    /// What the shader does, step by step and by the definition of a product.
    fn played(case: &Case, [m, n, k]: [u64; 3], rounds: u64) -> Vec<u32> {
        let kind = kind(&case.variant);
        let [left, right] = [1, 2].map(|resource: usize| case.resources[resource].sequence());
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
            let device = device(product(variant, [4, 2, 8], MatrixScope::Subgroup, None));
            let (point, setting) = (point("4x2x8", 3), setting(&device));
            let built = build("peak/coopmat", &Config::new(variant, &point, &setting), MatrixScope::Subgroup).unwrap();
            let played: Vec<u8> = played(&built.case, [4, 2, 8], 3).iter().flat_map(|word| word.to_ne_bytes()).collect();
            assert_eq!(built.expected()[0].bytes(), played, "{variant}");
            let operations = 2 * 4 * 2 * 8 * 80 * 2 * 3 * 17;
            assert_eq!(built.case.work.flops.or(built.case.work.ops), Some(operations));
        }
    }

    #[test]
    fn what_the_device_does_not_list_is_skipped() {
        let reason = |variant, scope, device: &DeviceInfo, shape: &'static str| {
            case_of(variant, scope, device, shape, 1).err().map(|skip| skip.reason).unwrap_or_default()
        };
        let (subgroup, workgroup) = (MatrixScope::Subgroup, MatrixScope::Workgroup);
        let fixed = device(product("f16_f32", [16, 16, 16], subgroup, None));
        assert_eq!(reason("f16_f32", subgroup, &fixed, "16x16x16"), "");
        assert!(reason("f16_f32", subgroup, &fixed, "16x8x16").contains("16x8x16 f16 f16 f32 f32 of a subgroup"));
        assert!(reason("f16_f16", subgroup, &fixed, "16x16x16").contains("doesn't list"));
        assert!(reason("f16_f32", workgroup, &fixed, "16x16x16").contains("of a workgroup"));
        let flexible = device(product("i8_i32", [32, 16, 32], workgroup, Some(64)));
        assert_eq!(reason("i8_i32", workgroup, &flexible, "64x64x64"), "");
        assert!(reason("i8_i32", workgroup, &flexible, "64x64x16").contains("doesn't list"));
        let others = DeviceInfo { matrices: vec![product("i8_i32", [32, 16, 32], workgroup, Some(128))], ..flexible.clone() };
        assert!(reason("i8_i32", workgroup, &others, "64x64x64").contains("doesn't list"));
        let mut lacking = flexible;
        lacking.features.remove(&Feature::Int8);
        assert!(reason("i8_i32", workgroup, &lacking, "64x64x64").contains("shaderInt8"));
    }

    #[test]
    fn a_subgroup_size_that_varies_is_required() {
        let mut device = device(product("f16_f32", [16, 16, 16], MatrixScope::Subgroup, None));
        let required = |device: &DeviceInfo| {
            case_of("f16_f32", MatrixScope::Subgroup, device, "16x16x16", 1).unwrap().kernels[0].required_subgroup_size
        };
        assert_eq!(required(&device), None);
        device.subgroup.size_control = true;
        (device.subgroup.min_size, device.subgroup.max_workgroup_subgroups) = (8, 32);
        assert_eq!(required(&device), Some(32));
    }

    #[test]
    fn sums_that_would_not_be_exact_are_skipped() {
        let device = device(product("f16_f16", [16, 16, 16], MatrixScope::Subgroup, None));
        let reason = |rounds| case_of("f16_f16", MatrixScope::Subgroup, &device, "16x16x16", rounds).err();
        assert_eq!(reason(127), None);
        assert!(reason(128).unwrap().reason.contains("take fewer iterations"));
    }
}
