//! What there is to see: clusters of spheres and of triangles in a room, of whole numbers.

use crate::experiments::scramble;
use crate::model::{Contents, Data, Resource};

pub(super) const CLUSTER: usize = 8;

/// Clusters of either kind, in turn: four to a row, three rows.
const CLUSTERS: usize = 12;

pub(super) const BALLS: usize = 4;

/// A sphere: its centre and its radius.
pub(super) type Sphere = [f64; 4];

/// A triangle: a corner, and the two edges that begin there.
pub(super) type Triangle = [[f64; 3]; 3];

#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) spheres: Vec<Sphere>,
    /// Triangles, cluster by cluster, and then those of the room.
    pub(super) triangles: Vec<Triangle>,
    /// A sphere around each cluster, with something to spare: first those of spheres, then those of triangles.
    pub(super) bounds: Vec<Sphere>,
}

impl Scene {
    /// One that no other seed has.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let places: Vec<[f64; 3]> = (0..CLUSTERS).map(|at| random.place_of_cluster(at)).collect();
        // Each third one is of spheres.
        let (balls, meshes): (Vec<_>, Vec<_>) = places.into_iter().enumerate().partition(|(at, _)| at % 3 == 0);
        let mut scene = Self { spheres: Vec::new(), triangles: Vec::new(), bounds: Vec::new() };
        for (_, center) in balls {
            scene.add_balls(center, &mut random);
        }
        for (_, center) in meshes {
            scene.add_octahedron(center, random.up_to(20.0, 28.0));
        }
        scene.add_room();
        scene
    }

    /// Spheres at the corners of a cube.
    fn add_balls(&mut self, center: [f64; 3], random: &mut Random) {
        for corner in 0..CLUSTER {
            let to = |axis: usize| if corner >> axis & 1 == 0 { -12.0 } else { 12.0 };
            let [x, y, z] = [0, 1, 2].map(|axis| center[axis] + to(axis) + random.up_to(-2.0, 2.0));
            self.spheres.push([x, y, z, random.up_to(5.0, 9.0)]);
        }
        // No centre is more than 14 away along an axis, and no radius is larger than 9.
        self.bounds.push(bound(center, 14.0 * 3.0_f64.sqrt() + 9.0));
    }

    fn add_octahedron(&mut self, center: [f64; 3], size: f64) {
        for face in 0..CLUSTER {
            let tip = |axis: usize| {
                let mut tip = center;
                tip[axis] += if face >> axis & 1 == 0 { size } else { -size };
                tip
            };
            self.triangles.push(triangle([tip(0), tip(1), tip(2)]));
        }
        self.bounds.push(bound(center, size));
    }

    /// A floor and a wall at its end: there is no way between them that a camera could see.
    fn add_room(&mut self) {
        // It slopes: no ray of the camera runs along it.
        let floor = [[-2000.0, 0.0, -400.0], [2100.0, 0.0, -400.0], [-2000.0, -30.0, 700.0], [2100.0, -30.0, 700.0]];
        // Its diagonal is nowhere near the middle of the picture.
        let wall = [[-2000.0, -100.0, 600.0], [2100.0, -100.0, 600.0], [-2000.0, 2900.0, 600.0], [2100.0, 2900.0, 600.0]];
        for [a, b, c, d] in [floor, wall] {
            self.triangles.extend([triangle([a, b, c]), triangle([d, c, b])]);
        }
    }

    pub(super) fn room(&self) -> usize {
        self.triangles.len() - self.meshes() * CLUSTER
    }

    pub(super) fn meshes(&self) -> usize {
        self.bounds.len() - BALLS
    }

    /// As the shader has it.
    pub(super) fn resource(&self) -> Resource {
        let vectors: Vec<[f64; 4]> =
            self.spheres.iter().copied().chain(self.corners()).chain(self.bounds.iter().copied()).collect();
        #[expect(clippy::cast_possible_truncation, reason = "whole numbers, which are far from what f32 rounds")]
        let bytes: Vec<u8> = vectors.iter().flatten().flat_map(|part| (*part as f32).to_ne_bytes()).collect();
        Resource::words("scene", bytes.len() as u64 / 4, Contents::Data(Data::new(bytes)))
    }

    fn corners(&self) -> impl Iterator<Item = [f64; 4]> + use<'_> {
        self.triangles.iter().flatten().map(|[x, y, z]| [*x, *y, *z, 0.0])
    }
}

/// A sphere that is larger than it has to be by more than anything rounds.
fn bound([x, y, z]: [f64; 3], radius: f64) -> Sphere {
    [x, y, z, radius.ceil() + 1.0]
}

fn triangle([a, b, c]: [[f64; 3]; 3]) -> Triangle {
    let edge = |to: [f64; 3]| [0, 1, 2].map(|axis| to[axis] - a[axis]);
    [a, edge(b), edge(c)]
}

struct Random {
    seed: u32,
    taken: u32,
}

impl Random {
    fn new(seed: u64) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "both halves count")]
        Self { seed: scramble(seed as u32) ^ (seed >> 32) as u32, taken: 0 }
    }

    /// A whole number from one to the other, both included.
    fn up_to(&mut self, least: f64, most: f64) -> f64 {
        self.taken += 1;
        let share = f64::from(scramble(self.seed.wrapping_add(self.taken.wrapping_mul(0x9E37_79B9)))) / 4_294_967_296.0;
        (least + share * (most - least + 1.0)).floor()
    }

    fn place_of_cluster(&mut self, at: usize) -> [f64; 3] {
        let [across, along] = [[-105.0, -35.0, 35.0, 105.0][at % 4], [20.0, 130.0, 240.0][at / 4]];
        [across + self.up_to(-10.0, 10.0), self.up_to(32.0, 70.0), along + self.up_to(-20.0, 20.0)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_cluster_lies_within_its_bound() {
        for seed in 0..50 {
            let scene = Scene::new(seed);
            assert_eq!((scene.spheres.len(), scene.bounds.len(), scene.room()), (BALLS * CLUSTER, CLUSTERS, 4));
            let distance = |a: &[f64], b: &[f64]| (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
            for (sphere, bound) in scene.spheres.chunks(CLUSTER).zip(&scene.bounds) {
                assert!(sphere.iter().all(|sphere| distance(sphere, bound) + sphere[3] < bound[3]), "{seed}");
            }
            let meshes = scene.triangles.chunks(CLUSTER).zip(&scene.bounds[BALLS..]);
            for (triangles, bound) in meshes {
                for [corner, one, other] in triangles {
                    let corners = [[0.0; 3], *one, *other].map(|edge| [0, 1, 2].map(|axis| corner[axis] + edge[axis]));
                    assert!(corners.iter().all(|corner| distance(corner, bound) < bound[3]), "{seed}");
                }
            }
            assert!(scene.triangles.iter().flatten().flatten().all(|number| number.fract() == 0.0));
        }
    }
}
