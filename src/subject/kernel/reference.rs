//! What the configurations' results are compared with.

use super::{Made, UserKernel, said};
use crate::model::{Address, Case, Failure, FilePath, Point, Shown};
use crate::regular::{self, DATA};
use crate::shader::{Access, BindingInfo, BindingKind, Noting, Prepared};
use crate::subject::compare::{Before, Compared, Comparison, Right, compare, unwritten};
use crate::subject::fill::{Unusual, Variation};
use crate::subject::planted::undetected;
use crate::subject::resources::{Filled, Output, Unfilled, element_name};
use crate::subject::scalars::Number;
use crate::subject::silent::{saturated, silence};
use crate::subject::spec::{Accepted, KernelSpec, Reference};
use crate::subject::written::Written;
use crate::subject::{buffers, fill, names};
use crate::validate::{Learned, Mismatch, Outputs, Position};

/// First passes of cases that are kept: no fewer than cases are loaded at a time.
const MOST_FIRST_PASSES: usize = 256;

/// How many times the tolerance is allowed where only gross errors count.
const SLACK: f64 = 16.0;

const RACE: &str = "the reference's results differ from one run to the next, which a race or a read of what nothing wrote does";

impl UserKernel {
    /// The case whose outputs all others are compared with; nothing where files hold them.
    pub fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        match self.subject.reference.clone() {
            Reference::Untouched => self.prepare(&Point::default()).map(Some),
            Reference::Configuration(point) => self.prepare(&point).map(Some),
            Reference::Shader(shader) => self.other(shader)?.prepare(&Point::default()).map_err(of_reference).map(Some),
            Reference::Files(files) => {
                let made = self.make(&Point::default())?;
                let mut held = expected_in(&files, &made)?;
                clear_addresses(&made, &mut held);
                let befores: Vec<Option<Before>> = made.outputs.iter().map(|output| self.before(output, &made)).collect();
                let right = |(bytes, before)| Right::new(Written::of(bytes, None), before);
                self.expected = Some(held.into_iter().zip(befores).map(right).collect());
                Ok(None)
            }
        }
    }

    /// The same as [`UserKernel::noting`] of what the reference runs; nothing where files are the reference.
    pub fn noting_reference(&mut self) -> Result<Option<(Prepared, Noting)>, Failure> {
        match self.subject.reference.clone() {
            Reference::Untouched => self.noting(&Point::default()),
            Reference::Configuration(point) => self.noting(&point),
            Reference::Shader(shader) => self.other(shader)?.noting(&Point::default()).map_err(of_reference),
            Reference::Files(_) => Ok(None),
        }
    }

    /// Another shader that is the reference, as it is written, but for what all configurations share; it must write the same buffers.
    pub(super) fn other(&mut self, shader: FilePath) -> Result<Self, Failure> {
        let own = self.make(&Point::default())?;
        let infos = &own.source.reflection().bindings;
        // What the user says of buffers holds for their bindings, whatever this shader calls them.
        let placed = |place: &str| {
            let placed = |place: &str| {
                let info = infos.iter().find(|info| buffers::is_meant(place, info, &own.blocks))?;
                Some(format!("{}:{}", info.set, info.binding))
            };
            let of_array = |(base, element): (&str, Option<u32>)| Some(format!("{}[{}]", placed(base)?, element?));
            placed(place).or_else(|| of_array(names::without_element(place))).unwrap_or_else(|| place.to_owned())
        };
        let is_spirv = shader.extension().is_some_and(|ending| ending == "spv");
        let mut subject = KernelSpec {
            lengths: Vec::new(),
            // Its entry point has a name of its own, unless it has several.
            entry: None,
            reference: Reference::Untouched,
            shader,
            ..self.subject.clone()
        };
        subject.places_mut().for_each(|place| *place = placed(place));
        if is_spirv {
            subject.macros.clear();
            subject.preamble = None;
            subject.include_folders.clear();
        }
        let mut other = Self::new(subject, self.device.clone());
        let source = other.source(&Point::default()).map_err(of_reference)?;
        other.subject.constants.retain(|(name, _)| source.constant(name).is_some());
        let made = other.make(&Point::default()).map_err(of_reference)?;
        // Sums and sets may be of another number of elements.
        let is_same = |own: &Made| {
            let pairs = || own.outputs.iter().zip(&made.outputs);
            let fits = |(own, other): (&Output, &Output)| {
                own.place == other.place
                    && (own.sized.kind == other.sized.kind || matches!(own.comparison, Comparison::Sum | Comparison::Set))
            };
            own.outputs.len() == made.outputs.len() && pairs().all(fits)
        };
        if !is_same(&own) {
            return Err(said(format!(
                "the reference has another shape: it writes {}, and the shader {}",
                outputs_of(&made),
                outputs_of(&own)
            )));
        }
        Ok(other)
    }

    /// Takes what the reference's outputs held; tells what the user should know of it. What files hold somebody knows to be right, whatever
    /// it is.
    pub fn learn(&mut self, outputs: Outputs) -> Learned {
        let mut learned = Learned::default();
        let again = outputs.poisoned.clone();
        let written = written_in(outputs);
        let made = self.reference_made().ok().filter(|made| made.outputs.len() == written.len());
        let Some(made) = made else {
            self.expected = Some(written.into_iter().map(|written| Right::new(written, None)).collect());
            return learned;
        };
        let befores: Vec<Option<Before>> = made.outputs.iter().map(|output| self.before(output, &made)).collect();
        let expected: Vec<Right> =
            written.into_iter().zip(befores).map(|(written, before)| Right::new(written, before)).collect();
        let pairs = || made.outputs.iter().zip(&expected);
        let told: Vec<(String, bool)> =
            pairs().filter_map(|(output, right)| unwritten(&output.name, &output.sized.layout, &right.written)).collect();
        let wrote_nothing = !expected.is_empty() && told.iter().filter(|(_, wrote_any)| !wrote_any).count() == expected.len();
        let meant = if wrote_nothing { "; --check PLACE=none says that this is meant" } else { "" };
        let notes = told.into_iter().map(|(words, _)| format!("{words} by the reference: nothing is compared there{meant}"));
        learned.notes.extend(notes);
        learned.doubts.extend(wrote_nothing.then(|| "the reference writes nothing".to_owned()));
        for ((output, right), other) in pairs().zip(again.into_iter().flatten()) {
            let other = right.written.with(other);
            if let Err(mismatch) = compare(self.compared(output), &other, right) {
                learned.doubts.push(format!("{RACE}: {mismatch}"));
            }
        }
        let saturated = pairs().filter_map(|(output, right)| saturated(self.compared(output), &right.written));
        learned.notes.extend(saturated);
        let mut silences: Vec<(&Output, Option<String>)> = Vec::new();
        for (output, right) in pairs() {
            let before = self.before(output, &made);
            let silence = silence(self.compared(output), &right.written, before.as_ref().map(Before::bytes));
            silences.push((output, silence));
        }
        // Of memory that is reached by addresses nobody knows whether all of it is to be written.
        let any_speaks = silences.iter().any(|(_, silence)| silence.is_none());
        for (output, silence) in silences {
            let is_known = output.place.is_some() || !any_speaks;
            if !is_known || self.is_accepted(Accepted::Constant, output.place, &output.name, &made) {
                continue;
            }
            learned.doubts.extend(silence.map(|words| {
                let name = &output.name;
                format!(
                    "{words}: comparing shows nothing. Give inputs that make a difference (--buffer, --push, -n), or say --accept \
                     constant:{name} if that is as it should be"
                )
            }));
        }
        self.expected = Some(expected);
        learned
    }

    /// What an output held before the pass, where the shader reads it.
    fn before(&mut self, output: &Output, made: &Made) -> Option<Before> {
        let is_it = |unfilled: &&Unfilled| match (&unfilled.of, &output.within) {
            (Filled::Memory(name), Some((memory, ..))) => name == memory,
            (Filled::Memory(_), None) | (Filled::Descriptor(..), Some(_)) => false,
            (of, None) => of.place() == output.place,
        };
        let data = self.data(made.unfilled.iter().find(is_it)?, made).ok()?;
        Some(Before { data, part: output.part() })
    }

    /// Whether the user says that what is at this place is meant to say little in this way.
    fn is_accepted(&self, how: Accepted, place: Option<(u32, u32, u32)>, name: &str, made: &Made) -> bool {
        let is_it = |text: &String| is_at(place, text, made) || (place.is_none() && text == name);
        self.subject.accepted.iter().any(|(accepted, place)| *accepted == how && is_it(place))
    }

    /// What a pass of a configuration left. A pass over both poisons comes first, and tells what later ones don't write either.
    fn written_by(&mut self, point: &Point, outputs: Outputs) -> Vec<Written> {
        if outputs.poisoned.is_some() {
            let got = written_in(outputs);
            if self.first_passes.len() >= MOST_FIRST_PASSES {
                self.first_passes.clear();
            }
            if got.iter().any(Written::has_unwritten) {
                self.first_passes.insert(point.clone(), got.iter().map(|got| got.with(Vec::new())).collect());
            }
            return got;
        }
        match self.first_passes.get(point) {
            Some(first) => first.iter().zip(outputs.bytes).map(|(first, bytes)| first.later(bytes)).collect(),
            None => written_in(outputs),
        }
    }

    /// What the reference is made of, where it is run; of another shader what the configurations are, which has the same outputs.
    fn reference_made(&mut self) -> Result<Made, Failure> {
        self.make(&self.reference_point())
    }

    fn reference_point(&self) -> Point {
        match &self.subject.reference {
            Reference::Configuration(point) => point.clone(),
            _ => Point::default(),
        }
    }

    fn compared<'o>(&self, output: &'o Output) -> Compared<'o> {
        let Output { name, comparison, sized, .. } = output;
        // Other inputs may cancel more than those that the tolerance is for, and are tried for gross errors.
        let slack = if self.subject.variation.is_some() { SLACK } else { 1.0 };
        Compared { name, layout: &sized.layout, how: *comparison, tolerance: self.subject.tolerance, slack }
    }

    /// As [`UserKernel::check`], of what another run left: only what is far off, or no float, is another outcome, since sums in another
    /// order come to lie on either side of what is allowed.
    pub fn check_again(&mut self, case: &Case, bytes: Vec<Vec<u8>>) -> Result<f64, Mismatch> {
        self.check_within(case, Outputs { bytes, poisoned: None }, SLACK)
    }

    /// How far what a configuration left is from what is right, in units of what is allowed.
    pub fn check(&mut self, case: &Case, outputs: Outputs) -> Result<f64, Mismatch> {
        self.check_within(case, outputs, 1.0)
    }

    fn check_within(&mut self, case: &Case, outputs: Outputs, slack: f64) -> Result<f64, Mismatch> {
        let wrong = |output: &str, got: String, expected: &str| {
            Err(Mismatch::single(output, Position::Element(0), got, expected.to_owned()))
        };
        let Some(expected) = &self.expected else { return wrong("the reference", "missing".to_owned(), "there") };
        if expected.len() != outputs.bytes.len() {
            return wrong(
                "the outputs",
                format!("{} buffers", outputs.bytes.len()),
                &format!("{} as the reference has", expected.len()),
            );
        }
        let got = self.written_by(&case.point, outputs);
        let is_same = |(got, right): (&Written, &Right)| got.bytes == right.written.bytes && !got.has_unwritten();
        if got.iter().zip(self.expected.iter().flatten()).all(is_same) {
            return Ok(0.0);
        }
        let made = match self.make(&case.point) {
            Ok(made) => made,
            Err(failure) => return wrong("the case", failure.reason, "as it was"),
        };
        let pairs = made.outputs.iter().zip(got.iter().zip(self.expected.iter().flatten()));
        let errors = pairs.map(|(output, (got, right))| {
            let compared = self.compared(output);
            compare(Compared { slack: compared.slack * slack, ..compared }, got, right)
        });
        errors.into_iter().try_fold(0.0, |worst: f64, error| Ok(worst.max(error?)))
    }

    /// The kinds of errors that would have passed in what a configuration left, which was taken for right.
    pub fn undetected(&mut self, case: &Case, bytes: &[Vec<u8>]) -> Vec<String> {
        let (Ok(made), Some(expected)) = (self.make(&case.point), self.expected.take()) else { return Vec::new() };
        let workgroup = made.case.kernels.iter().flat_map(|kernel| kernel.local_size).map(|size| size as usize).product();
        let mut found = Vec::new();
        for ((output, right), bytes) in made.outputs.iter().zip(&expected).zip(bytes) {
            let compared = self.compared(output);
            let error = compare(compared, &right.written.with(bytes.clone()), right).unwrap_or(1.0);
            let before = self.before(output, &made);
            found.extend(undetected(self.compared(output), right, error, before.as_ref().map(Before::bytes), workgroup));
        }
        self.expected = Some(expected);
        found
    }

    /// How far what one pass of a configuration left is from what another left, as [`UserKernel::check_again`] sees it.
    pub fn apart(&mut self, case: &Case, first: &[Vec<u8>], other: Vec<Vec<u8>>) -> Result<f64, Mismatch> {
        let Ok(made) = self.make(&case.point) else { return Ok(0.0) };
        let pairs = made.outputs.iter().zip(first.iter().zip(other));
        let mut errors = pairs.map(|(output, (first, other))| {
            let right = Right::new(Written::of(first.clone(), None), None);
            let compared = Compared { slack: SLACK, ..self.compared(output) };
            compare(compared, &Written::of(other, None), &right)
        });
        errors.try_fold(0.0, |worst: f64, error| Ok(worst.max(error?)))
    }

    /// Whether all floats are finite that the reference writes.
    pub fn is_finite(&mut self) -> bool {
        let (Ok(made), Some(expected)) = (self.reference_made(), &self.expected) else { return true };
        let mut is_finite = true;
        for (output, right) in made.outputs.iter().zip(expected) {
            output.sized.layout.for_each(right.written.bytes.len(), &mut |slot| {
                let is_written = !slot.is_unwritten(&right.written);
                is_finite &= !(is_written && matches!(slot.number(&right.written), Number::Real(real) if !real.is_finite()));
            });
        }
        is_finite
    }

    /// For each buffer and image that is only read, and that the user doesn't fill: its name, and the kernel with other contents there
    /// alone, of several kinds: the largest of many random numbers is like that of others.
    pub fn varying_each(&mut self) -> Result<Vec<(String, Vec<KernelSpec>)>, Failure> {
        let made = self.reference_made()?;
        let used = &made.source.reflection().bindings;
        let is_read = |info: &BindingInfo| {
            let used = used.iter().find(|used| (used.set, used.binding) == (info.set, info.binding));
            used.is_some_and(|used| used.access == Access::ReadOnly && !used.is_untouched)
                && info.kind != BindingKind::UniformBuffer
        };
        // What lies in memory that several share isn't varied by itself.
        let varied = |unfilled: &Unfilled| {
            let Filled::Descriptor(info, element) = &unfilled.of else { return None };
            let place = (info.set, info.binding, *element);
            let is_filled = unfilled.of.fill(&self.subject, &made.blocks).is_some();
            if !is_read(info) || is_filled || self.is_accepted(Accepted::Idle, Some(place), &info.name, &made) {
                return None;
            }
            let with = |how| {
                let variation = Some(Variation { how, only: Some(place) });
                KernelSpec { variation, ..self.subject.clone() }
            };
            Some((element_name(info, *element), [Unusual::OtherSeed, Unusual::Zeros].map(with).to_vec()))
        };
        Ok(made.unfilled.iter().filter_map(varied).collect())
    }
}

