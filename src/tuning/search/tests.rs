//! What every strategy keeps to. How well they search is told by `tests/host/search.rs`.

use std::collections::HashSet;
use std::convert::Infallible;

use super::*;
use crate::model::Point;
use crate::tuning::space::Dimension;

fn space(sizes: &[u64], is_allowed: impl Fn(u64) -> bool) -> Space {
    let names = ["a", "b", "c", "d"];
    let axes = sizes.iter().zip(names).map(|(size, name)| Dimension::new(name, 0..*size));
    let sum = |point: &Point| point.iter().map(|(name, _)| point.integer(name)).sum();
    Space::new(axes, |point| Ok::<_, Infallible>(is_allowed(sum(point)))).unwrap()
}

/// Spaces of all shapes, among them one of a single configuration, and one of which no two are neighbours.
fn spaces() -> Vec<Space> {
    vec![space(&[], |_| true), space(&[1, 1], |_| true), space(&[7, 3, 4], |_| true), space(&[6, 5, 4], |sum| sum % 2 == 0)]
}

/// A landscape with several valleys, and some failures.
#[expect(clippy::cast_precision_loss, reason = "numbers are small")]
fn cost(configuration: usize) -> Option<f64> {
    (configuration % 11 != 5).then(|| 10.0 + (configuration * 37 % 101) as f64)
}

fn course(search: &mut dyn Search, most: usize, cost: impl Fn(usize) -> Option<f64>) -> Vec<usize> {
    let mut course = Vec::new();
    loop {
        let asked = search.ask(most);
        assert!(asked.len() <= most);
        if asked.is_empty() {
            return course;
        }
        course.extend(&asked);
        for configuration in asked {
            search.tell(configuration, cost(configuration));
        }
    }
}

fn is_permutation(course: &[usize], len: usize) -> bool {
    course.len() == len && course.iter().copied().collect::<HashSet<_>>() == (0..len).collect()
}

#[test]
fn every_strategy_ends_when_each_configuration_was_tried_once() {
    for space in spaces() {
        for strategy in Strategy::ALL {
            for most in [1, 3, 1000] {
                let all = course(&mut *search(strategy, &space, 7, None), most, cost);
                assert!(is_permutation(&all, space.len()), "{strategy:?} by {most} of {}: {all:?}", space.len());
            }
            let failing = course(&mut *search(strategy, &space, 7, None), 4, |_| None);
            assert!(is_permutation(&failing, space.len()), "{strategy:?} where all fails");
            let no_numbers = course(&mut *search(strategy, &space, 7, None), 4, |_| Some(f64::NAN));
            assert!(is_permutation(&no_numbers, space.len()), "{strategy:?} where no cost is a number");
            let flat = course(&mut *search(strategy, &space, 7, None), 4, |_| Some(1.0));
            assert!(is_permutation(&flat, space.len()), "{strategy:?} where all cost the same");
        }
    }
}

#[test]
fn the_seed_and_the_answers_decide() {
    let space = space(&[9, 9, 9], |_| true);
    for strategy in Strategy::ALL {
        let of = |seed| course(&mut *search(strategy, &space, seed, None), 5, cost);
        assert_eq!(of(1), of(1), "{strategy:?}");
        assert_eq!(of(1) == of(2), strategy == Strategy::Exhaustive, "{strategy:?}");
    }
}

#[test]
fn the_start_comes_first_and_once() {
    let space = space(&[5, 5], |_| true);
    for strategy in Strategy::ALL {
        let all = course(&mut *search(strategy, &space, 3, Some(17)), 4, cost);
        assert!(all[0] == 17 && is_permutation(&all, space.len()), "{strategy:?}: {all:?}");
    }
}

#[test]
fn what_is_told_unasked_is_not_asked_for() {
    let space = space(&[5, 5], |_| true);
    for strategy in Strategy::ALL {
        let mut search = search(strategy, &space, 3, Some(4));
        (0..10).for_each(|configuration| search.tell(configuration, cost(configuration)));
        let mut rest = course(&mut *search, 4, cost);
        rest.sort_unstable();
        assert!(rest.into_iter().eq(10..25), "{strategy:?}");
    }
}

/// A caller may compile ahead: it asks again before it tells.
#[test]
fn answers_may_come_late_and_in_another_order() {
    let space = space(&[6, 5, 4], |sum| sum % 3 != 0);
    for strategy in Strategy::ALL {
        let mut search = search(strategy, &space, 5, None);
        let (mut all, mut out) = (Vec::new(), Vec::new());
        loop {
            let asked = search.ask(6);
            all.extend(&asked);
            out.extend(asked);
            if out.is_empty() {
                break;
            }
            for _ in 0..out.len().div_ceil(2) {
                let configuration: usize = out.pop().unwrap();
                search.tell(configuration, cost(configuration));
            }
        }
        assert!(is_permutation(&all, space.len()), "{strategy:?}");
    }
}

#[test]
fn nothing_is_asked_twice_of_who_never_tells() {
    let space = space(&[6, 5, 4], |_| true);
    for strategy in Strategy::ALL {
        let mut search = search(strategy, &space, 5, None);
        let asked: Vec<usize> = (0..1000).flat_map(|_| search.ask(3)).collect();
        let distinct: HashSet<usize> = asked.iter().copied().collect();
        assert!(!asked.is_empty() && distinct.len() == asked.len(), "{strategy:?}");
    }
}

#[test]
fn the_best_is_found_before_all_is_tried_where_neighbours_are_alike() {
    let space = space(&[12, 12, 12], |_| true);
    let bowl = |configuration: usize| {
        let far: usize = space.places(configuration).into_iter().map(|place| place.abs_diff(8).pow(2)).sum();
        #[expect(clippy::cast_precision_loss, reason = "numbers are small")]
        Some((1 + far) as f64)
    };
    let best = space.at(&[8, 8, 8]).unwrap();
    for most in [1, 64] {
        let course = course(&mut *search(Strategy::HillClimbing, &space, 11, None), most, bowl);
        let found = course.iter().position(|configuration| *configuration == best).unwrap();
        assert!(found < space.len() / 5, "by {most} after {found}");
    }
}

#[test]
fn names_are_the_same_wherever_they_are_written() {
    for strategy in Strategy::ALL {
        assert_eq!(serde_json::to_value(strategy).unwrap(), strategy.as_str());
    }
}
