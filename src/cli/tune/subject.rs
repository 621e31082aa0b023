//! From flags to what is tuned, and to the axes that it is tuned along.

use std::cmp::Ordering;
use std::path::Path;

use crate::cli::args::tune::Tune;
use crate::cli::described::{kernel, macros, parsed};
use crate::error::Error;
use crate::experiments::powers_of_two;
use crate::model::{Axis, AxisKind, AxisValue, DeviceInfo, FilePath, Point, Status};
use crate::plan::parse_values;
use crate::regular;
use crate::shader::{SourceLine, size_macros};
use crate::subject::{
    Accepted, CONSTANT_AXIS, Comparison, KernelSpec, LOCAL_SIZE_AXES, MACRO_AXIS, Reference, SUBGROUP_AXIS, Tolerance,
    UserKernel,
};
use crate::tuning::space::{Dimension, Space};
use crate::units::parse_number;

pub fn subject(arguments: &Tune) -> Result<KernelSpec, Error> {
    let kernel = kernel(&arguments.described, arguments.measuring.seed)?;
    let (mut accepted, mut accepted_lines) = (Vec::new(), Vec::new());
    for what in parsed("accept", &arguments.accept, |text| accepts(text, &kernel.shader))? {
        match what {
            Accepts::Place(how, place) => accepted.push((how, place)),
            Accepts::Line(line) => accepted_lines.push(line),
        }
    }
    Ok(KernelSpec {
        bytes: arguments.bytes.clone(),
        flops: arguments.flops.clone(),
        tolerance: Tolerance { absolute: arguments.absolute_tolerance, relative: arguments.relative_tolerance },
        checks: checks(arguments)?,
        accepted,
        accepted_lines,
        is_idempotent: arguments.idempotent,
        ..kernel
    })
}

/// What a value of `--accept` says.
enum Accepts {
    Place(Accepted, String),
    Line(SourceLine),
}

/// A line without a file is one of the shader's own.
fn accepts(text: &str, shader: &Path) -> Result<Accepts, String> {
    if let Some((how, place)) = text.split_once(':').and_then(|(how, place)| Some((Accepted::named(how)?, place.trim()))) {
        return match place {
            "" => Err(format!("{how}:PLACE is needed, as in {how}:data")),
            place => Ok(Accepts::Place(how, place.to_owned())),
        };
    }
    let shader = shader.to_string_lossy();
    let (file, line) = text.rsplit_once(':').unwrap_or((&shader, text));
    let line = line.trim().parse().ok().filter(|line| *line > 0 && !file.trim().is_empty());
    let line = line.map(|line| Accepts::Line(SourceLine { file: file.trim().to_owned(), line }));
    line.ok_or_else(|| "a line (12, or common.glsl:12), constant:PLACE or idle:PLACE is needed, as in constant:data".to_owned())
}

/// What of outputs is compared: `--ignore PLACE` is `--check PLACE=none`.
fn checks(arguments: &Tune) -> Result<Vec<(String, Comparison)>, Error> {
    let ignored = arguments.ignore.iter().map(|place| Ok((place.clone(), Comparison::None)));
    let checked = arguments.check.iter().map(|text| {
        let (place, how) = text.split_once('=').ok_or_else(|| "PLACE=elements, sum, set or none is needed".to_owned())?;
        Ok((place.trim().to_owned(), how.trim().parse::<Comparison>()?))
    });
    checked.chain(ignored).collect::<Result<_, String>>().map_err(|words| Error::Usage(format!("--check: {words}")))
}

// ---- axes -----------------------------------------------------------------------------------------------------------------

