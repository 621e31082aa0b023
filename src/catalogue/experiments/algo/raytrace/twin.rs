//! What each pixel shows, and where rounding may decide it.

use rayon::prelude::*;

use super::rough::{Known, Rough, Vector};
use super::scene::{BALLS, CLUSTER, Scene, Sphere, Triangle};
use crate::experiments::scramble;
use crate::validate::{Mismatch, Output, Position, Verdict};

/// Where the camera and the light are, as the shader has it.
const CAMERA: [f64; 3] = [0.0, 80.0, -300.0];
const LIGHT: [f64; 3] = [200.0, 400.0, -250.0];

/// What a ray hits that hits nothing.
const NOTHING: u32 = 0x7FFF_FFFF;
const IN_SHADOW: u32 = 0x8000_0000;

/// How far above a surface a ray to the light begins, and what is bright where none of it comes.
const ABOVE: f64 = 0.25;
const AMBIENT: f64 = 0.25;

/// How much larger a sphere is here than it is, before rays that miss it are left out: far more than anything rounds.
const MARGIN: f64 = 1.01;

/// Steps of 255 that a colour may be off by.
const STEPS: u32 = 1;

/// Of so many pixels, one may show what rounding decides, and as many of each edge.
const MOST_UNKNOWN: u64 = 50;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pixel {
    pub(super) hit: u32,
    /// Its colour, red in the lowest byte.
    pub(super) colour: u32,
    /// Whether no rounding can change it.
    pub(super) is_sure: bool,
}

#[derive(Clone, Copy)]
struct Ray {
    origin: Vector,
    direction: Vector,
}

/// What a ray may hit: where, what, and whether it is sure to.
#[derive(Clone, Copy)]
struct Met {
    at: Rough,
    object: usize,
    is_sure: bool,
}

/// All pixels of a picture, row by row.
pub(super) fn picture(scene: &Scene, size: u32) -> Vec<Pixel> {
    (0..u64::from(size).pow(2)).into_par_iter().map(|pixel| scene.pixel(pixel, size)).collect()
}

/// Compares a picture and its hits with what they must be. Where rounding may decide what a pixel shows, anything will do that a ray
/// can hit; but there may be few such pixels.
pub(super) fn compare(expected: &[Pixel], objects: usize, picture: Output, hits: Output) -> Verdict {
    let [colours, found] = [picture, hits].map(|output| output.words());
    let total = expected.len() as u64;
    let wrong = |output: Output, at: usize, got: Option<&u32>, right: u32| {
        let shown = got.map_or("nothing".to_owned(), |got| format!("{got:#010x}"));
        Mismatch { total, ..Mismatch::single(output.name, Position::Element(at as u64), shown, format!("{right:#010x}")) }
    };
    for (at, pixel) in expected.iter().enumerate() {
        let (hit, colour) = (found.get(at), colours.get(at));
        let may_be = |hit: u32| if pixel.is_sure { hit == pixel.hit } else { is_object(hit, objects) };
        if !hit.is_some_and(|hit| may_be(*hit)) {
            return Err(wrong(hits, at, hit, pixel.hit));
        }
        if !colour.is_some_and(|colour| if pixel.is_sure { are_near(*colour, pixel.colour) } else { colour >> 24 == 0xFF }) {
            return Err(wrong(picture, at, colour, pixel.colour));
        }
    }
    let left_over = [found.len(), colours.len()].into_iter().any(|count| count != expected.len());
    let unknown = unknown(expected) as u64;
    if left_over || unknown > total / MOST_UNKNOWN + total.isqrt() {
        let got = format!("a picture of which {unknown} of {total} pixels can't be checked, or which is larger than that");
        return Err(Mismatch::single(picture.name, Position::Whole, got, "one whose pixels can be checked".to_owned()));
    }
    Ok(())
}

pub(super) fn unknown(expected: &[Pixel]) -> usize {
    expected.iter().filter(|pixel| !pixel.is_sure).count()
}

fn is_object(hit: u32, objects: usize) -> bool {
    let object = hit & !IN_SHADOW;
    hit == NOTHING || usize::try_from(object).is_ok_and(|object| object < objects)
}

fn are_near(one: u32, other: u32) -> bool {
    let parts = |colour: u32| [0, 8, 16, 24].map(|shift| colour >> shift & 0xFF);
    parts(one).into_iter().zip(parts(other)).all(|(one, other)| one.abs_diff(other) <= STEPS)
}

impl Scene {
    pub(super) fn objects(&self) -> usize {
        self.spheres.len() + self.triangles.len()
    }

