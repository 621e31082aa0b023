//! Nothing that words can say makes reflection panic.

use std::sync::LazyLock;

use lanescope::shader::{ReflectError, Reflection, SpecValues, load};
use proptest::prelude::*;

use crate::common::{spirv_tool, to_words};
use crate::support::compiled;

/// A module with as many kinds of declarations as fit.
static MODULE: LazyLock<Vec<u32>> = LazyLock::new(|| {
    let source = "#version 460
        #include \"local_size.glsl\"
        layout(constant_id = 3) const uint N = 6;
        layout(constant_id = 4) const bool WIDE = true;
        const uvec2 SIZE = gl_WorkGroupSize.yx * 2u;
        struct Inner { vec3 a; mat2 b[3]; };
        layout(binding = 0) readonly buffer Data { Inner inner[]; } data[2];
        layout(binding = 1, rgba32f) uniform image2D image;
        layout(binding = 2) uniform sampler2D textures[N];
        layout(push_constant) uniform Push { Inner inner; uint n; } push;
        shared uint tile[SIZE.x * N / 3 + (WIDE ? 1 : 2)];
        shared Inner more[N];
        void main() {
            tile[0] = uint(data[1].inner[push.n].a.x + textureLod(textures[1], vec2(0), 0).x);
            more[1] = push.inner;
            switch (tile[0]) { case 1: barrier(); break; default: imageStore(image, ivec2(0), vec4(tile[1])); }
        }";
    compiled(source).words.clone()
});

/// Everything that reflection computes.
fn exercise(words: &[u32]) {
    let _ = load(words);
    let Ok(reflection) = Reflection::of(words) else { return };
    for values in [SpecValues::new(), [(0, 64), (1, 0), (3, u64::MAX), (4, 0)].into()] {
        let _ = reflection.shared_bytes(&values);
        let _ = reflection.bindings_under(&values);
        for block in reflection.blocks(&values).unwrap_or_default() {
            let _ = serde_json::to_string(&block).unwrap();
            let _ = (block.bytes_with(3), block.elements_in(u64::MAX));
            for member in block.layout.members {
                let _ = (member.ty.bytes(), member.ty.to_string());
            }
        }
        for entry in &reflection.entry_points {
            let _ = reflection.local_size(entry, &values);
        }
    }
}

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
        exercise(&words);
    }

    #[test]
    fn changed_opcodes_never_panic(place in any::<prop::sample::Index>(), opcode in 0_u32..400, length in 0_u32..8) {
        let mut words = MODULE.clone();
        let place = place.index(words.len());
        words[place] = (length << 16) | opcode;
        exercise(&words);
    }

    #[test]
    fn random_words_never_panic(body in prop::collection::vec(any::<u32>(), 0..64)) {
        exercise(&[&MODULE[..5], &body].concat());
    }
}

#[test]
fn the_module_itself_is_read() {
    let reflection = Reflection::of(&MODULE).unwrap();
    assert_eq!(reflection.shared_bytes(&[(1, 8)].into()), Ok(4 * 33 + 12 + 6 * 64));
    assert_eq!(reflection.push_bytes, 68);
}

/// A buffer whose block is the last of so many structs, each made of the one before it; all members lie at offset 0.
fn nested_structs(count: u32, members: usize) -> Result<u64, ReflectError> {
    let mut text = String::from(
        "OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %main \"main\"
        OpExecutionMode %main LocalSize 1 1 1
        OpName %data \"data\"
        OpDecorate %data DescriptorSet 0
        OpDecorate %data Binding 0\n",
    );
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
    let words = to_words(&spirv_tool("spirv-as", &["-o", "-", "-"], text.as_bytes()).unwrap());
    Reflection::of(&words).unwrap().blocks(&SpecValues::new()).map(|blocks| blocks[0].layout.bytes)
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
