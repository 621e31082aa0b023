//! `algo/particles`: what does it cost to move many particles, and what do branches and another order add?

use crate::experiments::common::prelude::*;
use crate::validate::Near;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Way::WORDS,
    quick_variants: &[Way::Integrate.word(), Way::Gather.word()],
    base_variant: Some(Way::Integrate.word()),
    peak_kind: Some("global"),
    repeatability: |_| Repeatability::Memory,
    traffic,
    ..Experiment::new("algo/particles", axes, build)
};

choices! {
    enum Way {
        Integrate = "integrate",
        BranchUniform = "branch_uniform",
        BranchDivergent = "branch_divergent",
        /// In capitals, both are the shader's macros.
        Gather = "gather",
        Scatter = "scatter",
    }
}

/// Words of a position, and of a velocity.
const VECTOR: u64 = 4;

/// Words of a particle that are read, and as many that are written.
const PARTICLE: u64 = 2 * VECTOR;

/// Particles from which no cache of today holds a part that matters: 1 GiB, both ways together.
const BEYOND_CACHES: u64 = 1 << 24;

/// Particles of a run of one kind that no subgroup of today is larger than.
const LONG_RUN: u32 = 128;

/// The largest coordinate, and the largest part of a velocity.
const MAGNITUDE: u32 = 1000;

/// More steps would lead to numbers that `f32` rounds.
const MOST_STEPS: u64 = 1 << 10;

/// Time between two steps, as the shader has it.
const STEP: f64 = 0.5;

