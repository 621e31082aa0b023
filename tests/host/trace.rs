//! Models of hardware beside what counters of that hardware said, and kernels of the catalogue that are made to record what they access.

use std::collections::BTreeMap;

use lanescope::experiments::CATALOGUE;
use lanescope::model::{DeviceInfo, Preset};
use lanescope::plan::{Plan, Request};
use lanescope::shader::{self, AccessKind, Compiler, Library, Run, Site, SpecValues, Target, TraceOptions, Traced, validate};
use lanescope::trace::hardware::{Hardware, LaneAccess};
use lanescope::trace::request::Cost;

use crate::support::{data, little_work, setting, spirv_tool, to_words};

const NVIDIA: u32 = 0x10de;

/// What one access of one warp took, as ncu counted it: `l1tex__data_pipe_lsu_wavefronts_mem_shared` of workgroup memory, or
/// `l1tex__t_sectors_pipe_lsu_mem_global`.
struct Counted {
    is_shared: bool,
    kind: AccessKind,
    bytes: u64,
    lanes: Vec<LaneAccess>,
    counted: u64,
}

/// Those of a file, by its columns' names.
fn counted(file: &str) -> Vec<Counted> {
    let text = std::fs::read_to_string(data(file)).unwrap();
    let mut rows = csv::Reader::from_reader(text.as_bytes());
    let row = |row: BTreeMap<String, String>| {
        let active = u32::from_str_radix(row["active_lanes"].trim_start_matches("0x"), 16).unwrap();
        let offsets: Vec<u64> = row["byte_addresses"].split(' ').map(|offset| offset.parse().unwrap_or(0)).collect();
        let is_active = |lane: &u32| active >> lane & 1 == 1;
        let access = |lane: u32| LaneAccess { lane, offset: offsets[lane as usize] };
        let is_shared = row.get("space").is_none_or(|space| space == "shared");
        Counted {
            is_shared,
            kind: if row["op"] == "load" { AccessKind::Load } else { AccessKind::Store },
            bytes: row["bytes"].parse().unwrap(),
            lanes: (0..32).filter(is_active).map(access).collect(),
            counted: row[if is_shared { "wavefronts" } else { "sectors" }].parse().unwrap(),
        }
    };
    rows.deserialize().map(|record| row(record.unwrap())).collect()
}

/// How many of them a model gives otherwise.
fn wrong(model: &Hardware, all: &[Counted]) -> usize {
    let is_wrong = |of: &&Counted| {
        let found = if of.is_shared {
            model.shared.wavefronts(of.kind, of.bytes, &of.lanes).unwrap().all
        } else {
            let offsets: Vec<u64> = of.lanes.iter().map(|lane| lane.offset).collect();
            Cost::of(&offsets, &[Run { offset: 0, bytes: of.bytes }], model).sectors
        };
        found != of.counted
    };
    all.iter().filter(is_wrong).count()
}

#[test]
fn accesses_cost_what_counters_told() {
    let [first, second] = ["counters/wavefronts-h100.csv", "counters/accesses-h200.csv"].map(counted);
    assert_eq!((first.len(), second.len()), (100, 500));
    let model = Hardware::of_vendor(NVIDIA, 32);
    assert_eq!((wrong(&model, &first), wrong(&model, &second)), (0, 0));
    // A rule less, and it is wrong.
    let with = |agreeing: &[u32]| {
        let mut other = model.clone();
        let widening = other.shared.rules.iter_mut().filter(|rule| !rule.agreeing.is_empty());
        widening.for_each(|rule| rule.agreeing = agreeing.to_vec());
        (wrong(&other, &first), wrong(&other, &second))
    };
    let neighbours_alone = with(&[1]);
    assert!(neighbours_alone.0 == 0 && neighbours_alone.1 > 20, "{neighbours_alone:?}");
    let none = with(&[]);
    assert!(none.0 > 0 && none.1 > neighbours_alone.1, "{none:?}");
    let four = with(&[1, 2, 4]);
    assert!(four.1 > 0, "{four:?}");
    let mut whole = model.clone();
    whole.shared.rules.iter_mut().for_each(|rule| rule.phases_of = Some(32));
    assert!(wrong(&whole, &first) > 20);
    let wide = Hardware { sector_bytes: 64, ..model };
    assert!(wrong(&wide, &second) > 100);
}

#[test]
fn kernels_of_the_catalogue_stay_valid_when_they_record() {
    let device = DeviceInfo::mock();
    let mut compiler = Compiler::new(Library::embedded()).unwrap();
    let request = Request { axes: little_work(), ..Request::default() };
    let plan = Plan::new(&request, setting(&device, Preset::Quick)).unwrap();
    let mut seen = std::collections::BTreeSet::new();
    let (mut sites, mut unfollowed) = (0, 0);
    for case in plan.iter().filter_map(|planned| planned.case.ok()) {
        let prepared = shader::prepare(case, &mut compiler).unwrap();
        for dispatch in prepared.dispatches() {
            let kernel = &prepared.case.kernels[dispatch.kernel];
            if !seen.insert((kernel.source.clone(), kernel.macros.clone())) {
                continue;
            }
            let traced = |values| {
                let options = TraceOptions { leaders: true, values, sites: None, foresees: false };
                let traced = prepared.traced(dispatch, &options).unwrap_or_else(|error| panic!("{}: {error}", kernel.source));
                assert_eq!(validate(&traced.words), Ok(()), "{}", kernel.source);
                traced
            };
            let (traced, with_values) = (traced(false), traced(true));
            assert!(traced.sites.len() <= with_values.sites.len());
            sites += traced.sites.len();
            unfollowed += traced.sites.iter().filter(|site| matches!(site.target, Target::Unfollowed(_))).count();
        }
    }
    eprintln!("{} modules, {sites} accesses, {unfollowed} not followed", seen.len());
    assert!(seen.len() > CATALOGUE.len() / 2 && sites > 500 && unfollowed < sites / 4);
}

