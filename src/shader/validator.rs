//! Whether SPIR-V is valid, by the validator of SPIRV-Tools.
//!
//! The GLSL compiler brings that library along, and its Rust crate doesn't wrap this part of it; so the few functions that are
//! needed are declared here. What isn't valid may crash a driver: nothing of a user's reaches one unseen.

#![allow(unsafe_code, reason = "the validator is a C library; this file is the one place that calls it")]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

use rspirv::spirv;
use thiserror::Error;

/// What makes a module invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("not valid SPIR-V, {place}: {what}")]
pub struct Invalid {
    /// Where: the instruction's place in the module, or the module as a whole.
    pub place: String,
    /// The rule that is broken, in the validator's words, and the instruction that breaks it.
    pub what: String,
}

/// The newest rules of Vulkan that the library knows: each older module that Vulkan accepts keeps them as well, and whether a
/// device has what a module asks for is told by its features.
const ENVIRONMENT: &CStr = c"vulkan1.4";

/// Words in front of the first instruction.
const HEADER: usize = 5;

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

/// Checks a module against the rules of SPIR-V and of Vulkan for it.
///
/// Blocks may have any layout that some feature of Vulkan allows: see [`block_layouts`] for which one they need.
///
/// # Errors
/// The first rule that is broken, and where.
pub fn validate(words: &[u32]) -> Result<(), Invalid> {
    validate_for(words, BlockLayouts::Scalar)
}

/// The least that a valid module needs of its device for the layout of its blocks.
pub fn block_layouts(words: &[u32]) -> BlockLayouts {
    let strict = [BlockLayouts::Standard, BlockLayouts::StandardUniform];
    strict.into_iter().find(|layouts| validate_for(words, *layouts).is_ok()).unwrap_or(BlockLayouts::Scalar)
}

fn validate_for(words: &[u32], layouts: BlockLayouts) -> Result<(), Invalid> {
    let validator = Validator::new(layouts).ok_or_else(|| Invalid {
        place: "which can't be told".to_owned(),
        what: "the validator knows no rules for Vulkan 1.4".to_owned(),
    })?;
    // What parses words counts them, what checks rules counts instructions.
    let unparsed = validator.unparsed(words).map(|(word, what)| (at_word(word), what));
    let fault =
        unparsed.or_else(|| validator.fault(words).map(|(instruction, what)| (at_instruction(words, instruction), what)));
    let Some((place, what)) = fault else { return Ok(()) };
    // The first line is the rule; the others show the instruction, indented.
    let lines: Vec<&str> = what.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    Err(Invalid { place, what: lines.join(": ") })
}

fn at_word(word: usize) -> String {
    format!("at word {word}")
}

/// Where an instruction stands that is counted from 1; the validator has 0 for the module as a whole.
fn at_instruction(words: &[u32], instruction: usize) -> String {
    if instruction == 0 {
        return "the module as a whole".to_owned();
    }
    let mut at = HEADER;
    for _ in 1..instruction {
        let Some(first) = words.get(at) else { break };
        at += (first >> 16).max(1) as usize;
    }
    let name = words.get(at).and_then(|first| spirv::Op::from_u32(first & 0xffff));
    let name = name.map(|name| format!(", Op{name:?}")).unwrap_or_default();
    format!("instruction {instruction} (at word {at}{name})")
}

/// A context and options of the library's, which no one else has.
struct Validator {
    context: *mut Context,
    options: *mut Options,
}

impl Validator {
    /// Nothing where the library is too old for the environment.
    fn new(layouts: BlockLayouts) -> Option<Self> {
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
            spvValidatorOptionsSetFriendlyNames(made.options, true);
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
