//! Rebuilds when a shader is added, and says what would make a first build fast.

use std::path::Path;

fn main() {
    // The shaders are embedded by a macro, which sees changed files but not new ones.
    println!("cargo:rerun-if-changed=glsl");
    if Path::new(".shaderc").exists() {
        // A missing path would make cargo rerun this, and rebuild the crate, every time.
        println!("cargo:rerun-if-changed=.shaderc");
    }
    println!("cargo:rerun-if-env-changed=SHADERC_LIB_DIR");

    let prebuilt = std::env::var_os("SHADERC_LIB_DIR").is_some_and(|folder| Path::new(&folder).is_dir());
    if !prebuilt {
        println!(
            "cargo:warning=shaderc is built from source, once for every cargo profile (10 to 30 minutes); \
             scripts/shaderc.sh builds it once for all, in about 6"
        );
    }
}
