//! The checks can fail: every kernel is broken on purpose, run on every driver found, and found wrong.
//!
//! A mutant is a replacement in the embedded GLSL that must apply exactly once, compiled and checked as a run would. None writes
//! out of bounds. Those that no check can find stand in [`SURVIVORS`] with the reason, and have to survive.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking and says where it ran, helpers included"
)]

mod support;

use std::collections::BTreeSet;

use lanescope::experiments::{self, CATALOGUE, Setting};
use lanescope::gpu::{Device, Instance, InstanceOptions, NO_DEVICE_ADVICE};
use lanescope::model::{Check, Preset};
use lanescope::shader::{self, Compiler, Library};
use lanescope::validate::Verdict;
use support::point;

/// Values of axes, as a user writes them.
type Axes = &'static [(&'static str, &'static str)];

/// A broken kernel.
struct Mutant {
    name: &'static str,
    /// Below `glsl/`.
    path: &'static str,
    from: &'static str,
    to: &'static str,
    experiment: &'static str,
    /// Where it has to be found wrong: at each of these.
    at: &'static [Axes],
}

/// A mutant that gives right results.
struct Survivor {
    mutant: Mutant,
    reason: &'static str,
}

const fn mutant(
    name: &'static str,
    (path, experiment): (&'static str, &'static str),
    [from, to]: [&'static str; 2],
    at: &'static [Axes],
) -> Mutant {
    Mutant { name, path, from, to, experiment, at }
}

// ---- the kernels ----------------------------------------------------------------------------------------------------------

const LINEAR: (&str, &str) = ("workgroup/linear.comp", "workgroup/linear");
/// A tail that fills no workgroup, and a grid that fits.
const ODD_AND_EVEN: &[Axes] = &[&[("n", "1000"), ("local_size_x", "32")], &[("n", "1024"), ("local_size_x", "64")]];
/// The grid that fits alone.
const FITTING: &[Axes] = &[ODD_AND_EVEN[1]];
/// More workgroups than fit along x.
const FOLDED: &[Axes] = &[&[("n", "70000"), ("local_size_x", "1")]];

const TILE: (&str, &str) = ("workgroup/tile2d.comp", "workgroup/tile2d");
const ROW: Axes = &[("image_size", "50"), ("local_size_x", "8"), ("local_size_y", "4"), ("order", "row")];
const COLUMN: Axes = &[("image_size", "50"), ("local_size_x", "8"), ("local_size_y", "4"), ("order", "column")];

const SENTINEL: (&str, &str) = ("calibration/sentinel.comp", "calibration/sentinel");
const STEPS: &[Axes] = &[&[("groups", "3"), ("steps", "100")]];

const EVICT: (&str, &str) = ("calibration/evict.comp", "calibration/evict");
/// A tail that fills no workgroup, and a grid that fits.
const SWEPT: &[Axes] = &[&[("evict_bytes", "4000")], &[("evict_bytes", "4096")]];

const STREAM: (&str, &str) = ("memory/stream.comp", "memory/stream");

/// An operation at each width, with a tail that fills no workgroup.
macro_rules! widths {
    ($op:literal) => {
        widths!($op, "8200")
    };
    ($op:literal, $n:literal) => {
        &[
            &[("op", $op), ("width", "1"), ("n", $n), ("local_size_x", "64")],
            &[("op", $op), ("width", "2"), ("n", $n), ("local_size_x", "64")],
            &[("op", $op), ("width", "4"), ("n", $n), ("local_size_x", "64")],
        ]
    };
}

/// Every operation that writes `c`, at each width.
const WRITING: &[Axes] = &[
    widths!("init")[0],
    widths!("init")[1],
    widths!("init")[2],
    widths!("copy")[0],
    widths!("copy")[1],
    widths!("copy")[2],
    widths!("scale")[0],
    widths!("scale")[1],
    widths!("scale")[2],
    widths!("triad")[0],
    widths!("triad")[1],
    widths!("triad")[2],
    widths!("3-point")[0],
    widths!("3-point")[1],
    widths!("3-point")[2],
    widths!("5-point")[0],
    widths!("5-point")[1],
    widths!("5-point")[2],
];
/// Those that read `a` at its own place.
const READ: &[Axes] = widths!("read");
const PAIRS: &[Axes] = &[widths!("read")[1]];
const WIDE: &[Axes] = &[widths!("read")[2]];
const STENCILS: &[Axes] = &[widths!("3-point")[0], widths!("3-point")[2], widths!("5-point")[1], widths!("5-point")[2]];

const MUTANTS: &[Mutant] = &[
    mutant("another operation", LINEAR, ["a * x[i] + y[i]", "a * x[i] - y[i]"], ODD_AND_EVEN),
    mutant("an input left out", LINEAR, ["a * x[i] + y[i]", "a * x[i]"], ODD_AND_EVEN),
    mutant("the other input", LINEAR, ["a * x[i] + y[i]", "a * y[i] + x[i]"], ODD_AND_EVEN),
    mutant("a neighbour's input", LINEAR, ["x[i] +", "x[i ^ 1u] +"], ODD_AND_EVEN),
    mutant("a neighbour's output", LINEAR, ["z[i] =", "z[i ^ 1u] ="], ODD_AND_EVEN),
    mutant("no factor", LINEAR, ["a * x[i]", "x[i]"], ODD_AND_EVEN),
    mutant("the last is left out", LINEAR, ["i < n", "i + 1 < n"], ODD_AND_EVEN),
    mutant("the first is left out", LINEAR, ["i < n", "i != 0 && i < n"], ODD_AND_EVEN),
    mutant("nothing is written", LINEAR, ["z[i] = a * x[i] + y[i];", "float lost = a * x[i] + y[i];"], ODD_AND_EVEN),
    mutant("nothing at all", LINEAR, ["i < n", "false"], ODD_AND_EVEN),
    mutant("another dimension of the invocation", LINEAR, ["gl_LocalInvocationID.x", "gl_LocalInvocationID.y"], ODD_AND_EVEN),
    mutant("workgroups too far apart", LINEAR, ["* gl_WorkGroupSize.x", "* (gl_WorkGroupSize.x + 1)"], ODD_AND_EVEN),
    mutant("workgroups too near", LINEAR, ["* gl_WorkGroupSize.x", "* (gl_WorkGroupSize.x / 2)"], ODD_AND_EVEN),
    mutant("the fold is forgotten", ("include/grid.glsl", LINEAR.1), ["gl_WorkGroupID.y * gl_NumWorkGroups.x + ", ""], FOLDED),
    mutant("the fold the other way", ("include/grid.glsl", LINEAR.1), ["* gl_NumWorkGroups.x", "* gl_NumWorkGroups.y"], FOLDED),
    mutant("red weighs less", TILE, ["77u", "76u"], &[ROW, COLUMN]),
    mutant("green weighs more", TILE, ["150u", "151u"], &[ROW, COLUMN]),
    mutant("blue weighs less", TILE, ["29u", "28u"], &[ROW, COLUMN]),
    mutant("another scale", TILE, [") >> 8;", ") >> 7;"], &[ROW, COLUMN]),
    mutant("colours swapped", TILE, ["pixel >> 8, pixel >> 16", "pixel >> 16, pixel >> 8"], &[ROW, COLUMN]),
    mutant("no alpha", TILE, ["(pixel & 0xFF000000u)", "0u"], &[ROW, COLUMN]),
    mutant("one colour missing", TILE, ["0x010101u", "0x000101u"], &[ROW, COLUMN]),
    mutant("a neighbour's pixel", TILE, ["source_pixels[i]", "source_pixels[i ^ 1u]"], &[ROW, COLUMN]),
    mutant("the pixel as it is", TILE, ["gray(source_pixels[i])", "source_pixels[i]"], &[ROW, COLUMN]),
    mutant("nothing is written", TILE, ["target_pixels[i] = gray", "uint lost = gray"], &[ROW, COLUMN]),
    mutant("the last column is left out", TILE, ["at.x < width", "at.x + 1 < width"], &[ROW, COLUMN]),
    mutant("the last row is left out", TILE, ["at.y < height", "at.y + 1 < height"], &[ROW, COLUMN]),
    mutant("rows too short", TILE, ["at.y * width", "at.y * (width - 1)"], &[ROW, COLUMN]),
    mutant("one index twice, by row", TILE, [": gl_GlobalInvocationID.xy", ": gl_GlobalInvocationID.xx"], &[ROW]),
    mutant("one index twice, by column", TILE, ["gl_GlobalInvocationID.yx :", "gl_GlobalInvocationID.yy :"], &[COLUMN]),
    mutant("another multiplier", SENTINEL, ["1664525u", "1664529u"], STEPS),
    mutant("another increment", SENTINEL, ["1013904223u", "1013904221u"], STEPS),
    mutant("a step too few", SENTINEL, ["k = 0", "k = 1"], STEPS),
    mutant("a step too many", SENTINEL, ["k < STEPS", "k <= STEPS"], STEPS),
    mutant("another start", SENTINEL, ["x = gl_GlobalInvocationID.x", "x = gl_LocalInvocationID.x"], STEPS),
    mutant(
        "a neighbour's output",
        SENTINEL,
        ["result[gl_GlobalInvocationID.x]", "result[gl_GlobalInvocationID.x ^ 1u]"],
        STEPS,
    ),
    mutant("one workgroup's output", SENTINEL, ["result[gl_GlobalInvocationID.x]", "result[gl_LocalInvocationID.x]"], STEPS),
    mutant("nothing is written", SENTINEL, ["result[gl_GlobalInvocationID.x] = x;", ""], STEPS),
    mutant("nothing is written", EVICT, ["ballast[i] += i * 2654435761u;", ""], SWEPT),
    mutant("another factor", EVICT, ["2654435761u", "2654435763u"], SWEPT),
    mutant("another sign", EVICT, ["+=", "-="], SWEPT),
    mutant("a neighbour's output", EVICT, ["ballast[i] +=", "ballast[i ^ 1u] +="], SWEPT),
    mutant("the last is left out", EVICT, ["i < n", "i + 1 < n"], SWEPT),
    mutant("only every other word", EVICT, ["i < n", "i < n && i % 2 == 0"], SWEPT),
    mutant("workgroups too far apart", EVICT, ["* gl_WorkGroupSize.x", "* (gl_WorkGroupSize.x + 1)"], SWEPT),
    mutant("nothing is written", STREAM, ["c[i] = value(i);", "value(i);"], WRITING),
    mutant("a neighbour's output", STREAM, ["c[i] = value", "c[i ^ 1u] = value"], WRITING),
    mutant("the last is left out", STREAM, [IF_WRITING, "if (i + 1 < elements) {\n            c"], WRITING),
    mutant("an operation too far", STREAM, ["switch (OP)", "switch (OP + 1)"], &WRITING_BUT_THE_LAST),
    mutant("two operations swapped", STREAM, ["INIT = 0, COPY = 1", "INIT = 1, COPY = 0"], &INIT_AND_COPY),
    mutant("no count", STREAM, ["ELEMENT(i & 0xFFFFu) +", "ELEMENT(0) +"], widths!("init")),
    mutant("the count without its end", STREAM, ["i & 0xFFFFu", "i"], widths!("init", "400000")),
    mutant("the count ends early", STREAM, ["0xFFFFu", "0x7FFFu"], widths!("init", "400000")),
    mutant("no scalar to count from", STREAM, [") + scalar", ")"], widths!("init")),
    mutant("the other input", STREAM, ["COPY: return a[i]", "COPY: return b[i]"], widths!("copy")),
    mutant("a neighbour's input", STREAM, ["COPY: return a[i]", "COPY: return a[i ^ 1u]"], widths!("copy")),
    mutant("no factor", STREAM, ["SCALE: return scalar * ", "SCALE: return "], widths!("scale")),
    mutant("a neighbour's input", STREAM, ["scalar * a[i]", "scalar * a[i ^ 1u]"], widths!("scale")),
    mutant("no factor", STREAM, ["scalar * b[i]", "b[i]"], widths!("triad")),
    mutant("another operation", STREAM, ["a[i] + scalar", "a[i] - scalar"], widths!("triad")),
    mutant("inputs swapped", STREAM, ["a[i] + scalar * b[i]", "b[i] + scalar * a[i]"], widths!("triad")),
    mutant(
        "the left neighbour's neighbour",
        STREAM,
        ["POINT3: return at(i, -1)", "POINT3: return at(i, -2)"],
        widths!("3-point"),
    ),
    mutant(
        "the right neighbour left out",
        STREAM,
        ["at(i, 0) + at(i, 1);\n    default", "at(i, 0);\n    default"],
        widths!("3-point"),
    ),
    mutant("the centre twice", STREAM, ["POINT3: return at(i, -1)", "POINT3: return at(i, 0)"], widths!("3-point")),
    mutant("one neighbour twice", STREAM, ["default: return at(i, -2)", "default: return at(i, -1)"], widths!("5-point")),
    mutant("the outer right left out", STREAM, [" + at(i, 2);", ";"], widths!("5-point")),
    mutant("another left edge", STREAM, ["+ offset, 0,", "+ offset, 1,"], STENCILS),
    mutant("another right edge", STREAM, ["int(elements) - 1", "int(elements) - 2"], STENCILS),
    mutant("offsets the other way", STREAM, ["int(i) + offset", "int(i) - offset - 1"], STENCILS),
    mutant("another sign", STREAM, ["sum += a[i]", "sum -= a[i]"], READ),
    mutant("only the last", STREAM, ["sum += a[i]", "sum = a[i]"], READ),
    mutant("a neighbour's input", STREAM, ["sum += a[i]", "sum += a[i ^ 1u]"], READ),
    mutant("a sum that starts elsewhere", STREAM, ["ELEMENT sum = ELEMENT(0)", "ELEMENT sum = ELEMENT(1)"], READ),
    mutant("the last is left out", STREAM, [IF_READING, "if (i + 1 < elements) {\n            sum"], READ),
    mutant("nothing is written", STREAM, ["+ gl_LocalInvocationID.x] = SUM(sum);", "+ gl_LocalInvocationID.x];"], READ),
    mutant("a neighbour's sum", STREAM, ["gl_LocalInvocationID.x] = SUM", "(gl_LocalInvocationID.x ^ 1u)] = SUM"], READ),
    mutant("half a sum of 2", STREAM, ["((v).x + (v).y)", "((v).x)"], PAIRS),
    mutant("a quarter of a sum of 4 missing", STREAM, [" + (v).w", ""], WIDE),
    mutant("a quarter of a sum of 4 twice", STREAM, ["(v).z + (v).w", "(v).z + (v).z"], WIDE),
    mutant("a wrong first element", STREAM, ["* UNROLL + gl", "* UNROLL + 1 + gl"], READ),
    mutant("a wrong first element", STREAM, ["* UNROLL + gl", "* UNROLL + 1 + gl"], WRITING),
    mutant("workgroups that overlap", STREAM, ["gl_WorkGroupSize.x * UNROLL", "gl_WorkGroupSize.x"], READ),
    mutant("workgroups that overlap", STREAM, ["gl_WorkGroupSize.x * UNROLL", "gl_WorkGroupSize.x"], WRITING),
    mutant(
        "the fold is forgotten",
        ("include/grid.glsl", STREAM.1),
        ["gl_WorkGroupID.y * gl_NumWorkGroups.x + ", ""],
        &FOLDED_STREAM,
    ),
];

/// The bounds check of the kernel that writes `c`, and that of the one that sums up.
const IF_WRITING: &str = "if (i < elements) {\n            c";
const IF_READING: &str = "if (i < elements) {\n            sum";

/// The default takes every number beyond the last as well.
const WRITING_BUT_THE_LAST: [Axes; 5] =
    [widths!("init")[0], widths!("copy")[1], widths!("scale")[2], widths!("triad")[0], widths!("3-point")[1]];
const INIT_AND_COPY: [Axes; 3] = [widths!("init")[0], widths!("copy")[0], widths!("copy")[2]];
const FOLDED_STREAM: [Axes; 2] = [
    &[("op", "copy"), ("width", "1"), ("n", "70000"), ("local_size_x", "1"), ("unroll", "1")],
    &[("op", "read"), ("width", "1"), ("n", "70000"), ("local_size_x", "1"), ("unroll", "1")],
];

const fn survivor(mutant: Mutant, reason: &'static str) -> Survivor {
    Survivor { mutant, reason }
}

/// Mutants whose results are right.
const SURVIVORS: &[Survivor] = &[
    survivor(
        mutant("no bounds check", LINEAR, ["i < n", "true"], FITTING),
        "the grid has no invocation too many here; where it has, the mutant would write out of bounds",
    ),
    survivor(
        mutant("written without reading", EVICT, ["+=", "="], SWEPT),
        "the reset leaves zeros, and a pass on top of another is never checked: what reading adds is traffic, not a result",
    ),
    survivor(
        mutant("no bounds check", STREAM, [IF_WRITING, "if (true) {\n            c"], &EVEN_COPY),
        "the grid has no invocation too many here; where it has, the mutant would write out of bounds",
    ),
    survivor(
        mutant("no bounds check across", TILE, ["at.x < width && ", ""], &EVEN_TILES),
        "the shapes divide the image; where they don't, the mutant would write out of bounds in the last row",
    ),
    survivor(
        mutant("columns first", TILE, ["at.y * width + at.x", "at.x * width + at.y"], &[ROW, COLUMN]),
        "the image is square and a pixel depends on itself only: every pixel is still done once, which is what `order` varies",
    ),
    survivor(mutant("heights for widths", TILE, ["at.y * width", "at.y * height"], &[ROW, COLUMN]), "the image is square"),
    survivor(
        mutant("orders swapped", TILE, ["BY_COLUMN ?", "!BY_COLUMN ?"], &[ROW, COLUMN]),
        "both orders give the same image: only the time differs, and no result can tell",
    ),
    survivor(
        mutant(
            "the fold's other half",
            ("include/grid.glsl", LINEAR.1),
            ["gl_WorkGroupID.y * gl_NumWorkGroups.x + ", ""],
            ODD_AND_EVEN,
        ),
        "a grid that needs no fold has one row",
    ),
    survivor(mutant("another default", SENTINEL, ["STEPS = 256", "STEPS = 255"], STEPS), "the constant is always specialized"),
    survivor(mutant("another default", STREAM, ["UNROLL = 8", "UNROLL = 4"], WRITING), "the constant is always specialized"),
    survivor(mutant("another default", STREAM, ["OP = 0", "OP = 1"], WRITING), "the constant is always specialized"),
    survivor(
        mutant("sums in another order", STREAM, ["(v).x + (v).y + (v).z + (v).w", "(v).w + (v).z + (v).y + (v).x"], WIDE),
        "every intermediate is a whole number below 2^24, so that sums are exact in any order",
    ),
];

const EVEN_COPY: [Axes; 1] = [&[("op", "copy"), ("width", "4"), ("n", "8192"), ("local_size_x", "64")]];
const EVEN_TILES: [Axes; 2] = [
    &[("image_size", "64"), ("local_size_x", "8"), ("local_size_y", "4"), ("order", "row")],
    &[("image_size", "64"), ("local_size_x", "8"), ("local_size_y", "4"), ("order", "column")],
];

// ---- running them ---------------------------------------------------------------------------------------------------------

impl Mutant {
    fn describe(&self, at: Axes) -> String {
        format!("{}: {} ({} -> {}) at {at:?}", self.path, self.name, self.from, self.to)
    }

    /// The library with this mutant in place of the kernel.
    fn library(&self) -> Library {
        let library = Library::embedded();
        let text = library.get(self.path).unwrap_or_else(|| panic!("no {}", self.path)).to_owned();
        assert_eq!(text.matches(self.from).count(), 1, "{}: `{}` must apply exactly once", self.path, self.from);
        let mutated = text.replacen(self.from, self.to, 1);
        assert_ne!(text, mutated, "{}: {}", self.path, self.name);
        library.with(self.path, mutated)
    }

    fn experiment(&self) -> &'static dyn experiments::Experiment {
        experiments::find(self.experiment).unwrap()
    }
}

