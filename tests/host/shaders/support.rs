//! Compiling snippets and validating what comes out.

use std::sync::Arc;

use lanescope::model::{Kernel, SpirvTarget};
use lanescope::shader::{CompileError, Compiler, Library, Module, Reflection};

use crate::support::{spirv_tool, to_bytes, to_words};

/// The path under which snippets stand in the library.
pub const PATH: &str = "test/snippet.comp";

/// The head of most snippets.
pub const HEAD: &str = "#version 460\n#include \"local_size.glsl\"\n";

/// A compiler that knows a snippet.
pub fn compiler(source: &str) -> Compiler {
    Compiler::new(Library::embedded().with(PATH, source)).unwrap()
}

/// Compiles a snippet, expecting an error.
pub fn refused(source: &str) -> CompileError {
    compiler(source).compile(PATH, &[], SpirvTarget::default()).unwrap_err()
}

/// Compiles a snippet with features that are newer than the distribution's validator: the product's own validates it.
pub fn compiled_with_news(source: &str) -> Arc<Module> {
    let module = compiler(source).compile(PATH, &[], SpirvTarget::default()).unwrap_or_else(|error| panic!("{error}"));
    lanescope::shader::validate(&module.words).unwrap_or_else(|error| panic!("{error}"));
    module
}

pub fn compiled_for(source: &str, target: SpirvTarget) -> Arc<Module> {
    let module = compiler(source).compile(PATH, &[], target).unwrap_or_else(|error| panic!("{error}"));
    validate(&module.words, target);
    module
}

/// Compiles and validates a snippet for the default target.
pub fn compiled(source: &str) -> Arc<Module> {
    compiled_for(source, SpirvTarget::default())
}

/// A kernel of the snippet with nothing but a workgroup size.
pub fn kernel(local_size: [u32; 3]) -> Kernel {
    Kernel {
        source: PATH.into(),
        macros: Vec::new(),
        target: SpirvTarget::default(),
        local_size,
        constants: Vec::new(),
        required_subgroup_size: None,
        full_subgroups: false,
        bindings: Vec::new(),
    }
}

/// What the SPIR-V tools call a target.
pub fn environment(target: SpirvTarget) -> &'static str {
    match target {
        SpirvTarget::Vulkan1_1 => "vulkan1.1",
        SpirvTarget::Vulkan1_2 => "vulkan1.2",
        SpirvTarget::Vulkan1_3 => "vulkan1.3",
    }
}

/// Runs the validator over a module.
pub fn validate(words: &[u32], target: SpirvTarget) {
    tool("spirv-val", &["--target-env", environment(target), "-"], &to_bytes(words));
    lanescope::shader::validate(words).unwrap_or_else(|error| panic!("{error}"));
}

/// Assembles and validates SPIR-V text.
pub fn assembled(text: &str, environment: &str) -> Vec<u32> {
    let binary = tool("spirv-as", &["--target-env", environment, "-o", "-", "-"], text.as_bytes());
    tool("spirv-val", &["--target-env", environment, "-"], &binary);
    to_words(&binary)
}

/// What assembled SPIR-V declares.
pub fn reflected(text: &str, environment: &str) -> Reflection {
    Reflection::parse(&assembled(text, environment)).unwrap()
}

fn tool(name: &str, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    spirv_tool(name, arguments, input).unwrap_or_else(|said| panic!("{name}: {said}"))
}
