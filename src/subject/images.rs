//! The user's images and texel buffers: of which format they are, and how far they extend.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::buffers::called;
use super::expression::listed;
use super::fill::Fill;
use super::kernel::{even_threads, said, skipped};
use super::resources::World;
use super::sized::Sized;
use super::spec::{BufferSpec, Parts};
use super::texels::Texels;
use crate::error::{nearest, suggestion};
use crate::model::{Dimension, FACES, Failure, Format, ImageRole, Numbers, ResourceKind};
use crate::shader::{BindingInfo, BindingKind, ImageInfo, ScalarType};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageSpec {
    /// Its name, its binding, or set and binding with a colon between; one of an array with its number in brackets behind that.
    pub place: String,
    /// What a texel is: a GLSL layout qualifier such as `rgba8`.
    pub format: Option<String>,
    /// Width, height and depth or layers, as many as it has: expressions.
    pub extent: Vec<String>,
    pub fill: Option<Fill>,
}

impl ImageSpec {
    /// Reads `PLACE=FORMAT[WIDTH,HEIGHT,DEPTH]:FILL`, of which everything behind `=` may be left out in part.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "PLACE=FORMAT[WIDTH,HEIGHT,DEPTH]:FILL is needed, such as picture=rgba8[1024,768]:random";
        let Parts { place, word, bracket, fill } = Parts::of(text, form)?;
        let extent = bracket.map(|extent| listed(&extent).into_iter().map(str::to_owned).collect()).unwrap_or_default();
        Ok(Self { place, format: word, extent, fill })
    }
}

impl fmt::Display for ImageSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.place, self.format.as_deref().unwrap_or_default())?;
        if !self.extent.is_empty() {
            write!(f, "[{}]", self.extent.join(","))?;
        }
        self.fill.iter().try_for_each(|fill| write!(f, ":{fill}"))
    }
}

pub(super) fn sized(info: &BindingInfo, spec: Option<&ImageSpec>, world: &World<'_>) -> Result<Sized, Failure> {
    let name = called(info);
    let image = described(info, &name)?;
    let no = |what: &str| said(format!("image `{name}` {what}: that isn't supported so far"));
    let dimension = image.dimension.ok_or_else(|| no("has dimensions that no compute shader has"))?;
    let usual = Format::Rgba8Unorm;
    let format = format(&format!("image `{name}`"), image, spec.and_then(|spec| spec.format.as_deref()), usual)?;
    let extent = match spec.map(|spec| &spec.extent[..]).unwrap_or_default() {
        [] => usual_extent(dimension, world)?,
        asked => asked_extent(dimension, asked, &name, world)?,
    };
    let role = if info.kind == BindingKind::StorageImage { ImageRole::Storage } else { ImageRole::Sampled };
    let texels = Texels { format, dimension: Some(dimension), extent };
    let bits = extent.iter().try_fold(u64::from(format.bytes()), |bytes, side| bytes.checked_mul((*side).into()));
    bits.ok_or_else(|| skipped(format!("image `{name}` would have more bytes than there are numbers for")))?;
    Ok(Sized::texels(ResourceKind::Image { format, dimension, extent, role }, texels))
}

pub(super) fn sized_buffer(info: &BindingInfo, spec: Option<&BufferSpec>, world: &World<'_>) -> Result<Sized, Failure> {
    let name = called(info);
    let image = described(info, &name)?;
    let asked = spec.and_then(|spec| spec.ty.as_deref());
    let format = format(&format!("texel buffer `{name}`"), image, asked, Format::Rgba32Float)?;
    let count = spec.and_then(|spec| spec.count.as_deref());
    let what = format!("the count of texel buffer `{name}`");
    let count = count.map_or(Ok(world.variables.n), |count| world.variables.integer(count, &what))?;
    if count == 0 {
        return Err(skipped(format!("texel buffer `{name}` would have no elements")));
    }
    let count = side(count, &name)?;
    let role = if info.kind == BindingKind::StorageTexelBuffer { ImageRole::Storage } else { ImageRole::Sampled };
    let texels = Texels { format, dimension: None, extent: [count, 1, 1] };
    Ok(Sized::texels(ResourceKind::Texels { format, count, role }, texels))
}

/// What the shader says of it, if that is something to be tuned with.
fn described<'i>(info: &'i BindingInfo, name: &str) -> Result<&'i ImageInfo, Failure> {
    let no = |what: &str| said(format!("image `{name}` {what}: that isn't supported so far"));
    let image = info.image.as_ref().ok_or_else(|| no("is of a kind that isn't known"))?;
    match image {
        ImageInfo { multisampled: true, .. } => Err(no("has several samples in a texel")),
        ImageInfo { depth: true, .. } => Err(no("is compared with when it is sampled")),
        image => Ok(image),
    }
}

/// What its texels are: what the shader declares, what the user says, or `usual` where components are floats and neither does.
fn format(what: &str, image: &ImageInfo, asked: Option<&str>, usual: Format) -> Result<Format, Failure> {
    let asked = asked.map(|asked| Format::named(asked).ok_or_else(|| unknown(what, asked))).transpose()?;
    if let (Some(asked), Some(declared)) = (asked, image.format.filter(|declared| Some(*declared) != asked)) {
        let (declared, asked) = (declared.as_str(), asked.as_str());
        return Err(said(format!("{what} is declared as {declared}: it can't be {asked}")));
    }
    let read_as = image.component.map_or_else(|| "something else".to_owned(), |component| component.to_string());
    let (usual, fits): (Format, fn(Numbers) -> bool) = match image.component {
        Some(ScalarType::F32) => (usual, |numbers| !numbers.is_whole()),
        Some(ScalarType::I32) => (Format::Rgba32Sint, |numbers| numbers == Numbers::Sint),
        Some(ScalarType::U32) => (Format::Rgba32Uint, |numbers| numbers == Numbers::Uint),
        _ => return Err(said(format!("{what} is read as {read_as}: only float, int and uint are supported so far"))),
    };
    let format = asked.or(image.format).unwrap_or(usual);
    if fits(format.numbers()) {
        return Ok(format);
    }
    Err(said(format!("{what} is read as {read_as}, and {} holds other numbers", format.as_str())))
}

