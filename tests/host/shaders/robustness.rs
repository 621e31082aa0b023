//! Nothing that words can say makes reflection panic.

use std::sync::LazyLock;

use lanescope::shader::{
    BindingKind, InstructionKind, InstructionMix, ReflectError, Reflection, SpecValues, Target, TraceOptions, Traced,
    Unfollowed,
};
use proptest::prelude::*;

use super::support::compiled;
use crate::fuzz::spirv::check;
use crate::support::{spirv_tool, to_words};

/// A module with as many kinds of declarations as fit.
static MODULE: LazyLock<Vec<u32>> = LazyLock::new(|| compiled(include_str!("../fuzz/everything.comp")).words.clone());

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn mutated_words_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![any::<u32>(), 0_u32..100]), 1..6),
        end in any::<Option<prop::sample::Index>>(),
    ) {
        let mut words = MODULE.clone();
        for (place, word) in changes {
            let place = place.index(words.len());
            words[place] = word;
        }
        if let Some(end) = end {
            words.truncate(end.index(words.len()));
        }
        check(&words);
    }

    #[test]
    fn changed_opcodes_never_panic(place in any::<prop::sample::Index>(), opcode in 0_u32..400, length in 0_u32..8) {
        let mut words = MODULE.clone();
        let place = place.index(words.len());
        words[place] = (length << 16) | opcode;
        check(&words);
    }

    #[test]
    fn random_words_never_panic(body in prop::collection::vec(any::<u32>(), 0..64)) {
        check(&[&MODULE[..5], &body].concat());
    }
}

#[test]
fn the_module_itself_is_read() {
    let reflection = Reflection::parse(&MODULE).unwrap();
    assert_eq!(reflection.shared_bytes(&[(1, 8)].into()), Ok(4 * 33 + 12 + 6 * 64));
    assert_eq!(reflection.push_bytes, 68);
}

/// The head of a module in text, with `%f0` as its entry point.
const HEAD: &str = "OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %f0 \"main\"
    OpExecutionMode %f0 LocalSize 1 1 1\n";

/// Assembles text that no validator would take.
fn assembled(text: &str) -> Reflection {
    Reflection::parse(&to_words(&spirv_tool("spirv-as", &["-o", "-", "-"], text.as_bytes()).unwrap())).unwrap()
}

/// A buffer whose block is the last of so many structs, each made of the one before it; all members lie at offset 0.
fn nested_structs(count: u32, members: usize) -> Result<u64, ReflectError> {
    let mut text = HEAD.replace("%f0", "%main");
    text.push_str("OpName %data \"data\"\nOpDecorate %data DescriptorSet 0\nOpDecorate %data Binding 0\n");
    let offsets = |i: u32| (0..members).map(move |member| format!("OpMemberDecorate %s{i} {member} Offset 0\n"));
    text.extend((1..=count).flat_map(offsets));
    text.push_str("%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%s0 = OpTypeInt 32 0\n");
    text.extend((1..=count).map(|i| format!("%s{i} = OpTypeStruct{}\n", format!(" %s{}", i - 1).repeat(members))));
    text.push_str(&format!(
        "%ptr = OpTypePointer StorageBuffer %s{count}
        %data = OpVariable %ptr StorageBuffer
        %main = OpFunction %void None %fn
        %label = OpLabel
        OpReturn
        OpFunctionEnd\n"
    ));
    assembled(&text).blocks(&SpecValues::new()).map(|blocks| blocks[0].layout.bytes)
}

#[test]
fn layouts_end_however_structs_are_nested() {
    let too_much = Err(ReflectError::Size { name: "data".to_owned() });
    assert_eq!(nested_structs(200, 1), Ok(4));
    assert_eq!(nested_structs(300, 1), too_much);
    assert_eq!(nested_structs(50_000, 1), too_much);
    assert_eq!(nested_structs(10, 2), Ok(4));
    assert_eq!(nested_structs(60, 2), too_much);
}

/// The mix of functions `%f0`, `%f1` and so on, of which the first is the entry point. A body ends without its branch out.
fn functions(bodies: impl Iterator<Item = String>) -> InstructionMix {
    let mut text =
        format!("{HEAD} %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%bool = OpTypeBool\n%yes = OpConstantTrue %bool\n");
    for (i, body) in bodies.enumerate() {
        text.push_str(&format!("%f{i} = OpFunction %void None %fn\n%l{i} = OpLabel\n{body}OpReturn\nOpFunctionEnd\n"));
    }
    let reflection = assembled(&text);
    reflection.instruction_mix(&reflection.entry_points[0], &SpecValues::new())
}

fn call(from: u32, to: u32, number: u32) -> String {
    format!("%c{from}_{number} = OpFunctionCall %void %f{to}\n")
}

