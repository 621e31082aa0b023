//! Whether SPIR-V is valid, by the validator of SPIRV-Tools.
//!
//! The GLSL compiler brings that library along, and its Rust crate doesn't wrap this part of it; so the few functions that are
//! needed are declared here. What isn't valid may crash a driver: nothing of a user's reaches one unseen.

#![allow(unsafe_code, reason = "the validator is a C library; this file is the one place that calls it")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::mpsc;
use std::time::Duration;
use std::{ptr, thread};

use rspirv::spirv::Op;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::words::{HEADER_WORDS, instructions, opcode};

#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("not valid SPIR-V, {place}: {what}")]
pub struct Invalid {
    /// Where: the instruction's place in the module, or the module as a whole.
    pub place: String,
    /// The rule that is broken, in the validator's words, and the instruction that breaks it.
    pub what: String,
}

impl Invalid {
    /// With what mends it, and why Lanescope couldn't, if it tried.
    pub(super) fn explained(self, hindrance: Option<&str>) -> Self {
        let newer = self.what.split_once("requires SPIR-V version ").and_then(|(_, rest)| rest.split(' ').next());
        let newer = newer.map(|version| format!("; compile it for SPIR-V {version}, as by naga's --spirv-version {version}"));
        let why = hindrance.map(|why| {
            format!("; layouts that mean nothing in shared memory or variables are left out elsewhere, but here {why}")
        });
        Self { what: [self.what, newer.unwrap_or_default(), why.unwrap_or_default()].concat(), ..self }
    }
}

/// The newest rules of Vulkan that the library knows: each older module that Vulkan accepts keeps them as well, and whether a
/// device has what a module asks for is told by its features.
pub(super) const ENVIRONMENT: &CStr = c"vulkan1.4";

/// The newest version of SPIR-V among them, as a module's second word has it.
const NEWEST: u32 = 0x0001_0600;

/// The place of a fault that is not the module's.
const UNTOLD: &str = "which can't be told";

/// How many bytes of names the library may make up for messages: an array's is made of those of its element and its length, and can
/// double with every instruction.
const LONGEST_NAMES: usize = 64 << 20;

/// What a library may take of the stack, on a thread of its own: a sum of 25,000 terms takes more than the 8 MiB that a process begins with.
pub(super) const STACK: usize = 256 << 20;

/// How freely blocks may be laid out. Features of a device allow the freer ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BlockLayouts {
    /// What every device of Vulkan 1.1 allows.
    Standard,
    /// Uniform blocks may be as tight as storage blocks: `uniformBufferStandardLayout`.
    StandardUniform,
    /// Members need no more than the alignment of their scalars: `scalarBlockLayout`.
    Scalar,
}

/// Checks a module against the rules of SPIR-V and of Vulkan. Blocks may have any layout that some feature allows: see [`block_layouts`].
pub fn validate(words: &[u32]) -> Result<(), Invalid> {
    validate_for(words, BlockLayouts::Scalar)
}

/// Checks a module that was rewritten. What wasn't valid before was taken all the same.
pub(super) fn validate_rewritten(original: &[u32], words: &[u32]) -> Result<(), Invalid> {
    validate(words).or_else(|invalid| if validate(original).is_ok() { Err(invalid) } else { Ok(()) })
}

/// As [`validate`], for words of anybody's: what the validator takes can grow with the third power of a module's length. Nothing where
/// it isn't done in time; a thread goes on then.
pub fn validate_within(words: &[u32], limit: Duration) -> Option<Result<(), Invalid>> {
    let (words, (sender, verdict)) = (words.to_vec(), mpsc::channel());
    // Nobody hears what comes too late.
    let judge = move || drop(sender.send(validate(&words)));
    thread::Builder::new().spawn(judge).ok()?;
    verdict.recv_timeout(limit).ok()
}

/// The least that a valid module needs of its device for the layout of its blocks; nothing where it breaks another rule.
pub fn block_layouts(words: &[u32]) -> BlockLayouts {
    let all = [BlockLayouts::Standard, BlockLayouts::StandardUniform, BlockLayouts::Scalar];
    all.into_iter().find(|layouts| validate_for(words, *layouts).is_ok()).unwrap_or(BlockLayouts::Standard)
}