fn axes(setting: &Setting) -> Vec<Axis> {
    let usual = usual_size(setting);
    let (sizes, unrolls, steps) = match setting.preset {
        Preset::Quick => (vec![usual], vec![1_u64], vec![1_u64]),
        Preset::Default => {
            (setting.by_class(vec![16, 64, 256], vec![64, 256, 1024]), vec![1], vec![1, setting.by_class(64, 1024)])
        }
        Preset::Thorough => (vec![1, 32, 48, 64, 128, 256, 512, 1024], vec![1, 2, 4, 8], vec![1, 16, 64, 256]),
    };
    // The second one is a prime number: nothing divides it.
    let counts = setting.quick_or(
        vec![setting.by_class(1_u64 << 12, BEYOND_CACHES)],
        setting.by_class(vec![1 << 14, 10_007], vec![BEYOND_CACHES, 10_000_019]),
    );
    vec![
        Axis::new("local_size_x", "invocations per workgroup", AxisKind::AtLeast(1), sizes),
        Axis::new("unroll", "particles per invocation", AxisKind::Numbers(&[1, 2, 4, 8]), unrolls),
        Axis::new("steps", "steps in time of a pass", AxisKind::AtLeast(1), steps).up_to(MOST_STEPS),
        Axis::new("bodies", "particles", AxisKind::AtLeast(1), counts).of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let count = config.integer("bodies");
    let (elements, steps) = (Elements::new(count, config)?, config.u32("steps"));
    let words = count.saturating_mul(VECTOR);
    u32_of(words)?;
    let [positions, velocities] = [0, 1].map(|part| Sequence::WholeFloats { seed: config.seed() ^ part, magnitude: MAGNITUDE });
    let order = Shuffled { seed: config.seed(), n: count, block: count };
    let way = Way::of(config.variant);
    let run = match way {
        Way::BranchUniform => LONG_RUN,
        Way::BranchDivergent => 1,
        Way::Integrate | Way::Gather | Way::Scatter => 0,
    };
    // Which particle's new state stands where.
    let source = move |at: u64| match way {
        Way::Gather => order.at(at),
        Way::Scatter => order.position(at),
        Way::Integrate | Way::BranchUniform | Way::BranchDivergent => at,
    };
    let moved = Moved { positions, velocities, steps, run: run.into() };
    let new = move |part: fn(Motion) -> f64| {
        Expected::near(words, move |word| exactly(part(moved.component(source(word / VECTOR), word % VECTOR))))
    };
    let mut case = CaseBuilder::new(EXPERIMENT.name, config);
    let mut resources = vec![
        case.output("new positions", new(|motion| motion.position)),
        case.output("new velocities", new(|motion| motion.velocity)),
        case.input("positions", words, positions),
        case.input("velocities", words, velocities),
    ];
    let mut kernel = config.kernel("algo/particles.comp", &["unroll"]).constant("RUN", Scalar::U32(run));
    // Whether a list of indexes orders the particles.
    let is_ordered = matches!(way, Way::Gather | Way::Scatter);
    if is_ordered {
        resources.push(case.input("indexes", count, Sequence::Shuffled(order)));
        kernel = kernel.define(&way.word().to_uppercase(), "");
    }
    case.run(kernel, &resources, elements.groups, &[u32_of(count)?, steps]);
    let read_and_written = 2 * PARTICLE + u64::from(is_ordered);
    let work = Work { bytes: Some(count * read_and_written * 4), items: Some(count), ..Work::default() };
    let bytes = count.saturating_mul(2 * PARTICLE * 4);
    Ok(case.bound(beyond_caches(bytes)).iterations(steps.into()).build(work, Headline::BANDWIDTH))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    let [count, local_size, unroll] = ["bodies", "local_size_x", "unroll"].map(|axis| case.point.integer(axis));
    let usual = Traffic::usual(case);
    if count % (local_size * unroll) != 0 || usual.invocations * unroll != count {
        return Err("bounds exclude some of the particles that the last workgroups would take");
    }
    // The steps touch no buffer, and a whole tile has a way of its own beside the one that checks.
    let loops = vec![unroll, case.point.integer("steps")];
    Ok(vec![Traffic { loops, uncounted: usual.total / usual.invocations, ..usual }])
}

/// Nothing rounds. Only a zero may have either sign.
fn exactly(value: f64) -> Near {
    Near { value, error: 0.0 }
}

/// All particles after their steps, in closed form.
#[derive(Clone, Copy)]
struct Moved {
    positions: Sequence,
    velocities: Sequence,
    steps: u32,
    run: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Motion {
    position: f64,
    velocity: f64,
}

impl Moved {
    fn component(&self, particle: u64, component: u64) -> Motion {
        let of = |sequence: Sequence, component| f64::from(sequence.float(particle * VECTOR + component));
        let position = of(self.positions, component);
        let start = |component| of(self.velocities, component);
        let steps = f64::from(self.steps);
        let falls = self.run == 0 || particle / self.run % 2 == 0;
        match component {
            3 => Motion { position, velocity: start(3) },
            // A step takes STEP from the velocity, and then goes as far as it leads.
            1 if falls => {
                let all = steps * start(1) - STEP * steps * (steps + 1.0) / 2.0;
                Motion { position: position + all * STEP, velocity: start(1) - STEP * steps }
            }
            0 | 1 if !falls => self.turned(position, [start(0), start(1)], component),
            _ => Motion { position: position + steps * start(component) * STEP, velocity: start(component) },
        }
    }

    /// Four quarters lead back to where they began.
    fn turned(&self, position: f64, [x, y]: [f64; 2], component: u64) -> Motion {
        let quarters = if component == 0 { [y, -x, -y, x] } else { [-x, -y, x, y] };
        let steps = self.steps as usize;
        let gone: f64 = quarters[..steps % 4].iter().sum();
        Motion { position: position + gone * STEP, velocity: quarters[(steps + 3) % 4] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Step by step, as the shader does it.
    fn stepped(moved: &Moved, particle: u64) -> [[f32; 3]; 2] {
        let of = |sequence: Sequence| [0, 1, 2].map(|component| sequence.float(particle * VECTOR + component));
        let [mut position, mut velocity] = [of(moved.positions), of(moved.velocities)];
        for _ in 0..moved.steps {
            if moved.run == 0 || particle / moved.run % 2 == 0 {
                velocity[1] -= 0.5;
            } else {
                velocity = [velocity[1], -velocity[0], velocity[2]];
            }
            (0..3).for_each(|component| position[component] += velocity[component] * 0.5);
        }
        [position, velocity]
    }

    #[test]
    fn the_closed_form_is_what_the_steps_lead_to() {
        let [positions, velocities] = [1, 2].map(|seed| Sequence::WholeFloats { seed, magnitude: MAGNITUDE });
        for (steps, run) in [(1, 0), (2, 1), (3, 1), (4, 2), (7, 1), (64, 0), (1024, 0), (1021, 1)] {
            let moved = Moved { positions, velocities, steps, run };
            for particle in 0..8 {
                let [position, velocity] = stepped(&moved, particle);
                for component in 0..3 {
                    let of = |values: [f32; 3]| f64::from(values[usize::try_from(component).unwrap()]);
                    let expected = Motion { position: of(position), velocity: of(velocity) };
                    assert_eq!(moved.component(particle, component), expected, "{steps} {run} {particle} {component}");
                }
            }
        }
    }
}
