//! Kernels of the catalogue, recorded in all their workgroups and held against twins that list the accesses by what the GLSL says.

mod algo;
mod memory;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::time::Instant;

use lanescope::gpu::{Device, DeviceOptions};
use lanescope::model::{Case, Kernel, MemoryKind, Scalar, Step};
use lanescope::shader::{
    self, AccessKind, Compiler, Dispatch, Library, Prepared, Recording, Space, Target, TraceOptions, Traced, Unfollowed,
};

use super::ran;
use crate::gpu::messages_with;
use crate::support::form::sample;
use crate::support::{cases_of, to_words, typed};

use AccessKind::{Atomic, Load, Store};
use Place::{Buffer, Image, Shared};

/// Small cases, of sizes that divide each other and of sizes that don't: an experiment or variants of it, and values on its axes. The
/// short form takes one case in so many.
#[rustfmt::skip]
const CASES: &[(&str, &str, usize)] = &[
    (
        "algo/reduce:{atomics,interleaved,sequential,shared_atomic,subgroup,vector}",
        "local_size_x=16,20 items=1,4 n=203,256", 5,
    ),
    ("algo/scan:{hillis_steele,blelloch,subgroup}", "local_size_x=16,20 items=4,8 n=203,512", 5),
    ("algo/histogram:*", "local_size_x=16,20 groups=2 items=4 copies=4 n=256,301 distribution=uniform,zipf,one", 7),
    (
        "algo/transpose:{naive,naive_loads_first,tiled,padded,swizzled}",
        "local_size_x=6,8 local_size_y=4 tile=8 matrix_size=16,21", 3,
    ),
    (
        "algo/matmul:{tiled,blocked}",
        "type=f32,f16_f32,i8_i32 matrix_size=12 columns=0,10 transposed=neither,left,right,both data=whole \
         local_size_x=4 local_size_y=3 items_m=2 items_n=2 tile_k=8", 11,
    ),
    ("algo/blur:tiled", "local_size_x=8 local_size_y=4 items=1,2 radius=1,2 filter=gaussian image_size=21", 1),
    ("algo/nbody:{tiled,blocked}", "local_size_x=16 items=1,2 unroll=4 bodies=70,150", 1),
    ("memory/stride", "op=read,write stride=1,2,3,8,32 n=500 local_size_x=16 unroll=4", 1),
    ("memory/layout:*", "fields_used=1,3 n=200 local_size_x=16 unroll=4", 1),
    ("memory/gather", "pattern=sequential,shuffled_16,random n=300 local_size_x=16 unroll=4", 1),
    ("memory/misaligned:*", "width=1,2,4 offset=0,1,3,16 n=120 local_size_x=16 unroll=4", 1),
    // In the short form, each stride has one of the widths.
    (
        "shared/bank_conflict",
        "pattern=strided width=1,2,4 padding=0 stride=1..64 local_size_x=16 iterations=2 groups=2", 3,
    ),
    (
        "shared/bank_conflict",
        "pattern=broadcast,reversed,xor,random width=1,2,4 padding=0,1 stride=1,8,33 local_size_x=20 iterations=3 groups=5", 11,
    ),
];

// ---- what a twin is told, and what it lists ---------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place<'n> {
    /// By its set and binding.
    Buffer(u32, u32),
    Shared(&'n str),
    /// Whose texels have no offset.
    Image,
}

/// What it does, where, in which workgroup, by which invocation of it, from which byte on and how many bytes.
type Access<'n> = (AccessKind, Place<'n>, u32, u32, u64, u64);

/// A shader, and what an invocation of it does: to be compared with it line by line. Barriers, push constants and the invocation's own
/// variables are left out, and so is the order.
type Twin = (&'static str, fn(&mut Own));

fn twins() -> impl Iterator<Item = &'static Twin> {
    algo::TWINS.iter().chain(memory::TWINS)
}

/// An invocation, and what it does.
struct Own<'t> {
    case: &'t Case,
    kernel: &'t Kernel,
    pushed: Vec<u64>,
    grid: [u64; 3],
    size: [u64; 3],
    group: [u64; 3],
    local: [u64; 3],
    /// Of a full subgroup.
    lanes: u64,
    accesses: Vec<Access<'static>>,
}

const fn at(binding: u32) -> Place<'static> {
    Buffer(0, binding)
}

