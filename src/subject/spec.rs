//! What is run, as data: a shader of the user's, what it works on, and what its results are compared with.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::compare::{Comparison, Tolerance};
use super::expression::{listed, split_outside};
use super::fill::{Fill, Variation};
use super::images::ImageSpec;
use super::samplers::SamplerSpec;
use crate::model::{FilePath, Point, SpirvTarget, words};
use crate::shader::{FileError, Reading, SourceLine, included_files};

/// A kernel and all that its user says of it. Every process that measures it makes the same cases of it. Expressions are texts here: see
/// `Expression` for what they may say.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KernelSpec {
    /// What rows call it, behind `tune/`.
    pub name: String,
    pub shader: FilePath,
    /// Where `#include` looks after the including file's own folder.
    pub include_folders: Vec<FilePath>,
    /// Macros with their values, where an axis doesn't say otherwise.
    pub macros: Vec<(String, String)>,
    /// GLSL that is put behind the shader's `#version`, or in front of a shader that has none.
    pub preamble: Option<FilePath>,
    /// Specialization constants by name or id with the values that all configurations share, the shader as it is written included.
    pub constants: Vec<(String, String)>,
    /// Specialization constants with the bytes that they have in the shader as it is written, by their `constant_id`s.
    pub constant_bytes: Vec<(u32, Vec<u8>)>,
    /// Arrays in shared memory, with expressions for their lengths, the outermost first: they count instead of literal lengths.
    pub lengths: Vec<(String, Vec<String>)>,
    pub target: SpirvTarget,
    /// Whether SPIR-V that isn't valid is measured, too.
    pub may_be_invalid: bool,
    /// The entry point; `None` for the only one.
    pub entry: Option<String>,
    /// The problem's size, `n` in expressions.
    pub n: u64,
    pub buffers: Vec<BufferSpec>,
    /// Memory in which several buffers may lie: [`BufferSpec::place`] is its name.
    pub memories: Vec<BufferSpec>,
    pub images: Vec<ImageSpec>,
    pub samplers: Vec<SamplerSpec>,
    pub addresses: Vec<AddressSpec>,
    /// Members of push constants and of uniform blocks: the name and an expression.
    pub members: Vec<(String, String)>,
    /// The push constants as bytes, in the place of their members.
    pub push_bytes: Option<Vec<u8>>,
    /// How many invocations there are to be, in x, y and z: rounded up to whole workgroups.
    pub threads: Option<[String; 3]>,
    /// How many workgroups, where that is said instead.
    pub groups: Option<[String; 3]>,
    /// The first workgroup, in x, y and z.
    pub base_groups: [u32; 3],
    /// Useful bytes that a pass moves.
    pub bytes: Option<String>,
    /// Floating-point operations of a pass.
    pub flops: Option<String>,
    pub reference: Reference,
    pub tolerance: Tolerance,
    /// What of buffers and images must be the reference's, where not every element at its place: by [`BufferSpec::place`].
    pub checks: Vec<(String, Comparison)>,
    /// What the user says of places that say little, by [`BufferSpec::place`].
    pub accepted: Vec<(Accepted, String)>,
    /// Lines at which reads may leave their arrays, since nothing uses what they read.
    pub accepted_lines: Vec<SourceLine>,
    /// Whether a pass that reads what it writes may follow itself all the same.
    pub is_idempotent: bool,
    /// Whether drivers are required to fill all subgroups.
    pub full_subgroups: bool,
    /// Whether it is to be recorded: its instructions say which line they are from, and it needn't write anything.
    pub is_traced: bool,
    pub seed: u64,
    /// What differs from the usual inputs, in a second trial.
    pub variation: Option<Variation>,
}

impl KernelSpec {
    pub fn reading(&self, macros: Vec<(String, String)>) -> Reading {
        Reading {
            include_folders: self.include_folders.iter().map(|path| path.to_path_buf()).collect(),
            macros,
            preamble: self.preamble.as_ref().map(|path| path.to_path_buf()),
            target: self.target,
            entry: self.entry.clone(),
            defaults: self.constant_bytes.clone(),
            may_be_invalid: self.may_be_invalid,
            has_lines: self.is_traced,
            ..Reading::default()
        }
    }

    /// How people find a line: see [`SourceLine::place`].
    pub fn place_of(&self, line: &SourceLine) -> String {
        line.place(&self.shader.to_string_lossy())
    }

