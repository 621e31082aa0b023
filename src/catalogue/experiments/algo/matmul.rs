//! `algo/matmul`: what brings a product of matrices to the speed of the multipliers?

mod problem;

use problem::Problem;

use crate::experiments::common::components::{Kind, Types};
use crate::experiments::common::factored::{Factored, Factors};
use crate::experiments::common::prelude::*;
use crate::experiments::common::products::{self, WHOLE};
use crate::experiments::common::subgroup_tiles::{self, SubgroupTiles, TILES, VECTOR_BYTES};
use crate::model::{Component, MatrixScope, SpirvTarget};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &["naive", "buffered", "coopmat_subgroup", "coopmat_workgroup"],
    peak_kind: Some("fp32"),
    is_of_peak: |variant, point| !variant.starts_with("coopmat_") && point.choice("type") == "f32",
    repeatability: |_| Repeatability::Core,
    axes_of: Some(axes_of),
    ..Experiment::of_ladder(LADDER, |setting| axes_of(LADDER.first, setting), build)
};

const FOUR: u64 = 4;

const TRANSPOSED: &[&str] = &["neither", "left", "right", "both"];

const ITEMS: &[u64] = &[1, 2, 4, 8, 16];

/// Shapes of subgroups' matrices, and those of workgroups' sums with how far a step goes.
#[rustfmt::skip]
const SHAPES: &[&str] = &[
    "16x16x16", "16x8x16", "16x16x32", "16x8x32", "8x8x16", "8x8x32", "32x32x16", "64x64x16", "64x64x32", "128x128x16",
    "128x128x32", "128x128x64", "128x128x128", "128x256x32", "256x128x32",
];

const INVARIANT: &str = "the result times a random vector is the left factor times the right one times the vector (Freivalds' \
                         check, exact)";

const NEAR: &str = "products of whole numbers by the same module are exact; of full mantissas, sixteen rows are as near as all \
                    roundings together allow";
/// The same where sums are of `f16`.
const NEAR_OF_HALVES: &str = "products of whole numbers by the same module are exact, over as many as sums of f16 are; sums of full \
                              mantissas round too much to be compared: sixteen rows are no larger than can be";

const LADDER: Ladder = Ladder {
    experiment: "algo/matmul",
    first: Rung::Naive.word(),
    choices: &["local_size_x", "local_size_y", "items_m", "items_n", "tile_k", "shape", "tiles_m", "tiles_n"],
};

choices! {
    enum Rung {
        Naive = "naive",
        /// Tiles in workgroup memory, with a sum an invocation, and with a block of them.
        Tiled = "tiled",
        Blocked = "blocked",
        /// The same by vectors, with one tile of either side and with two.
        Vector = "vector",
        Buffered = "buffered",
        CoopmatSubgroup = "coopmat_subgroup",
        CoopmatWorkgroup = "coopmat_workgroup",
    }
}

impl Rung {
    /// Whose matrices are multiplied, where they are cooperative ones.
    fn scope(self) -> Option<MatrixScope> {
        match self {
            Self::Naive | Self::Tiled | Self::Blocked | Self::Vector | Self::Buffered => None,
            Self::CoopmatSubgroup => Some(MatrixScope::Subgroup),
            Self::CoopmatWorkgroup => Some(MatrixScope::Workgroup),
        }
    }

    fn has_vectors(self) -> bool {
        matches!(self, Self::Vector | Self::Buffered)
    }

    /// Whether an invocation has a block of sums.
    fn has_items(self) -> bool {
        matches!(self, Self::Blocked | Self::Vector | Self::Buffered)
    }
}

