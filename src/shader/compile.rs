//! GLSL to SPIR-V by shaderc, each module once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use shaderc::{CompileOptions, EnvVersion, OptimizationLevel, ResolvedInclude, ShaderKind, TargetEnv};
use thiserror::Error;

use super::capabilities::unread;
use super::{Library, Module, ReflectError, Reflection};
use crate::digest::label;
use crate::error::{nearest, suggestion};
use crate::model::SpirvTarget;

/// The version of the crate that carries the GLSL compiler's sources; a test holds it to `Cargo.lock`.
const SHADERC_VERSION: &str = "0.10.1";

/// How many lines of the compiler's words are shown, and how many characters of each.
const MOST_LINES: usize = 20;
const LONGEST_LINE: usize = 300;

/// How deep includes may nest. shaderc has no limit: a file that includes itself would take all memory.
const INCLUDE_DEPTH: usize = 32;

/// The GLSL compiler's identity: its crate and the newest SPIR-V that it says it writes, since it tells no version of its own.
pub fn glsl_compiler() -> String {
    let (version, revision) = shaderc::get_spirv_version();
    let (major, minor) = ((version >> 16) & 0xff, (version >> 8) & 0xff);
    format!("shaderc {SHADERC_VERSION} (crate), SPIR-V {major}.{minor} rev {revision}")
}

#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum CompileError {
    #[error("no shader `{path}`{}", suggestion(.nearest))]
    NoSource { path: String, nearest: Vec<String> },
    #[error(transparent)]
    Glsl(#[from] GlslError),
    /// What the compiler made can't be described. No process tells another one so: each describes modules by itself.
    #[serde(skip)]
    #[error("{subject}: {error}")]
    Reflect { subject: ModuleKey, error: ReflectError },
    #[error("the GLSL compiler failed: {0}")]
    Compiler(String),
    /// It takes more than anything may that a user wrote: `takes longer than 60 s`.
    #[error("compiling {0}")]
    Exceeded(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{words}\n(compiling {subject})")]
pub struct GlslError {
    pub subject: ModuleKey,
    /// The file of the first error, the shader's or an include's, where the compiler names one.
    pub file: Option<String>,
    pub line: Option<u32>,
    pub words: String,
}

/// What a module is compiled from: with the texts of a [`Library`], all that it depends on.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ModuleKey {
    pub path: String,
    /// Macros, sorted by name.
    pub macros: Vec<(String, String)>,
    pub target: SpirvTarget,
    /// Whether its instructions say which line they are from.
    pub has_lines: bool,
}

impl ModuleKey {
    /// Of a source with these macros, in whatever order.
    pub fn new(path: &str, macros: &[(String, String)], target: SpirvTarget) -> Self {
        let mut macros = macros.to_vec();
        macros.sort();
        Self { path: path.to_owned(), macros, target, has_lines: false }
    }
}

/// `memory/stream.comp with WIDTH=4 for Vulkan 1.1`
impl fmt::Display for ModuleKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for (i, (name, value)) in self.macros.iter().enumerate() {
            write!(f, "{} {name}={value}", if i == 0 { " with" } else { "," })?;
        }
        write!(f, " for Vulkan {}", version(self.target).0)
    }
}

pub(super) fn version(target: SpirvTarget) -> (&'static str, EnvVersion) {
    match target {
        SpirvTarget::Vulkan1_1 => ("1.1", EnvVersion::Vulkan1_1),
        SpirvTarget::Vulkan1_2 => ("1.2", EnvVersion::Vulkan1_2),
        SpirvTarget::Vulkan1_3 => ("1.3", EnvVersion::Vulkan1_3),
    }
}

/// The GLSL compiler of this process, or why it can't start. It reads the declarations of GLSL's own functions, which takes longer than
/// most shaders do, before the first shader, and forgets them with the last compiler.
static SHADERC: LazyLock<Result<shaderc::Compiler, String>> =
    LazyLock::new(|| shaderc::Compiler::new().map_err(|error| error.to_string()));

/// Compiles the shaders of a library, each combination of source, macros and target once.
pub struct Compiler {
    library: Library,
    shaderc: &'static shaderc::Compiler,
    has_lines: bool,
    known: HashMap<ModuleKey, Result<Arc<Module>, CompileError>>,
}

impl Compiler {
    pub fn new(library: Library) -> Result<Self, CompileError> {
        let shaderc = SHADERC.as_ref().map_err(|error| CompileError::Compiler(error.clone()))?;
        Ok(Self { library, shaderc, has_lines: false, known: HashMap::new() })
    }

    /// The same, whose modules say which line an instruction is from.
    #[must_use]
    pub fn with_lines(self) -> Self {
        Self { has_lines: true, ..self }
    }