#[test]
fn calls_that_never_end_are_counted_and_left() {
    let calls = |mix: InstructionMix| mix.total.get(InstructionKind::Call);
    assert_eq!(calls(functions([call(0, 0, 0)].into_iter())), 1);
    assert_eq!(calls(functions([call(0, 1, 0), call(1, 0, 0) + &call(1, 1, 1)].into_iter())), 3);
    assert_eq!(calls(functions([call(0, 7, 0)].into_iter())), 1, "of a function that isn't there");
}

#[test]
fn call_chains_may_be_long_and_wide() {
    let chain = |last: u32, times: u32| {
        let body = move |i| (0..times).map(|number| if i < last { call(i, i + 1, number) } else { String::new() }).collect();
        functions((0..=last).map(body)).total.get(InstructionKind::Call)
    };
    assert_eq!(chain(50_000, 1), 50_000);
    assert_eq!(chain(10, 2), 2046);
    assert_eq!(chain(100, 2), u64::MAX);
}

/// So many loops, each the body of the one before it, around an instruction.
fn nested_loops(count: u32) -> String {
    let open =
        |i: u32| format!("OpBranch %h{i}\n%h{i} = OpLabel\nOpLoopMerge %m{i} %n{i} None\nOpBranch %b{i}\n%b{i} = OpLabel\n");
    let close = |i: u32| format!("OpBranch %n{i}\n%n{i} = OpLabel\nOpBranchConditional %any{i} %h{i} %m{i}\n%m{i} = OpLabel\n");
    let any = |i: u32| format!("%any{i} = OpUndef %bool\n");
    let inner = String::from("%not = OpLogicalNot %bool %yes\n");
    let loops = (0..count).map(any).chain((0..count).map(open)).chain([inner]).chain((0..count).rev().map(close));
    loops.collect()
}

#[test]
fn loops_beyond_the_deepest_count_with_it() {
    let depth = |count| {
        let mix = functions([nested_loops(count)].into_iter());
        let inner = mix.by_depth.iter().position(|counts| counts.get(InstructionKind::Logic) == 1).unwrap();
        (mix.by_depth.len() - 1, inner, mix.total.get(InstructionKind::ControlFlow))
    };
    assert_eq!(depth(1), (1, 1, 1));
    assert_eq!(depth(63), (63, 63, 63));
    assert_eq!(depth(5_000), (63, 63, 5_000));
}

#[test]
fn branches_that_lead_anywhere_end() {
    let twice = "OpBranch %a\n%a = OpLabel\nOpLoopMerge %a %a None\nOpBranchConditional %u %a %l0\n%b = OpLabel\n";
    let mix = functions([format!("%u = OpUndef %bool\n{twice}")].into_iter());
    assert_eq!(mix.total.get(InstructionKind::ControlFlow), 1);
    assert_eq!(functions([String::from("OpBranch %nowhere\n%after = OpLabel\n")].into_iter()).total.sum(), 0);
}

/// The main function, of nothing.
const MAIN: &str = "%f0 = OpFunction %void None %fn\n%l0 = OpLabel\nOpReturn\nOpFunctionEnd\n";

/// What is said of a module of these annotations and declarations. It may use `%uint`, and the constants `%one` and `%two`.
fn declared(annotations: &str, declarations: &str) -> Result<Reflection, ReflectError> {
    let types = "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n";
    let constants = "%one = OpConstant %uint 1\n%two = OpConstant %uint 2\n";
    let text = [HEAD, annotations, types, constants, declarations, MAIN].concat();
    Reflection::parse(&to_words(&spirv_tool("spirv-as", &["-o", "-", "-"], text.as_bytes()).unwrap()))
}

/// How many descriptors an array of samplers has whose length is the constant `%length`.
fn descriptors(declarations: &str) -> Result<u32, ReflectError> {
    let annotations = "OpName %all \"all\"\nOpDecorate %all DescriptorSet 0\nOpDecorate %all Binding 0\n";
    let variable = "%sampler = OpTypeSampler
        %array = OpTypeArray %sampler %length
        %ptr = OpTypePointer UniformConstant %array
        %all = OpVariable %ptr UniformConstant\n";
    Ok(declared(annotations, &[declarations, variable].concat())?.bindings[0].count)
}

#[test]
fn a_group_that_decorates_itself_adds_nothing() {
    let groups =
        "OpDecorate %g NonWritable\nOpDecorate %g Binding 7\nOpDecorate %all DescriptorSet 0\n%g = OpDecorationGroup\n";
    let annotations = [groups, &"OpGroupDecorate %g %g %g %all\n".repeat(64)].concat();
    let variable =
        "%sampler = OpTypeSampler\n%ptr = OpTypePointer UniformConstant %sampler\n%all = OpVariable %ptr UniformConstant\n";
    assert_eq!(declared(&annotations, variable).unwrap().bindings[0].binding, 7);
}

/// The innermost part of so many composites, each the only part of the next.
fn innermost(depth: usize) -> Result<u32, ReflectError> {
    let composite = |i: usize| format!("%c{i} = OpConstantComposite %uint %c{}\n", i - 1);
    let composites: String = (1..=depth).map(composite).collect();
    let path = " 0".repeat(depth);
    descriptors(&format!(
        "%c0 = OpConstant %uint 5\n{composites}%length = OpSpecConstantOp %uint CompositeExtract %c{depth}{path}\n"
    ))
}

