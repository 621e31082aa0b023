//! What each variant does in a pass.

use crate::experiments::KernelHandle;
use crate::experiments::common::prelude::*;
use crate::model::Binding;

const KEY_BITS: u32 = 32;

/// Bits of a digit of `radix8` and `onesweep`.
const BYTE: u32 = 8;
const BYTES: u64 = 1 << BYTE;

/// Neighbouring counts that an invocation of the scan takes at once: two loads of 16 bytes.
const SCAN_ITEMS: u64 = 8;

/// Copies of each counter of `onesweep`'s histogram on a GPU. More take the workgroup memory that workgroups could have.
const COPIES: u32 = 4;

/// Tiles that a workgroup counts for the histogram, before it adds to the counters that all share: fewer workgroups add more rarely.
const TILES_EACH: u32 = 16;

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) source: Handle,
    pub(super) target: Handle,
    /// The names of what they go through, where there are several passes over memory.
    pub(super) scratch: [&'static str; 2],
}

struct Tiles {
    n: u32,
    count: u32,
    groups: [u32; 3],
}

impl Tiles {
    fn of(config: &Config) -> Self {
        let [n, local_size, items] = ["n", "local_size_x", "items"].map(|axis| config.integer(axis));
        let tiles = n.div_ceil(product([local_size, items]));
        // Keys are fewer than 2^30.
        let count = narrow(tiles);
        Self { n: config.u32("n"), count, groups: config.grid(tiles).0 }
    }

    /// What kernels are pushed in a pass over the digit that lies so many bits above the lowest one.
    fn push(&self, shift: u32) -> [u32; 3] {
        [self.n, self.count, shift]
    }
}

#[derive(Clone)]
struct Hop {
    from: Vec<Handle>,
    to: Vec<Handle>,
}

/// So many passes over memory, an even number: from the source to the target, back and forth between two scratch buffers in between, since
/// nobody writes the source, and no pass reads the target.
fn hops(case: &mut CaseBuilder, columns: &[Column], n: u64, passes: usize) -> Vec<Hop> {
    let [ping, pong] = [0, 1].map(|place| {
        let scratch = columns.iter().map(|column| case.scratch(column.scratch[place], n));
        scratch.collect::<Vec<Handle>>()
    });
    let source: Vec<Handle> = columns.iter().map(|column| column.source).collect();
    let target: Vec<Handle> = columns.iter().map(|column| column.target).collect();
    let stop = |at: usize| match at {
        0 => &source,
        _ if at == passes => &target,
        _ if at % 2 == 1 => &ping,
        _ => &pong,
    };
    (0..passes).map(|pass| Hop { from: stop(pass).clone(), to: stop(pass + 1).clone() }).collect()
}

/// A kernel with the keys and values of a pass at the bindings 0 to 3, and these resources from binding 4 on.
fn moving(case: &mut CaseBuilder, kernel: &Kernel, hop: &Hop, others: &[Handle]) -> KernelHandle {
    let columns = hop.to.iter().zip(&hop.from).flat_map(|(to, from)| [to, from]);
    let bindings = (0..).zip(columns).chain((4..).zip(others));
    let bindings = bindings.map(|(binding, resource)| Binding::new(0, binding, resource.index())).collect();
    case.bound_kernel(Kernel { bindings, ..kernel.clone() })
}

fn with_values(kernel: Kernel, columns: &[Column]) -> Kernel {
    if columns.len() > 1 { kernel.define("PAYLOAD", "") } else { kernel }
}

/// `radix`: eight digits of four bits; a pass of three dispatches for each.
///
/// All of these return how many iterations of loops an invocation may have.
pub(super) fn radix(case: &mut CaseBuilder, config: &Config, columns: &[Column]) -> u64 {
    const BITS: u32 = 4;
    let scatter = config.kernel("algo/sort_scatter.comp", &["items"]).constant("BITS", Scalar::U32(BITS));
    counted(case, config, columns, BITS, &with_values(scatter, columns))
}

/// `radix8`: four digits of eight bits, ranked by subgroups.
pub(super) fn radix8(case: &mut CaseBuilder, config: &Config, columns: &[Column]) -> Result<u64, Skip> {
    let scatter = ranked("algo/sort_scatter_ranked.comp", config)?;
    Ok(counted(case, config, columns, BYTE, &with_values(scatter, columns)))
}