fn unknown(what: &str, asked: &str) -> Failure {
    let names = || Format::ALL.iter().map(|format| format.as_str());
    let all = names().collect::<Vec<_>>().join(", ");
    said(format!("`{asked}` is no format of {what}{}; there are {all}", suggestion(&nearest(asked, names()))))
}

/// As many texels as `--threads` has invocations in each direction, where the image has all of those; else as many as the problem has
/// elements, evenly spread: an array has several layers where the workgroup has extent in that direction.
fn usual_extent(dimension: Dimension, world: &World<'_>) -> Result<[u32; 3], Failure> {
    let axes = dimension.axes();
    let layers = (dimension.is_layered() && !dimension.is_cube()).then_some(axes);
    let directions = std::array::from_fn(|i| i < axes || (layers == Some(i) && world.directions[i]));
    let asked = world.subject.threads.as_ref().and(world.variables.threads).filter(|_| !dimension.is_cube());
    // Invocations of one direction alone go over a picture in a way of their own.
    let asked = asked.filter(|threads| threads[1] > 1 && (0..3).all(|i| threads[i] == 1 || directions[i]));
    let mut extent = [1; 3];
    for (side, even) in extent.iter_mut().zip(asked.unwrap_or_else(|| even_threads(world.variables.n, directions))) {
        *side = self::side(even.max(1), "an image")?;
    }
    if dimension.is_cube() {
        extent[2] = FACES;
    }
    Ok(extent)
}

fn asked_extent(dimension: Dimension, asked: &[String], name: &str, world: &World<'_>) -> Result<[u32; 3], Failure> {
    let directions = dimension.directions();
    let least = if dimension.is_layered() { directions.len() - 1 } else { directions.len() };
    if !(least..=directions.len()).contains(&asked.len()) {
        let (form, given) = (directions.join(","), asked.join(","));
        return Err(said(format!("image `{name}` extends to [{form}], and [{given}] is given")));
    }
    let mut extent = [1; 3];
    if dimension.is_cube() {
        extent[2] = FACES;
    }
    for ((side, text), direction) in extent.iter_mut().zip(asked).zip(directions) {
        let direction = direction.to_lowercase();
        let count = world.variables.integer(text, &format!("the {direction} of image `{name}`"))?;
        if count == 0 {
            return Err(skipped(format!("image `{name}` would have no texels: its {direction} is 0")));
        }
        *side = self::side(count, name)?;
    }
    let are_cubes =
        extent[0] == extent[1] && if dimension == Dimension::Cube { extent[2] == FACES } else { extent[2] % FACES == 0 };
    if dimension.is_cube() && !are_cubes {
        return Err(said(format!(
            "image `{name}` is a cube: as high as wide, and of {FACES} faces (an array of a multiple of them)"
        )));
    }
    Ok(extent)
}

fn side(count: u64, name: &str) -> Result<u32, Failure> {
    u32::try_from(count).map_err(|_| skipped(format!("`{name}` would be {count} texels wide: none is as wide as 2^32")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_may_be_said_in_part() {
        for text in ["a=rgba8[n / 2,min(n, 4)]:random", "0=:zero", "1:2=[n]", "a[1]=r32f", "b=[w,h,d]:file=/tmp/a[1]:b.bin"] {
            let spec = ImageSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(spec.to_string(), text);
        }
        let spec = ImageSpec::parse("a=rgba8[n, min(n, 4)]").unwrap();
        assert_eq!(spec.extent, ["n", "min(n, 4)"]);
        for wrong in ["a", "=rgba8", "a=rgba8[n", "a=rgba8[n]:ones"] {
            assert!(ImageSpec::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_format_fits_its_declaration() {
        let image = |component, declared| ImageInfo {
            dimension: Some(Dimension::D2),
            depth: false,
            multisampled: false,
            component: Some(component),
            format: declared,
        };
        let chosen = |component, declared, asked| {
            format("image `a`", &image(component, declared), asked, Format::Rgba8Unorm).map_err(|failure| failure.reason)
        };
        assert_eq!(chosen(ScalarType::F32, None, None), Ok(Format::Rgba8Unorm));
        assert_eq!(chosen(ScalarType::F32, None, Some("r16_snorm")), Ok(Format::R16Snorm));
        assert_eq!(chosen(ScalarType::U32, None, None), Ok(Format::Rgba32Uint));
        assert_eq!(chosen(ScalarType::I32, Some(Format::R8Sint), None), Ok(Format::R8Sint));
        for (component, declared, asked, part) in [
            (ScalarType::F32, Some(Format::R32Float), Some("rgba8"), "declared as r32f: it can't be rgba8"),
            (ScalarType::F32, None, Some("rgba8i"), "read as float, and rgba8i holds"),
            (ScalarType::U32, None, Some("r8i"), "read as uint, and r8i holds"),
            (ScalarType::F32, None, Some("rgba9"), "did you mean rgba"),
            (ScalarType::U64, None, None, "only float, int and uint"),
        ] {
            let said = chosen(component, declared, asked).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