/// The axes that it is tuned along, those of the workgroup size first.
pub fn axes(arguments: &Tune, kernel: &mut UserKernel, device: &DeviceInfo) -> Result<Vec<Dimension>, Error> {
    let mut given: Vec<(String, Vec<AxisValue>)> = Vec::new();
    for text in &arguments.axis {
        let (name, values) =
            text.split_once('=').ok_or_else(|| Error::Usage(format!("axis `{text}`: NAME=VALUES is needed")))?;
        let (name, values) = axis(name.trim(), values, kernel)?;
        // The command line's stand behind the manifest's.
        given.retain(|(known, _)| *known != name);
        given.push((name, values));
    }
    for (name, value) in constants(arguments, kernel)? {
        if given.iter().any(|(known, _)| *known == name) {
            let plain = name.strip_prefix(CONSTANT_AXIS).unwrap_or(&name);
            return Err(Error::Usage(format!("`{plain}` is given by --constant and by --axis: leave one of them out")));
        }
        given.push((name, vec![value]));
    }
    for (name, values) in macros(&arguments.described)? {
        if values.len() > 1 {
            given.push((format!("{MACRO_AXIS}{name}"), values.iter().map(|value| value_of(value)).collect()));
        }
    }
    let written = kernel.local_size().map_err(|failure| Error::Usage(failure.reason))?;
    let threads = &kernel.subject().threads;
    let is_flat = |direction: usize| threads.as_ref().is_some_and(|threads| threads[direction].trim() == "1");
    let defaults = default_sizes(written, [0, 1, 2].map(is_flat), device);
    let macros = size_macros(&kernel.subject().shader);
    let mut all = Vec::new();
    for ((name, values), macro_name) in LOCAL_SIZE_AXES.iter().zip(defaults).zip(macros) {
        let said = given.iter().position(|(known, _)| known == name).map(|at| given.remove(at).1);
        // A size that is a macro follows the macro's values.
        let follows = macro_name.is_some_and(|name| given.iter().any(|(known, _)| *known == format!("{MACRO_AXIS}{name}")));
        let values = said.unwrap_or_else(|| if follows { Vec::new() } else { values });
        if !values.is_empty() {
            all.push(Dimension::new(*name, values));
        }
    }
    all.extend(given.into_iter().map(|(name, values)| Dimension::new(name, values)));
    Ok(all)
}

/// The one configuration that has these values on axes and in constants.
pub fn point(axes: &[String], constants: &[String], kernel: &mut UserKernel) -> Result<Point, Error> {
    let mut all: Vec<(String, AxisValue)> = Vec::new();
    for text in axes.iter().chain(constants) {
        let usage = |words: &str| Error::Usage(format!("`{text}`: {words}"));
        let (name, values) = text.split_once('=').ok_or_else(|| usage("NAME=VALUE is needed"))?;
        let (name, values) = axis(name.trim(), values, kernel)?;
        let [value] = &values[..] else { return Err(usage("one value is needed")) };
        if all.iter().any(|(known, _)| *known == name) {
            return Err(usage(&format!("{name} has a value already")));
        }
        all.push((name, value.clone()));
    }
    Ok(Point::new(all.into_iter().map(|(name, value)| (name.into(), value))))
}

/// Constants that have one value in every configuration, as axes. The command line's stand behind the manifest's.
fn constants(arguments: &Tune, kernel: &mut UserKernel) -> Result<Vec<(String, AxisValue)>, Error> {
    let mut all: Vec<(String, AxisValue)> = Vec::new();
    for text in &arguments.described.constant {
        let usage = |words: String| Error::Usage(format!("constant `{text}`: {words}"));
        let (name, value) = text.split_once('=').ok_or_else(|| usage("NAME=VALUE is needed".to_owned()))?;
        let what = match name.trim() {
            name if LOCAL_SIZE_AXES.contains(&name) => Some("the workgroup size is"),
            SUBGROUP_AXIS => Some("the size that subgroups are required to have is"),
            _ => None,
        };
        if let Some(what) = what {
            return Err(usage(format!("{what} an axis: --axis takes one value of it as well")));
        }
        let (name, values) = axis(name.trim(), value, kernel)?;
        let [value] = &values[..] else { return Err(usage("one value is needed; --axis tries several".to_owned())) };
        all.retain(|(known, _)| *known != name);
        all.push((name, value.clone()));
    }
    Ok(all)
}

/// How many invocations a workgroup has in the configuration that stands for a shader that has no size of its own.
const SANE: f64 = 64.0;

/// The most configurations that are looked through for such a one.
const LOOKED_THROUGH: usize = 1 << 14;