/// A kernel that ranks keys by subgroups, where the device has what it needs.
fn ranked(source: &'static str, config: &Config) -> Result<Kernel, Skip> {
    config.require_classes(&[SubgroupClass::Ballot, SubgroupClass::Shuffle])?;
    let subgroup = &config.device().subgroup;
    let required = size_to_require(config.device(), config.integer("local_size_x"));
    if subgroup.size_control && subgroup.min_size < subgroup.max_size && required.is_none() {
        let subgroups = config.integer("local_size_x").div_ceil(subgroup.size.max(1).into());
        let most = subgroup.max_workgroup_subgroups;
        return Err(Skip::new(format!("maxComputeWorkgroupSubgroups is {most}, the case needs {subgroups}")));
    }
    let kernel = config.kernel(source, &["items"]).constant("LANES", Scalar::U32(lanes(config.device())));
    Ok(Kernel { required_subgroup_size: required, ..kernel })
}

/// Passes of three dispatches: count each tile's digits, sum the counts up, scatter.
fn counted(case: &mut CaseBuilder, config: &Config, columns: &[Column], bits: u32, scatter: &Kernel) -> u64 {
    let tiles = Tiles::of(config);
    let digits = 1_u32 << bits;
    let counts = case.scratch("counts", product([digits.into(), tiles.count.into()]));
    let totals = case.scratch("totals", digits.into());
    let count = config.kernel("algo/sort_count.comp", &["items"]).constant("BITS", Scalar::U32(bits));
    let scan = config.kernel("algo/sort_scan.comp", &[]).define("TOTALS", "");
    let scan = case.kernel(scan, &[counts, totals]);
    let passes = KEY_BITS / bits;
    let hops = hops(case, columns, config.integer("n"), passes as usize);
    let mut kernels: Vec<[KernelHandle; 2]> = Vec::new();
    for (pass, hop) in (0..passes).zip(&hops) {
        // Back and forth, the same two kernels take turns.
        let turn = (pass >= 3 && pass + 1 < passes).then(|| kernels[kernels.len() - 2]);
        let [counting, scattering] = turn.unwrap_or_else(|| {
            [case.kernel(count.clone(), &[counts, hop.from[0]]), moving(case, scatter, hop, &[counts, totals])]
        });
        kernels.push([counting, scattering]);
        if pass > 0 {
            case.depend();
        }
        let push = tiles.push(pass * bits);
        case.dispatch(counting, tiles.groups, &push);
        case.depend();
        case.dispatch(scan, [digits, 1, 1], &[tiles.count]);
        case.depend();
        case.dispatch(scattering, tiles.groups, &push);
    }
    let local_size = config.integer("local_size_x");
    let of_scan = u64::from(tiles.count).div_ceil(product([local_size, SCAN_ITEMS]));
    product([of_scan, u64::from(local_size.max(1).ilog2()) + 2])
}

/// `onesweep`: one look at all keys tells where each digit begins, and then one pass over memory sorts by each.
pub(super) fn onesweep(case: &mut CaseBuilder, config: &Config, columns: &[Column]) -> Result<u64, Skip> {
    let sweep = ranked("algo/sort_onesweep.comp", config)?.constant("SPINS", Scalar::U32(config.u32("spins")));
    let sweep = with_values(sweep, columns);
    let tiles = Tiles::of(config);
    let passes = KEY_BITS / BYTE;
    let begins = case.scratch("begins", product([passes.into(), BYTES]));
    let tickets = case.scratch("tickets", passes.into());
    let states = ["states 0", "states 1", "states 2", "states 3"];
    let states = states.map(|name| case.scratch(name, product([tiles.count.into(), BYTES])));
    [begins, tickets].into_iter().chain(states).for_each(|cleared| case.fill(cleared, 0));
    case.barrier();

    let histogram = config
        .kernel("algo/sort_histogram.comp", &["items"])
        .constant("COPIES", Scalar::U32(config.setting.by_class(1, COPIES)))
        .constant("TILES_EACH", Scalar::U32(TILES_EACH));
    let groups = config.grid(tiles.count.div_ceil(TILES_EACH).into()).0;
    case.run(histogram, &[begins, columns[0].source], groups, &tiles.push(0));
    case.depend();
    let scan = config.kernel("algo/sort_scan.comp", &[]);
    case.run(scan, &[begins], [passes, 1, 1], &[1 << BYTE]);
    let hops = hops(case, columns, config.integer("n"), passes as usize);
    for ((pass, hop), states) in (0..passes).zip(&hops).zip(states) {
        case.depend();
        let kernel = moving(case, &sweep, hop, &[begins, states, tickets]);
        case.dispatch(kernel, tiles.groups, &tiles.push(pass * BYTE));
    }
    // Where nobody looks, each tile counts all before it: for that, it goes four times through its digits. The rest does so a few times.
    let [local_size, items] = ["local_size_x", "items"].map(|axis| config.integer(axis));
    let recounts = if config.integer("spins") == 0 { u64::from(tiles.count) } else { 0 };
    let digits = BYTES.div_ceil(local_size);
    Ok(product([recounts, 4 * digits + items]).saturating_add(16 * digits))
}

