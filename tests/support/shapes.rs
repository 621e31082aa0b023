//! Cases of several kernels, as whole algorithms are made of: a trial of each shape, and what can be wrong with it.

use std::collections::BTreeSet;

use lanescope::experiments::{Built, CaseBuilder, Config, Setting};
use lanescope::model::{DeviceInfo, Headline, Kernel, Point, Preset, Scalar, Sequence, Work};
use lanescope::shader::{Compiler, Library};
use lanescope::validate::Expected;
use lanescope::validate::invariants::{self, Matrix};

/// The words of each: no tile divides them.
const N: u32 = 1000;
const GROUPS: u32 = N.div_ceil(128);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two kernels, the second of which sums up what the first one left in scratch memory.
    Reduction,
    /// The same, whose second kernel reads a word more than the first one has written.
    StaleScratch,
    /// Bins that the pass clears, and then counts in.
    Histogram,
    /// The same without clearing them.
    UnclearedHistogram,
    /// Ten steps of a sort, from one buffer to the other and back.
    PingPong,
    /// The same, whose first step goes on from what the last pass left.
    StalePingPong,
    /// A product of matrices, held to Freivalds' check.
    Product,
    /// The same, of which one number is off by one.
    WrongProduct,
    /// Flags that one kernel sets where there is something, and another one counts; those of the last pass are never taken away.
    StaleFlags,
}

pub const RIGHT: [Shape; 4] = [Shape::Reduction, Shape::Histogram, Shape::PingPong, Shape::Product];

/// A compiler that knows the shapes' kernels.
pub fn compiler() -> Compiler {
    let kernels = [
        ("shapes/sum.comp", SUM),
        ("shapes/count.comp", COUNT),
        ("shapes/exchange.comp", EXCHANGE),
        ("shapes/flag.comp", FLAG),
        ("shapes/flagged.comp", FLAGGED),
        ("shapes/product.comp", PRODUCT),
    ];
    let with = |library: Library, (name, body): (&str, &str)| library.with(name, format!("{HEAD}{body}"));
    Compiler::new(kernels.into_iter().fold(Library::embedded(), with)).unwrap()
}

/// A shape's case and twin, with the data of a seed.
pub fn built(shape: Shape, device: &DeviceInfo, seed: u64) -> Built {
    let setting = Setting { device, queue: None, preset: Preset::Quick, seed };
    let mut case = CaseBuilder::new("test/shapes", &Config::new("", &Point::default(), &setting));
    let data = Sequence::Words { seed };
    match shape {
        Shape::Reduction | Shape::StaleScratch => {
            let sum = move |_| words(data).fold(0, u32::wrapping_add);
            let (total, source) = (case.output("total", Expected::words(1, sum)), case.input("source", N.into(), data));
            let sums = case.scratch("sums", 128);
            let of_groups = case.kernel(summing(N), &[sums, source]);
            let of_all = case.kernel(summing(GROUPS + u32::from(shape == Shape::StaleScratch)), &[total, sums]);
            case.dispatch(of_groups, [GROUPS, 1, 1], &[]);
            case.depend();
            case.dispatch(of_all, [1, 1, 1], &[]);
        }
        Shape::Histogram | Shape::UnclearedHistogram => {
            let count = move |bin| words(data).filter(|word| u64::from(word & 15) == bin).fold(0, |count, _| count + 1);
            let bins = case.output_from(0, "bins", Expected::words(16, count));
            let source = case.input("source", N.into(), data);
            if shape == Shape::Histogram {
                case.fill(bins, 0);
                case.barrier();
            }
            case.run(kernel("shapes/count.comp", N), &[bins, source], [N.div_ceil(64), 1, 1], &[]);
        }
        Shape::PingPong | Shape::StalePingPong => {
            let sorted = Expected::words_from(N.into(), move || {
                let mut words: Vec<u32> = words(data).collect();
                (0..10).for_each(|step| words[step % 2..].chunks_exact_mut(2).for_each(<[u32]>::sort_unstable));
                move |i| words[usize::try_from(i).unwrap()]
            });
            let (source, to) = (case.input("source", N.into(), data), case.output("to", sorted));
            let other = case.scratch("other", N.into());
            for step in 0..10 {
                let from = match (step, shape) {
                    (0, Shape::PingPong) => source,
                    (even, _) if even % 2 == 0 => to,
                    _ => other,
                };
                let kernel = kernel("shapes/exchange.comp", N).constant("ODD", Scalar::U32(step % 2));
                if step > 0 {
                    case.depend();
                }
                case.run(kernel, &[if step % 2 == 0 { other } else { to }, from], [N.div_ceil(64), 1, 1], &[]);
            }
        }
        Shape::Product | Shape::WrongProduct => {
            let factors = [seed, !seed].map(|seed| Sequence::WholeFloats { seed, magnitude: 64 });
            let [m, n, k] = SIZES;
            let element = move |i: u64| {
                let term = |inner: u64| factors[0].float(i / n * k + inner) * factors[1].float(inner * n + i % n);
                (0..k).map(term).sum()
            };
            let output = case.output("c", Expected::floats(m * n, element));
            let resources = [output, case.input("a", m * k, factors[0]), case.input("b", k * n, factors[1])];
            let kernel = kernel("shapes/product.comp", u32::from(shape == Shape::WrongProduct));
            case.run(kernel, &resources, [(m * n).div_ceil(64).try_into().unwrap(), 1, 1], &[]);
            let case = case.holds("Freivalds' check in whole numbers", move |left| {
                let words: Vec<f32> = left.of(output).words().into_iter().map(f32::from_bits).collect();
                let whole = |x: f32| invariants::whole(x.into());
                let given = |of: usize, columns: u64, row: usize, column: usize| {
                    whole(factors[of].float(row as u64 * columns + column as u64))
                };
                let [rows, columns, inner] = SIZES.map(|size| usize::try_from(size).unwrap());
                invariants::product(
                    "c",
                    [
                        &Matrix { size: [rows, inner], at: &|row, column| given(0, k, row, column) },
                        &Matrix { size: [inner, columns], at: &|row, column| given(1, n, row, column) },
                        &Matrix { size: [rows, columns], at: &|row, column| whole(*words.get(row * columns + column)?) },
                    ],
                )
            });
            return case.build(Work { items: Some(m * n), ..Work::default() }, Headline::ITEMS);
        }
        Shape::StaleFlags => {
            let count = move |_| words(data).map(|word| word & 1023).collect::<BTreeSet<u32>>().len().try_into().unwrap();
            let (found, source) = (case.output("found", Expected::words(1, count)), case.input("source", N.into(), data));
            let flags = case.scratch("flags", 1024);
            case.run(kernel("shapes/flag.comp", N), &[flags, source], [N.div_ceil(64), 1, 1], &[]);
            case.depend();
            case.run(kernel("shapes/flagged.comp", 1024), &[found, flags], [1, 1, 1], &[]);
        }
    }
    case.build(Work { items: Some(N.into()), ..Work::default() }, Headline::ITEMS)
}