fn unfolded(i: u64, [x, y, _]: [u64; 3]) -> [u64; 3] {
    [i % x, i / x % y, i / x / y]
}

fn folded([x, y, z]: [u64; 3], [width, height, _]: [u64; 3]) -> u64 {
    x + width * (y + height * z)
}

/// The first of a range, and those that follow it so far apart.
fn every(apart: u64, range: Range<u64>) -> impl Iterator<Item = u64> {
    let Range { start, end } = range;
    (0..).map(move |k| start + k * apart).take_while(move |i| *i < end)
}

impl Own<'_> {
    /// Accesses one of the elements of so many bytes that a place is made of.
    fn does(&mut self, kind: AccessKind, place: Place<'static>, element: u64, bytes: u64) {
        let [group, local] = [folded(self.group, self.grid), self.index()].map(|i| u32::try_from(i).unwrap());
        self.accesses.push((kind, place, group, local, element * bytes, bytes));
    }

    fn loads(&mut self, place: Place<'static>, element: u64, bytes: u64) {
        self.does(Load, place, element, bytes);
    }

    fn stores(&mut self, place: Place<'static>, element: u64, bytes: u64) {
        self.does(Store, place, element, bytes);
    }

    /// Loads words, and stores the last of them anew.
    fn changes<const N: usize>(&mut self, place: Place<'static>, elements: [u64; N]) {
        elements.into_iter().for_each(|element| self.loads(place, element, 4));
        self.stores(place, elements[N - 1], 4);
    }

    fn adds(&mut self, place: Place<'static>, element: u64) {
        self.does(Atomic, place, element, 4);
    }

    fn scalar(&self, name: &str) -> Option<Scalar> {
        self.kernel.constants.iter().find(|(of, _)| of == name).map(|(_, scalar)| *scalar)
    }

    fn constant(&self, name: &str) -> u64 {
        match self.scalar(name) {
            Some(Scalar::U32(n)) => n.into(),
            Some(Scalar::I32(n)) => n.try_into().unwrap(),
            scalar => panic!("{name} is {scalar:?}"),
        }
    }

    /// Whether a constant is true; those that nobody sets are not.
    fn is(&self, name: &str) -> bool {
        matches!(self.scalar(name), Some(Scalar::Bool(true)))
    }

    fn defined(&self, name: &str) -> Option<&str> {
        self.kernel.macros.iter().find(|(of, _)| of == name).map(|(_, text)| text.as_str())
    }

    fn has(&self, name: &str) -> bool {
        self.defined(name).is_some()
    }

    fn number(&self, name: &str) -> u64 {
        self.defined(name).map_or(1, |text| text.parse().unwrap())
    }

    /// A word of what a binding holds at first.
    fn word(&self, binding: u32, i: u64) -> u64 {
        let bound = self.kernel.bindings.iter().find(|of| of.binding == binding).unwrap();
        self.case.resources[bound.resource].sequence().word(i).into()
    }

    fn index(&self) -> u64 {
        folded(self.local, self.size)
    }

    fn workers(&self) -> u64 {
        self.size.iter().product()
    }

    fn linear_group(&self) -> u64 {
        self.group[1] * self.grid[0] + self.group[0]
    }

    fn subgroup(&self) -> u64 {
        self.index() / self.lanes
    }

    fn lane(&self) -> u64 {
        self.index() % self.lanes
    }

    /// Lanes of the own subgroup: the last one may lack some.
    fn lanes_here(&self) -> u64 {
        self.lanes.min(self.workers() - self.subgroup() * self.lanes)
    }

    /// The invocation's elements, as `elements.glsl` deals them: those of the first so many.
    fn elements(&self, count: u64) -> Vec<u64> {
        let (size, unroll) = (self.size[0], self.constant("UNROLL"));
        let first = self.linear_group() * size * unroll + self.local[0];
        (0..unroll).map(|k| first + k * size).filter(|i| *i < count).collect()
    }

    fn stores_result(&mut self) {
        let result = folded(self.group, self.grid) * self.size[0] + self.local[0];
        self.stores(at(0), result, 4);
    }
}

// ---- what is recorded -------------------------------------------------------------------------------------------------------