/// `bitonic`: tiles are sorted in workgroup memory. Then blocks of twice as many keys are merged, and so on: steps whose pairs lie farther
/// apart than a tile are a dispatch each, and one does the rest.
pub(super) fn bitonic(case: &mut CaseBuilder, config: &Config, columns: &[Column]) -> u64 {
    let n = config.integer("n");
    let tile = bitonic_tile(config, columns.len() as u64);
    let in_tile = |macros: &[&str]| {
        let kernel = config.kernel("algo/sort_bitonic_tile.comp", &[]).constant("TILE", number(tile));
        with_values(macros.iter().fold(kernel, |kernel, name| kernel.define(name, "")), columns)
    };
    let groups = config.grid(n.div_ceil(tile)).0;
    let both: Vec<Handle> = columns.iter().flat_map(|column| [column.target, column.source]).collect();
    case.run(in_tile(&[]), &both, groups, &[config.u32("n")]);
    if n <= tile {
        return 0;
    }
    let targets: Vec<Handle> = columns.iter().map(|column| column.target).collect();
    let pairs = (config.integer("items") / 2).max(1);
    let step = config.kernel("algo/sort_bitonic_pairs.comp", &[]).constant("PAIRS", number(pairs));
    let step = case.kernel(with_values(step, columns), &targets);
    let merge = case.kernel(in_tile(&["MERGE"]), &targets);
    let exchange = |case: &mut CaseBuilder, half: u64, mask: u64| {
        let groups = config.grid(pairs_of(n, half).div_ceil(product([config.integer("local_size_x"), pairs]))).0;
        case.depend();
        case.dispatch(step, groups, &[config.u32("n"), narrow(half), narrow(mask)]);
    };
    let blocks = std::iter::successors(Some(2 * tile), |block| Some(2 * block));
    for block in blocks.take_while(|block| *block <= n.next_power_of_two()) {
        exchange(case, block / 2, block - 1);
        let distances = std::iter::successors(Some(block / 4), |distance| Some(distance / 2));
        distances.take_while(|distance| *distance >= tile).for_each(|distance| exchange(case, distance, distance));
        case.depend();
        case.dispatch(merge, groups, &[config.u32("n")]);
    }
    0
}

/// Keys that a workgroup sorts in its memory, a power of two: as many as its invocations take, if they fit.
fn bitonic_tile(config: &Config, columns: u64) -> u64 {
    let [local_size, items] = ["local_size_x", "items"].map(|axis| config.integer(axis));
    let fitting = u64::from(config.device().limits.shared_bytes) / (4 * columns);
    let most = product([local_size, items]).min(fitting).max(2);
    1 << most.ilog2()
}

/// Pairs of a step whose first key is there.
fn pairs_of(n: u64, half: u64) -> u64 {
    n / (2 * half) * half + (n % (2 * half)).min(half)
}

#[cfg(test)]
mod tests {
    use super::super::testing::built;
    use super::*;
    use crate::experiments::common::testing::constant;
    use crate::model::{Case, DeviceInfo, Step};

    fn case(variant: &str, told: &str) -> Case {
        built(variant, told, |built| built.case)
    }

