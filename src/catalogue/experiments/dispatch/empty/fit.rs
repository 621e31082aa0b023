//! The line through the times of dispatches of more and more workgroups.

use super::FIT;
use crate::model::{Derived, Figure, Finished, NoFigure, Point};
use crate::stats;

/// Points that a line needs to be believed.
const FEWEST: usize = 4;

/// How far any time may be from the line, as a share of the line.
const FITS: f64 = 0.25;

/// A line T = overhead + groups * each.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Line {
    overhead: f64,
    each: f64,
    /// Half-widths of 95 % intervals.
    errors: [f64; 2],
    /// The largest share by which a time is off.
    worst: f64,
}

pub(super) fn of(local_size: u64, rows: &[Finished]) -> [Derived; 2] {
    let here = rows.iter().filter(|row| row.point.integer("local_size_x") == local_size);
    #[expect(clippy::cast_precision_loss, reason = "workgroups are fewer than 2^53")]
    let points: Vec<(f64, f64)> = here.map(|row| (row.point.integer("groups") as f64, row.time)).collect();
    let line = line(&points);
    let point = Point::new([("local_size_x".into(), local_size.into())]);
    let note = match &line {
        Ok(line) => format!("of {} dispatches the worst is {:.1} % off the line", points.len(), 100.0 * line.worst),
        Err(_) => format!("of {} dispatches", points.len()),
    };
    let derived = |metric, unit, better, figure| Derived {
        experiment: FIT,
        variant: metric,
        point: point.clone(),
        metric,
        unit,
        better,
        figure,
        note: note.clone(),
    };
    let overhead = line.clone().map(|line| {
        let error = line.errors[0];
        Figure { value: line.overhead, interval: Some(((line.overhead - error).max(0.0), line.overhead + error)) }
    });
    let rate = line.and_then(rate);
    [derived("overhead", "ns", "lower", overhead), derived("rate", "1/ns", "higher", rate)]
}

/// Workgroups per ns. Where a line without any rise is within the error there is no figure: the rate might be any, however high.
fn rate(Line { each, errors: [_, error], .. }: Line) -> Result<Figure, NoFigure> {
    if each <= error {
        return Err(
            format!("the rise is no larger than its error: {each:.2e} ns for each workgroup, to within {error:.2e}").into()
        );
    }
    Ok(Figure { value: 1.0 / each, interval: Some((1.0 / (each + error), 1.0 / (each - error))) })
}

/// Least squares of relative errors: each time is weighted by its own inverse, since noise grows with time. Intervals are those of
/// the regression (Student's t of the degrees of freedom that are left).
#[expect(clippy::cast_precision_loss, reason = "points are few")]
fn line(points: &[(f64, f64)]) -> Result<Line, NoFigure> {
    if points.len() < FEWEST {
        return Err(NoFigure::TooFew(format!(
            "a line needs {FEWEST} dispatches of different size, there are {}",
            points.len()
        )));
    }
    let weighted = |f: &dyn Fn(f64, f64) -> f64| points.iter().map(|&(x, t)| f(x, t) / (t * t)).sum::<f64>();
    let (s, sx, sxx) = (weighted(&|_, _| 1.0), weighted(&|x, _| x), weighted(&|x, _| x * x));
    let (st, sxt) = (weighted(&|_, t| t), weighted(&|x, t| x * t));
    let determinant = s * sxx - sx * sx;
    let (overhead, each) = ((sxx * st - sx * sxt) / determinant, (s * sxt - sx * st) / determinant);
    if !(overhead > 0.0 && each > 0.0) {
        return Err("time doesn't grow with workgroups from an overhead on".to_owned().into());
    }
    let off = |&(x, t): &(f64, f64)| t / (overhead + each * x) - 1.0;
    let worst = points.iter().map(|point| off(point).abs()).fold(0.0, f64::max);
    if worst > FITS {
        return Err(format!("no line fits: at least one time is {:.0} % off the best one", 100.0 * worst).into());
    }
    let freedom = points.len() - 2;
    let variance = points.iter().map(|&(x, t)| ((t - overhead - each * x) / t).powi(2)).sum::<f64>() / freedom as f64;
    let t = stats::student_t(freedom);
    let errors = [sxx, s].map(|entry| t * (variance * entry / determinant).sqrt());
    Ok(Line { overhead, each, errors, worst })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(overhead: f64, each: f64, noise: &[f64]) -> Vec<(f64, f64)> {
        let groups = (0..noise.len()).map(|i| f64::from(4_u32.pow(u32::try_from(i).unwrap())));
        groups.zip(noise).map(|(x, noise)| (x, (overhead + each * x) * (1.0 + noise))).collect()
    }

    #[test]
    fn a_line_is_found() {
        let exact = line(&times(2000.0, 0.5, &[0.0; 10])).unwrap();
        assert!((exact.overhead - 2000.0).abs() < 1e-6 && (exact.each - 0.5).abs() < 1e-9 && exact.worst < 1e-9);
        let noise = [0.01, -0.02, 0.015, 0.0, -0.01, 0.02, -0.005, 0.01, -0.015, 0.005];
        let noisy = line(&times(2000.0, 0.5, &noise)).unwrap();
        assert!((noisy.overhead - 2000.0).abs() < noisy.errors[0] && (noisy.each - 0.5).abs() < noisy.errors[1]);
        assert!(noisy.errors[0] < 100.0 && noisy.errors[1] < 0.05);
    }

    #[test]
    fn a_rise_within_its_error_is_no_rate() {
        let flat = line(&times(2000.0, 0.5, &[0.01, -0.01, 0.01, -0.01])).unwrap();
        assert!(rate(flat).unwrap_err().to_string().contains("no larger than its error"));
        let Figure { value, interval } = rate(line(&times(2000.0, 0.5, &[0.001; 10])).unwrap()).unwrap();
        let (low, high) = interval.unwrap();
        assert!((value - 2.0).abs() < 0.01 && low <= value && value <= high && high < 2.1);
    }

    #[test]
    fn what_is_no_line_is_told() {
        assert!(line(&times(2000.0, 0.5, &[0.0; 3])).unwrap_err().to_string().contains("needs 4"));
        let square: Vec<(f64, f64)> = (1..10).map(|i| (f64::from(i), f64::from(i * i))).collect();
        assert!(line(&square).is_err());
        let falling: Vec<(f64, f64)> = (1..10).map(|i| (f64::from(i), f64::from(20 - i))).collect();
        assert!(line(&falling).unwrap_err().to_string().contains("doesn't grow"));
    }
}