/// The words that are pushed for each dispatch of a pass.
fn pushed(case: &Case) -> Vec<Vec<u64>> {
    let (mut last, mut of_dispatches) = (Vec::new(), Vec::new());
    for step in &case.pass {
        match step {
            Step::Push { bytes } => last = to_words(bytes).into_iter().map(u64::from).collect(),
            Step::Dispatch { .. } => of_dispatches.push(last.clone()),
            _ => {}
        }
    }
    of_dispatches
}

/// What the twin lists of all invocations.
fn expected(case: &Case, dispatch: Dispatch, pushed: Vec<u64>, subgroup_size: u32) -> Vec<Access<'static>> {
    let kernel = &case.kernels[dispatch.kernel];
    let (_, twin) = twins().find(|(source, _)| *source == kernel.source).unwrap();
    let [grid, size] = [dispatch.groups, kernel.local_size].map(|sides| sides.map(u64::from));
    let lanes = kernel.required_subgroup_size.unwrap_or(subgroup_size).into();
    let mut own = Own { case, kernel, pushed, grid, size, group: [0; 3], local: [0; 3], lanes, accesses: Vec::new() };
    for group in 0..grid.iter().product() {
        for local in 0..size.iter().product() {
            (own.group, own.local) = (unfolded(group, grid), unfolded(local, size));
            twin(&mut own);
        }
    }
    own.accesses.sort_unstable();
    own.accesses
}

/// What was recorded of all workgroups, barriers and push constants aside, in order, with so many words of room.
fn recorded<'t>(
    device: &mut Device,
    prepared: &Prepared,
    dispatch: Dispatch,
    (traced, invocations): (&'t Traced, Option<&[u32]>),
    room: usize,
) -> Vec<Access<'t>> {
    let groups: Vec<u32> = (0..dispatch.groups.iter().product()).collect();
    let invocations_per_group = prepared.case.kernels[dispatch.kernel].local_size.iter().product();
    let capacity = u32::try_from(room).unwrap();
    let recording = Recording {
        memory: MemoryKind::DeviceLocal,
        groups: &groups,
        grid: dispatch.groups,
        invocations_per_group,
        capacity,
        invocations,
    };
    let (with, resource) = prepared.recording(dispatch, traced, &recording).unwrap();
    let left = ran(device, &with, Some((resource, recording.beginning()))).unwrap().pop().unwrap();
    let buffer = recording.compacted(&left, traced, &[]);
    let recorded = traced.recorded(&buffer);
    assert!(!recorded.is_cut());
    let mut all = Vec::new();
    for record in recorded.records() {
        let site = &traced.sites[record.site];
        let mut add = |place, offset, bytes| {
            let access = (site.kind, place, record.group, record.invocation, offset, bytes);
            all.extend((0..record.count).map(|_| access));
        };
        let runs = match &site.target {
            Target::Root { runs, .. } | Target::Chosen { runs } => runs,
            Target::Unfollowed(Unfollowed::Image) => {
                add(Image, 0, 0);
                continue;
            }
            Target::Nothing => continue,
            other => panic!("{other:?}"),
        };
        let root = &traced.roots[record.root.unwrap()];
        let place = match root.space {
            Space::Storage { set, binding } | Space::Uniform { set, binding } => Buffer(set, binding),
            Space::Shared => Shared(&root.name),
            Space::PushConstants => continue,
            Space::Address => panic!("what is reached by address has no place here"),
        };
        runs.iter().for_each(|run| add(place, record.offset.unwrap() + run.offset, run.bytes));
    }
    all.sort_unstable();
    all
}

/// Accesses of which a list has more than another one does; both are sorted.
fn beyond<'n>(list: &[Access<'n>], other: &[Access]) -> Vec<Access<'n>> {
    let mut other = other.iter().peekable();
    let is_more = |access: &&Access| {
        while other.next_if(|of_other| of_other < access).is_some() {}
        other.next_if(|of_other| of_other == access).is_none()
    };
    list.iter().filter(is_more).copied().collect()
}