    /// What the steps of a bitonic sort do, one after the other, on the host.
    fn sorted_by_steps(n: u64, local_size: u64, items: u64) -> Vec<u64> {
        let case = case("bitonic", &format!("n={n} local_size_x={local_size} items={items}"));
        let Scalar::U32(tile) = constant(&case, "TILE") else { panic!("no number") };
        let tile = u64::from(tile);
        let mut keys: Vec<u64> = (0..n).map(|i| i * 7919 % 1009).collect();
        let mut exchange = |half: u64, mask: u64, pairs: u64| {
            for pair in 0..pairs {
                let first = pair / half * 2 * half + pair % half;
                let [first, second] = [first, first ^ mask].map(|place| usize::try_from(place).unwrap());
                if second < keys.len() && keys[first] > keys[second] {
                    keys.swap(first, second);
                }
            }
        };
        let halve = |exchange: &mut dyn FnMut(u64, u64, u64), half: u64| {
            std::iter::successors(Some(half), |half| Some(half / 2)).take_while(|half| *half > 0).for_each(|half| {
                exchange(half, half, n);
            });
        };
        let mut bound = 0;
        let mut pushed = Vec::new();
        for step in &case.pass {
            match step {
                Step::Bind { kernel } => bound = *kernel,
                Step::Push { bytes } => {
                    pushed = bytes.chunks_exact(4).map(|word| u32::from_ne_bytes(word.try_into().unwrap()).into()).collect();
                }
                Step::Dispatch { .. } if bound == 0 => {
                    let blocks = std::iter::successors(Some(2), |block| Some(2 * block));
                    for block in blocks.take_while(|block| *block <= tile) {
                        exchange(block / 2, block - 1, n);
                        halve(&mut exchange, block / 4);
                    }
                }
                Step::Dispatch { groups } if bound == 1 => {
                    let [half, mask] = [pushed[1], pushed[2]];
                    assert!(half >= tile, "a step within a tile is a dispatch of its own");
                    let covered = u64::from(groups[0]) * local_size * (items / 2).max(1);
                    exchange(half, mask, covered);
                }
                Step::Dispatch { .. } => halve(&mut exchange, tile / 2),
                _ => {}
            }
        }
        keys
    }

    #[test]
    fn the_steps_of_a_bitonic_sort_sort_any_number_of_keys() {
        for (n, local_size, items) in [(1, 4, 2), (2, 1, 1), (5, 1, 2), (64, 4, 4), (65, 4, 2), (1000, 3, 6), (1023, 8, 4)] {
            let keys = sorted_by_steps(n, local_size, items);
            assert!(keys.len() as u64 == n && keys.is_sorted(), "{n} {local_size} {items}: {keys:?}");
        }
    }

    #[test]
    fn a_tile_of_a_bitonic_sort_fits_into_workgroup_memory() {
        let tile = |local_size, payload| {
            constant(&case("bitonic", &format!("n=9 local_size_x={local_size} payload={payload}")), "TILE")
        };
        let most = u64::from(DeviceInfo::mock().limits.shared_bytes);
        assert_eq!(tile(3, "nothing"), Scalar::U32(32));
        let largest = |columns: u64| Scalar::U32(1 << (most / (4 * columns)).ilog2());
        assert_eq!([tile(1 << 20, "nothing"), tile(1 << 20, "word")], [largest(1), largest(2)]);
    }

    /// Each pass reads what the one before it wrote, the first one the source, and the last one writes the target.
    #[test]
    fn keys_go_from_pass_to_pass() {
        for (variant, passes) in [("radix", 8), ("radix8", 4), ("onesweep", 4)] {
            let case = case(variant, "local_size_x=8 items=4 payload=word");
            let moves = case.dispatches().map(|(kernel, _)| &case.kernels[kernel]).filter(|kernel| kernel.bindings.len() > 4);
            let moves: Vec<[usize; 4]> = moves.map(|kernel| [0, 1, 2, 3].map(|i| kernel.bindings[i].resource)).collect();
            assert_eq!(moves.len(), passes, "{variant}");
            assert!(moves.windows(2).all(|pair| [pair[0][0], pair[0][2]] == [pair[1][1], pair[1][3]]), "{variant}: {moves:?}");
            let name = |resource: usize| &*case.resources[resource].name;
            let [first, last] = [moves[0], moves[passes - 1]];
            assert_eq!([name(first[1]), name(first[3])], ["source", "source values"], "{variant}");
            assert_eq!([name(last[0]), name(last[2])], ["target", "target values"], "{variant}");
        }
    }
}