    /// The module of a source (a path of the library) with these macros. The order of macros doesn't matter.
    pub fn compile(
        &mut self,
        source: &str,
        macros: &[(String, String)],
        target: SpirvTarget,
    ) -> Result<Arc<Module>, CompileError> {
        self.compile_key(ModuleKey { has_lines: self.has_lines, ..ModuleKey::new(source, macros, target) })
    }

    /// The same, of a key.
    pub(super) fn compile_key(&mut self, subject: ModuleKey) -> Result<Arc<Module>, CompileError> {
        if let Some(known) = self.known.get(&subject) {
            return known.clone();
        }
        let result = self.translate(&subject).and_then(|compiled| compiled.described(&subject)).map(Arc::new);
        self.known.insert(subject, result.clone());
        result
    }

    /// What the GLSL compiler makes of a source; [`Compiler::compile`] describes it.
    pub(super) fn translate(&self, subject: &ModuleKey) -> Result<Compiled, CompileError> {
        let text = self.library.get(&subject.path).ok_or_else(|| CompileError::NoSource {
            path: subject.path.clone(),
            nearest: nearest(&subject.path, self.library.shaders()),
        })?;
        let refuse = |words: String| CompileError::from(GlslError::new(subject, words));
        let all_texts = || std::iter::once(text).chain(subject.macros.iter().flat_map(|(name, value)| [&name[..], value]));
        if all_texts().any(|text| text.contains('\0')) {
            // The binding to shaderc panics on these.
            return Err(refuse(format!("{}: error: a NUL character", subject.path)));
        }
        check_version(text).map_err(|words| refuse(format!("{}:1: error: {words}", subject.path)))?;
        let read = RefCell::new(BTreeMap::from([(subject.path.clone(), text.to_owned())]));
        let options = self.options(subject, &read).map_err(|error| CompileError::Compiler(error.to_string()))?;
        let start = Instant::now();
        let made = self.shaderc.compile_into_spirv(text, ShaderKind::Compute, &subject.path, "main", Some(&options));
        let compile_time = start.elapsed();
        let words = match made {
            Ok(artifact) => artifact.as_binary().to_vec(),
            Err(shaderc::Error::CompilationError(_, words)) => return Err(refuse(words)),
            Err(other) => return Err(CompileError::Compiler(other.to_string())),
        };
        let source_hash = source_hash(subject, &read.borrow());
        Ok(Compiled { words, source_hash, compile_time })
    }

    fn options<'a>(
        &'a self,
        subject: &ModuleKey,
        read: &'a RefCell<BTreeMap<String, String>>,
    ) -> Result<CompileOptions<'a>, shaderc::Error> {
        let mut options = CompileOptions::new()?;
        options.set_target_env(TargetEnv::Vulkan, version(subject.target).1 as u32);
        // Specialization constants are set by name, and shaderc strips names when it optimizes. Drivers optimize by themselves,
        // and only once they know the constants' values.
        options.set_optimization_level(OptimizationLevel::Zero);
        if subject.has_lines {
            options.set_generate_debug_info();
        }
        for (name, value) in &subject.macros {
            options.add_macro_definition(name, Some(value));
        }
        options.set_include_callback(move |requested, _, including, depth| self.include(requested, including, depth, read));
        Ok(options)
    }

    fn include(
        &self,
        requested: &str,
        including: &str,
        depth: usize,
        read: &RefCell<BTreeMap<String, String>>,
    ) -> Result<ResolvedInclude, String> {
        if depth > INCLUDE_DEPTH {
            return Err(format!("includes nested more than {INCLUDE_DEPTH} deep; does `{requested}` include itself?"));
        }
        let (resolved_name, text) = self.library.resolve(including, requested)?;
        if text.contains('\0') {
            return Err(format!("{resolved_name} has a NUL character"));
        }
        read.borrow_mut().insert(resolved_name.clone(), text.to_owned());
        Ok(ResolvedInclude { resolved_name, content: text.to_owned() })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Compiled {
    pub(super) words: Vec<u32>,
    source_hash: String,
    compile_time: Duration,
}

impl Compiled {
    pub(super) fn described(self, subject: &ModuleKey) -> Result<Module, CompileError> {
        let Self { words, source_hash, compile_time } = self;
        let reflection =
            Reflection::parse(&words).map_err(|error| CompileError::Reflect { subject: subject.clone(), error })?;
        let notes = unread(&reflection.capabilities).collect();
        Ok(Module { source_hash, spirv_hash: spirv_hash(&words), words, compile_time, reflection, notes, is_invalid: false })
    }
}

impl GlslError {
    fn new(subject: &ModuleKey, words: String) -> Self {
        let (file, line) = place(&words);
        Self { subject: subject.clone(), file, line, words: what_matters(words.trim_end()) }
    }
}

/// Checks that a source begins with a `#version` that has compute shaders. For any other, glslang fails to parse its own
/// built-in functions and prints all of them to standard output, where rows go.
fn check_version(text: &str) -> Result<(), String> {
    let directive = after_comments(text).strip_prefix('#').map(str::trim_start).and_then(|text| text.strip_prefix("version"));
    let mut words = directive.and_then(|text| text.lines().next()).unwrap_or("").split_whitespace();
    let number: Option<u32> = words.next().and_then(|number| number.parse().ok());
    let least = if words.next() == Some("es") { 310 } else { 430 };
    match number {
        Some(number) if number >= least => Ok(()),
        Some(number) => {
            Err(format!("#version {number} has no compute shaders; {least} is the first that does, 460 the newest"))
        }
        None => {
            Err("the shader must begin with its version, such as `#version 460` (--preamble FILE puts a text in front of it)"
                .to_owned())
        }
    }
}

fn after_comments(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        text = if text.starts_with("//") {
            text.split_once('\n').map_or("", |(_, rest)| rest)
        } else if text.starts_with("/*") {
            text.split_once("*/").map_or("", |(_, rest)| rest)
        } else {
            return text;
        };
    }
}

