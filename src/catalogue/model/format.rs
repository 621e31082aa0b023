//! Texel formats, and what a device can do with them.

use serde::{Deserialize, Serialize};

/// Formats with their GLSL names, channels, and what these are. Those that experiments measure stand first.
macro_rules! formats {
    ($($format:ident: $name:literal, $channels:literal, $precision:ident;)*) => {
        /// What a texel is: all that GLSL's layout qualifiers name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Format {
            $($format,)*
        }

        impl Format {
            pub const ALL: &[Self] = &[$(Self::$format,)*];

            /// As GLSL's layout qualifiers call it.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$format => $name,)*
                }
            }

            pub fn channels(self) -> u32 {
                match self {
                    $(Self::$format => $channels,)*
                }
            }

            pub fn precision(self) -> Precision {
                match self {
                    $(Self::$format => Precision::$precision,)*
                }
            }
        }
    };
}

formats! {
    R8Unorm: "r8", 1, Unorm8;
    Rg8Unorm: "rg8", 2, Unorm8;
    Rgba8Unorm: "rgba8", 4, Unorm8;
    R16Float: "r16f", 1, Float16;
    Rg16Float: "rg16f", 2, Float16;
    Rgba16Float: "rgba16f", 4, Float16;
    R32Float: "r32f", 1, Float32;
    Rg32Float: "rg32f", 2, Float32;
    Rgba32Float: "rgba32f", 4, Float32;
    R16Unorm: "r16", 1, Unorm16;
    Rg16Unorm: "rg16", 2, Unorm16;
    Rgba16Unorm: "rgba16", 4, Unorm16;
    R8Snorm: "r8_snorm", 1, Snorm8;
    Rg8Snorm: "rg8_snorm", 2, Snorm8;
    Rgba8Snorm: "rgba8_snorm", 4, Snorm8;
    R16Snorm: "r16_snorm", 1, Snorm16;
    Rg16Snorm: "rg16_snorm", 2, Snorm16;
    Rgba16Snorm: "rgba16_snorm", 4, Snorm16;
    R8Uint: "r8ui", 1, Uint8;
    Rg8Uint: "rg8ui", 2, Uint8;
    Rgba8Uint: "rgba8ui", 4, Uint8;
    R16Uint: "r16ui", 1, Uint16;
    Rg16Uint: "rg16ui", 2, Uint16;
    Rgba16Uint: "rgba16ui", 4, Uint16;
    R32Uint: "r32ui", 1, Uint32;
    Rg32Uint: "rg32ui", 2, Uint32;
    Rgba32Uint: "rgba32ui", 4, Uint32;
    R8Sint: "r8i", 1, Sint8;
    Rg8Sint: "rg8i", 2, Sint8;
    Rgba8Sint: "rgba8i", 4, Sint8;
    R16Sint: "r16i", 1, Sint16;
    Rg16Sint: "rg16i", 2, Sint16;
    Rgba16Sint: "rgba16i", 4, Sint16;
    R32Sint: "r32i", 1, Sint32;
    Rg32Sint: "rg32i", 2, Sint32;
    Rgba32Sint: "rgba32i", 4, Sint32;
    Rgb10A2Unorm: "rgb10_a2", 4, Unorm10;
    Rgb10A2Uint: "rgb10_a2ui", 4, Uint10;
    Rg11B10Float: "r11f_g11f_b10f", 3, Float11;
}

named! {
    /// What a device can use a format for.
    #[derive(PartialOrd, Ord, Hash)]
    #[serde(rename_all = "snake_case")]
    pub enum FormatUse, as_str {
        /// `VK_FORMAT_FEATURE_UNIFORM_TEXEL_BUFFER_BIT`
        UniformTexels = "a uniform texel buffer",
        /// `VK_FORMAT_FEATURE_STORAGE_TEXEL_BUFFER_BIT`
        StorageTexels = "a storage texel buffer",
        /// `VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT`, of an optimally tiled image
        Sampled = "a sampled image",
        /// `VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT`
        SampledLinear = "linear filtering",
        /// `VK_FORMAT_FEATURE_STORAGE_IMAGE_BIT`
        Storage = "a storage image",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Bytes that stand for 0 to 1.
    Unorm8,
    Unorm16,
    /// Signed bytes that stand for -1 to 1.
    Snorm8,
    Snorm16,
    Uint8,
    Uint16,
    Uint32,
    Sint8,
    Sint16,
    Sint32,
    Float16,
    Float32,
    /// Three of ten bits and one of two in a word, which stand for 0 to 1.
    Unorm10,
    /// The same, as whole numbers.
    Uint10,
    /// Floats without a sign in a word: two of eleven bits and one of ten.
    Float11,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    /// Steps from 0 to 1.
    Unorm,
    /// Steps from -1 to 1.
    Snorm,
    Uint,
    Sint,
    /// Floats; those of fewer than 16 bits have no sign, and the exponent of `f16`.
    Float,
}

impl Numbers {
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Uint | Self::Sint)
    }
}

impl Format {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|format| format.as_str() == name)
    }

    pub fn numbers(self) -> Numbers {
        match self.precision() {
            Precision::Unorm8 | Precision::Unorm16 | Precision::Unorm10 => Numbers::Unorm,
            Precision::Snorm8 | Precision::Snorm16 => Numbers::Snorm,
            Precision::Uint8 | Precision::Uint16 | Precision::Uint32 | Precision::Uint10 => Numbers::Uint,
            Precision::Sint8 | Precision::Sint16 | Precision::Sint32 => Numbers::Sint,
            Precision::Float16 | Precision::Float32 | Precision::Float11 => Numbers::Float,
        }
    }

    /// Whether the channels of a texel are parts of one word, the first in its lowest bits.
    pub fn is_packed(self) -> bool {
        matches!(self.precision(), Precision::Unorm10 | Precision::Uint10 | Precision::Float11)
    }

    pub fn channel_bits(self, channel: u32) -> u32 {
        match self.precision() {
            Precision::Unorm8 | Precision::Snorm8 | Precision::Uint8 | Precision::Sint8 => 8,
            Precision::Unorm16 | Precision::Snorm16 | Precision::Uint16 | Precision::Sint16 | Precision::Float16 => 16,
            Precision::Uint32 | Precision::Sint32 | Precision::Float32 => 32,
            Precision::Unorm10 | Precision::Uint10 => [10, 10, 10, 2][channel as usize % 4],
            Precision::Float11 => [11, 11, 10][channel as usize % 3],
        }
    }

    pub fn bytes(self) -> u32 {
        (0..self.channels()).map(|channel| self.channel_bits(channel)).sum::<u32>() / 8
    }

    /// Whether a shader that declares a storage image of it needs `shaderStorageImageExtendedFormats`.
    pub fn is_extended(self) -> bool {
        match self.channels() {
            4 => matches!(self.precision(), Precision::Unorm16 | Precision::Snorm16 | Precision::Unorm10 | Precision::Uint10),
            1 => !matches!(self.precision(), Precision::Float32 | Precision::Uint32 | Precision::Sint32),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_tell_the_size() {
        for format in Format::ALL {
            assert_eq!(Format::ALL.iter().filter(|other| other.as_str() == format.as_str()).count(), 1);
            if format.is_packed() {
                assert_eq!(format.bytes(), 4);
                continue;
            }
            let bits: String = format.as_str().chars().filter(char::is_ascii_digit).collect();
            assert_eq!(bits.parse::<u32>().unwrap() * format.channels(), 8 * format.bytes(), "{format:?}");
        }
    }
}
