//! Looks whether the shader indexes beyond its buffers, before anything is measured.

use crate::cli::args::Run;
use crate::cli::target::Targets;
use crate::cli::voice::Voice;
use crate::model::{Failure, Point};
use crate::shader::{NotedArray, Overrun};
use crate::tuning::space::Space;
use crate::tuning::{Reference, Subject};
use crate::worker::{Bounds, BoundsCheck, Identity};

/// Runs a pass of a configuration that notes how far it indexes, with robust buffer access, and says what lies beyond. Tells whether
/// anything does.
pub fn leave_buffers(run: &Run, targets: &Targets, subject: &Subject, point: Point, voice: &Voice) -> bool {
    let (place, deadlines) = (targets.device(0), run.deadlines());
    let check = BoundsCheck {
        device: Identity::of(&place.info, place.index),
        queue: run.queue,
        deadline: (!run.no_isolate).then_some((deadlines.first + deadlines.usual) * 2),
        subject: Box::new(subject.clone()),
        point,
    };
    let note = |words: String| voice.progress.note(&words);
    match targets.bounds(place, check) {
        Ok(Bounds { overruns, unfollowed, messages }) => {
            messages.iter().for_each(|message| voice.fault(&format!("validation: {message}")));
            overruns.iter().for_each(|overrun| note(format!("warning: {}", told(overrun))));
            if unfollowed > 0 {
                note(format!(
                    "note: {unfollowed} of the shader's accesses are by pointers that can't be followed: whether they lie within \
                     their buffers wasn't looked at"
                ));
            }
            !overruns.is_empty()
        }
        Err(Failure { status, reason }) => {
            note(format!("note: whether the shader indexes beyond its buffers couldn't be looked at: {status}: {reason}"));
            false
        }
    }
}

/// The configuration to look at: the reference's; where that is none of this shader's, the shader as it is written, unless it isn't
/// among those that are allowed.
pub fn looked_at(reference: &Reference, space: &Space, written: Option<usize>) -> Point {
    match (reference, written) {
        (Reference::Configuration(point), _) => point.clone(),
        (Reference::Untouched, _) | (_, Some(_)) => Point::default(),
        (Reference::Shader(_) | Reference::Files(_), None) => space.point(0),
    }
}

fn told(Overrun { array, index, length }: &Overrun) -> String {
    let NotedArray { set, binding, path, is_runtime, .. } = array;
    let end = if *index < 0 { "from" } else { "up to" };
    // What is larger is most often below zero, in an index without a sign: no buffer would do.
    let may_be_meant = (1..=i64::from(i32::MAX)).contains(index);
    let advice = match is_runtime {
        true if may_be_meant => format!("give it {} elements by --buffer, or look at -n, --threads and --push", index + 1),
        _ => "its index is wrong, or -n, --threads or --push are".to_owned(),
    };
    format!(
        "`{path}` (set {set}, binding {binding}) has {length} elements, and is indexed {end} {index}: what comes of that is by \
         chance, and rows say out_of_bounds; {advice}"
    )
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;
    use crate::tuning::space::Dimension;

    #[test]
    fn what_is_looked_at_may_be_run() {
        let sizes = Dimension::new("local_size_x", [32_u64, 64]);
        let space = Space::new(vec![sizes], |_| Ok::<_, Infallible>(true)).unwrap_or_else(|_| panic!("two configurations"));
        let other = Point::new([("local_size_x".into(), 8_u64.into())]);
        let files = Reference::Files(Vec::new());
        assert_eq!(looked_at(&Reference::Configuration(other.clone()), &space, None), other);
        assert_eq!(looked_at(&Reference::Untouched, &space, None), Point::default());
        assert_eq!(looked_at(&files, &space, Some(1)), Point::default());
        assert_eq!(looked_at(&files, &space, None), space.point(0));
    }

    #[test]
    fn a_warning_says_how_many_elements_would_do() {
        let noted = r#"{"set":0,"binding":1,"path":"to","is_runtime":true,"is_signed":false}"#;
        let array: NotedArray = serde_json::from_str(noted).unwrap();
        let words = |index| told(&Overrun { array: array.clone(), index, length: 100 });
        assert!(words(255).starts_with("`to` (set 0, binding 1) has 100 elements, and is indexed up to 255: "));
        assert!(words(255).contains("give it 256 elements by --buffer"), "{}", words(255));
        let wrapped = words(u32::MAX.into());
        assert!(wrapped.contains("up to 4294967295") && wrapped.contains("its index is wrong"), "{wrapped}");
        assert!(words(-1).contains("indexed from -1") && words(-1).contains("its index is wrong"), "{}", words(-1));
    }
}