    pub fn accepts_line(&self, line: &SourceLine) -> bool {
        self.accepted_lines.iter().any(|accepted| self.place_of(accepted) == self.place_of(line))
    }

    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let buffers = self.buffers.iter_mut().map(|spec| &mut spec.place);
        let images = self.images.iter_mut().map(|spec| &mut spec.place);
        let samplers = self.samplers.iter_mut().map(|spec| &mut spec.place);
        let checks = self.checks.iter_mut().map(|(place, _)| place);
        buffers.chain(images).chain(samplers).chain(checks).chain(self.accepted.iter_mut().map(|(_, place)| place))
    }

    /// The files that it is made of, and what each one holds.
    pub fn files(&self) -> Result<Vec<(&'static str, PathBuf)>, FileError> {
        let held = |what: &'static str| move |path: &FilePath| (what, path.to_path_buf());
        let mut files = vec![("the shader", self.shader.to_path_buf())];
        files.extend(self.preamble.iter().map(held("the preamble")));
        let included = included_files(&self.shader, &self.reading(self.macros.clone()))?;
        files.extend(included.into_iter().map(|path| ("what the shader includes", path)));
        let fills = self.buffers.iter().chain(&self.memories).map(|buffer| &buffer.fill);
        let fills = fills.chain(self.images.iter().map(|image| &image.fill));
        files.extend(fills.flatten().filter_map(Fill::file).map(held("data")));
        match &self.reference {
            Reference::Shader(path) => {
                files.push(held("the reference")(path));
                let included = included_files(path, &self.reading(self.macros.clone()))?;
                files.extend(included.into_iter().map(|path| ("what the reference includes", path)));
            }
            Reference::Files(all) => files.extend(all.iter().map(|(_, path)| path).map(held("the reference"))),
            Reference::Untouched | Reference::Configuration(_) => {}
        }
        Ok(files)
    }
}

words! {
    /// What may be, though comparing shows little by it.
    pub enum Accepted, as_str {
        /// The reference fills an output with one value or NaN, or leaves it unchanged.
        Constant = "constant",
        /// No result depends on an input.
        Idle = "idle",
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reference {
    /// Those of the shader as it is written, with the constants that all configurations share.
    #[default]
    Untouched,
    Configuration(Point),
    /// Those of another shader with the same bindings, as it is written.
    Shader(FilePath),
    /// These files: the buffer's or image's name or binding, and where its bytes are.
    Files(Vec<(String, FilePath)>),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BufferSpec {
    /// Its name, its binding, or set and binding with a colon between.
    pub place: String,
    /// What its numbers are, where the shader's declaration isn't to count: a GLSL name such as `float` or `uvec2`; of a texel buffer
    /// a layout qualifier such as `rgba32f`.
    pub ty: Option<String>,
    /// How many elements it has: an expression.
    pub count: Option<String>,
    pub fill: Option<Fill>,
    /// The part of memory that it lies in, where it has none of its own.
    pub within: Option<Within>,
}

/// A range of memory, in bytes: expressions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Within {
    pub memory: String,
    pub offset: Option<String>,
    /// Up to the memory's end where nothing is said.
    pub bytes: Option<String>,
}

/// A buffer's address, which the kernel finds in push constants or in memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AddressSpec {
    /// Where it stands: a member of push constants or of a bound buffer; `@8`, a byte of the push constants; `0:1@8` or `heap@8`, one of a
    /// bound buffer or of memory.
    pub place: String,
    /// The memory that it leads to.
    pub memory: String,
    /// Which byte of that: an expression.
    pub offset: Option<String>,
}

impl AddressSpec {
    /// Reads `PLACE=@MEMORY[OFFSET]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let form = "PLACE=@MEMORY[OFFSET] is needed, such as data=@heap[256]";
        let BufferSpec { place, ty, within, .. } = BufferSpec::parse(text).map_err(|_| form)?;
        match within {
            Some(Within { memory, offset, bytes: None }) if ty.is_none() => Ok(Self { place, memory, offset }),
            _ => Err(form.to_owned()),
        }
    }
}