/// Makes what stands where a case is given addresses zero, as it is read back.
fn clear_addresses(made: &Made, outputs: &mut [Vec<u8>]) {
    for (output, bytes) in made.outputs.iter().zip(outputs) {
        for at in made.case.addresses_in(output.resource) {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            bytes.iter_mut().skip(at).take(Address::BYTES).for_each(|byte| *byte = 0);
        }
    }
}

/// Whether a text means what is at this set and binding.
fn is_at(place: Option<(u32, u32, u32)>, text: &str, made: &Made) -> bool {
    let Some((set, binding, element)) = place else { return false };
    let info = made.source.reflection().bindings.iter().find(|info| (info.set, info.binding) == (set, binding));
    info.is_some_and(|info| buffers::is_meant_at(text, info, element, &made.blocks))
}

fn written_in(outputs: Outputs) -> Vec<Written> {
    let mut others = outputs.poisoned.unwrap_or_default().into_iter();
    outputs.bytes.into_iter().map(|bytes| Written::of(bytes, others.next().as_deref())).collect()
}

fn of_reference(failure: Failure) -> Failure {
    Failure::new(failure.status, format!("the reference: {}", failure.reason))
}

fn outputs_of(made: &Made) -> String {
    let one = |Output { name, place, sized, .. }: &Output| {
        let place = place.map_or_else(String::new, |(set, binding, _)| format!("{set}:{binding}, "));
        format!("{name} ({place}{})", sized.described())
    };
    made.outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn expected_in(files: &[(String, FilePath)], made: &Made) -> Result<Vec<Vec<u8>>, Failure> {
    let names = || made.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>().join(", ");
    let is_memory = |place: &str, output: &Output| output.within.as_ref().is_some_and(|(memory, ..)| memory == place);
    let is_it = |place: &str, output: &Output| {
        is_at(output.place, place, made) || is_memory(place, output) || (place.is_empty() && made.outputs.len() == 1)
    };
    let of_output = |output: &Output| {
        let name = &output.name;
        // What memory is called comes first: a shader may have the name as well.
        let of_memory = files.iter().find(|(place, _)| is_memory(place, output));
        let file = of_memory.or_else(|| files.iter().find(|(place, _)| is_it(place, output))).ok_or_else(|| {
            said(format!("no reference file for `{name}`: name one for each of {}, as in NAME=FILE", names()))
        })?;
        if let Some(part) = output.part().filter(|_| is_memory(&file.0, output)) {
            let (name, whole) = output.within.as_ref().map_or(("", 0), |within| (within.0.as_str(), within.2));
            let held = fill::file(&file.1, whole, &format!("memory `{name}` has")).map_err(|skip| said(skip.reason))?;
            let part = held.get(part).map(<[u8]>::to_vec);
            return part.ok_or_else(|| said(format!("{} ends before `{name}` does", file.1.shown())));
        }
        if matches!(output.comparison, Comparison::Sum | Comparison::Set) {
            return regular::read(&file.1, DATA).map_err(|error| said(format!("can't read {}: {error}", file.1.shown())));
        }
        fill::file(&file.1, output.sized.bytes(), &format!("`{name}` has")).map_err(|skip| said(skip.reason))
    };
    let is_output = |place: &str| place.is_empty() || made.outputs.iter().any(|output| is_it(place, output));
    if let Some((place, _)) = files.iter().find(|(place, _)| !is_output(place)) {
        return Err(said(format!(
            "there is a reference file for `{place}`, which the shader doesn't write; it writes {}",
            names()
        )));
    }
    made.outputs.iter().map(of_output).collect()
}