fn words(data: Sequence) -> impl Iterator<Item = u32> {
    (0..N.into()).map(move |i| data.word(i))
}

fn kernel(source: &'static str, n: u32) -> Kernel {
    Kernel::new(source, [64, 1, 1]).constant("N", Scalar::U32(n))
}

fn summing(n: u32) -> Kernel {
    kernel("shapes/sum.comp", n)
}

/// Rows and columns of the product, and what it sums up.
const SIZES: [u64; 3] = [33, 17, 65];

const HEAD: &str = "#version 450
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const uint N = 1;
";

/// The sum of two words for each invocation of a workgroup.
const SUM: &str = "
layout(set = 0, binding = 0) restrict writeonly buffer Sums { uint sums[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
shared uint tile[64];
void main() {
    const uint lane = gl_LocalInvocationID.x, first = gl_WorkGroupID.x * 128 + lane;
    tile[lane] = (first < N ? source[first] : 0) + (first + 64 < N ? source[first + 64] : 0);
    for (uint step = 32; step > 0; step /= 2) {
        barrier();
        if (lane < step) tile[lane] += tile[lane + step];
    }
    if (lane == 0) sums[gl_WorkGroupID.x] = tile[0];
}";

/// Counts words by their lowest four bits.
const COUNT: &str = "
layout(set = 0, binding = 0) restrict buffer Bins { uint bins[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
void main() {
    if (gl_GlobalInvocationID.x < N) atomicAdd(bins[source[gl_GlobalInvocationID.x] & 15], 1);
}";

/// Sets a flag for each number of ten bits that there is.
const FLAG: &str = "
layout(set = 0, binding = 0) restrict writeonly buffer Flags { uint flags[]; };
layout(set = 0, binding = 1) restrict readonly buffer Source { uint source[]; };
void main() {
    if (gl_GlobalInvocationID.x < N) flags[source[gl_GlobalInvocationID.x] & 1023] = 1;
}";

const FLAGGED: &str = "
layout(set = 0, binding = 0) restrict writeonly buffer Found { uint found[]; };
layout(set = 0, binding = 1) restrict readonly buffer Flags { uint flags[]; };
shared uint count;
void main() {
    if (gl_LocalInvocationID.x == 0) count = 0;
    barrier();
    for (uint i = gl_LocalInvocationID.x; i < N; i += 64) {
        if (flags[i] == 1) atomicAdd(count, 1);
    }
    barrier();
    if (gl_LocalInvocationID.x == 0) found[0] = count;
}";

/// A number of a product of matrices for each invocation.
const PRODUCT: &str = "
layout(set = 0, binding = 0) restrict writeonly buffer C { float c[]; };
layout(set = 0, binding = 1) restrict readonly buffer A { float a[]; };
layout(set = 0, binding = 2) restrict readonly buffer B { float b[]; };
void main() {
    const uint i = gl_GlobalInvocationID.x, row = i / 17, column = i % 17;
    if (i >= 33 * 17) return;
    float sum = 0;
    for (uint k = 0; k < 65; ++k) sum += a[row * 65 + k] * b[k * 17 + column];
    c[i] = i == 200 ? sum + N : sum;
}";

/// A step of an odd-even sort: neighbours change places where they are in the wrong order.
const EXCHANGE: &str = "
layout(constant_id = 4) const uint ODD = 0;
layout(set = 0, binding = 0) restrict writeonly buffer To { uint to[]; };
layout(set = 0, binding = 1) restrict readonly buffer From { uint from[]; };
void main() {
    const uint i = gl_GlobalInvocationID.x;
    if (i >= N) return;
    const bool is_left = (i + ODD) % 2 == 0;
    const uint own = from[i];
    if (is_left ? i + 1 >= N : i == 0) {
        to[i] = own;
    } else {
        to[i] = is_left ? min(own, from[i + 1]) : max(own, from[i - 1]);
    }
}";
