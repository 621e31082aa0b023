//! The paths, by name.

use crate::model::{Format, ImageRole};

/// Elements that a path chooses from: 16 KiB of the widest, so that any first-level cache holds them all.
pub const ELEMENTS: u32 = 1024;

/// Words of push constants and of specialization constants that a path chooses from: of the former, every device has 128 bytes.
pub const FEW: u32 = 16;

/// Elements of the small uniform buffer: vectors of four make 1 KiB, which caches for constants hold.
pub const SMALL: u32 = 64;

/// The side of an image of so many texels.
pub const SIDE: u32 = 32;

/// A way for a shader to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Path {
    pub name: &'static str,
    pub kind: Kind,
    pub value: Value,
}

/// What is read, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A storage buffer, an array of the value.
    Raw,
    /// A storage buffer of words, from one on whose index is no multiple of the width.
    Unaligned,
    /// A storage buffer, an array of a struct of the value.
    Structured,
    /// A uniform buffer of as many elements as all else has.
    UniformBuffer,
    /// One that is small enough for a cache for constants.
    SmallUniformBuffer,
    PushConstants,
    /// An array whose elements are specialization constants.
    SpecConstants,
    TexelBuffer,
    StorageTexelBuffer,
    /// A sampled image, by `texelFetch`.
    Fetch,
    /// A sampled image through a sampler that takes the nearest texel, in the middle of a texel.
    Nearest,
    /// A sampled image through a sampler that mixes four texels, where they meet.
    Linear,
    StorageImage,
}

/// Where what is read lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Buffer,
    /// In the commands or in the pipeline.
    Constants,
    TexelBuffer(ImageRole),
    Image(ImageRole),
}

impl Kind {
    pub fn place(self) -> Source {
        match self {
            Self::Raw | Self::Unaligned | Self::Structured | Self::UniformBuffer | Self::SmallUniformBuffer => Source::Buffer,
            Self::PushConstants | Self::SpecConstants => Source::Constants,
            Self::TexelBuffer => Source::TexelBuffer(ImageRole::Sampled),
            Self::StorageTexelBuffer => Source::TexelBuffer(ImageRole::Storage),
            Self::Fetch | Self::Nearest | Self::Linear => Source::Image(ImageRole::Sampled),
            Self::StorageImage => Source::Image(ImageRole::Storage),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// So many 32-bit words.
    Words(u32),
    Texel(Format),
}

impl Value {
    /// Numbers that it consists of.
    pub fn components(self) -> u32 {
        match self {
            Self::Words(width) => width,
            Self::Texel(format) => format.channels(),
        }
    }

    /// Bytes that it was loaded from.
    pub fn bytes(self) -> u32 {
        match self {
            Self::Words(width) => 4 * width,
            Self::Texel(format) => format.bytes(),
        }
    }

    pub fn glsl(self) -> &'static str {
        match (self, self.components()) {
            (Self::Words(_), 1) => "uint",
            (Self::Words(_), 2) => "uvec2",
            (Self::Words(_), 3) => "uvec3",
            (Self::Words(_), _) => "uvec4",
            (Self::Texel(_), 1) => "float",
            (Self::Texel(_), 2) => "vec2",
            (Self::Texel(_), _) => "vec4",
        }
    }
}

impl Path {
    /// The path of this name in a table.
    ///
    /// # Panics
    /// Where there is none: variants are chosen from the table.
    pub fn of(table: &'static [Self], name: &str) -> &'static Self {
        table.iter().find(|path| path.name == name).unwrap_or_else(|| panic!("no path is called {name}"))
    }

    /// The layout qualifier of its images; nothing where it reads words.
    pub fn format(&self) -> &'static str {
        match self.value {
            Value::Words(_) => "",
            Value::Texel(format) => format.as_str(),
        }
    }

    /// Elements that it chooses from, a power of two.
    pub fn elements(&self) -> u32 {
        match self.kind.place() {
            Source::Constants => FEW,
            Source::Buffer if self.kind == Kind::SmallUniformBuffer => SMALL,
            Source::Buffer | Source::TexelBuffer(_) | Source::Image(_) => ELEMENTS,
        }
    }

    /// The word that elements of words begin at, and words from one to the next one: vectors of three lie as those of four.
    pub fn layout(&self) -> [u32; 2] {
        let width = self.value.components();
        if self.kind == Kind::Unaligned { [1, width] } else { [0, width.next_power_of_two()] }
    }

