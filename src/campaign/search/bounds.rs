//! Looks whether configurations index beyond their arrays, before they are measured.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::spec::Search;
use crate::gpu::compile_threads;
use crate::model::{Failure, Point, Quirk, Status};
use crate::shader::{Dimension, Home, NotedArray, Overrun, SourceLine};
use crate::subject::{KernelSpec, LOCAL_SIZE_AXES, Reference, UserKernel};
use crate::worker::questions::bounds::{Bounds, CheckBounds, Pass};
use crate::worker::questions::{Question, Respondent};

const MOST_LOST: u32 = 3;

/// How many of the configurations that come next a process is told of: twice the most threads that compile.
const MOST_AHEAD: usize = 32;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses {
    /// It leaves what the reference doesn't, or what ruins the driver's own memory: it isn't run. In words.
    pub excluded: Option<String>,
    /// It leaves buffers, images or push constants that the reference leaves as well.
    pub leaves: bool,
    /// It comes to a fault of the driver's, which ends its loops.
    pub quirk: Option<Quirk>,
}

/// Runs passes that note how far they index, with robust buffer access, in a process of its own.
pub struct BoundsChecker<'r> {
    search: &'r Search<'r>,
    checker: Option<Respondent<'r>>,
    /// The buffers, images, or push constants, that the reference leaves; nothing where it couldn't be looked at.
    reference: Option<BTreeSet<Home>>,
    /// The arrays of which the user knows.
    told: BTreeSet<(Home, String)>,
    /// The lines at which a read left its array, and the user accepts that.
    accepted: BTreeSet<SourceLine>,
    written_size: [u32; 3],
    /// The driver's fault of ending loops, where it has that, and whether the user knows that it shows.
    loop_cap: Option<Quirk>,
    has_told_cap: bool,
    /// Whether the user knows of accesses that nobody can follow.
    has_told_unfollowed: bool,
    /// Whether a process died that was compiling others as well: each is compiled on its own from then on.
    is_careful: bool,
    lost: u32,
    spent: (u32, Duration),
}

impl<'r> BoundsChecker<'r> {
    /// Looks at the reference first; where that is files, at a configuration that stands for it.
    /// Errors: the reference indexes beyond an array that is the driver's own memory: nothing can be compared with what comes of that.
    pub fn new(search: &'r Search<'r>, kernel: &mut UserKernel) -> anyhow::Result<Self> {
        let mut new = Self {
            search,
            checker: None,
            reference: None,
            told: BTreeSet::new(),
            accepted: BTreeSet::new(),
            written_size: kernel.local_size().unwrap_or_default().map(|size| size.unwrap_or(1)),
            loop_cap: kernel.loop_cap().cloned(),
            has_told_cap: false,
            has_told_unfollowed: false,
            is_careful: false,
            lost: 0,
            spent: (0, Duration::ZERO),
        };
        let is_run = !matches!(search.subject.reference, Reference::Files(_));
        let pass = if is_run { Pass::Reference } else { Pass::Configuration(search.instead_of_files()) };
        match new.check(&pass, &[]) {
            Ok(Bounds { overruns, loops_too_often, .. }) => {
                if loops_too_often {
                    new.tell_cap("The reference");
                }
                new.take_reference(&overruns, is_run)?;
            }
            Err(failure) => new.note_failure("the reference", &failure),
        }
        Ok(new)
    }

    fn take_reference(&mut self, overruns: &[Overrun], is_run: bool) -> anyhow::Result<()> {
        if let Some(overrun) = overruns.iter().find(|overrun| is_run && !is_given(overrun)) {
            bail!(
                "the reference accesses an array out of bounds, so its results are undefined: {}; {}",
                self.words(overrun),
                remedy(overrun, &self.search.subject)
            );
        }
        for overrun in overruns.iter().filter(|overrun| is_given(overrun)) {
            self.told.insert(array_of(overrun));
            self.warn(&format!(
                "{}: results are undefined there, and rows have the flag out_of_bounds; {}",
                self.words(overrun),
                advice(overrun, &self.search.subject)
            ));
        }
        self.reference = Some(overruns.iter().filter(|overrun| is_given(overrun)).map(|overrun| overrun.array.home).collect());
        Ok(())
    }

