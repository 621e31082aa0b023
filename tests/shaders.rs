//! The shader stage on real GLSL: every feature of reflection, the errors a shader author meets, and the embedded shaders.
//!
//! Every module that compiles here goes through `spirv-val`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking, helpers included")]

#[path = "shaders/blocks.rs"]
mod blocks;
#[path = "shaders/bounds.rs"]
mod bounds;
#[path = "support/mod.rs"]
mod common;
#[path = "shaders/debug_info.rs"]
mod debug_info;
#[path = "shaders/errors.rs"]
mod errors;
#[path = "fuzz/spirv.rs"]
mod fuzz;
#[path = "shaders/instructions.rs"]
mod instructions;
#[path = "shaders/interface.rs"]
mod interface;
#[path = "shaders/local_sizes.rs"]
mod local_sizes;
#[path = "shaders/robustness.rs"]
mod robustness;
#[path = "shaders/sizes.rs"]
mod sizes;
#[path = "shaders/specialization.rs"]
mod specialization;
#[path = "shaders/subgroups.rs"]
mod subgroups;
#[path = "shaders/support.rs"]
mod support;
#[path = "shaders/validation.rs"]
mod validation;

use lanescope::model::SpirvTarget;
use lanescope::shader::{Compiler, Library};

/// A shader either compiles as it stands, or says by `#error` which macro it wants; the tests of the experiments compile each
/// with the macros of every case.
#[test]
fn every_embedded_shader_compiles_or_asks_for_its_macros() {
    let library = Library::embedded();
    let mut compiler = Compiler::new(library.clone()).unwrap();
    let mut compiled = 0;
    for path in library.shaders() {
        match compiler.compile(path, &[], SpirvTarget::default()) {
            Ok(module) => {
                support::validate(&module.words, SpirvTarget::default());
                compiled += 1;
            }
            Err(error) => assert!(error.to_string().contains("'#error'"), "{error}"),
        }
    }
    assert!(compiled > 0 || library.shaders().next().is_none(), "no shader compiles without macros: is the compiler at fault?");
}
