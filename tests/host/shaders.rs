//! The shader stage on real GLSL: every feature of reflection, the errors a shader author meets, and the embedded shaders.
//!
//! Every module that compiles here goes through `spirv-val`.

mod blocks;
mod bounds;
mod debug_info;
mod errors;
mod instructions;
mod interface;
mod local_sizes;
mod robustness;
mod sizes;
mod specialization;
mod subgroups;
pub mod support;
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