fn build(config: &Config) -> Result<Built, Skip> {
    let problem = Problem::new(config);
    let tiling = Tiling::new(config, &problem)?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let is_float = problem.kind.is_float();
    // Bytes have no mantissas: they take all their values either way.
    let case = if config.choice("data") == WHOLE || !is_float {
        let factors = problem.whole(config.seed())?;
        let sums = case.output("sums", problem.expected(factors));
        tiling.run(&mut case, &problem, ["left", "right"], factors, sums);
        if problem.is_large() { case.holds(INVARIANT, move |left| problem.check(factors, left.of(sums))) } else { case }
    } else {
        let factors = problem.full(config.seed());
        let sums = case.output("sums", problem.expected_full(factors));
        tiling.run(&mut case, &problem, ["left", "right"], factors, sums);
        let short = problem.shortened();
        let (whole, short_tiling) = (short.whole(config.seed())?, Tiling::new(config, &short)?);
        let exact = case.output("whole sums", short.expected(whole));
        case.reset(|case| short_tiling.run(case, &short, ["whole left", "whole right"], whole, exact));
        let invariant = if problem.kind.sum == Component::F16 { NEAR_OF_HALVES } else { NEAR };
        case.holds(invariant, move |left| {
            short.check(whole, left.of(exact))?;
            problem.check_full(factors, left.of(sums))
        })
    };
    let operations = Some(product([2, problem.products()]));
    let (work, headline) = if is_float {
        (Work { flops: operations, ..Work::default() }, Headline::FLOPS)
    } else {
        (Work { ops: operations, ..Work::default() }, Headline::OPS)
    };
    let case = case.iterations(tiling.iterations).bound(bound(Rung::of(config.variant), problem.kind));
    Ok(case.build(work, headline))
}

/// What a product can't well be faster than.
fn bound(rung: Rung, kind: Kind) -> Option<Bound> {
    match (rung.scope().is_some(), kind.types) {
        (false, Types::F32 | Types::F16F32 | Types::Bf16F32) => Some(Bound::Float32),
        (false, Types::F16F16) => Some(Bound::Float16),
        (true, Types::F16F16 | Types::F16F32) => Some(Bound::MatrixF16),
        (true, Types::Bf16F32) => Some(Bound::MatrixBf16),
        (true, Types::I8I32) => Some(Bound::MatrixI8),
        (true, Types::F32) | (false, Types::I8I32) | (_, Types::U8U32) => None,
    }
}

// ---- axes -----------------------------------------------------------------------------------------------------------------

const TYPES: &[&str] = &["f32", "f16_f16", "f16_f32", "bf16_f32", "i8_i32"];

fn types(rung: Rung, preset: Preset) -> &'static [&'static str] {
    match (preset, rung) {
        (Preset::Quick, Rung::CoopmatSubgroup | Rung::CoopmatWorkgroup) => &["f16_f32"],
        (Preset::Quick, Rung::Naive) => &["f32", "f16_f32"],
        (Preset::Quick, _) => &["f32"],
        (_, Rung::CoopmatSubgroup | Rung::CoopmatWorkgroup) => &TYPES[1..],
        (Preset::Thorough, _) | (_, Rung::Naive) => TYPES,
        (Preset::Default, Rung::Buffered) => &["f32", "f16_f32", "i8_i32"],
        (Preset::Default, Rung::Tiled | Rung::Blocked | Rung::Vector) => &["f32"],
    }
}