/// The configuration to compare with where the shader as it is written is to be the reference and can't run, or is none that anybody
/// would run: a workgroup of a single invocation, since the size is left to whoever runs it. With what to say of that.
pub fn instead_of_written(kernel: &mut UserKernel, space: &Space) -> Option<(Point, String)> {
    if kernel.subject().reference != Reference::Untouched {
        return None;
    }
    let why = match kernel.reference() {
        Err(failure) if failure.status == Status::Skipped => {
            format!("the shader as it is written can't run on this device ({})", failure.reason)
        }
        _ if kernel.leaves_its_size_open().unwrap_or(false) => {
            "the shader leaves its workgroup size open, and has one invocation as it is written".to_owned()
        }
        _ => return None,
    };
    let extents = |point: &Point| LOCAL_SIZE_AXES.map(|axis| f64::from(point.get(axis).map_or(1, |_| point.u32(axis))));
    // Of a large space some from everywhere.
    let count = space.len().min(LOOKED_THROUGH);
    let mut points: Vec<Point> =
        (0..count).map(|i| space.point(i * (space.len() / count) + i * (space.len() % count) / count)).collect();
    let axes: Vec<&str> = space.axes().iter().map(|axis| axis.name.as_ref()).collect();
    let written = kernel.written(&axes).unwrap_or_default();
    let others = |point: &Point| {
        let constants = point.iter().filter(|(axis, _)| !LOCAL_SIZE_AXES.contains(axis));
        constants.filter(|(axis, value)| written.get(axis) != Some(*value)).count()
    };
    // As near to the size as may be, then to the constants as they are written, and then to a square or a cube.
    let badness = |point: &Point| {
        let extents = extents(point);
        let longest = extents.iter().copied().fold(1.0, f64::max);
        ((extents.iter().product::<f64>() / SANE).log2().abs(), others(point), longest)
    };
    points.sort_by(|a, b| badness(a).partial_cmp(&badness(b)).unwrap_or(Ordering::Equal));
    let point = points.into_iter().find(|point| kernel.describe(point).is_ok())?;
    let note = format!("note: {why}: results are compared with those of {point} (--reference names another one)");
    Some((point, note))
}

/// Constants that have one value in every configuration: the shader as it is written has to have it too, or its results would be others.
pub fn shared(axes: &[Dimension]) -> Vec<(String, String)> {
    let one = |axis: &Dimension| match &axis.values[..] {
        [value] => Some((axis.name.strip_prefix(CONSTANT_AXIS)?.to_owned(), value.to_string())),
        _ => None,
    };
    axes.iter().filter_map(one).collect()
}

/// An axis by the name that the user gives it: of the workgroup size, or of a constant.
fn axis(name: &str, values: &str, kernel: &mut UserKernel) -> Result<(String, Vec<AxisValue>), Error> {
    // A constant of that name is `spec_subgroup_size`.
    if LOCAL_SIZE_AXES.contains(&name) || name == SUBGROUP_AXIS {
        return numbers(name, values, 1).map(|values| (name.to_owned(), values));
    }
    let plain = name.strip_prefix(CONSTANT_AXIS).unwrap_or(name);
    if let Some(size) = kernel.size_axis(plain).map_err(|failure| Error::Usage(failure.reason))? {
        return numbers(size, values, 1).map(|values| (size.to_owned(), values));
    }
    let constant = kernel.constant(plain).map_err(|failure| Error::Usage(failure.reason))?;
    let name = format!("{CONSTANT_AXIS}{}", constant.name);
    if constant.is_count && !values.contains('-') {
        return numbers(&name, values, 0).map(|values| (name, values));
    }
    let items: Vec<&str> = values.split(',').map(str::trim).collect();
    match items.iter().find(|item| !constant.accepts(item)) {
        Some(wrong) => Err(Error::Usage(format!("axis `{plain}` is {}, and can't be `{wrong}`", constant.ty))),
        None => Ok((name, items.into_iter().map(|item| value_of(&constant.shown(item))).collect())),
    }
}

/// A user's constants may be as large as they like.
fn numbers(name: &str, values: &str, least: u64) -> Result<Vec<AxisValue>, Error> {
    let axis = Axis::new("", "", AxisKind::AtLeast(least), [least]).up_to(u64::MAX);
    parse_values(&Axis { name: name.to_owned().into(), ..axis }, values)
}

/// A value as rows have it. What isn't written as they write numbers stays a word: a macro `2^4` or `0x10` is as it stands.
fn value_of(text: &str) -> AxisValue {
    let number = parse_number(text).filter(|number| number.to_string() == text);
    number.map_or_else(|| AxisValue::Choice(text.to_owned().into()), AxisValue::Integer)
}

/// Where subgroups are smaller, as on processors, multiples of one would be many, and no better than others.
const LEAST_SUBGROUP: u32 = 32;

