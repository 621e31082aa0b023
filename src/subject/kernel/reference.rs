//! What the configurations' results are compared with.

use super::{Made, UserKernel, said};
use crate::model::{Case, Failure, FilePath, Point, Shown};
use crate::regular::{self, DATA};
use crate::shader::{Noting, Prepared};
use crate::subject::compare::{Compared, Comparison, compare, unwritten};
use crate::subject::resources::Output;
use crate::subject::spec::{Reference, Subject};
use crate::subject::written::Written;
use crate::subject::{buffers, fill, names};
use crate::validate::{Learned, Mismatch, Outputs, Position, Verdict};

/// First passes of cases that are kept: no fewer than cases are loaded at a time.
const MOST_FIRST_PASSES: usize = 256;

impl UserKernel {
    /// The case whose outputs all others are compared with; nothing where files hold them.
    pub fn reference(&mut self) -> Result<Option<Prepared>, Failure> {
        match self.subject.reference.clone() {
            Reference::Untouched => self.prepare(&Point::default()).map(Some),
            Reference::Configuration(point) => self.prepare(&point).map(Some),
            Reference::Shader(shader) => self.other(shader)?.prepare(&Point::default()).map_err(of_reference).map(Some),
            Reference::Files(files) => {
                let made = self.make(&Point::default())?;
                let held = expected_in(&files, &made)?;
                self.expected = Some(held.into_iter().map(|bytes| Written::of(bytes, None)).collect());
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
    fn other(&mut self, shader: FilePath) -> Result<Self, Failure> {
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
        let mut subject = Subject {
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
                    && (own.sized.shape == other.sized.shape || matches!(own.comparison, Comparison::Sum | Comparison::Set))
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

    /// Takes what the reference's outputs held; tells what the user should know of that.
    pub fn learn(&mut self, outputs: Outputs) -> Learned {
        let mut learned = Learned::default();
        let made = match self.reference_made() {
            Ok(made) if made.outputs.len() == outputs.bytes.len() => made,
            _ => {
                self.expected = Some(written_in(outputs));
                return learned;
            }
        };
        let again = outputs.poisoned.clone();
        let written = written_in(outputs);
        let pairs = || made.outputs.iter().zip(&written);
        let told = pairs().filter_map(|(output, side)| unwritten(&output.name, &output.sized.layout, side)).collect::<Vec<_>>();
        learned.wrote_nothing = !written.is_empty() && told.iter().filter(|(_, wrote_any)| !wrote_any).count() == written.len();
        let meant = if learned.wrote_nothing { "; --check PLACE=none says that this is meant" } else { "" };
        let notes = told.into_iter().map(|(words, _)| format!("{words} by the reference: nothing is compared there{meant}"));
        learned.notes.extend(notes);
        for ((output, first), other) in pairs().zip(again.into_iter().flatten()) {
            let other = first.with(other);
            if let Some(mismatch) = compare(self.compared(output), [&other, first]) {
                learned.notes.push(format!(
                    "the reference's results differ from one run to the next, which a race or a read of what nothing wrote \
                     does: {mismatch}"
                ));
            }
        }
        self.expected = Some(written);
        learned
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
        match self.subject.reference.clone() {
            Reference::Configuration(point) => self.make(&point),
            _ => self.make(&Point::default()),
        }
    }

    fn compared<'o>(&self, output: &'o Output) -> Compared<'o> {
        let Output { name, comparison, sized, .. } = output;
        Compared { name, layout: &sized.layout, how: *comparison, tolerance: self.subject.tolerance }
    }

    pub fn check(&mut self, case: &Case, outputs: Outputs) -> Verdict {
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
        let is_same = |(got, expected): (&Written, &Written)| got.bytes == expected.bytes && !got.has_unwritten();
        if got.iter().zip(self.expected.iter().flatten()).all(is_same) {
            return Ok(());
        }
        let made = match self.make(&case.point) {
            Ok(made) => made,
            Err(failure) => return wrong("the case", failure.reason, "as it was"),
        };
        let expected = self.expected.iter().flatten();
        let pairs = made.outputs.iter().zip(got.iter().zip(expected));
        let mut found = pairs.filter_map(|(output, (got, expected))| compare(self.compared(output), [got, expected]));
        found.next().map_or(Ok(()), Err)
    }
}

fn written_in(outputs: Outputs) -> Vec<Written> {
    let mut others = outputs.poisoned.unwrap_or_default().into_iter();
    outputs.bytes.into_iter().map(|bytes| Written::of(bytes, others.next().as_deref())).collect()
}

fn of_reference(failure: Failure) -> Failure {
    Failure::new(failure.status, format!("the reference: {}", failure.reason))
}

fn outputs_of(made: &Made) -> String {
    let one = |Output { name, place: (set, binding, _), sized, .. }: &Output| {
        format!("{name} ({set}:{binding}, {})", sized.described())
    };
    made.outputs.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn expected_in(files: &[(String, FilePath)], made: &Made) -> Result<Vec<Vec<u8>>, Failure> {
    let names = || made.outputs.iter().map(|output| output.name.as_str()).collect::<Vec<_>>().join(", ");
    let infos = &made.source.reflection().bindings;
    let is_it = |place: &str, output: &Output| {
        let (set, binding, element) = output.place;
        let info = infos.iter().find(|info| (info.set, info.binding) == (set, binding));
        let is_meant = info.is_some_and(|info| buffers::is_meant_at(place, info, element, &made.blocks));
        is_meant || (place.is_empty() && made.outputs.len() == 1)
    };
    let of_output = |output: &Output| {
        let name = &output.name;
        let file = files.iter().find(|(place, _)| is_it(place, output)).ok_or_else(|| {
            said(format!("no reference file for `{name}`: name one for each of {}, as in NAME=FILE", names()))
        })?;
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