fn shapes(rung: Rung, preset: Preset) -> &'static [&'static str] {
    match (rung, preset) {
        (Rung::CoopmatWorkgroup, Preset::Quick) => &["128x128x64"],
        (Rung::CoopmatWorkgroup, _) => &["64x64x32", "128x128x64", "128x128x128"],
        (Rung::CoopmatSubgroup, Preset::Default | Preset::Thorough) => &["16x16x16", "16x16x32"],
        (Rung::CoopmatSubgroup, Preset::Quick) => &["16x16x16"],
        (Rung::Naive | Rung::Tiled | Rung::Blocked | Rung::Vector | Rung::Buffered, _) => &["16x16x16"],
    }
}

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let (preset, rung) = (setting.preset, Rung::of(variant));
    let is_quick = preset == Preset::Quick;
    let (cooperative, has_items) = (rung.scope(), rung.has_items());
    let sizes: &[u64] =
        if is_quick { setting.by_class(&[32], &[4096]) } else { setting.by_class(&[64, 37], &[4096, 1001, 256]) };
    let columns: &[u64] = if is_quick { &[0] } else { &[0, 16] };
    let transposed = if preset == Preset::Thorough { TRANSPOSED } else { &TRANSPOSED[..1] };
    let [width, height] = match cooperative {
        Some(_) => [size_up_to(128, setting), 1],
        None => {
            let width = setting.by_class(8_u64, 16);
            [width, (size_up_to(width * width, setting) / width).max(1)]
        }
    };
    let items: &[u64] = match has_items {
        false => &[1],
        true if setting.device.is_cpu() => &[4],
        true if is_quick => &[8],
        true => &[8, 4],
    };
    let wide_items: &[u64] = match has_items && !setting.device.is_cpu() {
        false => items,
        true if is_quick => &[16],
        true => &[16, 4],
    };
    let steps: &[u64] = match cooperative {
        Some(MatrixScope::Subgroup) if !is_quick => &[32, 64],
        Some(_) => &[32],
        None if is_quick || rung == Rung::Naive => &[8],
        None => setting.by_class(&[8], &[8, 16]),
    };
    let axis = |name, description, kind, values: &[u64]| Axis::new(name, description, kind, values.iter().copied());
    let side = |name, description, values| axis(name, description, AxisKind::AtLeast(0), values).up_to(1 << 20);
    let choice = |name, description, all, values: &[&'static str]| {
        Axis::new(name, description, AxisKind::Choices(all), values.iter().copied())
    };
    let transposed = choice("transposed", "which factors lie column by column", TRANSPOSED, transposed);
    vec![
        choice("type", "of factors and of sums", TYPES, types(rung, preset)),
        axis("matrix_size", "rows and columns of all matrices", AxisKind::AtLeast(1), sizes).up_to(1 << 20).of_work(),
        side("rows", "rows of the left factor; 0 for matrix_size", &[0]),
        side("columns", "columns of the right factor; 0 for matrix_size", columns),
        side("inner", "products of a sum; 0 for matrix_size", &[0]),
        Axis { neutral: Some(TRANSPOSED[0].into()), ..transposed.relative_to(TRANSPOSED[0]) },
        axis("local_size_x", "invocations per workgroup along columns", AxisKind::AtLeast(1), &[width]),
        axis("local_size_y", "invocations per workgroup along rows", AxisKind::AtLeast(1), &[height]),
        axis("items_m", "rows per invocation", AxisKind::Numbers(ITEMS), items),
        axis("items_n", "columns per invocation", AxisKind::Numbers(ITEMS), wide_items),
        axis(
            "tile_k",
            "products of a sum in a step; fours of them where bytes are multiplied four at a time",
            AxisKind::Numbers(&[4, 8, 16, 32, 64, 128]),
            steps,
        ),
        choice(
            "shape",
            "rows and columns of a cooperative matrix of sums, and what a product runs over",
            SHAPES,
            shapes(rung, preset),
        ),
        axis("tiles_m", "matrices of sums next to each other in a column", AxisKind::Numbers(TILES), &[4]),
        axis("tiles_n", "matrices of sums next to each other in a row", AxisKind::Numbers(TILES), &[4]),
        products::data_axis_of(setting),
    ]
}

// ---- kernels --------------------------------------------------------------------------------------------------------------

struct Tiling {
    kernel: Kernel,
    groups: [u32; 3],
    /// What a pass pushes: the sizes, unless the kernel knows them by its constants.
    push: Vec<u32>,
    iterations: u64,
}

impl Tiling {
    /// Skipped: what the device lacks, and sizes that a variant doesn't take.
    fn new(config: &Config, problem: &Problem) -> Result<Self, Skip> {
        match Rung::of(config.variant) {
            Rung::Naive => Self::by_invocations(config, problem, "algo/matmul_naive.comp"),
            Rung::Tiled | Rung::Blocked => Self::by_invocations(config, problem, "algo/matmul_blocked.comp"),
            Rung::Vector | Rung::Buffered => Self::by_invocations(config, problem, "algo/matmul_vector.comp"),
            Rung::CoopmatSubgroup => Self::by_subgroups(config, problem),
            Rung::CoopmatWorkgroup => Self::by_workgroups(config, problem),
        }
    }