/// In each direction that the shader has: powers of two, and for the first one multiples of a subgroup, as far as the device goes.
/// In those where it is 1 it stays so, and in those where there is to be one invocation there are no more: they would have nothing to do.
fn default_sizes(written: [Option<u32>; 3], is_flat: [bool; 3], device: &DeviceInfo) -> [Vec<AxisValue>; 3] {
    let limits = &device.limits;
    let first = written.iter().position(Option::is_some).unwrap_or(0);
    std::array::from_fn(|direction| {
        if written[direction].is_none() && direction != first {
            return Vec::new();
        }
        let most = u64::from(limits.workgroup_size[direction].min(limits.workgroup_invocations).max(1));
        let mut sizes: Vec<u64> = powers_of_two(1, if is_flat[direction] { 1 } else { most }).collect();
        if direction == first && !is_flat[direction] {
            let subgroup = u64::from(device.subgroup.size.max(LEAST_SUBGROUP));
            sizes.extend((1..=most / subgroup).map(|count| count * subgroup));
        }
        // What the shader has is one of them.
        sizes.push(u64::from(written[direction].unwrap_or(1)).clamp(1, most));
        sizes.sort_unstable();
        sizes.dedup();
        sizes.into_iter().map(AxisValue::from).collect()
    })
}

// ---- the reference --------------------------------------------------------------------------------------------------------

pub fn reference(text: &str, kernel: &mut UserKernel) -> Result<Reference, Error> {
    let path = FilePath::of_text(text);
    let is_shader = path.extension().is_some_and(|ending| ["comp", "glsl", "spv"].iter().any(|known| ending == *known));
    if is_shader && !text.contains('=') {
        return Ok(Reference::Shader(path));
    }
    if regular::is_named(&path) {
        return Ok(Reference::Files(vec![(String::new(), path)]));
    }
    let pairs: Option<Vec<(&str, &str)>> = text.split(',').map(|pair| pair.trim().split_once('=')).collect();
    let Some(pairs) = pairs else {
        return Err(Error::Usage(format!(
            "--reference: there is no file `{text}`, and it is no configuration (NAME=VALUE,...)"
        )));
    };
    if pairs.iter().all(|(_, path)| regular::is_named(&FilePath::of_text(path))) {
        return Ok(Reference::Files(pairs.iter().map(|(name, path)| ((*name).to_owned(), FilePath::of_text(path))).collect()));
    }
    let mut values = Vec::new();
    for (name, value) in pairs {
        let is_macro = kernel.subject().macros.iter().any(|(known, _)| known == name);
        let (name, value) =
            if is_macro { (format!("{MACRO_AXIS}{name}"), vec![value_of(value)]) } else { axis(name, value, kernel)? };
        values.extend(value.into_iter().next().map(|value| (name.into(), value)));
    }
    Ok(Reference::Configuration(Point::new(values)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_accepted_is_a_place_or_a_line() {
        let of = |text: &str| match accepts(text, Path::new("a/halo.comp"))? {
            Accepts::Place(how, place) => Ok(format!("{how} {place}")),
            Accepts::Line(SourceLine { file, line }) => Ok::<_, String>(format!("{file} line {line}")),
        };
        for (text, found) in [
            ("12", "a/halo.comp line 12"),
            ("common.glsl:12", "common.glsl line 12"),
            ("constant:12", "constant 12"),
            ("idle:0:1", "idle 0:1"),
        ] {
            assert_eq!(of(text).as_deref(), Ok(found), "{text}");
        }
        for wrong in ["0", "twelve", ":12", "common.glsl:", "common.glsl:x", "constant:", "-3"] {
            let error = of(wrong).unwrap_err();
            assert!(error.contains("is needed, as in"), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_constant_may_have_64_bits() {
        assert_eq!(numbers("KEY", "2^48, 18446744073709551615", 0).unwrap(), [(1_u64 << 48).into(), u64::MAX.into()]);
        assert!(numbers("TILE", "0", 1).unwrap_err().to_string().contains("from 1 to 2^64 - 1"));
    }

    #[test]
    fn a_workgroup_is_swept_where_the_shader_has_extent() {
        let device = DeviceInfo::mock();
        let numbers = |written, is_flat| {
            default_sizes(written, is_flat, &device).map(|sizes| sizes.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let [x, y, z] = numbers([None, Some(24), None], [false; 3]);
        assert!(x.is_empty() && z.is_empty());
        assert!(["1", "2", "24", "32"].iter().all(|size| y.contains(&(*size).to_owned())), "{y:?}");
        let [x, y, _] = numbers([Some(16), Some(1), None], [false; 3]);
        assert!(x.len() > y.len() && !y.is_empty(), "subgroups in the first direction alone");
        assert!(numbers([None; 3], [false; 3])[1].is_empty());
        let [x, y, z] = numbers([Some(16), Some(8), Some(4)], [false, false, true]);
        assert!(x.len() > y.len() && y.len() > 2 && z == ["1", "4"], "{z:?}");
        assert_eq!(numbers([Some(1), None, None], [true, false, false])[0], ["1"]);
    }
}