impl BufferSpec {
    /// Reads `PLACE=TYPE[COUNT]:FILL`, of which everything behind `=` may be left out in part, or `PLACE=TYPE@MEMORY[OFFSET,BYTES]`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Parts { place, word, bracket, fill } =
            Parts::of(text, "PLACE=TYPE[COUNT]:FILL is needed, such as data=float[n]:random, or PLACE=@MEMORY[OFFSET,BYTES]")?;
        let Some((ty, memory)) = word.as_deref().and_then(|word| word.split_once('@')) else {
            return Ok(Self { place, ty: word, count: bracket, fill, within: None });
        };
        if fill.is_some() {
            return Err(format!("what it holds is said of the memory: --memory {memory}=TYPE[COUNT]:FILL"));
        }
        let mut range = bracket.as_deref().map(listed).unwrap_or_default().into_iter().map(str::to_owned);
        let within = Within { memory: memory.trim().to_owned(), offset: range.next(), bytes: range.next() };
        if range.next().is_some() || within.memory.is_empty() {
            return Err("PLACE=@MEMORY[OFFSET,BYTES] is needed, such as data=@heap[256, 4096]".to_owned());
        }
        let ty = Some(ty.trim().to_owned()).filter(|ty| !ty.is_empty());
        Ok(Self { place, ty, count: None, fill: None, within: Some(within) })
    }
}

/// What a flag says of a buffer or an image: `PLACE=WORD[BRACKET]:FILL`.
pub(super) struct Parts {
    pub(super) place: String,
    pub(super) word: Option<String>,
    pub(super) bracket: Option<String>,
    pub(super) fill: Option<Fill>,
}

impl Parts {
    pub(super) fn of(text: &str, form: &str) -> Result<Self, String> {
        let (place, rest) = text.split_once('=').ok_or(form)?;
        let place = place.trim().to_owned();
        if place.is_empty() {
            return Err("the name or binding is missing before `=`".to_owned());
        }
        // A colon within the count belongs to it; a path behind it may have brackets and colons.
        let (shape, fill) = split_outside(rest, ':').map_or((rest, None), |(shape, fill)| (shape, Some(fill)));
        let fill = fill.map(str::parse).transpose()?;
        let (word, bracket) = match shape.split_once('[') {
            None => (shape.trim(), None),
            Some((word, bracket)) => {
                let bracket = bracket.trim_end().strip_suffix(']').ok_or("the `[` isn't closed")?;
                (word.trim(), Some(bracket.trim().to_owned()).filter(|bracket| !bracket.is_empty()))
            }
        };
        let word = Some(word.to_owned()).filter(|word| !word.is_empty());
        Ok(Self { place, word, bracket, fill })
    }
}

impl fmt::Display for BufferSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.place, self.ty.as_deref().unwrap_or_default())?;
        if let Some(Within { memory, offset, bytes }) = &self.within {
            let range: Vec<&str> = [offset, bytes].into_iter().flatten().map(String::as_str).collect();
            return write!(f, "@{memory}[{}]", range.join(","));
        }
        if let Some(count) = &self.count {
            write!(f, "[{count}]")?;
        }
        self.fill.iter().try_for_each(|fill| write!(f, ":{fill}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_may_be_said_in_part() {
        for text in [
            "data=float[n * 4]:random",
            "0=:zero",
            "1:2=[n]",
            "a=uvec2",
            "b=:file=/tmp/a[1]:b.bin",
            "c=int[a ? b : c]:iota",
            "d=@heap[max(n, 4),16]",
            "0:1=vec4@heap[256]",
        ] {
            let spec = BufferSpec::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(spec.to_string(), text);
        }
        let spec = BufferSpec::parse("data=float[n ? 1 : 2]:constant=3").unwrap();
        assert_eq!((spec.count.as_deref(), spec.fill), (Some("n ? 1 : 2"), Some(Fill::Constant(3.0))));
        for wrong in ["a=@heap[0,1,2]", "a=@", "a=@heap[0]:zero", "data", "=float", "data=float[n:zero", "data=float[n]:ones"] {
            assert!(BufferSpec::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_address_leads_into_memory() {
        let spec = AddressSpec::parse("@8=@heap[n * 4]").unwrap();
        assert_eq!((&spec.place[..], &spec.memory[..], spec.offset.as_deref()), ("@8", "heap", Some("n * 4")));
        assert_eq!(AddressSpec::parse("push.data=@heap").unwrap().offset, None);
        for wrong in ["data", "data=heap", "data=@heap[0,4]", "data=float@heap", "data=@heap:zero", "=@heap"] {
            assert!(AddressSpec::parse(wrong).is_err(), "{wrong}");
        }
    }
}