// ---- modules that no GLSL compiler writes -----------------------------------------------------------------------------------

/// Pointers that functions take, that are selected and that a loop hands on; a block that nothing leads to; and another entry point that
/// calls the same function.
const POINTERS: &str = "
               OpCapability Shader
               OpCapability VariablePointers
               OpMemoryModel Logical GLSL450
               OpEntryPoint GLCompute %main \"main\" %id
               OpEntryPoint GLCompute %other \"other\"
               OpExecutionMode %main LocalSize 8 1 1
               OpExecutionMode %other LocalSize 1 1 1
               OpDecorate %id BuiltIn GlobalInvocationId
               OpDecorate %array ArrayStride 4
               OpDecorate %to_uint ArrayStride 4
               OpMemberDecorate %block 0 Offset 0
               OpDecorate %block Block
               OpDecorate %a DescriptorSet 0
               OpDecorate %a Binding 0
               OpDecorate %b DescriptorSet 0
               OpDecorate %b Binding 1
       %void = OpTypeVoid
     %nothing = OpTypeFunction %void
       %bool = OpTypeBool
       %uint = OpTypeInt 32 0
     %triple = OpTypeVector %uint 3
    %to_triple = OpTypePointer Input %triple
    %to_input = OpTypePointer Input %uint
      %array = OpTypeRuntimeArray %uint
      %block = OpTypeStruct %array
   %to_block = OpTypePointer StorageBuffer %block
    %to_uint = OpTypePointer StorageBuffer %uint
      %taking = OpTypeFunction %uint %to_uint
       %zero = OpConstant %uint 0
        %one = OpConstant %uint 1
       %four = OpConstant %uint 4
          %a = OpVariable %to_block StorageBuffer
          %b = OpVariable %to_block StorageBuffer
         %id = OpVariable %to_triple Input
       %read = OpFunction %uint None %taking
    %pointer = OpFunctionParameter %to_uint
 %read_label = OpLabel
       %seen = OpLoad %uint %pointer
               OpReturnValue %seen
               OpFunctionEnd
       %main = OpFunction %void None %nothing
      %start = OpLabel
       %at_x = OpAccessChain %to_input %id %zero
          %i = OpLoad %uint %at_x
         %pa = OpAccessChain %to_uint %a %zero %i
         %pb = OpAccessChain %to_uint %b %zero %i
        %odd = OpBitwiseAnd %uint %i %one
     %is_odd = OpIEqual %bool %odd %one
     %chosen = OpSelect %to_uint %is_odd %pa %pb
      %value = OpFunctionCall %uint %read %chosen
               OpBranch %loop
       %loop = OpLabel
     %walker = OpPhi %to_uint %pa %start %next %again
      %count = OpPhi %uint %zero %start %more %again
    %is_left = OpULessThan %bool %count %four
               OpLoopMerge %end %again None
               OpBranchConditional %is_left %body %end
       %body = OpLabel
       %here = OpLoad %uint %walker
               OpBranch %again
      %again = OpLabel
       %next = OpPtrAccessChain %to_uint %walker %one
       %more = OpIAdd %uint %count %one
               OpBranch %loop
       %dead = OpLabel
     %unused = OpFunctionCall %uint %read %pb
               OpBranch %end
        %end = OpLabel
       %last = OpPhi %to_uint %walker %loop %pb %dead
               OpStore %last %value
               OpReturn
               OpFunctionEnd
      %other = OpFunction %void None %nothing
%other_label = OpLabel
        %pc = OpAccessChain %to_uint %a %zero %zero
      %again_c = OpFunctionCall %uint %read %pc
               OpReturn
               OpFunctionEnd";

#[test]
fn pointers_are_followed_through_calls_choices_and_loops() {
    let words = to_words(&spirv_tool("spirv-as", &["--target-env", "spv1.3", "-o", "-", "-"], POINTERS.as_bytes()).unwrap());
    assert_eq!(validate(&words), Ok(()));
    for leaders in [false, true] {
        let options = TraceOptions { leaders, ..TraceOptions::default() };
        let traced = Traced::of(&words, "main", &SpecValues::new(), &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(validate(&traced.words), Ok(()));
        let chosen = |kind| {
            let is_so = |site: &&Site| site.kind == kind && matches!(site.target, Target::Chosen { .. });
            traced.sites.iter().filter(is_so).count()
        };
        assert_eq!((traced.sites.len(), chosen(AccessKind::Load), chosen(AccessKind::Store)), (3, 2, 1), "{:#?}", traced.sites);
    }
}
