//! Texel formats, and what a device can do with them.

use serde::{Deserialize, Serialize};

/// What a texel is. The nine that hold colours of one, two and four channels in three precisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is channels and bits by name")]
pub enum Format {
    R8Unorm,
    Rg8Unorm,
    Rgba8Unorm,
    R16Float,
    Rg16Float,
    Rgba16Float,
    R32Float,
    Rg32Float,
    Rgba32Float,
}

/// What a device can use a format for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FormatUse {
    /// `VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT`
    UniformTexels,
    /// `VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT`, of an optimally tiled image
    Sampled,
    /// `VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT`
    SampledLinear,
    /// `VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT`
    Storage,
}

impl FormatUse {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::UniformTexels, Self::Sampled, Self::SampledLinear, Self::Storage];

    /// As messages call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UniformTexels => "a uniform texel buffer",
            Self::Sampled => "a sampled image",
            Self::SampledLinear => "linear filtering",
            Self::Storage => "a storage image",
        }
    }
}

/// What a format's channels are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Bytes that stand for 0 to 1.
    Unorm8,
    /// `f16`
    Float16,
    /// `f32`
    Float32,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::R8Unorm,
        Self::Rg8Unorm,
        Self::Rgba8Unorm,
        Self::R16Float,
        Self::Rg16Float,
        Self::Rgba16Float,
        Self::R32Float,
        Self::Rg32Float,
        Self::Rgba32Float,
    ];

    /// As GLSL's layout qualifiers call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::R8Unorm => "r8",
            Self::Rg8Unorm => "rg8",
            Self::Rgba8Unorm => "rgba8",
            Self::R16Float => "r16f",
            Self::Rg16Float => "rg16f",
            Self::Rgba16Float => "rgba16f",
            Self::R32Float => "r32f",
            Self::Rg32Float => "rg32f",
            Self::Rgba32Float => "rgba32f",
        }
    }

    /// Channels of a texel.
    pub fn channels(self) -> u32 {
        match self {
            Self::R8Unorm | Self::R16Float | Self::R32Float => 1,
            Self::Rg8Unorm | Self::Rg16Float | Self::Rg32Float => 2,
            Self::Rgba8Unorm | Self::Rgba16Float | Self::Rgba32Float => 4,
        }
    }

    /// What each of them is.
    pub fn precision(self) -> Precision {
        match self {
            Self::R8Unorm | Self::Rg8Unorm | Self::Rgba8Unorm => Precision::Unorm8,
            Self::R16Float | Self::Rg16Float | Self::Rgba16Float => Precision::Float16,
            Self::R32Float | Self::Rg32Float | Self::Rgba32Float => Precision::Float32,
        }
    }

    /// Bytes of a texel.
    pub fn bytes(self) -> u32 {
        let channel = match self.precision() {
            Precision::Unorm8 => 1,
            Precision::Float16 => 2,
            Precision::Float32 => 4,
        };
        channel * self.channels()
    }

    /// Whether a shader that declares a storage image of it needs `shaderStorageImageExtendedFormats`.
    pub fn is_extended(self) -> bool {
        matches!(self, Self::R8Unorm | Self::Rg8Unorm | Self::R16Float | Self::Rg16Float | Self::Rg32Float)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_tell_the_size() {
        for format in Format::ALL {
            assert_eq!(Format::ALL.iter().filter(|other| other.as_str() == format.as_str()).count(), 1);
            let bits: String = format.as_str().chars().filter(char::is_ascii_digit).collect();
            assert_eq!(bits.parse::<u32>().unwrap() * format.channels(), 8 * format.bytes(), "{format:?}");
        }
    }
}
