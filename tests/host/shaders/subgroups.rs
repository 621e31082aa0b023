//! The classes of subgroup operations that shaders use.

use std::collections::BTreeSet;

use lanescope::model::SubgroupClass::{
    self, Arithmetic, Ballot, Basic, Clustered, Quad, Rotate, RotateClustered, Shuffle, ShuffleRelative, Vote,
};
use lanescope::shader::SpecValues;

use super::support::{compiled, compiled_with_news, reflected};

const EXTENSIONS: [&str; 9] =
    ["basic", "vote", "arithmetic", "ballot", "shuffle", "shuffle_relative", "clustered", "quad", "rotate"];

fn source(declarations: &str, main: &str) -> String {
    let require = |name: &str| format!("#extension GL_KHR_shader_subgroup_{name} : require\n");
    let extensions: String = EXTENSIONS.into_iter().map(require).collect();
    format!(
        "#version 460\n{extensions}
        layout(binding = 0) buffer Data {{ uint n; uvec4 mask; bool yes; }};
        {declarations}
        void main() {{ {main} }}"
    )
}

fn classes(declarations: &str, main: &str, values: &SpecValues) -> Vec<SubgroupClass> {
    let reflection = &compiled(&source(declarations, main)).reflection;
    reflection.subgroup_classes(&reflection.entry_points[0], values).into_iter().collect()
}

#[test]
fn each_operation_has_its_class() {
    let expected: [(SubgroupClass, &[&str]); 9] = [
        (
            Basic,
            &[
                "yes = subgroupElect();",
                "subgroupBarrier();",
                "subgroupMemoryBarrierShared();",
                "n = gl_SubgroupSize;",
                "n = gl_SubgroupInvocationID;",
                "n = gl_NumSubgroups + gl_SubgroupID;",
            ],
        ),
        (Vote, &["yes = subgroupAll(yes);", "yes = subgroupAny(yes);", "yes = subgroupAllEqual(n);"]),
        (
            Arithmetic,
            &[
                "n = subgroupAdd(n);",
                "n = subgroupInclusiveMax(n);",
                "n = subgroupExclusiveXor(n);",
                "yes = subgroupAnd(n) > 2;",
            ],
        ),
        (
            Ballot,
            &[
                "mask = subgroupBallot(yes);",
                "n = subgroupBroadcast(n, 2);",
                "n = subgroupBroadcastFirst(n);",
                "n = subgroupBallotBitCount(mask);",
                "n = subgroupBallotFindLSB(mask);",
                "yes = subgroupInverseBallot(mask);",
                "mask = gl_SubgroupLtMask;",
            ],
        ),
        (Shuffle, &["n = subgroupShuffle(n, 3);", "n = subgroupShuffleXor(n, 1);"]),
        (ShuffleRelative, &["n = subgroupShuffleUp(n, 1);", "n = subgroupShuffleDown(n, 2);"]),
        (Clustered, &["n = subgroupClusteredAdd(n, 4);", "n = subgroupClusteredMin(n, 8);"]),
        (Quad, &["n = subgroupQuadBroadcast(n, 1);", "n = subgroupQuadSwapHorizontal(n);"]),
        (Rotate, &["n = subgroupRotate(n, 1);"]),
    ];
    for (class, operations) in expected {
        for operation in operations {
            assert_eq!(classes("", operation, &[].into()), [class], "{operation}");
        }
    }
    assert_eq!(classes("", "n = subgroupClusteredRotate(n, 1, 4);", &[].into()), [RotateClustered]);
    assert_eq!(classes("", "n = 1; barrier(); memoryBarrierShared();", &[].into()), []);
}

#[test]
fn several_classes_are_found_through_calls_and_not_beyond_them() {
    let declarations = "layout(constant_id = 3) const bool SHUFFLED = false;
        uint deep(uint x) { return subgroupAdd(x) + subgroupClusteredAdd(x, 4); }
        uint middle(uint x) { return subgroupAll(x > 2) ? deep(x) : 0; }
        uint never(uint x) { return subgroupQuadSwapVertical(x); }";
    let main = "n = middle(n); if (SHUFFLED) { n = subgroupShuffle(n, 2); }";
    assert_eq!(classes(declarations, main, &[].into()), [Vote, Arithmetic, Clustered]);
    assert_eq!(classes(declarations, main, &[(3, 1)].into()), [Vote, Arithmetic, Shuffle, Clustered]);
}

#[test]
fn operations_on_quads_of_another_extension_are_quads() {
    let quads = "#version 460
        #extension GL_EXT_shader_quad_control : require
        #extension GL_KHR_shader_subgroup_vote : require
        layout(binding = 0) buffer Data { bool yes; };
        void main() { yes = subgroupQuadAll(yes); }";
    let reflection = &compiled_with_news(quads).reflection;
    assert_eq!(reflection.subgroup_classes(&reflection.entry_points[0], &[].into()), BTreeSet::from([Quad]));
}

/// The operations of `VK_EXT_shader_subgroup_vote` and `VK_EXT_shader_subgroup_ballot`; and each entry point has its own classes.
#[test]
fn older_operations_and_entry_points_are_told_apart() {
    let reflection = reflected(
        r#"OpCapability Shader
        OpCapability SubgroupVoteKHR
        OpCapability SubgroupBallotKHR
        OpExtension "SPV_KHR_subgroup_vote"
        OpExtension "SPV_KHR_shader_ballot"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %f "votes"
        OpEntryPoint GLCompute %g "ballots"
        OpEntryPoint GLCompute %h "nothing"
        OpExecutionMode %f LocalSize 1 1 1
        OpExecutionMode %g LocalSize 1 1 1
        OpExecutionMode %h LocalSize 1 1 1
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %bool = OpTypeBool
        %uint = OpTypeInt 32 0
        %uvec4 = OpTypeVector %uint 4
        %true = OpConstantTrue %bool
        %f = OpFunction %void None %fn
        %fl = OpLabel
        %all = OpSubgroupAllKHR %bool %true
        OpReturn
        OpFunctionEnd
        %g = OpFunction %void None %fn
        %gl = OpLabel
        %mask = OpSubgroupBallotKHR %uvec4 %true
        OpReturn
        OpFunctionEnd
        %h = OpFunction %void None %fn
        %hl = OpLabel
        OpReturn
        OpFunctionEnd"#,
        "vulkan1.0",
    );
    let classes = reflection.entry_points.iter().map(|entry| reflection.subgroup_classes(entry, &[].into()));
    assert_eq!(classes.collect::<Vec<_>>(), [[Vote].into(), [Ballot].into(), BTreeSet::new()]);
}
