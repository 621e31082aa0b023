//! Literal workgroup sizes that become specializable, in SPIR-V and in GLSL.

use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Extent, Library, LocalizeError, Reflection, SpecValues, specializable};
use rspirv::spirv::Op;

use super::support::{HEAD, PATH, assembled, compiled_for, validate};
use crate::support::spirv_tool;

const TARGETS: [SpirvTarget; 3] = [SpirvTarget::Vulkan1_1, SpirvTarget::Vulkan1_2, SpirvTarget::Vulkan1_3];

/// Rewrites words, validates them, and tells how they specialize to 32 x 2 x 5.
fn sizes_of(words: &[u32], target: SpirvTarget, entry: &str) -> (Reflection, SpecValues) {
    let (rewritten, ids) = specializable(words, entry).unwrap();
    validate(&rewritten, target);
    let reflection = Reflection::parse(&rewritten).unwrap();
    let point = &reflection.entry_points[0];
    assert_eq!((point.name.as_str(), reflection.entry_points.len()), (entry, 1));
    assert!(!point.needs_local_size_id);
    let expected = [0, 1, 2].map(|i| Extent::Specialized { constant_id: ids.ids[i], default: ids.defaults[i] });
    assert_eq!(point.local_size, expected);
    let values: SpecValues = ids.ids.into_iter().zip([32, 2, 5]).collect();
    assert_eq!(reflection.local_size(point, &values), Ok([32, 2, 5]));
    assert_eq!(reflection.local_size(point, &SpecValues::new()), Ok(ids.defaults));
    (reflection, values)
}

/// Bodies that use the size in every way, and not at all.
const BODIES: [&str; 5] = [
    "",
    "result = gl_WorkGroupSize.x;",
    "uvec3 size = gl_WorkGroupSize; result = size.y;",
    "result = gl_WorkGroupSize[result % 3];",
    "const uvec3 sizes[2] = { gl_WorkGroupSize, uvec3(1) }; result = sizes[result].z;",
];

#[test]
fn literal_sizes_become_specializable_for_every_target() {
    for body in BODIES {
        let out = "layout(binding = 0) buffer Out { uint result; };";
        let source = format!("#version 460\nlayout(local_size_x = 8, local_size_y = 4) in; {out} void main() {{ {body} }}");
        for target in TARGETS {
            let words = &compiled_for(&source, target).words;
            assert_eq!(specializable(words, "main").unwrap().1.defaults, [8, 4, 1]);
            sizes_of(words, target, "main");
        }
    }
}

#[test]
fn sizes_that_are_specializable_keep_their_ids() {
    for target in TARGETS {
        let module = compiled_for(&format!("{HEAD} void main() {{}}"), target);
        let (words, ids) = specializable(&module.words, "main").unwrap();
        assert_eq!((ids.ids, ids.added), ([0, 1, 2], [false; 3]));
        assert_eq!(words == module.words, target != SpirvTarget::Vulkan1_3, "LocalSizeId alone is replaced");
        sizes_of(&module.words, target, "main");
    }
    let mixed = "#version 460\nlayout(constant_id = 9) const uint N = 1;\nlayout(local_size_x_id = 5, local_size_y = 4) in;\n\
        shared uint tile[N]; void main() { tile[0] = gl_WorkGroupSize.x; }";
    for target in TARGETS {
        let module = compiled_for(mixed, target);
        let ids = specializable(&module.words, "main").unwrap().1;
        assert_eq!((ids.ids, ids.added, ids.defaults), ([5, 10, 11], [false, true, true], [1, 4, 1]));
        sizes_of(&module.words, target, "main");
    }
}

/// Two kernels as an HLSL or Slang compiler writes them.
const TWO: &str = r#"OpCapability Shader
    OpMemoryModel Logical GLSL450
    OpEntryPoint GLCompute %f "first"
    OpEntryPoint GLCompute %g "second"
    OpExecutionMode %f LocalSize 64 1 1
    OpExecutionMode %g LocalSize 8 8 1
    OpName %f "first"
    %void = OpTypeVoid
    %fn = OpTypeFunction %void
    %f = OpFunction %void None %fn
    %l = OpLabel
    OpReturn
    OpFunctionEnd
    %g = OpFunction %void None %fn
    %m = OpLabel
    OpReturn
    OpFunctionEnd"#;