/// The compiler's words, as many as anybody reads: it repeats whatever it was given, and has a message for each line of it.
fn what_matters(words: &str) -> String {
    let lines = words.lines().count();
    let mut shown: Vec<String> = words.lines().take(MOST_LINES).map(shortened).collect();
    if lines > MOST_LINES {
        shown.push(format!("... and {} more lines", lines - MOST_LINES));
    }
    shown.join("\n")
}

pub(super) fn shortened(line: &str) -> String {
    let end = line.char_indices().nth(LONGEST_LINE).map_or(line.len(), |(end, _)| end);
    if end < line.len() { format!("{}...", &line[..end]) } else { line.to_owned() }
}

/// File and line of the first error among lines such as `memory/stream.comp:3: error: 'x' : undeclared identifier`.
fn place(words: &str) -> (Option<String>, Option<u32>) {
    let Some(place) = words.lines().find_map(|line| line.split_once(": error:")).map(|(place, _)| place) else {
        return (None, None);
    };
    match place.rsplit_once(':').map(|(file, line)| (file, line.parse())) {
        Some((file, Ok(line))) => (Some(file.to_owned()), Some(line)),
        _ => (Some(place.to_owned()), None),
    }
}

fn source_hash(subject: &ModuleKey, read: &BTreeMap<String, String>) -> String {
    let mut hash = Sha256::new();
    // Each text with its length, so that no two different lists run together to the same bytes.
    let mut text = |text: &str| {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    };
    text(&subject.to_string());
    for (path, content) in read {
        text(path);
        text(content);
    }
    for (name, value) in &subject.macros {
        text(name);
        text(value);
    }
    label('s', hash)
}

pub(super) fn spirv_hash(words: &[u32]) -> String {
    let mut hash = Sha256::new();
    for word in words {
        hash.update(word.to_le_bytes());
    }
    label('v', hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compiler_is_the_one_in_the_lock_file() {
        let lock = include_str!("../../Cargo.lock");
        assert!(lock.contains(&format!("name = \"shaderc\"\nversion = \"{SHADERC_VERSION}\"")));
        assert!(glsl_compiler().starts_with("shaderc 0."), "{}", glsl_compiler());
    }

    #[test]
    fn only_versions_with_compute_shaders_pass() {
        for good in ["#version 460", "// x\n/* #version 1 */\n # version 430 core\n", "#version 310 es\n"] {
            assert_eq!(check_version(good), Ok(()), "{good}");
        }
        for bad in
            ["", "void main() {}", "#version", "#version 110", "#version 300 es", "/* #version 460", "int x;\n#version 460"]
        {
            assert!(check_version(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn of_many_words_those_that_matter_are_shown() {
        assert_eq!(what_matters("a.comp:1: error: x\nb"), "a.comp:1: error: x\nb");
        let many: Vec<String> = (0..100).map(|line| format!("a.comp:{line}: {}", "ü".repeat(1000))).collect();
        let shown = what_matters(&many.join("\n"));
        let lines: Vec<&str> = shown.lines().collect();
        assert!(
            lines.len() == 21
                && lines[20] == "... and 80 more lines"
                && lines[0].ends_with("ü...")
                && lines[0].chars().count() == 303
        );
    }

    #[test]
    fn the_first_errors_place_is_found() {
        let words = "a.comp:2: warning: odd\nc:/b.glsl:14: error: 'x' : undeclared identifier\na.comp:9: error: y";
        assert_eq!(place(words), (Some("c:/b.glsl".to_owned()), Some(14)));
        assert_eq!(place("a.comp: error: no line"), (Some("a.comp".to_owned()), None));
        assert_eq!(place("something else"), (None, None));
    }
}