/// Compiles, runs and checks one case as a run would, with the kernels of this library.
fn verdict(device: &mut Device, compiler: &mut Compiler, mutant: &Mutant, at: Axes) -> Verdict {
    let info = device.info().clone();
    let setting = Setting { queue: None, device: &info, preset: Preset::Quick, seed: 1 };
    let experiment = mutant.experiment();
    let case = experiment.case("", &point(experiment, &setting, at), &setting).unwrap();
    let prepared =
        shader::prepare(case, compiler).unwrap_or_else(|failure| panic!("{}: {}", mutant.describe(at), failure.reason));
    let slot = device.load(&prepared).unwrap().slot;
    device.run_checked(slot).unwrap();
    let outputs: Vec<Vec<u8>> =
        prepared.case.check.outputs().iter().map(|&output| device.read(slot, output).unwrap()).collect();
    let verdict = experiment.check(&prepared.case, &outputs);
    device.unload();
    verdict
}

/// Runs a test on every usable device, without the validation layer: what the mutants do, they do within their buffers.
fn on_each_device(mut test: impl FnMut(&mut Device)) {
    let instance = Instance::load(InstanceOptions { validation: false }).unwrap_or_else(|error| panic!("{error}"));
    let usable: Vec<_> = instance.devices().into_iter().filter(|device| device.unusable.is_none()).collect();
    assert!(!usable.is_empty(), "{NO_DEVICE_ADVICE}");
    support::devices();
    for info in usable {
        eprintln!("on {} ({}, {})", info.name, info.driver.name, info.driver.info);
        test(&mut instance.open(info.index, None).unwrap_or_else(|error| panic!("{error}")));
    }
}