    pub fn shader(&self) -> &'static str {
        match self.value {
            Value::Words(_) => "load/path_words.comp",
            Value::Texel(_) => "load/path_texels.comp",
        }
    }
}

/// Declares a table: a kind with the names and widths of what it reads in words, or with what all its nine names begin with.
macro_rules! paths {
    ($(#[$doc:meta])* $table:ident: words: $($word_kind:ident { $($name:literal: $width:literal),+ })+; texels: $($texel_kind:ident: $prefix:literal;)+) => {
        $(#[$doc])*
        pub const $table: &[Path] = &[
            $($(Path { name: $name, kind: Kind::$word_kind, value: Value::Words($width) },)+)+
            $(
                Path { name: concat!($prefix, "_r8"), kind: Kind::$texel_kind, value: Value::Texel(Format::R8Unorm) },
                Path { name: concat!($prefix, "_rg8"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rg8Unorm) },
                Path { name: concat!($prefix, "_rgba8"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rgba8Unorm) },
                Path { name: concat!($prefix, "_r16f"), kind: Kind::$texel_kind, value: Value::Texel(Format::R16Float) },
                Path { name: concat!($prefix, "_rg16f"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rg16Float) },
                Path { name: concat!($prefix, "_rgba16f"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rgba16Float) },
                Path { name: concat!($prefix, "_r32f"), kind: Kind::$texel_kind, value: Value::Texel(Format::R32Float) },
                Path { name: concat!($prefix, "_rg32f"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rg32Float) },
                Path { name: concat!($prefix, "_rgba32f"), kind: Kind::$texel_kind, value: Value::Texel(Format::Rgba32Float) },
            )+
        ];
    };
}

paths! {
    PATHS:
    words:
    Raw { "ssbo_scalar": 1, "ssbo_vec2": 2, "ssbo_vec3": 3, "ssbo_vec4": 4 }
    Unaligned { "ssbo_vec2_unaligned": 2, "ssbo_vec4_unaligned": 4 }
    Structured { "ssbo_struct_scalar": 1, "ssbo_struct_vec2": 2, "ssbo_struct_vec4": 4 }
    UniformBuffer { "ubo": 4 }
    SmallUniformBuffer { "ubo_1kib": 4 }
    PushConstants { "push_constant": 1 }
    SpecConstants { "spec_constant": 1 };
    texels:
    TexelBuffer: "texel_buffer";
    Fetch: "sampled_fetch";
    Nearest: "sampled_nearest";
    Linear: "sampled_linear";
    StorageImage: "storage_image";
}

paths! {
    /// Those of `load/stream`: the ones that more than a cache of data fits into, each resource once.
    STREAMED:
    words:
    Raw { "ssbo_scalar": 1, "ssbo_vec2": 2, "ssbo_vec4": 4 };
    texels:
    TexelBuffer: "texel_buffer";
    StorageTexelBuffer: "storage_texel_buffer";
    Fetch: "sampled_fetch";
    StorageImage: "storage_image";
}

/// The names of `N` paths, which are a table.
pub const fn names<const N: usize>(table: &[Path]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut i = 0;
    while i < N {
        names[i] = table[i].name;
        i += 1;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_texels_name_ends_in_its_format() {
        for path in PATHS.iter().chain(STREAMED) {
            let Value::Texel(format) = path.value else { continue };
            assert_eq!(path.name.rsplit('_').next(), Some(format.as_str()));
        }
    }

    #[test]
    fn no_path_is_there_twice() {
        for table in [PATHS, STREAMED] {
            for (i, path) in table.iter().enumerate() {
                let is_same = |other: &Path| other.name == path.name || (other.kind, other.value) == (path.kind, path.value);
                assert!(!table[..i].iter().any(is_same), "{}", path.name);
            }
        }
    }

    /// Else one name would stand for two things in one family.
    #[test]
    fn what_both_tables_name_is_the_same() {
        for path in STREAMED {
            assert!(PATHS.iter().all(|other| other.name != path.name || other == path), "{}", path.name);
        }
    }

    /// What any first-level cache holds, and the word more that shifting takes.
    #[test]
    fn all_elements_are_16_kib_at_most() {
        assert!(PATHS.iter().all(|path| path.elements().is_power_of_two() && path.elements() * path.value.bytes() <= 16 << 10));
        assert_eq!(SIDE * SIDE, ELEMENTS);
        assert_eq!(SMALL * Path::of(PATHS, "ubo_1kib").value.bytes(), 1 << 10);
    }
}
