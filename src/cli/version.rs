//! Which build it is.

use std::sync::LazyLock;

use crate::record::SCHEMA_VERSION;
use crate::shader::{glsl_compiler, spirv_parser};

/// The version, and the commit where the build knew of one.
pub const SHORT: &str = env!("LANESCOPE_VERSION");

/// The same with what else decides how shaders are read and rows are written.
pub static LONG: LazyLock<String> = LazyLock::new(|| {
    let [compiler, parser] = [glsl_compiler(), spirv_parser()];
    let build = env!("LANESCOPE_BUILD");
    format!("{SHORT}\nGLSL compiler: {compiler}\nSPIR-V parser: {parser}\nrows: schema {SCHEMA_VERSION}\nbuild: {build}")
});
