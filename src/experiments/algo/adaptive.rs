//! `algo/adaptive`: does the best size of a workgroup change with the size of the problem?

use std::sync::Arc;

use crate::experiments::algo::{blur, raytrace, reduce, transpose};
use crate::experiments::common::prelude::*;
use crate::model::AxisValue;

pub const EXPERIMENT: Experiment = Experiment {
    variants: &NAMES,
    quick_variants: &["reduce"],
    repeatability: |_| Repeatability::Memory,
    axes_of: Some(axes_of),
    traffic,
    ..Experiment::new("algo/adaptive", |setting| axes_of(NAMES[0], setting), build)
};

struct Algorithm {
    name: &'static str,
    experiment: &'static Experiment,
    variant: &'static str,
    size: Size,
    /// Its other axes there, and their values.
    fixed: &'static [(&'static str, Fixed)],
    /// The largest problem that is measured by default on a CPU and on a GPU, as powers of two: passes, and twins, take their time.
    most: [u32; 2],
}

#[derive(Clone, Copy)]
enum Size {
    /// All elements.
    Count(&'static str),
    /// Those along the edge of a square.
    Edge(&'static str),
}

#[derive(Clone, Copy)]
enum Fixed {
    Number(u64),
    Word(&'static str),
}

const ALGORITHMS: [Algorithm; 4] = [
    Algorithm {
        name: "transpose",
        experiment: &transpose::EXPERIMENT,
        variant: "padded",
        size: Size::Edge("matrix_size"),
        fixed: &[("tile", Fixed::Number(32))],
        most: [16, 26],
    },
    Algorithm {
        name: "reduce",
        experiment: &reduce::EXPERIMENT,
        variant: "vector",
        size: Size::Count("n"),
        fixed: &[("items", Fixed::Number(16))],
        most: [16, 26],
    },
    Algorithm {
        name: "blur",
        experiment: &blur::EXPERIMENT,
        variant: "separable",
        size: Size::Edge("image_size"),
        fixed: &[
            ("items", Fixed::Number(4)),
            ("segment", Fixed::Number(64)),
            ("radius", Fixed::Number(8)),
            ("filter", Fixed::Word("gaussian")),
        ],
        most: [12, 24],
    },
    Algorithm {
        name: "raytrace",
        experiment: &raytrace::EXPERIMENT,
        variant: "bounded",
        size: Size::Edge("image_size"),
        fixed: &[("rays", Fixed::Word("coherent"))],
        most: [12, 20],
    },
];

pub(super) const NAMES: [&str; ALGORITHMS.len()] = {
    let mut names = [""; ALGORITHMS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = ALGORITHMS[i].name;
        i += 1;
    }
    names
};

/// Of so many elements, powers of two are whole tiles.
const LEAST_WHOLE: u64 = 1 << 14;

const MOST: u64 = 1 << 28;

fn axes_of(variant: &str, setting: &Setting) -> Vec<Axis> {
    let algorithm = algorithm(variant);
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

fn build<'a>(config: &Config<'a>) -> Result<Built<'a>, Skip> {
    let algorithm = algorithm(config.variant);
    let (point, setting) = (algorithm.point(config.point)?, config.setting);
    let case = algorithm.experiment.case(&Config::new(algorithm.variant, &point, &setting))?;
    let case = Case {
        experiment: EXPERIMENT.name.to_owned(),
        variant: config.variant.to_owned(),
        point: config.point.clone(),
        ..case
    };
    let again = move |ask: &mut dyn FnMut(&Built)| {
        if let Ok(built) = algorithm.experiment.build(&Config::new(algorithm.variant, &point, &setting)) {
            ask(&built);
        }
    };
    Ok(Built::of_another(case, Arc::new(again)))
}

fn traffic(case: &Case) -> Result<Vec<Traffic>, &'static str> {
    if case.point.integer("n") < LEAST_WHOLE {
        return Err("bounds exclude a part of what the last workgroups would take");
    }
    let algorithm = algorithm(&case.variant);
    let point = algorithm.point(&case.point).map_err(|_| "there is no such case")?;
    algorithm.experiment.traffic(&Case { variant: algorithm.variant.to_owned(), point, ..case.clone() })
}

fn algorithm(variant: &str) -> &'static Algorithm {
    static ALL: [Algorithm; ALGORITHMS.len()] = ALGORITHMS;
    ALL.iter().find(|algorithm| algorithm.name == variant).unwrap_or(&ALL[0])
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
        let fixed = self.fixed.iter().map(|(axis, value)| {
            let value = match *value {
                Fixed::Number(number) => AxisValue::from(number),
                Fixed::Word(word) => word.into(),
            };
            ((*axis).into(), value)
        });
        let local_size = ["local_size_x", "local_size_y"].map(|axis| (axis.into(), own.integer(axis).into()));
        let local_size = local_size.into_iter().take(if matches!(self.size, Size::Count(_)) { 1 } else { 2 });
        Ok(Point::new(local_size.chain(fixed).chain([(axis.into(), size.into())])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::DeviceInfo;

    #[test]
    fn every_axis_of_an_algorithm_has_a_value() {
        let device = DeviceInfo::mock();
        let setting = Setting { device: &device, queue: None, preset: Preset::Default, seed: 1 };
        for algorithm in ALGORITHMS {
            let values = [("local_size_x", 32_u64), ("local_size_y", 1), ("n", 1 << 8)];
            let point = algorithm.point(&Point::new(values.map(|(axis, value)| (axis.into(), value.into())))).unwrap();
            let axes = algorithm.experiment.axes(&setting);
            assert!(axes.iter().all(|axis| point.get(&axis.name).is_some()), "{}", algorithm.name);
            assert_eq!(point.iter().count(), axes.len(), "{}", algorithm.name);
            assert!(algorithm.experiment.variants().contains(&algorithm.variant));
        }
    }

    #[test]
    fn what_no_square_has_is_skipped() {
        let reason = |variant, n: u64, height: u64| {
            let values = [("local_size_x", 32_u64), ("local_size_y", height), ("n", n)];
            let point = Point::new(values.map(|(axis, value)| (axis.into(), value.into())));
            algorithm(variant).point(&point).err().map(|skip| skip.reason)
        };
        assert_eq!([reason("transpose", 49, 8), reason("reduce", 50, 1)], [None, None]);
        assert!(reason("transpose", 50, 8).unwrap().contains("a square number"));
        assert!(reason("reduce", 49, 8).unwrap().contains("local_size_y=1"));
    }
}
