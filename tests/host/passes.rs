//! That a pass which may follow itself finds nothing of what the last one left is proven over the whole pass: of the catalogue by
//! `catalogue::what_a_module_declares_is_what_its_experiment_says`, of shapes that it doesn't have yet here.

use lanescope::model::DeviceInfo;
use lanescope::plan::check_limits;
use lanescope::shader::prepare;

use crate::support::passes::{carried_over, check_repeat};
use crate::support::shapes::{self, RIGHT, Shape};

#[test]
fn scratch_memory_cleared_bins_and_buffers_that_change_places_carry_nothing_over() {
    let (device, mut compiler) = (DeviceInfo::mock(), shapes::compiler());
    for shape in RIGHT {
        let case = shapes::built(shape, &device, 1).case;
        check_limits(&case, &device).unwrap();
        check_repeat(&prepare(case, &mut compiler).unwrap(), &format!("{shape:?}"));
    }
}

#[test]
fn what_a_pass_finds_of_the_last_one_is_named() {
    let (device, mut compiler) = (DeviceInfo::mock(), shapes::compiler());
    for (shape, found) in [(Shape::UnclearedHistogram, "bins"), (Shape::StalePingPong, "to")] {
        let prepared = prepare(shapes::built(shape, &device, 1).case, &mut compiler).unwrap();
        assert_eq!(carried_over(&prepared), [found], "{shape:?}");
    }
}