    pub fn reference_leaves(&self) -> bool {
        self.reference.as_ref().is_some_and(|left| !left.is_empty())
    }

    /// Whether something couldn't be looked at.
    pub fn is_blind(&self) -> bool {
        self.lost > 0 || self.has_told_unfollowed
    }

    /// Looks at a configuration. Some of those that come next are compiled meanwhile.
    pub fn look(&mut self, point: &Point, next: &[Point]) -> Accesses {
        if self.lost >= MOST_LOST {
            return Accesses::default();
        }
        let next: Vec<Pass> = next.iter().take(MOST_AHEAD).cloned().map(Pass::Configuration).collect();
        let Bounds { overruns, loops_too_often, .. } = match self.check(&Pass::Configuration(point.clone()), &next) {
            Ok(bounds) => bounds,
            Err(failure) => {
                self.note_failure(&point.to_string(), &failure);
                return Accesses::default();
            }
        };
        let quirk = self.loop_cap.clone().filter(|_| loops_too_often);
        if quirk.is_some() {
            self.tell_cap(&point.to_string());
        }
        let is_known = |overrun: &&Overrun| {
            is_given(overrun) && self.reference.as_ref().is_none_or(|left| left.contains(&overrun.array.home))
        };
        if let Some(overrun) = overruns.iter().find(|overrun| !is_known(overrun)) {
            return Accesses { excluded: Some(self.exclude(point, overrun)), leaves: false, quirk };
        }
        for overrun in &overruns {
            if self.told.insert(array_of(overrun)) {
                let (words, advice) = (self.words(overrun), advice(overrun, &self.search.subject));
                self.warn(&format!("{point}: {words}: rows have the flag out_of_bounds; {advice}"));
            }
        }
        Accesses { excluded: None, leaves: !overruns.is_empty(), quirk }
    }

    /// Warns of a configuration that isn't run, unless the user knows of its array. Gives the reason for its row.
    fn exclude(&mut self, point: &Point, overrun: &Overrun) -> String {
        let words = self.words(overrun);
        if self.told.insert(array_of(overrun)) {
            let accepted = unless_used(overrun, &self.search.subject);
            let by_hand = self.length_by_hand(overrun).map(|length| {
                format!(
                    ". The shader gives it the workgroup size as a number: --shared {length} lets it follow the size, if code \
                     doesn't use that number elsewhere"
                )
            });
            let by_hand = by_hand.unwrap_or_default();
            self.warn(&format!("{point}: {words}; such configurations are skipped{accepted}{by_hand}"));
        }
        let more = if is_given(overrun) { ", which the reference doesn't do" } else { "" };
        format!("{words}{more}")
    }

    /// What `--shared` would say of an array in shared memory whose length is the workgroup size as the shader is written, in one
    /// direction or in all; nothing of other arrays.
    fn length_by_hand(&self, Overrun { array: NotedArray { home, path, .. }, length, .. }: &Overrun) -> Option<String> {
        let sizes = || LOCAL_SIZE_AXES.into_iter().zip(self.written_size).filter(|(_, size)| *size > 1);
        let name = path.trim_end_matches("[]");
        let is_one = !name.is_empty() && !name.contains(['[', '.']);
        if *home != Home::Shared || !is_one {
            return None;
        }
        let all = sizes().map(|(_, size)| size).fold(1, u32::saturating_mul);
        let directions: Vec<&str> = sizes().map(|(axis, _)| axis).collect();
        // A tile has a row for each y.
        let one = || sizes().filter(|(_, size)| size == length).map(|(axis, _)| axis).next_back();
        let lengths = match path.len() - name.len() {
            0 if *length == all && all > 1 => directions.join(" * "),
            0 => one()?.to_owned(),
            2 if sizes().any(|(_, size)| size == *length) => "local_size_y,local_size_x".to_owned(),
            _ => return None,
        };
        let text = format!("{name}={lengths}");
        Some(if text.contains(' ') { format!("'{text}'") } else { text })
    }