#[test]
fn values_end_however_composites_are_nested() {
    let too_deep = Err(ReflectError::Size { name: "all".to_owned() });
    assert_eq!(innermost(1), Ok(5));
    assert_eq!(innermost(255), Ok(5));
    assert_eq!(innermost(256), too_deep);
    assert_eq!(innermost(60_000), too_deep);
}

/// The first part of a composite of ones of so many parts, into which a two is inserted.
fn inserted(parts: usize) -> Result<u32, ReflectError> {
    descriptors(&format!(
        "%c = OpConstantComposite %uint{}
        %with = OpSpecConstantOp %uint CompositeInsert %two %c 0
        %length = OpSpecConstantOp %uint CompositeExtract %with 0\n",
        " %one".repeat(parts)
    ))
}

#[test]
fn long_composites_are_not_copied() {
    assert_eq!(inserted(16), Ok(2));
    assert_eq!(inserted(17), Err(ReflectError::Size { name: "all".to_owned() }));
}

#[test]
fn arrays_end_however_they_are_nested() {
    let kind = |depth: usize| {
        let array = |i: usize| format!("%a{i} = OpTypeArray %a{} %one\n", i - 1);
        let declarations = [
            "%a0 = OpTypeSampler\n".to_owned(),
            (1..=depth).map(array).collect(),
            format!("%ptr = OpTypePointer UniformConstant %a{depth}\n%all = OpVariable %ptr UniformConstant\n"),
        ];
        let bound = "OpDecorate %all DescriptorSet 0\nOpDecorate %all Binding 0\n";
        declared(bound, &declarations.concat()).unwrap().bindings[0].kind
    };
    assert_eq!(kind(255), BindingKind::Sampler);
    assert_eq!(kind(256), BindingKind::Other);
    assert_eq!(kind(50_000), BindingKind::Other);
}

/// Whether each piece of an array of so many numbers that is read whole is followed.
fn is_followed_whole(length: u32) -> bool {
    let text = format!(
        "{HEAD}OpDecorate %all DescriptorSet 0\nOpDecorate %all Binding 0\nOpDecorate %block Block
        OpMemberDecorate %block 0 Offset 0\nOpDecorate %array ArrayStride 4
        %void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n%zero = OpConstant %uint 0
        %length = OpConstant %uint {length}\n%array = OpTypeArray %uint %length\n%block = OpTypeStruct %array
        %ptr = OpTypePointer StorageBuffer %block\n%part = OpTypePointer StorageBuffer %array
        %all = OpVariable %ptr StorageBuffer\n%f0 = OpFunction %void None %fn\n%l = OpLabel
        %at = OpAccessChain %part %all %zero\n%value = OpLoad %array %at\nOpReturn\nOpFunctionEnd\n"
    );
    let words = to_words(&spirv_tool("spirv-as", &["--target-env", "vulkan1.1", "-o", "-", "-"], text.as_bytes()).unwrap());
    let traced = Traced::of(&words, "main", &SpecValues::new(), &TraceOptions::default()).unwrap();
    !matches!(traced.sites[0].target, Target::Unfollowed(Unfollowed::Pieces))
}

#[test]
fn values_that_are_read_whole_may_be_of_any_length() {
    assert!(is_followed_whole(4096));
    assert!(!is_followed_whole(u32::MAX));
}

#[test]
fn long_names_are_shortened_to_whole_characters() {
    let name = |name: &str| {
        let annotations = format!("OpName %n \"{name}\"\nOpDecorate %n SpecId 0\n");
        declared(&annotations, "%n = OpSpecConstant %uint 1\n").unwrap().spec_constants[0].name.clone()
    };
    assert_eq!(name(&"n".repeat(1024)), "n".repeat(1024));
    assert_eq!(name(&"n".repeat(100_000)), "n".repeat(1024));
    assert_eq!(name(&format!("n{}", "é".repeat(1000))), format!("n{}", "é".repeat(511)));
}

/// The time for it may not grow with the product of the two.
#[test]
fn many_entry_points_and_constants_are_read() {
    let entry = |i: u32| format!("OpEntryPoint GLCompute %f0 \"e{i}\"\n");
    let constant = |i: u32| format!("%n{i} = OpConstant %uint {i}\n");
    let (entries, constants): (String, String) = ((1..40_000).map(entry).collect(), (0..40_000).map(constant).collect());
    let text = HEAD.replace("OpExecutionMode", &[&entries, "OpExecutionMode"].concat());
    let types = "%void = OpTypeVoid\n%fn = OpTypeFunction %void\n%uint = OpTypeInt 32 0\n";
    assert_eq!(assembled(&[&text, types, &constants, MAIN].concat()).entry_points.len(), 40_000);
}
