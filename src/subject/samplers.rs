//! How the user's images are sampled.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::buffers::called;
use super::kernel::said;
use crate::model::{Dimension, Edge, Failure, Sampling};
use crate::shader::{BindingInfo, BindingKind, ScalarType};

/// What the user says of a sampler, or of the one that an image is combined with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplerSpec {
    /// Its name, its binding, or set and binding with a colon between; one of an array with its number in brackets behind that.
    pub place: String,
    pub is_linear: Option<bool>,
    pub edge: Option<Edge>,
    /// Whether places are given in texels.
    pub is_unnormalized: bool,
}

impl SamplerSpec {
    /// Reads `PLACE=FILTER,ADDRESS,unnormalized`, of which any may be left out behind `=`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (place, words) = text.split_once('=').ok_or("PLACE=FILTER[,ADDRESS] is needed, such as picture=linear,repeat")?;
        let mut spec = Self { place: place.trim().to_owned(), ..Self::default() };
        if spec.place.is_empty() {
            return Err("the sampler's name or binding is missing before `=`".to_owned());
        }
        for word in words.split(',').map(str::trim) {
            match (word, Edge::ALL.into_iter().find(|edge| edge.as_str() == word)) {
                ("linear" | "nearest", _) if spec.is_linear.is_none() => spec.is_linear = Some(word == "linear"),
                ("unnormalized", _) if !spec.is_unnormalized => spec.is_unnormalized = true,
                (_, Some(edge)) if spec.edge.is_none() => spec.edge = Some(edge),
                ("linear" | "nearest" | "unnormalized", _) | (_, Some(_)) => {
                    return Err(format!("`{word}` says what was said already"));
                }
                _ => {
                    let known = "linear or nearest; clamp, repeat or mirror; unnormalized";
                    return Err(format!("`{word}` is none of {known}"));
                }
            }
        }
        if spec.is_unnormalized && spec.edge.is_some_and(|edge| edge != Edge::Clamp) {
            return Err("unnormalized places are clamped".to_owned());
        }
        Ok(spec)
    }
}

impl fmt::Display for SamplerSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filter = self.is_linear.map(|is_linear| if is_linear { "linear" } else { "nearest" });
        let words = [filter, self.edge.map(Edge::as_str), self.is_unnormalized.then_some("unnormalized")];
        write!(f, "{}={}", self.place, words.into_iter().flatten().collect::<Vec<_>>().join(","))
    }
}

/// How a sampler samples: mixing neighbours, unless what it samples are whole numbers.
pub(super) fn sampling(info: &BindingInfo, spec: Option<&SamplerSpec>, infos: &[BindingInfo]) -> Result<Sampling, Failure> {
    let of_sampler = |other: &&BindingInfo| match info.kind {
        BindingKind::CombinedImageSampler => *other == info,
        // Which images it is combined with only the code tells.
        _ => other.kind == BindingKind::SampledImage,
    };
    let mut images = infos.iter().filter(of_sampler).filter_map(|info| info.image.as_ref());
    let spec = spec.cloned().unwrap_or_default();
    if spec.is_unnormalized && !images.clone().all(|image| matches!(image.dimension, Some(Dimension::D1 | Dimension::D2))) {
        let name = called(info);
        return Err(said(format!("sampler `{name}`: unnormalized places are for 1D and 2D images without layers")));
    }
    let are_floats = images.all(|image| image.component == Some(ScalarType::F32));
    let (is_linear, edge) = (spec.is_linear.unwrap_or(are_floats), spec.edge.unwrap_or_default());
    Ok(Sampling { is_linear, edge, is_unnormalized: spec.is_unnormalized })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sampler_may_be_said_in_part() {
        for text in ["a=linear", "0=nearest,repeat", "1:2=mirror", "a=linear,clamp,unnormalized", "a=unnormalized"] {
            assert_eq!(SamplerSpec::parse(text).unwrap().to_string(), text);
        }
        for wrong in ["a", "=linear", "a=", "a=cubic", "a=linear,nearest", "a=repeat,unnormalized"] {
            assert!(SamplerSpec::parse(wrong).is_err(), "{wrong}");
        }
    }
}
