//! Images: how many dimensions they have, how they are read, and how they are sampled.

use serde::Serialize;

use super::{Feature, FormatUse, Limits};

/// The dimensions of an image, as shaders see them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum Dimension {
    #[serde(rename = "1d")]
    D1,
    #[serde(rename = "1d_array")]
    D1Array,
    #[serde(rename = "2d")]
    D2,
    #[serde(rename = "2d_array")]
    D2Array,
    #[serde(rename = "3d")]
    D3,
    #[serde(rename = "cube")]
    Cube,
    #[serde(rename = "cube_array")]
    CubeArray,
}

pub const FACES: u32 = 6;

impl Dimension {
    /// How an extent's numbers are called, as many as there are.
    pub fn directions(self) -> &'static [&'static str] {
        match self {
            Self::D1 => &["WIDTH"],
            Self::D1Array => &["WIDTH", "LAYERS"],
            Self::D2 => &["WIDTH", "HEIGHT"],
            Self::D2Array => &["WIDTH", "HEIGHT", "LAYERS"],
            Self::D3 => &["WIDTH", "HEIGHT", "DEPTH"],
            Self::Cube | Self::CubeArray => &["WIDTH", "HEIGHT", "FACES"],
        }
    }

    /// Of a texel's place: how many of its numbers are no layer.
    pub fn axes(self) -> usize {
        match self {
            Self::D1 | Self::D1Array => 1,
            Self::D2 | Self::D2Array | Self::Cube | Self::CubeArray => 2,
            Self::D3 => 3,
        }
    }

    /// Whether it consists of layers, which the last of its directions counts.
    pub fn is_layered(self) -> bool {
        !matches!(self, Self::D1 | Self::D2 | Self::D3)
    }

    pub fn is_cube(self) -> bool {
        matches!(self, Self::Cube | Self::CubeArray)
    }

    pub fn layers(self, extent: [u32; 3]) -> u32 {
        if self.is_layered() { extent[self.directions().len() - 1] } else { 1 }
    }

    /// Width, height and depth of each layer of an image of this extent.
    pub fn layer_extent(self, extent: [u32; 3]) -> [u32; 3] {
        std::array::from_fn(|axis| if axis < self.axes() { extent[axis] } else { 1 })
    }

    /// A limit that the extent breaks: its name, its value, and what is asked for.
    pub fn beyond(self, extent: [u32; 3], limits: &Limits) -> Option<(&'static str, u32, u32)> {
        let (name, most) = match self {
            Self::D1 | Self::D1Array => ("maxImageDimension1D", limits.image_dimension_1d),
            Self::D2 | Self::D2Array => ("maxImageDimension2D", limits.image_dimension),
            Self::D3 => ("maxImageDimension3D", limits.image_dimension_3d),
            Self::Cube | Self::CubeArray => ("maxImageDimensionCube", limits.image_dimension_cube),
        };
        let widest = self.layer_extent(extent).into_iter().max().unwrap_or(0);
        let layers = self.layers(extent);
        (widest > most)
            .then_some((name, most, widest))
            .or_else(|| (layers > limits.image_layers).then_some(("maxImageArrayLayers", limits.image_layers, layers)))
    }

    pub fn feature(self) -> Option<Feature> {
        (self == Self::CubeArray).then_some(Feature::ImageCubeArray)
    }
}

/// How kernels use an image, or the elements of a texel buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageRole {
    /// They read it through the texture units: fetched, or sampled.
    Sampled,
    /// They read it as a storage image, and write it.
    Storage,
    /// They write it as a storage image, and read it through the texture units as well: what one kernel leaves for another to sample.
    StorageAndSampled,
}

impl ImageRole {
    pub fn is_sampled(self) -> bool {
        matches!(self, Self::Sampled | Self::StorageAndSampled)
    }

    pub fn is_storage(self) -> bool {
        matches!(self, Self::Storage | Self::StorageAndSampled)
    }

    /// What a format of an image must be usable for.
    pub fn of_image(self) -> &'static [FormatUse] {
        match self {
            Self::Sampled => &[FormatUse::Sampled],
            Self::Storage => &[FormatUse::Storage],
            Self::StorageAndSampled => &[FormatUse::Storage, FormatUse::Sampled],
        }
    }

    /// The same of a texel buffer.
    pub fn of_texels(self) -> &'static [FormatUse] {
        match self {
            Self::Sampled => &[FormatUse::UniformTexels],
            Self::Storage => &[FormatUse::StorageTexels],
            Self::StorageAndSampled => &[FormatUse::StorageTexels, FormatUse::UniformTexels],
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sampling {
    /// Whether neighbouring texels are mixed (bilinearly), or the nearest is taken.
    pub is_linear: bool,
    pub edge: Edge,
    /// Whether places are given in texels, and not from 0 to 1.
    pub is_unnormalized: bool,
}

words! {
    /// What lies beyond an image's edge.
    #[derive(Default, Hash)]
    pub enum Edge, as_str {
        /// The texels at the edge, again and again.
        #[default]
        Clamp = "clamp",
        Repeat = "repeat",
        Mirror = "mirror",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn layers_are_the_last_direction() {
        let extent = [8, 5, 3];
        for (dimension, layers, layer) in [
            (Dimension::D1, 1, [8, 1, 1]),
            (Dimension::D1Array, 5, [8, 1, 1]),
            (Dimension::D2, 1, [8, 5, 1]),
            (Dimension::D2Array, 3, [8, 5, 1]),
            (Dimension::D3, 1, [8, 5, 3]),
            (Dimension::CubeArray, 3, [8, 5, 1]),
        ] {
            assert_eq!((dimension.layers(extent), dimension.layer_extent(extent)), (layers, layer), "{dimension:?}");
        }
    }

    #[test]
    fn the_limit_of_the_dimension_counts() {
        let limits = DeviceInfo::mock().limits;
        assert_eq!(Dimension::D2.beyond([limits.image_dimension, 1, 1], &limits), None);
        let beyond = Dimension::D2.beyond([1, limits.image_dimension + 1, 1], &limits);
        assert_eq!(beyond, Some(("maxImageDimension2D", limits.image_dimension, limits.image_dimension + 1)));
        let layers = Dimension::D2Array.beyond([1, 1, limits.image_layers + 1], &limits);
        assert_eq!(layers, Some(("maxImageArrayLayers", limits.image_layers, limits.image_layers + 1)));
        assert_eq!(Dimension::D3.beyond([1, 1, limits.image_dimension_3d + 1], &limits).unwrap().0, "maxImageDimension3D");
    }
}