    fn tell_cap(&mut self, whose: &str) {
        let Some(Quirk { name, what, .. }) = self.loop_cap.as_ref().filter(|_| !self.has_told_cap) else { return };
        let words = format!(
            "known driver fault {name}: {what}. {whose} may come to that: such rows have its flag, and results may be wrong"
        );
        self.has_told_cap = true;
        self.warn(&words);
    }

    /// Says which accepted lines change nothing, where all could be looked at.
    pub fn tell_unused(&self) {
        let subject = &self.search.subject;
        let used: BTreeSet<String> = self.accepted.iter().map(|line| subject.place_of(line)).collect();
        for place in subject.accepted_lines.iter().map(|line| subject.place_of(line)) {
            if self.lost == 0 && !used.contains(&place) {
                let words = format!("note: --accept {place}: no read at line {place} is out of bounds");
                self.search.campaign.voice.progress.note(&words);
            }
        }
    }

    pub fn tell_time(&self) {
        let (passes, time) = (self.spent.0, self.spent.1.as_secs_f64());
        self.search.campaign.voice.progress.detail(&format!("looked at the indexes of {passes} passes in {time:.1} s"));
    }

    fn check(&mut self, pass: &Pass, next: &[Pass]) -> Result<Bounds, Failure> {
        let began = Instant::now();
        let next = if self.is_careful { &[] } else { next };
        let mut bounds = self.checked(pass, next);
        // One of those that were compiled meanwhile may be to blame.
        if bounds.as_ref().is_err_and(|failure| failure.status == Status::Crashed) && !next.is_empty() {
            self.is_careful = true;
            bounds = self.checked(pass, &[]);
        }
        self.spent = (self.spent.0 + 1, self.spent.1 + began.elapsed());
        bounds
    }

    fn checked(&mut self, pass: &Pass, next: &[Pass]) -> Result<Bounds, Failure> {
        let bounds = self.ask(CheckBounds { pass: pass.clone(), next: next.to_vec() })?;
        let Bounds { unfollowed, messages, accepted, .. } = &bounds;
        self.accepted.extend(accepted.iter().cloned());
        messages.iter().for_each(|message| self.search.campaign.voice.fault(&format!("validation: {message}")));
        if *unfollowed > 0 && !self.has_told_unfollowed {
            self.has_told_unfollowed = true;
            self.search.campaign.voice.progress.note(&format!(
                "note: {unfollowed} of the shader's accesses can't be followed: whether they stay within their arrays wasn't looked at"
            ));
        }
        Ok(bounds)
    }

    /// Asks something else of the process that looks at bounds.
    pub fn ask<Q: Question>(&mut self, question: Q) -> Result<Q::Answer, Failure> {
        let open = || self.search.respondent(true, compile_threads(self.search.device()));
        let mut checker = self.checker.take().map_or_else(open, Ok)?;
        let answer = checker.ask(question);
        let is_gone = |failure: &Failure| matches!(failure.status, Status::Crashed | Status::Timeout | Status::DeviceLost);
        if !answer.as_ref().is_err_and(is_gone) {
            self.checker = Some(checker);
        }
        answer
    }

    /// A device that was lost isn't used again. What a configuration lacks, its own row says.
    fn note_failure(&mut self, what: &str, Failure { status, reason, .. }: &Failure) {
        if *status == Status::Skipped {
            return;
        }
        self.lost += 1;
        let rest = if self.lost == MOST_LOST { ", and the others won't be" } else { "" };
        let said = format!("note: whether {what} indexes beyond its arrays couldn't be looked at{rest}: {status}: {reason}");
        self.search.campaign.voice.progress.note(&said);
    }

    fn words(&self, overrun: &Overrun) -> String {
        told(overrun, &self.search.subject)
    }

    fn warn(&self, words: &str) {
        self.search.campaign.voice.progress.note(&format!("warning: {words}"));
    }
}

fn is_given(overrun: &Overrun) -> bool {
    overrun.array.home.is_given()
}

fn array_of(overrun: &Overrun) -> (Home, String) {
    (overrun.array.home, overrun.array.path.clone())
}

/// So near to the end of their type, indexes were most likely to be negative.
const NEAR_THE_END: u32 = 1 << 16;