fn validate_for(words: &[u32], layouts: BlockLayouts) -> Result<(), Invalid> {
    if let Some(version) = words.get(1).filter(|version| **version > NEWEST) {
        let [_, major, minor, _] = version.to_be_bytes();
        let what = format!("version {major}.{minor}, where 1.6 is the newest that Vulkan 1.4 takes");
        return Err(Invalid { place: at_word(1), what });
    }
    if !has_short_names(words) {
        let what = "its types lie so deep in each other that they can't be named";
        return Err(Invalid { place: at_instruction(words, 0), what: what.to_owned() });
    }
    // Names take as long as the rules do, and only messages have them.
    let judge = || match fault(words, layouts, false)? {
        Some(_) => fault(words, layouts, true),
        None => Ok(None),
    };
    // The caller's stack may be small.
    let judged = thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, judge).ok()?;
        thread.join().ok()
    });
    let untold = || Invalid { place: UNTOLD.to_owned(), what: "there is no thread to validate it on".to_owned() };
    let fault = judged.ok_or_else(untold)??;
    let Some((place, what)) = fault else { return Ok(()) };
    // The first line is the rule; the others show the instruction, indented.
    let lines: Vec<&str> = what.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(Invalid { place, what: lines.join(": ") })
}

fn fault(words: &[u32], layouts: BlockLayouts, has_names: bool) -> Result<Option<(String, String)>, Invalid> {
    let validator = Validator::new(layouts, has_names)
        .ok_or_else(|| Invalid { place: UNTOLD.to_owned(), what: "the validator knows no rules for Vulkan 1.4".to_owned() })?;
    // What parses words counts them, what checks rules counts instructions.
    let unparsed = validator.unparsed(words).map(|(word, what)| (at_word(word), what));
    Ok(unparsed.or_else(|| validator.fault(words).map(|(instruction, what)| (at_instruction(words, instruction), what))))
}

/// Whether the names that the library makes up for the module's ids are short. It makes all of them to show one instruction, whether
/// they are asked for or not.
fn has_short_names(words: &[u32]) -> bool {
    let (mut lengths, mut total) = (HashMap::<u32, usize>::new(), 0_usize);
    for instruction in instructions(words) {
        // All others have short ones.
        let length = |id: &u32| lengths.get(id).copied().unwrap_or(32);
        let named = match (opcode(instruction), &instruction[1..]) {
            (Some(Op::Name | Op::TypeOpaque), [id, text @ ..]) => (*id, 4 * text.len()),
            (Some(Op::TypeVector | Op::TypeMatrix | Op::TypeRuntimeArray | Op::TypeNodePayloadArrayAMDX), [id, of, ..]) => {
                (*id, length(of))
            }
            (Some(Op::TypeArray), [id, of, count, ..]) => (*id, length(of).saturating_add(length(count))),
            (Some(Op::TypePointer), [id, _, to, ..]) => (*id, length(to)),
            (Some(Op::Constant), [ty, id, ..]) => (*id, length(ty)),
            _ => continue,
        };
        let length = named.1.saturating_add(64);
        total = total.saturating_add(length);
        // The first name of an id stays.
        lengths.entry(named.0).or_insert(length);
        if total > LONGEST_NAMES {
            return false;
        }
    }
    true
}

fn at_word(word: usize) -> String {
    format!("at word {word}")
}

/// Where an instruction stands that is counted from 1; the validator has 0 for the module as a whole.
fn at_instruction(words: &[u32], instruction: usize) -> String {
    if instruction == 0 {
        return "the module as a whole".to_owned();
    }
    let Some(found) = instructions(words).nth(instruction - 1) else { return format!("instruction {instruction}") };
    let at = HEADER_WORDS + instructions(words).take(instruction - 1).map(<[u32]>::len).sum::<usize>();
    let name = opcode(found).map(|name| format!(", Op{name:?}")).unwrap_or_default();
    format!("instruction {instruction} (at word {at}{name})")
}

/// A context and options of the library's, which no one else has.
struct Validator {
    context: *mut Context,
    options: *mut Options,
}

impl Validator {
    /// Nothing where the library is too old for the environment.
    fn new(layouts: BlockLayouts, has_names: bool) -> Option<Self> {
        let mut environment = 0;
        // SAFETY: the name ends in a zero, and the place for the answer lives.
        if !unsafe { spvParseTargetEnv(ENVIRONMENT.as_ptr(), &raw mut environment) } {
            return None;
        }
        // SAFETY: neither needs anything but a known environment, which it is; each gives an object that the caller owns.
        let (context, options) = unsafe { (spvContextCreate(environment), spvValidatorOptionsCreate()) };
        let made = Self { context, options };
        if context.is_null() || options.is_null() {
            return None;
        }
        // SAFETY: the options are there, and nobody else has them.
        unsafe {
            spvValidatorOptionsSetUniformBufferStandardLayout(made.options, layouts >= BlockLayouts::StandardUniform);
            spvValidatorOptionsSetScalarBlockLayout(made.options, layouts >= BlockLayouts::Scalar);
            spvValidatorOptionsSetWorkgroupScalarBlockLayout(made.options, true);
            spvValidatorOptionsSetFriendlyNames(made.options, has_names);
        }
        Some(made)
    }

