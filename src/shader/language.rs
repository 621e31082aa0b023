//! Shaders in languages that the GLSL compiler doesn't read: which one it is, and what makes SPIR-V of it.

use std::fmt;
use std::path::Path;

use super::local_size::tokens;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    Slang,
    Hlsl,
    Wgsl,
    OpenCl,
    Cuda,
    Metal,
}

/// The endings of their files, and what only they say. Slang has what HLSL has.
const SIGNS: [(Language, &[&str], &[&str]); 6] = [
    (Language::Slang, &["slang"], &["[shader(\"compute\")]"]),
    (
        Language::Hlsl,
        &["hlsl", "fx", "usf"],
        &["[numthreads(", "SV_DispatchThreadID", "SV_GroupThreadID", "RWStructuredBuffer<"],
    ),
    (Language::Wgsl, &["wgsl"], &["@compute", "@workgroup_size("]),
    (Language::OpenCl, &["cl"], &["__kernel ", "get_global_id("]),
    (Language::Cuda, &["cu", "cuh"], &["__global__ "]),
    (Language::Metal, &["metal"], &["metal_stdlib", "[[kernel]]", "thread_position_in_grid"]),
];

impl Language {
    /// That of a text without a `#version`; nothing where nothing tells.
    pub(super) fn of(path: &Path, text: &str) -> Option<Self> {
        let code: String = tokens(text).filter(|token| !token.starts_with("//") && !token.starts_with("/*")).collect();
        let ending = path.extension().unwrap_or_default();
        let says = |signs: &[&str]| signs.iter().any(|sign| code.contains(sign));
        let by_text = SIGNS.iter().find(|(_, _, signs)| says(signs));
        let by_name = || SIGNS.iter().find(|(_, endings, _)| endings.iter().any(|known| ending == *known));
        by_name().or(by_text).map(|(language, ..)| *language)
    }

    /// What makes SPIR-V of it.
    pub(super) fn advice(self) -> &'static str {
        match self {
            Self::Slang => "compile it (slangc SHADER -target spirv -entry main -stage compute -o shader.spv)",
            Self::Hlsl => "compile it (dxc -spirv -T cs_6_0 -E main SHADER -Fo shader.spv)",
            Self::Wgsl => "compile it (naga -g SHADER shader.spv; -g keeps names)",
            Self::OpenCl => "compile it (clspv SHADER -o shader.spv)",
            Self::Cuda | Self::Metal => "write it in GLSL, or in a language with a compiler to SPIR-V",
        }
    }
}

impl fmt::Display for Language {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Slang => "Slang",
            Self::Hlsl => "HLSL",
            Self::Wgsl => "WGSL",
            Self::OpenCl => "OpenCL C",
            Self::Cuda => "CUDA",
            Self::Metal => "Metal",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_ending_or_its_words() {
        let of = |name: &str, text: &str| Language::of(Path::new(name), text);
        assert_eq!(of("a.wgsl", ""), Some(Language::Wgsl));
        assert_eq!(of("a.comp", "@compute @workgroup_size(64)\nfn main() {}"), Some(Language::Wgsl));
        assert_eq!(of("a.txt", "[numthreads(8, 8, 1)] void main(uint3 id : SV_DispatchThreadID) {}"), Some(Language::Hlsl));
        assert_eq!(of("a", "[shader(\"compute\")] [numthreads(8, 1, 1)] void main() {}"), Some(Language::Slang));
        assert_eq!(of("a", "__kernel void f(__global float *x) {}"), Some(Language::OpenCl));
        assert_eq!(of("a.comp", "// as [numthreads(8, 8, 1)] there\nvoid main() {}"), None);
    }
}