/// What is beyond an array's end, in words, with the lines of the shader that a user tunes.
pub fn told(overrun: &Overrun, subject: &KernelSpec) -> String {
    let Overrun { array: NotedArray { home, path, dimension, .. }, index, length, lines, .. } = overrun;
    let home = match home {
        Home::Buffer { set, binding } | Home::Image { set, binding } => format!("set {set}, binding {binding}"),
        Home::PushConstants => "push constants".to_owned(),
        Home::Shared => "shared memory".to_owned(),
        Home::Invocation => "a variable of each invocation".to_owned(),
    };
    let name = match (path.is_empty(), dimension) {
        (false, _) => format!("`{path}`"),
        (true, None) => "an array without a name".to_owned(),
        (true, Some(_)) => "an image without a name".to_owned(),
    };
    // An index without a sign that was to be less than zero.
    let wrapped = u32::try_from(*index).ok().filter(|index| *index > u32::MAX - NEAR_THE_END);
    let meant = wrapped.map(|index| format!(" ({} as a signed number)", i64::from(index) - (1 << 32))).unwrap_or_default();
    let counted = |one: &str| format!("{length} {one}{}", if *length == 1 { "" } else { "s" });
    let extent = |direction: &str| format!("is {} {direction}, and is accessed at", counted("texel"));
    let beyond = match dimension {
        Some(Dimension::X) => extent("wide") + " x =",
        Some(Dimension::Y) => extent("high") + " y =",
        Some(Dimension::Z) => extent("deep") + " z =",
        Some(Dimension::Layer) => format!("has {}, and is accessed at layer", counted("layer")),
        None if *index < 0 => format!("has {}, and is indexed from", counted("element")),
        None => format!("has {}, and is indexed up to", counted("element")),
    };
    format!("{name} ({home}) {beyond} {index}{meant}{}", at(lines, subject))
}

/// The most lines that are named.
const MOST_LINES: usize = 4;

fn at(lines: &[SourceLine], subject: &KernelSpec) -> String {
    let mut places: Vec<String> = lines.iter().take(MOST_LINES).map(|line| subject.place_of(line)).collect();
    if lines.len() > MOST_LINES {
        places.push(format!("{} more", lines.len() - MOST_LINES));
    }
    match &places[..] {
        [] => String::new(),
        [place] => format!(" (line {place})"),
        [places @ .., last] => format!(" (lines {} and {last})", places.join(", ")),
    }
}

/// The flags with which lines that only read beyond an array are accepted.
fn accepting(Overrun { lines, is_read, .. }: &Overrun, subject: &KernelSpec) -> Option<String> {
    let flags: Vec<String> = lines.iter().map(|line| format!("--accept {}", subject.place_of(line))).collect();
    (*is_read && !flags.is_empty()).then(|| flags.join(" "))
}

fn unless_used(overrun: &Overrun, subject: &KernelSpec) -> String {
    let flags = accepting(overrun, subject);
    flags.map(|flags| format!("; if nothing uses what is read there, accept it ({flags})")).unwrap_or_default()
}

/// What to do about a reference that leaves an array.
fn remedy(overrun: &Overrun, subject: &KernelSpec) -> String {
    let lines = if overrun.lines.len() == 1 { "that line" } else { "those lines" };
    match accepting(overrun, subject) {
        Some(flags) => format!(
            "correct the shader, name another reference (--reference), or, if what is read there is never used, accept {lines} ({flags})"
        ),
        None if overrun.lines.is_empty() => {
            "correct the shader, or name another reference (--reference); to see the line, compile the shader with debug information (-g)"
                .to_owned()
        }
        None => "correct the shader, or name another reference (--reference)".to_owned(),
    }
}

