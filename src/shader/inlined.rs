//! A module whose functions are inlined, and whose variables are results where they can be: by the optimizer of SPIRV-Tools.
//!
//! As with the validator, the GLSL compiler brings that library along, and its Rust crate doesn't wrap this part of it. What comes of
//! it is only read: drivers get the module as it was.

#![allow(unsafe_code, reason = "the optimizer is a C library; this file is the one place that calls it")]

use std::ffi::{CStr, c_char, c_int};
use std::{ptr, slice, thread};

use super::validator::{ENVIRONMENT, STACK, validate};

/// Each leaves the results as they are called that it doesn't replace. `scripts/shaderc-optimizer.cpp` knows these alone.
const PASSES: [&CStr; 7] = [
    c"--merge-return",
    c"--inline-entry-points-exhaustive",
    c"--scalar-replacement=100",
    c"--convert-local-access-chains",
    c"--eliminate-local-single-block",
    c"--eliminate-local-single-store",
    c"--ssa-rewrite",
];

/// Nothing where the library can't do it. It takes what it gets to be valid.
pub(super) fn inlined(words: &[u32]) -> Option<Vec<u32>> {
    validate(words).ok()?;
    // The caller's stack may be small.
    thread::scope(|scope| {
        let run = || Optimizer::new()?.run(words);
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, run).ok()?;
        thread.join().ok().flatten()
    })
}

/// An optimizer and its options, which no one else has.
struct Optimizer {
    optimizer: *mut Opaque,
    options: *mut Opaque,
}

impl Optimizer {
    fn new() -> Option<Self> {
        let mut environment = 0;
        // SAFETY: the name ends in a zero, and the place for the answer lives.
        if !unsafe { spvParseTargetEnv(ENVIRONMENT.as_ptr(), &raw mut environment) } {
            return None;
        }
        // SAFETY: neither needs anything but a known environment, which it is; each gives an object that the caller owns.
        let (optimizer, options) = unsafe { (spvOptimizerCreate(environment), spvOptimizerOptionsCreate()) };
        let made = Self { optimizer, options };
        if optimizer.is_null() || options.is_null() {
            return None;
        }
        // SAFETY: both are there, and nobody else has them; each flag ends in a zero, and is copied.
        let are_known = unsafe {
            spvOptimizerOptionsSetRunValidator(options, false);
            spvOptimizerOptionsSetPreserveSpecConstants(options, true);
            PASSES.iter().all(|pass| spvOptimizerRegisterPassFromFlag(optimizer, pass.as_ptr()))
        };
        are_known.then_some(made)
    }

    fn run(&self, words: &[u32]) -> Option<Vec<u32>> {
        let mut binary: *mut Binary = ptr::null_mut();
        // SAFETY: optimizer and options are there and of this object alone; the words live meanwhile and are as many as is said, and
        // the library reads no further; there is a place for what it gives.
        let result = unsafe { spvOptimizerRun(self.optimizer, words.as_ptr(), words.len(), &raw mut binary, self.options) };
        if binary.is_null() {
            return None;
        }
        // SAFETY: a binary that was given is whole, and lives until it is destroyed below; its words may be none, and are copied.
        let words = unsafe {
            let Binary { code, word_count } = *binary;
            let words = (result == SUCCESS && !code.is_null()).then(|| slice::from_raw_parts(code, word_count).to_vec());
            spvBinaryDestroy(binary);
            words
        };
        words.filter(|words| !words.is_empty())
    }
}

impl Drop for Optimizer {
    fn drop(&mut self) {
        // SAFETY: both came from the library and are used nowhere else; it takes null pointers as well, since it deletes them.
        unsafe {
            spvOptimizerDestroy(self.optimizer);
            spvOptimizerOptionsDestroy(self.options);
        }
    }
}

// ---- SPIRV-Tools' libspirv.h ------------------------------------------------------------------------------------------------

const SUCCESS: c_int = 0;

/// `spv_optimizer_t` and `spv_optimizer_options_t`
#[repr(C)]
struct Opaque {
    _opaque: [u8; 0],
}

/// `spv_binary_t`
#[repr(C)]
#[derive(Clone, Copy)]
struct Binary {
    code: *mut u32,
    word_count: usize,
}

// They come with the static library that the crate `shaderc` links.
unsafe extern "C" {
    fn spvParseTargetEnv(name: *const c_char, environment: *mut c_int) -> bool;
    fn spvOptimizerCreate(environment: c_int) -> *mut Opaque;
    fn spvOptimizerDestroy(optimizer: *mut Opaque);
    fn spvOptimizerRegisterPassFromFlag(optimizer: *mut Opaque, flag: *const c_char) -> bool;
    fn spvOptimizerOptionsCreate() -> *mut Opaque;
    fn spvOptimizerOptionsDestroy(options: *mut Opaque);
    fn spvOptimizerOptionsSetRunValidator(options: *mut Opaque, value: bool);
    fn spvOptimizerOptionsSetPreserveSpecConstants(options: *mut Opaque, value: bool);
    fn spvOptimizerRun(
        optimizer: *mut Opaque,
        words: *const u32,
        word_count: usize,
        binary: *mut *mut Binary,
        options: *const Opaque,
    ) -> c_int;
    fn spvBinaryDestroy(binary: *mut Binary);
}