#[test]
fn of_several_entry_points_the_chosen_one_is_left() {
    let words = assembled(TWO, "vulkan1.1");
    assert_eq!(specializable(&words, "first").unwrap().1.defaults, [64, 1, 1]);
    assert_eq!(specializable(&words, "second").unwrap().1.defaults, [8, 8, 1]);
    sizes_of(&words, SpirvTarget::Vulkan1_1, "first");
    sizes_of(&words, SpirvTarget::Vulkan1_1, "second");
    let unknown = LocalizeError::UnknownEntry { name: "secnd".to_owned(), nearest: vec!["second".to_owned()] };
    assert_eq!(specializable(&words, "secnd"), Err(unknown));
}

#[test]
fn debug_information_stays_with_what_it_is_about() {
    let text = TWO.replace("OpName", "%file = OpString \"a.hlsl\"\nOpName").replace("%f =", "OpLine %file 3 1\n%f =");
    let words = assembled(&text, "vulkan1.1");
    let (rewritten, _) = specializable(&words, "first").unwrap();
    let shown = spirv_tool("spirv-dis", &["--raw-id", "-"], &crate::support::to_bytes(&rewritten)).unwrap();
    let shown = String::from_utf8(shown).unwrap();
    let lines: Vec<&str> = shown.lines().collect();
    let place = lines.iter().position(|line| line.contains("OpLine")).unwrap();
    assert!(lines[place + 1].contains("= OpFunction"), "{shown}");
}

#[test]
fn a_literal_mode_with_ids_is_replaced() {
    let text = TWO.replace("OpExecutionMode %f LocalSize 64 1 1", "OpExecutionModeId %f LocalSizeId %n %one %one");
    let text = text.replace("%fn =", "%uint = OpTypeInt 32 0\n%n = OpConstant %uint 64\n%one = OpConstant %uint 1\n%fn =");
    let words = assembled(&text, "vulkan1.3");
    assert_eq!(specializable(&words, "first").unwrap().1.defaults, [64, 1, 1]);
    sizes_of(&words, SpirvTarget::Vulkan1_3, "first");
}

/// What the compiler folds in SPIR-V, it doesn't where the source says from the start that the size is specialized.
#[test]
fn every_use_follows_a_size_that_the_source_specializes() {
    let source = "#version 460
        layout(local_size_x = 8, local_size_y = 4) in;
        layout(binding = 0) buffer Out { uint result; };
        shared uint tile[gl_WorkGroupSize.x * gl_WorkGroupSize.y];
        void main() { tile[0] = gl_WorkGroupSize.x / 2; result = tile[0]; }";
    for target in TARGETS {
        let folded = sizes_of(&compiled_for(source, target).words, target, "main");
        assert_eq!(folded.0.shared_bytes(&folded.1), Ok(4 * 8 * 4), "the array's length is a plain number");
        let library = Library::embedded().with(PATH, source).with_local_size_ids([Some(3), Some(4), Some(7)]);
        let module = Compiler::new(library).unwrap().compile(PATH, &[], target).unwrap();
        validate(&module.words, target);
        let (reflection, values) = sizes_of(&module.words, target, "main");
        assert_eq!(values.into_keys().collect::<Vec<_>>(), [3, 4, 7]);
        let values = [(3, 16), (4, 16)].into();
        assert_eq!(reflection.shared_bytes(&values), Ok(4 * 16 * 16));
        assert_eq!(reflection.local_size(&reflection.entry_points[0], &SpecValues::new()), Ok([8, 4, 1]));
        assert!(module.words.iter().any(|word| word & 0xffff == Op::SpecConstantOp as u32));
    }
}
