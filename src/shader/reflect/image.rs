//! Images, as variables declare them.

use rspirv::spirv::{Dim, ImageFormat};
use serde::Serialize;

use super::ScalarType;
use super::types::{TypeNode, Types};
use crate::model::{Dimension, Format};

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImageInfo {
    /// Its dimensions; nothing for texel buffers, and for what no compute shader has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<Dimension>,
    /// Whether it is compared with when it is sampled, as `sampler2DShadow` is.
    pub depth: bool,
    pub multisampled: bool,
    /// What a texel's components are read as; nothing where that is no scalar.
    pub component: Option<ScalarType>,
    /// What a texel is, as the declaration says; nothing where it doesn't, or says what has no numbers of 32 bits and less.
    #[serde(serialize_with = "named")]
    pub format: Option<Format>,
}

impl ImageInfo {
    pub(super) fn of(node: &TypeNode, types: &Types) -> Option<Self> {
        match node {
            TypeNode::SampledImage { image } => match types.get(*image)? {
                image @ TypeNode::Image { .. } => Self::of(image, types),
                _ => None,
            },
            TypeNode::Image { component, dim, depth, arrayed, multisampled, format, .. } => Some(Self {
                dimension: dimension(*dim, *arrayed),
                depth: *depth,
                multisampled: *multisampled,
                component: types.scalar(*component),
                format: declared(*format),
            }),
            _ => None,
        }
    }
}

fn dimension(dim: Dim, arrayed: bool) -> Option<Dimension> {
    Some(match (dim, arrayed) {
        (Dim::Dim1D, false) => Dimension::D1,
        (Dim::Dim1D, true) => Dimension::D1Array,
        (Dim::Dim2D, false) => Dimension::D2,
        (Dim::Dim2D, true) => Dimension::D2Array,
        (Dim::Dim3D, _) => Dimension::D3,
        (Dim::DimCube, false) => Dimension::Cube,
        (Dim::DimCube, true) => Dimension::CubeArray,
        _ => return None,
    })
}

/// SPIR-V calls formats as GLSL does, but for underscores and case.
fn declared(format: ImageFormat) -> Option<Format> {
    let name = format!("{format:?}").to_lowercase();
    Format::ALL.iter().copied().find(|format| format.as_str().replace('_', "") == name)
}

#[expect(clippy::ref_option, reason = "serde gives a reference to the field")]
fn named<S: serde::Serializer>(format: &Option<Format>, serializer: S) -> Result<S::Ok, S::Error> {
    format.map(Format::as_str).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_known_by_its_number() {
        // All that SPIR-V has from the first on, but for those of 64 bits.
        let known = (1..=39).filter_map(ImageFormat::from_u32).filter_map(declared);
        let mut known: Vec<Format> = known.collect();
        known.sort_unstable();
        let mut all = Format::ALL.to_vec();
        all.sort_unstable();
        assert_eq!(known, all);
        assert_eq!((declared(ImageFormat::Unknown), declared(ImageFormat::R64ui)), (None, None));
        assert_eq!(declared(ImageFormat::R11fG11fB10f), Some(Format::Rg11B10Float));
    }
}