    fn by_invocations(config: &Config, problem: &Problem, source: &'static str) -> Result<Self, Skip> {
        let rung = Rung::of(config.variant);
        let [local_x, local_y, items_m, items_n, tile_k] =
            ["local_size_x", "local_size_y", "items_m", "items_n", "tile_k"].map(|axis| config.integer(axis));
        for (axis, items) in [("items_m", items_m), ("items_n", items_n)] {
            if rung.has_vectors() && items % FOUR != 0 {
                return Err(Skip::new(format!("{axis} is {items}: the case needs whole vectors of {FOUR}")));
            }
        }
        let [items_m, items_n] = if rung.has_items() { [items_m, items_n] } else { [1, 1] };
        let tile = [product([local_y, items_m]), product([local_x, items_n])];
        let kernel = Kernel::new(source, [config.u32("local_size_x"), config.u32("local_size_y"), 1]);
        let kernel = lying(typed(kernel, rung.has_vectors(), problem, config)?, problem)
            .constant("ITEMS_M", number(items_m))
            .constant("ITEMS_N", number(items_n));
        if rung == Rung::Naive {
            return Self::of(kernel, problem, tile, problem.inner.div_ceil(FOUR) + FOUR, config);
        }
        let kernel = kernel.constant("TILE_K", number(tile_k));
        let kernel = if rung.has_vectors() {
            // With bytes, each component along k is four of them.
            let along = if problem.kind.factor_bytes() == 1 { FOUR * FOUR } else { FOUR };
            let [left, right] = problem.are_whole(along, FOUR);
            kernel
                .constant("BUFFERED", Scalar::Bool(rung == Rung::Buffered))
                .constant("LEFT_WHOLE", Scalar::Bool(left))
                .constant("RIGHT_WHOLE", Scalar::Bool(right))
                .constant("RESULT_WHOLE", Scalar::Bool(problem.columns % FOUR == 0))
        } else {
            kernel
        };
        let loads = product([tile_k, tile[0].saturating_add(tile[1])]).div_ceil(product([local_x, local_y]));
        let iterations = product([problem.inner.div_ceil(tile_k), loads.saturating_add(1)]);
        Self::of(kernel, problem, tile, iterations, config)
    }

    fn by_subgroups(config: &Config, problem: &Problem) -> Result<Self, Skip> {
        let tiles = SubgroupTiles::new(config, problem.kind, problem.transposed)?;
        let kernel = sized(tiles.kernel("algo/matmul_coopmat.comp", config), problem);
        let kernel = cut(kernel, problem, tiles.tile(), tiles.tile_k);
        Self::of(kernel, problem, tiles.tile(), tiles.iterations(problem.inner), config)
    }

    fn by_workgroups(config: &Config, problem: &Problem) -> Result<Self, Skip> {
        let local_size = u32_of(product(["local_size_x", "local_size_y"].map(|axis| config.integer(axis))))?;
        let shape @ [m, n, tile_k] = products::shape(config);
        config.require(&[Feature::CooperativeMatrixWorkgroupScope, Feature::CooperativeMatrixTensorAddressing])?;
        products::require_product(problem.kind, shape, MatrixScope::Workgroup, local_size, config.device())?;
        let kernel = Kernel::new("algo/matmul_coopmat_workgroup.comp", [local_size, 1, 1]);
        let kernel = sized(subgroup_tiles::typed(kernel, problem.kind), problem);
        let kernel = cut(kernel, problem, [m, n], tile_k)
            .constant("TILE_K", number(tile_k))
            .constant("TILE_M", number(m))
            .constant("TILE_N", number(n));
        let kernel = Kernel { target: SpirvTarget::Vulkan1_3, ..kernel };
        Self::of(kernel, problem, [m, n], problem.inner.div_ceil(tile_k), config)
    }

    fn of(kernel: Kernel, problem: &Problem, tile: [u64; 2], iterations: u64, config: &Config) -> Result<Self, Skip> {
        let tiles = product([problem.rows.div_ceil(tile[0]), problem.columns.div_ceil(tile[1])]);
        let groups = fold_groups(tiles, config.most_groups());
        // Tiles and elements are counted in 32 bits, and so are rows and columns beyond the last.
        let [left, right] = problem.elements();
        let beyond = [problem.rows.saturating_add(tile[0]), problem.columns.saturating_add(tile[1])];
        let counted = [workgroups(groups), product([workgroups(groups), 8]), left, right, problem.sums(), product(beyond)];
        counted.into_iter().try_for_each(|count| u32_of(count).map(drop))?;
        let sides = [u32_of(problem.rows)?, u32_of(problem.columns)?, u32_of(problem.inner)?];
        let push = if Rung::of(config.variant).scope().is_some() { vec![] } else { sides.to_vec() };
        Ok(Self { kernel, groups, push, iterations })
    }

