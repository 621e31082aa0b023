//! What a shader's author is told, and what hashes and the memory of the compiler depend on.

use std::sync::Arc;

use lanescope::model::SpirvTarget;
use lanescope::shader::{CompileError, Compiler, GlslError, Library, LoadError, ReflectError, Reflection};

use super::support::{HEAD, PATH, assembled, compiled, compiler, refused};

fn glsl(error: CompileError) -> GlslError {
    match error {
        CompileError::Glsl(error) => error,
        other => panic!("{other}"),
    }
}

#[test]
fn an_error_has_file_line_and_the_compilers_words() {
    let error = glsl(refused(&format!("{HEAD}void main() {{\n    undeclared = 1;\n}}")));
    assert_eq!((error.file.as_deref(), error.line), (Some(PATH), Some(4)));
    assert!(error.to_string().starts_with("test/snippet.comp:4: error: 'undeclared' : undeclared identifier"), "{error}");
    assert!(error.to_string().ends_with("(compiling test/snippet.comp for Vulkan 1.1)"), "{error}");
}

#[test]
fn an_error_in_an_include_names_the_included_file() {
    let library = Library::embedded()
        .with("test/part.glsl", "uint good;\nuint bad = nowhere;\n")
        .with(PATH, "#version 460\n#include \"part.glsl\"\nvoid main() {}");
    let error = glsl(Compiler::new(library).unwrap().compile(PATH, &[], SpirvTarget::default()).unwrap_err());
    assert_eq!((error.file.as_deref(), error.line), (Some("test/part.glsl"), Some(2)));
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn a_missing_include_says_where_it_was_sought() {
    let error = glsl(refused("#version 460\n\n#include \"absent.glsl\"\nvoid main() {}"));
    assert_eq!((error.file.as_deref(), error.line), (Some(PATH), Some(3)));
    assert!(error.to_string().contains("no `absent.glsl` beside test/snippet.comp nor in the include folders"), "{error}");
}

#[test]
fn an_error_states_the_macros() {
    let macros = [("WIDTH".to_owned(), "4".to_owned()), ("TYPE".to_owned(), "vec9".to_owned())];
    let source = "#version 460\nTYPE value;\nvoid main() {}";
    let error = compiler(source).compile(PATH, &macros, SpirvTarget::Vulkan1_2).unwrap_err();
    assert!(error.to_string().ends_with("(compiling test/snippet.comp with TYPE=vec9, WIDTH=4 for Vulkan 1.2)"), "{error}");
}

#[test]
fn odd_sources_are_errors_too() {
    assert!(refused("").to_string().starts_with("test/snippet.comp:1: error: the shader must begin with its version"));
    assert!(refused("#version 120\n").to_string().contains("#version 120 has no compute shaders"));
    assert!(refused("#version 460\0").to_string().contains("NUL"));
    let included = Library::embedded().with("include/odd.glsl", "\0").with(PATH, "#version 460\n#include \"odd.glsl\"\n");
    let error = Compiler::new(included).unwrap().compile(PATH, &[], SpirvTarget::default()).unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
    let circular =
        Library::embedded().with("include/a.glsl", "#include \"a.glsl\"\n").with(PATH, "#version 460\n#include \"a.glsl\"\n");
    let error = Compiler::new(circular).unwrap().compile(PATH, &[], SpirvTarget::default()).unwrap_err();
    assert!(error.to_string().contains("does `a.glsl` include itself?"), "{error}");
}

#[test]
fn a_module_is_made_once_whatever_the_order_of_its_macros() {
    let mut compiler = compiler(&format!("{HEAD}layout(binding = 0) buffer Out {{ uint r; }}; void main() {{ r = A + B; }}"));
    let [a, b] = [("A", "1"), ("B", "2")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut compile = |macros: &[_], target| compiler.compile(PATH, macros, target).unwrap();
    let first = compile(&[a.clone(), b.clone()], SpirvTarget::default());
    assert!(Arc::ptr_eq(&first, &compile(&[b.clone(), a.clone()], SpirvTarget::default())));
    let other_target = compile(&[a.clone(), b.clone()], SpirvTarget::Vulkan1_2);
    assert_ne!(first.source_hash, other_target.source_hash);
    assert_ne!(first.spirv_hash, other_target.spirv_hash);
    let other_macro = compile(&[a, ("B".to_owned(), "1 + 1".to_owned())], SpirvTarget::default());
    assert_ne!(first.source_hash, other_macro.source_hash);
}

#[test]
fn an_error_is_remembered() {
    let mut compiler = compiler("#version 460\nnonsense");
    let first = compiler.compile(PATH, &[], SpirvTarget::default()).unwrap_err();
    assert_eq!(first, compiler.compile(PATH, &[], SpirvTarget::default()).unwrap_err());
}

#[test]
fn the_source_hash_covers_what_was_read_and_nothing_else() {
    let hash = |part: &str, other: &str| {
        let library = Library::embedded()
            .with("include/part.glsl", part)
            .with("include/other.glsl", other)
            .with(PATH, format!("{HEAD}#include \"part.glsl\"\nvoid main() {{}}"));
        let module = Compiler::new(library).unwrap().compile(PATH, &[], SpirvTarget::default()).unwrap();
        assert!(module.source_hash.len() == 17 && module.source_hash.starts_with('s'));
        (module.source_hash.clone(), module.spirv_hash.clone())
    };
    assert_eq!(hash("// a", "// x"), hash("// a", "// y"));
    let (source_a, spirv_a) = hash("// a", "");
    let (source_b, spirv_b) = hash("// b", "");
    assert_ne!(source_a, source_b);
    assert_eq!(spirv_a, spirv_b);
}

#[test]
fn names_survive_compilation() {
    let module = compiled(&format!(
        "{HEAD}layout(constant_id = 3) const uint LENGTH = 1; layout(binding = 0) buffer Out {{ uint r; }}; void main() {{ r = LENGTH; }}"
    ));
    assert!(module.reflection.spec_constants.iter().any(|constant| constant.name == "LENGTH"));
}

#[test]
fn modules_that_are_no_compute_shaders_are_refused() {
    assert_eq!(Reflection::parse(&[]).unwrap_err(), ReflectError::Load(LoadError::Header));
    let fragment = assembled(
        r#"OpCapability Shader
        OpMemoryModel Logical GLSL450
        OpEntryPoint Fragment %f "main"
        OpExecutionMode %f OriginUpperLeft
        %void = OpTypeVoid
        %fn = OpTypeFunction %void
        %f = OpFunction %void None %fn
        %l = OpLabel
        OpReturn
        OpFunctionEnd"#,
        "vulkan1.1",
    );
    assert_eq!(Reflection::parse(&fragment).unwrap_err(), ReflectError::NoComputeEntryPoint);
}
