//! Outputs that people can look at: PNG files in a folder.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::{Case, DeviceInfo, Picture, Texels};
use crate::output::case_file;
use crate::regular;

/// A folder of pictures of one device. Those of an earlier run's case that is measured again are replaced; others are left.
#[derive(Clone, Debug)]
pub struct PictureFolder {
    path: PathBuf,
    /// Of the device and of its driver.
    uuids: [String; 2],
}

impl PictureFolder {
    /// One that is there, for this device's pictures.
    pub fn of(path: &Path, device: &DeviceInfo) -> Self {
        Self { path: path.to_owned(), uuids: [device.device_uuid, device.driver.uuid].map(|uuid| uuid.to_string()) }
    }

    /// Writes what there is to be seen in outputs of a case, in the order of its check.
    pub fn show(&self, case: &Case, case_id: &str, outputs: &[Vec<u8>]) -> Result<(), Error> {
        let [device, driver] = &self.uuids;
        for picture in &case.pictures {
            let bytes = case.check.outputs().iter().zip(outputs).find(|(resource, _)| **resource == picture.resource);
            let Some(((_, bytes), resource)) = bytes.zip(case.resources.get(picture.resource)) else { continue };
            let ending = format!("-{}.png", resource.name);
            let path = self.path.join(case_file([&case.experiment, &case.variant, case_id, device, driver], &ending));
            let png = png(picture, bytes).map_err(io::Error::from);
            png.and_then(|png| regular::overwrite(&path, &png)).map_err(Error::unwritable(&path))?;
        }
        Ok(())
    }
}

/// A picture as a PNG file: what isn't there is black.
fn png(picture: &Picture, bytes: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let Picture { width, height, texels, .. } = *picture;
    let (colour, mut texels) = match texels {
        Texels::Rgba8 => {
            (png::ColorType::Rgb, bytes.chunks_exact(4).flat_map(|texel| [texel[0], texel[1], texel[2]]).collect())
        }
        Texels::Floats { of } => (png::ColorType::Grayscale, grey(bytes, of)),
    };
    let length = u64::from(width) * u64::from(height) * colour.samples() as u64;
    texels.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.write_header()?.write_image_data(&texels)?;
    Ok(file)
}

/// The first of so many floats each, from the smallest as black to the largest as white. What is no number is black.
fn grey(bytes: &[u8], of: u32) -> Vec<u8> {
    let numbers = bytes.chunks_exact(4).map(|bytes| f32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
    let numbers: Vec<f32> = numbers.step_by(usize::try_from(of.max(1)).unwrap_or(1)).collect();
    let finite = || numbers.iter().copied().filter(|number| number.is_finite());
    let (least, most) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    let scale = if most > least { 255.0 / (most - least) } else { 0.0 };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
    let shade = |number: &f32| if number.is_finite() { ((number - least) * scale).round() as u8 } else { 0 };
    numbers.iter().map(shade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file shows, and how wide and high it is.
    fn shown(file: &[u8]) -> (Vec<u8>, [u32; 2]) {
        let mut reader = png::Decoder::new(io::Cursor::new(file)).read_info().unwrap();
        let mut texels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut texels).unwrap();
        (texels, [info.width, info.height])
    }

    fn picture(texels: Texels) -> Picture {
        Picture { resource: 0, width: 3, height: 2, texels }
    }

    #[test]
    fn colours_are_as_they_are_and_alpha_is_not_shown() {
        let bytes: Vec<u8> = (0..24).collect();
        let right: Vec<u8> = (0..24).filter(|byte| byte % 4 != 3).collect();
        assert_eq!(shown(&png(&picture(Texels::Rgba8), &bytes).unwrap()), (right, [3, 2]));
    }

    #[test]
    fn the_first_of_so_many_numbers_is_grey() {
        let numbers = [-1.0, 9.0, 0.0, 9.0, 1.0, 9.0, f32::NAN, 9.0, f32::INFINITY, 9.0, -0.5, 9.0_f32];
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.to_ne_bytes()).collect();
        let floats = picture(Texels::Floats { of: 2 });
        assert_eq!(shown(&png(&floats, &bytes).unwrap()).0, [0, 128, 255, 0, 0, 64]);
        assert_eq!(shown(&png(&floats, &[0; 48]).unwrap()).0, [0; 6], "all alike");
        assert_eq!(shown(&png(&floats, &bytes[..8]).unwrap()).0, [0; 6], "less than there should be");
    }
}
