//! `algo/adaptive`: does the best size of a workgroup change with the size of the problem?

use crate::experiments::algo::{blur, raytrace, reduce, transpose};
use crate::experiments::common::prelude::*;
use crate::model::AxisValue;

pub const EXPERIMENT: Experiment = Experiment {
    variants: Name::WORDS,
    quick_variants: &[Name::Reduce.word()],
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(axes_of),
    traffic,
    ..Experiment::new("algo/adaptive", |setting| axes_of(Name::WORDS[0], setting), build)
};

choices! {
    pub(super) enum Name { Transpose = "transpose", Reduce = "reduce", Blur = "blur", Raytrace = "raytrace" }
}

/// An algorithm as the experiment has it that it comes from.
struct Algorithm {
    experiment: &'static Experiment,
    variant: &'static str,
    size: Size,
    /// Its other axes there, and their values.
    fixed: Vec<(&'static str, AxisValue)>,
    /// The largest problem that is measured by default on a CPU and on a GPU, as powers of two: passes, and twins, take their time.
    most: [u32; 2],
}

/// What the size is called there.
#[derive(Clone, Copy)]
enum Size {
    /// All elements.
    Count(&'static str),
    /// Those along the edge of a square.
    Edge(&'static str),
}

impl Name {
    fn algorithm(self) -> Algorithm {
        match self {
            Self::Transpose => Algorithm {
                experiment: &transpose::EXPERIMENT,
                variant: "padded",
                size: Size::Edge("matrix_size"),
                fixed: vec![("tile", 32_u64.into())],
                most: [16, 26],
            },
            Self::Reduce => Algorithm {
                experiment: &reduce::EXPERIMENT,
                variant: "vector",
                size: Size::Count("n"),
                fixed: vec![("items", 16_u64.into())],
                most: [16, 26],
            },
            Self::Blur => Algorithm {
                experiment: &blur::EXPERIMENT,
                variant: "separable",
                size: Size::Edge("image_size"),
                fixed: vec![
                    ("items", 4_u64.into()),
                    ("segment", 64_u64.into()),
                    ("radius", 8_u64.into()),
                    ("filter", "gaussian".into()),
                ],
                most: [12, 24],
            },
            Self::Raytrace => Algorithm {
                experiment: &raytrace::EXPERIMENT,
                variant: "bounded",
                size: Size::Edge("image_size"),
                fixed: vec![("rays", "coherent".into())],
                most: [12, 20],
            },
        }
    }
}

/// Of so many elements, powers of two are whole tiles.
const LEAST_WHOLE: u64 = 1 << 14;

const MOST: u64 = 1 << 28;

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let algorithm = Name::of(variant).algorithm();
    let is_line = matches!(algorithm.size, Size::Count(_));
    let powers = |from: u32, to: u32, step: usize| (from..=to).step_by(step).map(|power| 1_u64 << power).collect();
    let most = setting.by_class(algorithm.most[0], algorithm.most[1]);
    let n: Vec<u64> = match setting.preset {
        Preset::Quick => setting.by_class(vec![1 << 8, 1 << 14], vec![1 << 12, 1 << 22]),
        Preset::Default => powers(8, most, setting.by_class(4, 2)),
        Preset::Thorough => powers(8, most, 2),
    };
    let (widths, heights): (Vec<u64>, Vec<u64>) = match (setting.preset, is_line) {
        (Preset::Quick, true) => (setting.by_class(vec![16, 64], vec![64, 512]), vec![1]),
        (Preset::Quick, false) => (vec![8, 16], vec![8]),
        (Preset::Default, true) => (setting.by_class(vec![16, 64, 256], vec![32, 64, 128, 256, 512, 1024]), vec![1]),
        (Preset::Default, false) => setting.by_class((vec![4, 8], vec![4, 8]), (vec![4, 8, 16, 32], vec![4, 8, 16])),
        (Preset::Thorough, true) => (powers(4, 10, 1), vec![1]),
        (Preset::Thorough, false) => (vec![1, 2, 4, 8, 16, 32, 64], vec![1, 2, 4, 8, 16, 32]),
    };
    vec![
        Axis::new("local_size_x", "width of a workgroup", AxisKind::AtLeast(1), widths),
        Axis::new("local_size_y", "height of a workgroup", AxisKind::AtLeast(1), heights),
        Axis::new("n", "words, or pixels: a square number, but for reduce", AxisKind::AtLeast(1), n).up_to(MOST).of_work(),
    ]
}

fn build(config: &Config) -> Result<Built, Skip> {
    let algorithm = Name::of(config.variant).algorithm();
    let point = algorithm.point(config.point)?;
    let built = algorithm.experiment.build(&Config::new(algorithm.variant, &point, &config.setting))?;
    let case = Case {
        experiment: EXPERIMENT.name.to_owned(),
        variant: config.variant.to_owned(),
        point: config.point.clone(),
        ..built.case
    };
    Ok(Built { case, ..built })
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    if case.point.integer("n") < LEAST_WHOLE {
        return Err("bounds exclude a part of what the last workgroups would take");
    }
    let algorithm = Name::of(&case.variant).algorithm();
    let point = algorithm.point(&case.point).map_err(|_| "there is no such case")?;
    algorithm.experiment.traffic(&Case { variant: algorithm.variant.to_owned(), point, ..case.clone() })
}

impl Algorithm {
    /// The same configuration, as the experiment has it that the algorithm comes from.
    /// Skipped: a size that no square has, and a height of what lies in a line.
    fn point(&self, own: &Point) -> Result<Point, Skip> {
        let [n, height] = ["n", "local_size_y"].map(|axis| own.integer(axis));
        let (axis, size) = match self.size {
            Size::Count(_) if height != 1 => {
                return Err(Skip::new(format!("local_size_y is {height}: words lie in a line, the case needs local_size_y=1")));
            }
            Size::Count(axis) => (axis, n),
            Size::Edge(axis) if n.isqrt().pow(2) == n => (axis, n.isqrt()),
            Size::Edge(_) => return Err(Skip::new(format!("n is {n}: the case needs a square number"))),
        };
        let fixed = self.fixed.iter().map(|(axis, value)| ((*axis).into(), value.clone()));
        let local_size = ["local_size_x", "local_size_y"].map(|axis| (axis.into(), own.integer(axis).into()));
        let local_size = local_size.into_iter().take(if matches!(self.size, Size::Count(_)) { 1 } else { 2 });
        Ok(Point::new(local_size.chain(fixed).chain([(axis.into(), size.into())])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::common::testing::{point, quick};
    use crate::model::DeviceInfo;

    #[test]
    fn every_axis_of_an_algorithm_has_a_value() {
        for name in Name::ALL {
            let algorithm = name.algorithm();
            let point = algorithm.point(&point("local_size_x=32 local_size_y=1 n=256")).unwrap();
            let axes = algorithm.experiment.axes(&quick(&DeviceInfo::mock()));
            assert!(axes.iter().all(|axis| point.get(&axis.name).is_some()), "{name:?}");
            assert_eq!(point.iter().count(), axes.len(), "{name:?}");
            assert!(algorithm.experiment.variants().contains(&algorithm.variant));
        }
    }

    #[test]
    fn what_no_square_has_is_skipped() {
        let reason = |variant, n: u64, height: u64| {
            let own = point(&format!("local_size_x=32 local_size_y={height} n={n}"));
            Name::of(variant).algorithm().point(&own).err().map(|skip| skip.reason)
        };
        assert_eq!([reason("transpose", 49, 8), reason("reduce", 50, 1)], [None, None]);
        assert!(reason("transpose", 50, 8).unwrap().contains("a square number"));
        assert!(reason("reduce", 49, 8).unwrap().contains("local_size_y=1"));
    }
}