    fn pixel(&self, pixel: u64, size: u32) -> Pixel {
        let side = i64::from(size);
        #[expect(clippy::cast_possible_wrap, reason = "less than 2^40")]
        let (column, row) = ((pixel % u64::from(size)) as i64, (pixel / u64::from(size)) as i64);
        #[expect(clippy::cast_precision_loss, reason = "less than 2^22")]
        let direction = [2 * column + 1 - side, side - 1 - 2 * row, 2 * side].map(|part| part as f64);
        let ray = Ray { origin: Vector::exact(CAMERA), direction: Vector::exact(direction) };
        let (first, is_sure) = nearest(&self.all_met(ray));
        let Some(first) = first else { return Pixel { hit: NOTHING, colour: 0xFF00_0000, is_sure } };
        let place = ray.origin + ray.direction.times(first.at);
        let (normal, is_known) = self.normal_at(ray, place, first.object);
        let start = place + normal.times(Rough::exact(ABOVE));
        let to_light = Ray { origin: start, direction: Vector::exact(LIGHT) - start };
        let dark = self.is_dark(to_light);
        let is_dark = dark != Known::No;
        let length = to_light.direction.dot(to_light.direction).sqrt();
        let cosine = (normal.dot(to_light.direction) / length).value.max(0.0);
        let bright = AMBIENT + if is_dark { 0.0 } else { (1.0 - AMBIENT) * cosine };
        let object = u32::try_from(first.object).unwrap_or(NOTHING);
        Pixel {
            hit: object | if is_dark { IN_SHADOW } else { 0 },
            colour: packed(object, bright),
            is_sure: is_sure && is_known && dark != Known::Unknown,
        }
    }

    /// All that a ray may meet in front of it.
    fn all_met(&self, ray: Ray) -> Vec<Met> {
        let plain = [ray.origin.values(), ray.direction.values()];
        let mut met = Vec::new();
        for (cluster, _) in self.bounds.iter().enumerate().filter(|(_, bound)| may_hit(plain, bound)) {
            let of_kind = |cluster: usize| cluster * CLUSTER..(cluster + 1) * CLUSTER;
            if cluster < BALLS {
                let near = of_kind(cluster).filter(|at| may_hit(plain, &self.spheres[*at]));
                met.extend(near.filter_map(|at| enters_sphere(ray, &self.spheres[at], at)));
            } else {
                met.extend(of_kind(cluster - BALLS).filter_map(|at| self.meets(ray, at)));
            }
        }
        let room = self.triangles.len() - self.room()..self.triangles.len();
        met.extend(room.filter_map(|at| self.meets(ray, at)));
        met
    }

    fn meets(&self, ray: Ray, triangle: usize) -> Option<Met> {
        meets_triangle(ray, &self.triangles[triangle], self.spheres.len() + triangle)
    }

    /// Whether something stands between the ray's origin and the light.
    fn is_dark(&self, to_light: Ray) -> Known {
        let mut dark = Known::No;
        for met in self.all_met(to_light) {
            let before_light = (Rough::exact(1.0) - met.at).is_positive();
            match before_light.and(if met.is_sure { Known::Yes } else { Known::Unknown }) {
                Known::Yes => return Known::Yes,
                Known::Unknown => dark = Known::Unknown,
                Known::No => {}
            }
        }
        dark
    }

    /// Of length one, towards where the ray comes from, and whether that is sure.
    fn normal_at(&self, ray: Ray, place: Vector, object: usize) -> (Vector, bool) {
        let normal = match object.checked_sub(self.spheres.len()) {
            None => {
                let [x, y, z, radius] = self.spheres[object];
                (place - Vector::exact([x, y, z])).times(Rough::exact(1.0) / Rough::exact(radius))
            }
            Some(triangle) => {
                let [_, one, other] = self.triangles[triangle].map(Vector::exact);
                let normal = one.cross(other);
                normal.times(Rough::exact(1.0) / normal.dot(normal).sqrt())
            }
        };
        let away = normal.dot(ray.direction).is_positive();
        (if away == Known::Yes { -normal } else { normal }, away != Known::Unknown)
    }
}

/// Whether a ray comes anywhere near a sphere, in plain numbers.
fn may_hit([origin, direction]: [[f64; 3]; 2], sphere: &Sphere) -> bool {
    let dot = |a: [f64; 3], b: [f64; 3]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let to_center = [0, 1, 2].map(|axis| sphere[axis] - origin[axis]);
    let at = dot(to_center, direction) / dot(direction, direction);
    let left = [0, 1, 2].map(|axis| to_center[axis] - at * direction[axis]);
    dot(left, left) <= (sphere[3] * MARGIN).powi(2)
}

/// As the shader does it.
fn enters_sphere(ray: Ray, sphere: &Sphere, object: usize) -> Option<Met> {
    let [x, y, z, radius] = *sphere;
    let to_center = Vector::exact([x, y, z]) - ray.origin;
    let squared = ray.direction.dot(ray.direction);
    let middle = to_center.dot(ray.direction) / squared;
    let left = to_center - ray.direction.times(middle);
    let radius = Rough::exact(radius);
    let inside = radius * radius - left.dot(left);
    met(middle - (inside / squared).sqrt(), inside.is_positive(), object)
}