#[test]
fn every_mutant_is_found_wrong_and_no_kernel_is() {
    on_each_device(|device| {
        let mut original = Compiler::new(Library::embedded()).unwrap();
        let mut known: BTreeSet<(&str, Axes)> = BTreeSet::new();
        let mut survived = Vec::new();
        for mutant in MUTANTS {
            let mut mutated = Compiler::new(mutant.library()).unwrap();
            for at in mutant.at {
                if known.insert((mutant.experiment, at)) {
                    assert_eq!(verdict(device, &mut original, mutant, at), Verdict::Right, "{} at {at:?}", mutant.experiment);
                }
                if verdict(device, &mut mutated, mutant, at) == Verdict::Right {
                    survived.push(mutant.describe(at));
                }
            }
        }
        assert!(survived.is_empty(), "not found: {survived:#?}");
    });
}

#[test]
fn the_survivors_survive() {
    on_each_device(|device| {
        for Survivor { mutant, reason } in SURVIVORS {
            let mut mutated = Compiler::new(mutant.library()).unwrap();
            for at in mutant.at {
                assert_eq!(verdict(device, &mut mutated, mutant, at), Verdict::Right, "{} ({reason})", mutant.describe(at));
            }
        }
    });
}

/// Every experiment that has a twin has mutants, and every shader of its.
#[test]
fn every_checked_kernel_has_mutants() {
    for device in support::device_classes() {
        let setting = Setting { queue: None, device: &device, preset: Preset::Quick, seed: 1 };
        for experiment in CATALOGUE {
            let case = experiment.case(experiment.variants()[0], &point(*experiment, &setting, &[]), &setting).unwrap();
            if case.check == Check::Twin(case.check.outputs().to_vec()) {
                for kernel in &case.kernels {
                    let has = |mutant: &&Mutant| mutant.path == kernel.source && mutant.experiment == experiment.name();
                    assert!(MUTANTS.iter().filter(has).count() >= 5, "{} has too few mutants", experiment.name());
                }
            }
        }
    }
}