    /// Lets a pass multiply factors that hold this.
    fn run(&self, case: &mut CaseBuilder, problem: &Problem, names: [&'static str; 2], factors: Factors, sums: Handle) {
        let [left, right] = problem.inputs(case, names, factors);
        case.run(self.kernel.clone(), &[left, right, sums], self.groups, &self.push);
    }
}

fn typed(kernel: Kernel, takes_vectors: bool, problem: &Problem, config: &Config) -> Result<Kernel, Skip> {
    let has_dot = takes_vectors && config.device().has(Feature::IntegerDotProduct);
    Ok(match problem.kind.types {
        Types::F16F16 => {
            config.require(&[Feature::Float16, Feature::Storage16])?;
            kernel.define("HALF_SUMS", "")
        }
        Types::F16F32 => kernel.define("HALVES", ""),
        Types::Bf16F32 => kernel.define("BFLOATS", ""),
        Types::I8I32 if has_dot => kernel.define("BYTES", "").define("PACKED_DOT", ""),
        Types::I8I32 => kernel.define("BYTES", ""),
        Types::F32 | Types::U8U32 => kernel,
    })
}

fn lying(kernel: Kernel, problem: &Problem) -> Kernel {
    let [left, right] = problem.transposed;
    kernel.constant("LEFT_TRANSPOSED", Scalar::Bool(left)).constant("RIGHT_TRANSPOSED", Scalar::Bool(right))
}

fn sized(kernel: Kernel, problem: &Problem) -> Kernel {
    let sides = [("rows", problem.rows), ("columns", problem.columns), ("inner", problem.inner)];
    sides.into_iter().fold(kernel, |kernel, (name, side)| kernel.constant(name, number(side)))
}

/// A kernel of cooperative matrices, told which factors are transposed, and what is whole.
fn cut(kernel: Kernel, problem: &Problem, tile: [u64; 2], tile_k: u64) -> Kernel {
    let sides = [(problem.rows, tile[0]), (problem.columns, tile[1]), (problem.inner, tile_k)];
    let are_tiles_whole = sides.into_iter().all(|(side, of)| side % of.max(1) == 0);
    let vector = VECTOR_BYTES / problem.kind.factor_bytes();
    let whole_factors = problem.are_whole(vector, vector) == [true; 2];
    let whole_sums = product([problem.columns, problem.kind.sum_bytes()]) % VECTOR_BYTES == 0;
    lying(kernel, problem)
        .constant("ALL_WHOLE", Scalar::Bool(are_tiles_whole && whole_factors && whole_sums))
        .constant("WHOLE_VECTORS", Scalar::Bool(whole_factors))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{self, matrix, mock_with, point, quick};
    use crate::model::MatrixProduct;

    /// What becomes of a product of 23 x 11 times 11 x 13 in this variant, on a device that can multiply all types, by subgroups and by
    /// workgroups.
    fn tiling(variant: &str, told: &str) -> Result<Tiling, Skip> {
        let mut device = mock_with(
            &[
                Feature::Float16,
                Feature::Int8,
                Feature::Storage16,
                Feature::IntegerDotProduct,
                Feature::CooperativeMatrix,
                Feature::MemoryModel,
                Feature::CooperativeMatrixWorkgroupScope,
                Feature::CooperativeMatrixTensorAddressing,
            ],
            &[],
        );
        let halves = matrix([16, 16, 16], [Component::F16, Component::F32]);
        let bytes = matrix([16, 8, 32], [Component::I8, Component::I32]);
        let wide = MatrixProduct { scope: MatrixScope::Workgroup, workgroup_invocations: Some(128), ..halves };
        device.matrices = vec![halves, wide, bytes];
        let told = format!("rows=23 columns=13 inner=11 {told}");
        testing::with(&EXPERIMENT, variant, quick(&device), &told, |config| Tiling::new(config, &Problem::new(config)))
    }

    const SMALL: &str = "local_size_x=2 local_size_y=3 items_m=4 items_n=4 tile_k=4";

    #[test]
    fn workgroups_have_all_rows_and_columns() {
        // 23 rows and 13 columns in tiles of 3 x 2, and of 12 x 8; and four subgroups of 4 x 4 matrices of 16 x 16 lie two by two.
        for (variant, told, expected) in [
            ("naive", SMALL, 8 * 7),
            ("tiled", SMALL, 8 * 7),
            ("blocked", SMALL, 4),
            ("vector", SMALL, 4),
            ("buffered", SMALL, 4),
            ("coopmat_subgroup", "rows=129 columns=300", 2 * 3),
            ("coopmat_subgroup", "rows=129 columns=300 local_size_x=64", 3 * 3),
            ("coopmat_workgroup", "rows=129 columns=300", 2 * 3),
        ] {
            assert_eq!(workgroups(tiling(variant, told).unwrap().groups), expected, "{variant} {told}");
        }
    }

    #[test]
    fn what_a_variant_does_not_take_is_skipped() {
        for (variant, told, why) in [
            ("vector", "", ""),
            ("vector", "items_m=2", "items_m is 2"),
            ("buffered", "items_n=1", "items_n is 1"),
            ("blocked", "items_m=2", ""),
            ("coopmat_subgroup", "tile_k=8", "whole matrices of 16"),
            ("coopmat_subgroup", "local_size_x=48", "whole subgroups of 32"),
            ("coopmat_subgroup", "shape=16x8x16", "16x8x16 f16 f16 f32 f32 of a subgroup"),
            ("coopmat_subgroup", "type=f32", "of a subgroup"),
            ("coopmat_subgroup", "type=i8_i32 shape=16x8x32 transposed=neither", "a matrix of 8 lies across k"),
            ("coopmat_subgroup", "type=i8_i32 shape=16x8x32 transposed=right", ""),
            ("coopmat_workgroup", "local_size_x=64", "of a workgroup"),
        ] {
            let small = if Rung::of(variant).scope().is_none() { SMALL } else { "" };
            let reason = tiling(variant, &format!("{small} {told}")).err().map(|skip| skip.reason).unwrap_or_default();
            assert!(reason.contains(why) && reason.is_empty() == why.is_empty(), "{variant} {told}: {reason}");
        }
    }

    #[test]
    fn only_whole_tiles_of_whole_rows_need_no_checks() {
        for (told, whole) in [
            ("rows=256 columns=128 inner=64", [true; 2]),
            ("rows=250 columns=128 inner=64", [false, true]),
            // The left matrix lies with its rows' numbers side by side.
            ("rows=250 columns=128 inner=64 transposed=left", [false; 2]),
            ("rows=256 columns=128 inner=40", [false, true]),
            ("rows=256 columns=130 inner=64 transposed=right", [false, true]),
        ] {
            let constants = tiling("coopmat_subgroup", told).unwrap().kernel.constants;
            let is_whole = |name: &str| constants.contains(&(name.to_owned(), Scalar::Bool(true)));
            assert_eq!(["ALL_WHOLE", "WHOLE_VECTORS"].map(is_whole), whole, "{told}");
        }
    }

    #[test]
    fn bytes_are_multiplied_by_dot_products_where_vectors_are() {
        let defines = |variant| format!("{:?}", tiling(variant, &format!("{SMALL} type=i8_i32")).unwrap().kernel);
        assert!(defines("blocked").contains("BYTES") && !defines("blocked").contains("PACKED_DOT"));
        assert!(defines("buffered").contains("PACKED_DOT"));
    }

    #[test]
    fn the_first_variant_has_the_types_of_all() {
        for preset in [Preset::Quick, Preset::Default, Preset::Thorough] {
            let first = types(Rung::Naive, preset);
            assert!(Rung::ALL.iter().all(|rung| types(*rung, preset).iter().all(|kind| first.contains(kind))), "{preset:?}");
        }
    }

    #[test]
    fn shares_of_the_peak_are_those_of_floats_outside_of_matrices() {
        let of = |variant, kind| EXPERIMENT.is_of_peak(variant, &point(kind));
        assert!(of("naive", "type=f32") && of("buffered", "type=f32"));
        assert!(!of("buffered", "type=i8_i32") && !of("coopmat_subgroup", "type=f16_f32"));
    }
}