/// As the shader does it.
fn meets_triangle(ray: Ray, triangle: &Triangle, object: usize) -> Option<Met> {
    let [corner, one, other] = triangle.map(Vector::exact);
    let p = ray.direction.cross(other);
    let s = ray.origin - corner;
    let q = s.cross(one);
    let scale = Rough::exact(1.0) / one.dot(p);
    let [u, v, at] = [s.dot(p), ray.direction.dot(q), other.dot(q)].map(|part| part * scale);
    let is_within = u.is_positive().and(v.is_positive()).and((Rough::exact(1.0) - (u + v)).is_positive());
    met(at, is_within, object)
}

/// What is met there, unless it is sure that it isn't, or that it lies behind.
fn met(at: Rough, is_met: Known, object: usize) -> Option<Met> {
    let is_met = is_met.and(at.is_positive());
    (is_met != Known::No).then_some(Met { at, object, is_sure: is_met == Known::Yes })
}

/// The nearest of what may be met, and whether it is sure to be the one.
fn nearest(met: &[Met]) -> (Option<Met>, bool) {
    let Some(first) = met.iter().copied().min_by(|one, other| one.at.value.total_cmp(&other.at.value)) else {
        return (None, true);
    };
    let is_before =
        |other: &Met| other.object == first.object || first.at.value + first.at.error < other.at.value - other.at.error;
    (Some(first), first.is_sure && met.iter().all(is_before))
}

/// A colour that is so bright.
fn packed(object: u32, bright: f64) -> u32 {
    let paint = scramble(object + 1);
    let part = |shift: u32| {
        let whole = f64::from((paint >> shift & 127) + 128) * bright;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 255")]
        let byte = (whole.clamp(0.0, 255.0) + 0.5).floor() as u32;
        byte.min(255) << shift
    };
    part(0) | part(8) | part(16) | 0xFF00_0000
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::bytes;

    #[test]
    fn every_ray_of_the_camera_hits_something_and_few_pixels_are_unknown() {
        for seed in 0..4 {
            let scene = Scene::new(seed);
            for size in [1, 5, 64, 101] {
                let pixels = picture(&scene, size);
                assert!(pixels.iter().all(|pixel| pixel.hit != NOTHING), "{seed} {size}");
                let unknown = unknown(&pixels);
                assert!(unknown * 200 <= pixels.len() + 200, "{seed} {size}: {unknown}");
            }
        }
    }

    #[test]
    fn spheres_triangles_room_light_and_shadow_are_all_there() {
        let scene = Scene::new(1);
        let pixels = picture(&scene, 64);
        let seen = |kind: &dyn Fn(usize) -> bool, dark: bool| {
            let is_seen = |pixel: &&Pixel| (pixel.hit & IN_SHADOW != 0) == dark && kind((pixel.hit & !IN_SHADOW) as usize);
            pixels.iter().filter(is_seen).count()
        };
        let (spheres, room) = (scene.spheres.len(), scene.objects() - scene.room());
        for dark in [false, true] {
            let counts = [
                seen(&|object| object < spheres, dark),
                seen(&|object| (spheres..room).contains(&object), dark),
                seen(&|object| object >= room, dark),
            ];
            assert!(counts.iter().all(|count| *count > 10), "{dark}: {counts:?}");
        }
    }

    #[test]
    fn wrong_pixels_are_found_where_they_are_sure() {
        let scene = Scene::new(1);
        let mut pixels = picture(&scene, 16);
        pixels[7].is_sure = false;
        let right =
            [|pixel: &Pixel| pixel.colour, |pixel: &Pixel| pixel.hit].map(|part| pixels.iter().map(part).collect::<Vec<u32>>());
        let check = |colours: &[u32], hits: &[u32]| {
            let [colours, hits] = [colours, hits].map(bytes);
            let output = |name, bytes| Output { name, bytes };
            compare(&pixels, scene.objects(), output("picture", &colours), output("hits", &hits))
        };
        let [colours, hits] = &right;
        assert_eq!(check(colours, hits), Ok(()));
        let changed = |words: &[u32], at: usize, word: u32| {
            let mut words = words.to_vec();
            words[at] = word;
            words
        };
        assert!(check(colours, &changed(hits, 8, hits[8] ^ IN_SHADOW)).is_err());
        assert!(check(&changed(colours, 8, colours[8] ^ 0x10), hits).is_err());
        assert_eq!(check(colours, &changed(hits, 7, NOTHING)), Ok(()));
        for poison in [crate::model::POISON, crate::model::OTHER_POISON] {
            assert!(check(colours, &changed(hits, 7, poison)).is_err());
        }
        assert!(check(&colours[1..], hits).is_err());
    }
}