fn advice(overrun: &Overrun, subject: &KernelSpec) -> String {
    let Overrun { array, index, .. } = overrun;
    // What is larger is most often below zero, in an index without a sign: no buffer would do.
    let may_be_meant = (1..=i64::from(i32::MAX)).contains(index);
    let advice = match array.home {
        // By its place: its name may be its block's, or a member's, or none.
        Home::Buffer { set, binding } | Home::Image { set, binding } if array.is_runtime && may_be_meant => format!(
            "give it {0} elements (--buffer '{set}:{binding}=[{0}]'), or look at -n, --threads, --groups and --push",
            index + 1
        ),
        Home::Image { .. } => "its coordinate is wrong, or --image, -n, --threads, --groups or --push are".to_owned(),
        _ => "its index is wrong, or -n, --threads, --groups or --push are".to_owned(),
    };
    advice + &unless_used(overrun, subject)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An overrun of a buffer or an image, read or written at some lines of the shader's.
    fn overrun(array: &str, [index, length]: [i64; 2], lines: &[u32], is_read: bool) -> Overrun {
        let line = |line: &u32| SourceLine { file: "a/halo.comp".to_owned(), line: *line };
        let (lines, length) = (lines.iter().map(line).collect(), length.try_into().unwrap());
        Overrun { array: serde_json::from_str(array).unwrap(), index, length, lines, is_read }
    }

    fn subject() -> KernelSpec {
        KernelSpec { shader: "halo.comp".into(), ..KernelSpec::default() }
    }

    #[test]
    fn a_warning_says_how_many_elements_would_do() {
        let noted = r#"{"home":{"buffer":{"set":0,"binding":1}},"path":"to","is_runtime":true,"is_signed":false}"#;
        let words = |index| {
            let overrun = overrun(noted, [index, 100], &[], true);
            format!("{}; {}", told(&overrun, &subject()), advice(&overrun, &subject()))
        };
        assert!(words(255).starts_with("`to` (set 0, binding 1) has 100 elements, and is indexed up to 255; "));
        assert!(
            words(255).ends_with("give it 256 elements (--buffer '0:1=[256]'), or look at -n, --threads, --groups and --push")
        );
        let wrapped = words(u32::MAX.into());
        assert!(wrapped.contains("up to 4294967295") && wrapped.contains("its index is wrong"), "{wrapped}");
        assert!(words(-1).contains("indexed from -1") && words(-1).contains("its index is wrong"), "{}", words(-1));
    }

    #[test]
    fn lines_are_named_and_reads_at_them_can_be_accepted() {
        let noted = r#"{"home":"shared","path":"row","is_runtime":false,"is_signed":true}"#;
        let of = |lines: &[u32], is_read| {
            let overrun = overrun(noted, [-1, 64], lines, is_read);
            (told(&overrun, &subject()), remedy(&overrun, &subject()))
        };
        let (words, what) = of(&[5], true);
        assert_eq!(words, "`row` (shared memory) has 64 elements, and is indexed from -1 (line 5)");
        assert!(what.ends_with("if what is read there is never used, accept that line (--accept 5)"), "{what}");
        let (words, what) = of(&[5, 7, 9, 11, 12, 13], true);
        assert!(
            words.ends_with("(lines 5, 7, 9, 11 and 2 more)") && what.contains("those lines (--accept 5 --accept 7"),
            "{words}"
        );
        let [(_, stored), (_, unknown)] = [of(&[5], false), of(&[], true)];
        assert!(!stored.contains("--accept") && !stored.contains("-g"), "{stored}");
        assert!(
            !unknown.contains("--accept") && unknown.contains("compile the shader with debug information (-g)"),
            "{unknown}"
        );
    }

    #[test]
    fn an_image_has_words_for_each_dimension() {
        let told = |dimension: &str, size| {
            let home = r#""home":{"image":{"set":0,"binding":1}}"#;
            let noted = format!(r#"{{{home},"path":"im","dimension":{dimension},"is_runtime":true,"is_signed":true}}"#);
            told(&overrun(&noted, [size, size], &[], true), &subject())
        };
        assert_eq!(told(r#""x""#, 64), "`im` (set 0, binding 1) is 64 texels wide, and is accessed at x = 64");
        assert_eq!(told(r#""y""#, 1), "`im` (set 0, binding 1) is 1 texel high, and is accessed at y = 1");
        assert_eq!(told(r#""layer""#, 6), "`im` (set 0, binding 1) has 6 layers, and is accessed at layer 6");
        assert_eq!(told("null", 9), "`im` (set 0, binding 1) has 9 elements, and is indexed up to 9");
    }
}