    /// The word at which the module can't be taken apart into instructions, and why.
    fn unparsed(&self, words: &[u32]) -> Option<(usize, String)> {
        let mut diagnostic: *mut Diagnostic = ptr::null_mut();
        // SAFETY: the context is there and of this object alone; the words live meanwhile and are as many as is said, and the
        // library reads no further; it calls back nobody where no callback is given; there is a place for the diagnostic.
        let result = unsafe {
            let (words, count) = (words.as_ptr(), words.len());
            spvBinaryParse(self.context, ptr::null_mut(), words, count, None, None, &raw mut diagnostic)
        };
        told(result, diagnostic)
    }

    /// The instruction that is at fault, counted from 1, and what is wrong with it.
    fn fault(&self, words: &[u32]) -> Option<(usize, String)> {
        let binary = Binary { code: words.as_ptr(), word_count: words.len() };
        let mut diagnostic: *mut Diagnostic = ptr::null_mut();
        // SAFETY: context and options are there and of this object alone; the words live meanwhile and are as many as it says,
        // and the library reads no further; there is a place for the diagnostic.
        let result = unsafe { spvValidateWithOptions(self.context, self.options, &raw const binary, &raw mut diagnostic) };
        told(result, diagnostic)
    }
}

/// What a call of the library's found, if it didn't succeed. Takes the diagnostic that the call gave, which may be null.
fn told(result: c_int, diagnostic: *mut Diagnostic) -> Option<(usize, String)> {
    let told = (!diagnostic.is_null()).then(|| {
        // SAFETY: a diagnostic that was given is whole, its text ends in a zero, and it lives until it is destroyed below.
        let (place, text) = unsafe { ((*diagnostic).position.index, CStr::from_ptr((*diagnostic).error)) };
        (place, text.to_string_lossy().into_owned())
    });
    // SAFETY: it was given to this caller, or is null, which is allowed; nothing of it is used any more.
    unsafe { spvDiagnosticDestroy(diagnostic) };
    (result != SUCCESS).then(|| told.unwrap_or_else(|| (0, format!("the validator ended with code {result}"))))
}

impl Drop for Validator {
    fn drop(&mut self) {
        // SAFETY: both came from the library and are used nowhere else; it takes null pointers as well, since it deletes them.
        unsafe {
            spvValidatorOptionsDestroy(self.options);
            spvContextDestroy(self.context);
        }
    }
}

// ---- SPIRV-Tools' libspirv.h ------------------------------------------------------------------------------------------------

const SUCCESS: c_int = 0;

/// `spv_context_t`
#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

/// `spv_validator_options_t`
#[repr(C)]
struct Options {
    _opaque: [u8; 0],
}

/// `spv_const_binary_t`
#[repr(C)]
struct Binary {
    code: *const u32,
    word_count: usize,
}

/// `spv_position_t`
#[repr(C)]
struct Position {
    line: usize,
    column: usize,
    index: usize,
}

/// `spv_diagnostic_t`
#[repr(C)]
struct Diagnostic {
    position: Position,
    error: *mut c_char,
    is_text_source: bool,
}

/// `spv_parsed_header_fn_t` and `spv_parsed_instruction_fn_t`: none is ever given.
type Callback = unsafe extern "C" fn();

// They come with the static library that the crate `shaderc` links.
unsafe extern "C" {
    fn spvParseTargetEnv(name: *const c_char, environment: *mut c_int) -> bool;
    fn spvContextCreate(environment: c_int) -> *mut Context;
    fn spvContextDestroy(context: *mut Context);
    fn spvValidatorOptionsCreate() -> *mut Options;
    fn spvValidatorOptionsDestroy(options: *mut Options);
    fn spvValidatorOptionsSetUniformBufferStandardLayout(options: *mut Options, value: bool);
    fn spvValidatorOptionsSetScalarBlockLayout(options: *mut Options, value: bool);
    fn spvValidatorOptionsSetWorkgroupScalarBlockLayout(options: *mut Options, value: bool);
    fn spvValidatorOptionsSetFriendlyNames(options: *mut Options, value: bool);
    fn spvBinaryParse(
        context: *const Context,
        user_data: *mut c_void,
        words: *const u32,
        word_count: usize,
        header: Option<Callback>,
        instruction: Option<Callback>,
        diagnostic: *mut *mut Diagnostic,
    ) -> c_int;
    fn spvValidateWithOptions(
        context: *const Context,
        options: *const Options,
        binary: *const Binary,
        diagnostic: *mut *mut Diagnostic,
    ) -> c_int;
    fn spvDiagnosticDestroy(diagnostic: *mut Diagnostic);
}
