//! `algo/raytrace`: how many rays does the device trace through a small scene, and in workgroups of which shape?

mod rough;
mod scene;
mod twin;

use std::rc::Rc;

use crate::experiments::common::prelude::*;
use crate::experiments::common::words;
use crate::model::{Metric, Texels};
use scene::{BALLS, CLUSTER, Scene};

pub const EXPERIMENT: Experiment = Experiment {
    variants: Rung::WORDS,
    quick_variants: &[Rung::Naive.word(), Rung::Bounded.word()],
    axes_of: Some(axes_of),
    ..Experiment::of_ladder(LADDER, |setting| axes_of(LADDER.first, setting), build)
};

choices! {
    enum Rung { Naive = "naive", Shared = "shared", Bounded = "bounded", Packet = "packet" }
}

const LADDER: Ladder =
    Ladder { experiment: "algo/raytrace", first: Rung::Naive.word(), choices: &["local_size_x", "local_size_y"] };

const RAYS: &[&str] = &["coherent", "shuffled"];

/// A larger picture would keep the twin busy for minutes.
const MOST_SIZE: u64 = 1 << 13;

/// Rays of a pixel: one of the camera's, each of which hits something, and one from there to the light.
const RAYS_OF_PIXEL: u64 = 2;

/// Rays over time, in 10^9 per second; they are the items.
const RATE: Headline = Headline { metric: Metric::Items, name: "rays", unit: "Grays/s", better: "higher" };

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let shapes: [Vec<u64>; 2] = match setting.preset {
        // What shapes change, the best rung tells.
        Preset::Quick if variant == LADDER.first => [vec![8], vec![8]],
        Preset::Quick => [vec![4, 8], vec![4, 8]],
        Preset::Default => [vec![4, 8, 16], vec![4, 8, 16]],
        Preset::Thorough => [vec![1, 2, 4, 8, 16, 32, 64], vec![1, 2, 4, 8, 16]],
    };
    let sizes = setting.quick_or(vec![setting.by_class(32_u64, 1024)], setting.by_class(vec![64, 45], vec![1024, 1001]));
    let rays = setting.quick_or(&RAYS[..1], RAYS).iter().copied();
    let [widths, heights] = shapes;
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), widths),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), heights),
        Axis::new("rays", "the order of the pixels", AxisKind::Choices(RAYS), rays),
        Axis::new("image_size", "width and height of the picture, pixels", AxisKind::AtLeast(1), sizes)
            .up_to(MOST_SIZE)
            .of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let [x, y, size] = ["local_size_x", "local_size_y", "image_size"].map(|axis| config.u32(axis));
    let pixels = u64::from(size).pow(2);
    let scene = Scene::new(config.seed());
    let kernel = kernel(config, [x, y, 1], &scene)?;
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let objects = scene.objects();
    let scene_buffer = case.add(scene.resource());
    let scene = Rc::new(scene);
    let of_pixels = |part: fn(&twin::Pixel) -> u32| {
        let scene = Rc::clone(&scene);
        Expected::words_from(pixels, move || words::of(twin::picture(&scene, size).iter().map(part).collect()))
    };
    let picture = case.output("picture", of_pixels(|pixel| pixel.colour));
    let hits = case.output("hits", of_pixels(|pixel| pixel.hit));
    case.shows(picture, [size, size], Texels::Rgba8);
    let mut resources = vec![scene_buffer, picture, hits];
    if config.choice("rays") == "shuffled" {
        let order = Shuffled { seed: config.seed(), n: pixels, block: pixels };
        resources.push(case.input("indexes", pixels, Sequence::Shuffled(order)));
    }
    case.run(kernel, &resources, [size.div_ceil(x), size.div_ceil(y), 1], &[size]);
    let work = Work { items: Some(pixels * RAYS_OF_PIXEL), ..Work::default() };
    let check = move |left: &PassOutputs| {
        let seen = twin::picture(&scene, size);
        twin::compare(&seen, objects, left.of(picture), left.of(hits))?;
        let unknown = twin::unknown(&seen);
        let remark = || format!("{unknown} of {pixels} pixels at edges, where rounding decides, may show either side");
        Ok((unknown > 0).then(remark))
    };
    let case = case.remarked_by(check);
    Ok(case.build(work, RATE))
}

fn kernel(config: &Config, local_size: [u32; 3], scene: &Scene) -> Result<Kernel, Skip> {
    let rung = Rung::of(config.variant);
    let count = |count: usize| number(count as u64);
    let kernel = Kernel::new("algo/raytrace.comp", local_size)
        .constant("CLUSTER", count(CLUSTER))
        .constant("BALLS", count(BALLS))
        .constant("MESHES", count(scene.meshes()))
        .constant("ROOM", count(scene.room()))
        .constant("BOUNDED", Scalar::Bool([Rung::Bounded, Rung::Packet].contains(&rung)));
    let kernel = if rung == Rung::Naive { kernel } else { kernel.define("IN_SHARED", "") };
    let kernel = if config.choice("rays") == "shuffled" { kernel.define("SHUFFLED", "") } else { kernel };
    if rung != Rung::Packet {
        return Ok(kernel);
    }
    config.require_classes(&[SubgroupClass::Vote])?;
    let invocations = u64::from(local_size[0]) * u64::from(local_size[1]);
    Ok(Kernel { required_subgroup_size: size_to_require(config.device(), invocations), ..kernel.define("VOTE", "") })
}
