//! Modules with debug information, which rspirv's own loader refuses in part.

use lanescope::shader::{Extent, Reflection, load};

use lanescope::model::SpirvTarget;

use super::support::{assembled, compiled, reflected, validate};

const SOURCE: &str = "#version 460
layout(local_size_x_id = 0) in;
layout(binding = 0) buffer Data { uint data[]; };
shared uint tile[gl_WorkGroupSize.x];
uint twice(uint x) { return 2 * x; }
void main() {
    tile[gl_LocalInvocationIndex] = data[0];
    barrier();
    for (uint i = 0; i < 4; ++i) { data[i] = i == 2 ? twice(tile[i]) : 0; }
}";

/// OpSource with the text, OpLine, OpNoLine, OpModuleProcessed.
#[test]
fn line_information_is_taken_for_every_target() {
    use shaderc::EnvVersion::{Vulkan1_0, Vulkan1_1, Vulkan1_2, Vulkan1_3};
    let compiler = shaderc::Compiler::new().unwrap();
    let plain = &compiled(SOURCE).reflection;
    let mix = plain.instruction_mix(&plain.entry_points[0], &[].into());
    for version in [Vulkan1_0, Vulkan1_1, Vulkan1_2, Vulkan1_3] {
        let mut options = shaderc::CompileOptions::new().unwrap();
        options.set_target_env(shaderc::TargetEnv::Vulkan, version as u32);
        options.set_generate_debug_info();
        let artifact = compiler.compile_into_spirv(SOURCE, shaderc::ShaderKind::Compute, "a.comp", "main", Some(&options));
        let words = artifact.unwrap().as_binary().to_vec();
        validate(&words, SpirvTarget::Vulkan1_3);
        let reflection = Reflection::parse(&words).unwrap();
        assert_eq!(reflection.shared_bytes(&[(0, 32)].into()), Ok(128));
        assert_eq!(reflection.bindings.len(), 1);
        // Nor does it count as instructions, and the older form of storage buffers comes to the same.
        assert_eq!(reflection.instruction_mix(&reflection.entry_points[0], &[].into()), mix);
        assert!(!load(&words).unwrap().debug_string_source.is_empty());
    }
}

/// What `-gVS` makes: non-semantic instructions at module scope and in functions.
#[test]
fn non_semantic_instructions_are_taken_at_module_scope() {
    let text = r#"OpCapability Shader
        OpExtension "SPV_KHR_non_semantic_info"
        %set = OpExtInstImport "NonSemantic.Shader.DebugInfo.100"
        OpMemoryModel Logical GLSL450
        OpEntryPoint GLCompute %f "main"
        OpExecutionMode %f LocalSize 4 1 1
        %file = OpString "a.comp"
        OpModuleProcessed "something"
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %uint = OpTypeInt 32 0
        %u1 = OpConstant %uint 1
        %u4 = OpConstant %uint 4
        OpLine %file 1 1
        %undef = OpUndef %uint
        OpNoLine
        %source = OpExtInst %void %set DebugSource %file
        %unit = OpExtInst %void %set DebugCompilationUnit %u1 %u4 %source %u1
        %f = OpFunction %void None %fn
        %l = OpLabel
        OpLine %file 2 1
        OpReturn
        OpFunctionEnd"#;
    let words = assembled(text, "vulkan1.1");
    let module = load(&words).unwrap();
    let names: Vec<_> = module.types_global_values.iter().map(|instruction| instruction.class.opname).collect();
    let ends = ["Constant", "Line", "Undef", "NoLine", "ExtInst", "ExtInst"];
    assert_eq!(&names[names.len() - ends.len()..], ends);
    assert_eq!((module.debug_module_processed.len(), module.ext_inst_imports.len()), (1, 1));
    assert_eq!(reflected(text, "vulkan1.1").entry_points[0].local_size, [4, 1, 1].map(Extent::Literal));
}

/// Loading loses nothing: what is written back is what was read, but for the header's generator.
#[test]
fn loading_keeps_every_instruction() {
    use rspirv::binary::Assemble;
    let mut options = shaderc::CompileOptions::new().unwrap();
    options.set_generate_debug_info();
    options.set_target_env(shaderc::TargetEnv::Vulkan, shaderc::EnvVersion::Vulkan1_3 as u32);
    let compiler = shaderc::Compiler::new().unwrap();
    let artifact = compiler.compile_into_spirv(SOURCE, shaderc::ShaderKind::Compute, "a.comp", "main", Some(&options)).unwrap();
    let words = artifact.as_binary();
    let again = load(words).unwrap().assemble();
    assert_eq!(again.len(), words.len());
    validate(&again, SpirvTarget::Vulkan1_3);
}