/// By the shader of each dispatch, how many accesses were recorded, or how they differ from what its twin lists.
fn compared(device: &mut Device, prepared: &Prepared) -> Vec<(String, Result<usize, String>)> {
    let case = &prepared.case;
    let subgroup_size = device.info().subgroup.size;
    let compare = |(dispatch, pushed): (Dispatch, Vec<u64>)| {
        let expected = expected(case, dispatch, pushed, subgroup_size);
        let traced = prepared.traced(dispatch, &TraceOptions { leaders: true, ..TraceOptions::default() }).unwrap();
        let found = recorded(device, prepared, dispatch, (&traced, None), 64 * expected.len() + (1 << 20));
        let [missing, more] = [beyond(&expected, &found), beyond(&found, &expected)];
        let is_equal = missing.is_empty() && more.is_empty();
        let few = |of: &[Access]| of.iter().take(4).map(|access| format!("\n    {access:?}")).collect::<String>();
        let differs = || {
            let (name, all) = (format!("{} {} {}", case.experiment, case.variant, case.point), expected.len());
            format!("{name}: of {all}, {} are missing:{}", missing.len(), few(&missing))
                + &format!("\n{} are beyond:{}", more.len(), few(&more))
        };
        (case.kernels[dispatch.kernel].source.to_string(), is_equal.then_some(found.len()).ok_or_else(differs))
    };
    prepared.dispatches().into_iter().zip(pushed(case)).map(compare).collect()
}

#[test]
fn kernels_of_the_catalogue_record_what_their_sources_say() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let (info, begun) = (device.info().clone(), Instant::now());
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        let (mut accesses, mut wrong): (BTreeMap<String, usize>, BTreeMap<String, String>) = Default::default();
        for (filter, axes, of_short) in CASES {
            for case in sample(cases_of(&info, filter, &typed(axes)), 2 * of_short, 2 * of_short) {
                let prepared = shader::prepare(case, &mut compiler).unwrap();
                for (shader, result) in compared(device, &prepared) {
                    match result {
                        Ok(count) => *accesses.entry(shader).or_default() += count,
                        Err(why) => drop(wrong.entry(shader).or_insert(why)),
                    }
                }
            }
        }
        eprintln!("{}, {:.1?}: {accesses:#?}", info.name, begun.elapsed());
        let wrong: Vec<String> = wrong.iter().map(|(shader, why)| format!("{shader} of {why}")).collect();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(accesses.keys().eq(twins().map(|(shader, _)| *shader).collect::<BTreeSet<_>>()));
    });
    assert_eq!(messages, [""; 0]);
}

#[test]
fn passes_that_record_some_instructions_or_invocations_record_all_together() {
    let options = DeviceOptions { is_robust: true, ..DeviceOptions::default() };
    let messages = messages_with(options, |device| {
        let info = device.info().clone();
        let mut compiler = Compiler::new(Library::embedded()).unwrap();
        for (filter, axes, _) in
            CASES.iter().filter(|(filter, ..)| filter.starts_with("algo/reduce:") || filter.starts_with("algo/matmul:"))
        {
            let case = cases_of(&info, filter, &typed(axes)).swap_remove(0);
            let prepared = shader::prepare(case, &mut compiler).unwrap();
            let dispatch = prepared.dispatches()[0];
            let room = 1 << 22;
            let whole = prepared.traced(dispatch, &TraceOptions { leaders: true, ..TraceOptions::default() }).unwrap();
            let all = recorded(device, &prepared, dispatch, (&whole, None), room);
            assert!(!all.is_empty());
            let count = whole.sites.len();
            let some: Vec<usize> = (0..count).filter(|site| site % 2 == 0).collect();
            let others: Vec<usize> = (0..count).filter(|site| site % 2 == 1).collect();
            let count = prepared.case.kernels[dispatch.kernel].local_size.iter().product();
            let (odd, even): (Vec<u32>, Vec<u32>) = (0..count).partition(|invocation| invocation % 2 == 1);
            let mut together = Vec::new();
            for (sites, invocations) in [(&some, None), (&others, Some(&odd[..])), (&others, Some(&even[..]))] {
                let traced = prepared
                    .traced(dispatch, &TraceOptions { leaders: true, sites: Some(sites), values: false, foresees: false })
                    .unwrap();
                assert_eq!((&traced.sites, &traced.roots), (&whole.sites, &whole.roots));
                // What they lead to is named by the module, which this one outlives.
                let part = recorded(device, &prepared, dispatch, (&traced, invocations), room);
                together.extend(part.into_iter().map(|access| format!("{access:?}")));
            }
            together.sort_unstable();
            let mut all: Vec<String> = all.iter().map(|access| format!("{access:?}")).collect();
            all.sort_unstable();
            assert!(together == all, "{filter}: {} of {}", together.len(), all.len());
        }
    });
    assert_eq!(messages, [""; 0]);
}
