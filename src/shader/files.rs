//! Shaders of users: GLSL from files with what it includes, or SPIR-V.

use std::collections::BTreeSet;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rspirv::spirv::MAGIC_NUMBER as MAGIC;
use thiserror::Error;

use super::defaults::{WrongSize, with_defaults};
use super::explain::explained;
use super::language::Language;
use super::{CompileError, Invalid, Library, Module, ModuleKey, ReflectError, Reflection, Undecorated, apart, undecorated};
use crate::model::{Shown, SpirvTarget, path_text, system_name};
use crate::regular::{self, Kind, SHADER};
use crate::units::Bytes;

const GODOTS_KIND: &str = "#[compute]";

/// The most places in which includes are looked for, and the most bytes that they have together.
const MOST_PLACES: usize = 10_000;
const MOST_BYTES: usize = 64 << 20;

#[derive(Clone, Debug, Default)]
pub struct Reading {
    /// Where `#include` looks after the including file's own folder, in this order.
    pub include_folders: Vec<PathBuf>,
    /// Macros with their values, which count instead of the shader's own definitions.
    pub macros: Vec<(String, String)>,
    /// A file of GLSL that is put behind the shader's `#version`, or in front of a shader that has none.
    pub preamble: Option<PathBuf>,
    pub target: SpirvTarget,
    /// The entry point that is meant: the others are left out. All are read where none is named.
    pub entry: Option<String>,
    /// The `constant_id`s with which GLSL is to declare its literal workgroup size: see [`super::with_local_size_ids`].
    pub local_size_ids: [Option<u32>; 3],
    /// Specialization constants with the bytes that they have by default, by their `constant_id`s: see `with_defaults`.
    pub defaults: Vec<(u32, Vec<u8>)>,
    /// Whether SPIR-V that isn't valid is read, too.
    pub may_be_invalid: bool,
    /// Whether its instructions are to say which line they are from; of GLSL.
    pub has_lines: bool,
    /// Whether its files may be streams that this process was given, such as `/dev/stdin`: they are read once.
    pub may_stream: bool,
}

#[derive(Debug, Error)]
pub enum FileError {
    #[error("can't read {}: {source}", .path.shown())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is neither GLSL (it is no UTF-8 text) nor SPIR-V (it doesn't begin with 0x07230203)", .path.shown())]
    Unknown { path: PathBuf },
    #[error("{} is {language}: {}, and give what that makes", .path.shown(), .language.advice())]
    Language { path: PathBuf, language: Language },
    #[error("{} is UTF-16: save it as UTF-8", .path.shown())]
    Wide { path: PathBuf },
    #[error("{} is no SPIR-V: it doesn't begin with 0x07230203 (GLSL has another ending than .spv)", .path.shown())]
    NoSpirv { path: PathBuf },
    #[error("{} has {bytes} bytes, no whole number of words: the SPIR-V is cut off", .path.shown())]
    CutOff { path: PathBuf, bytes: usize },
    #[error("{} has a #version, and so has {}: leave the preamble's out", .shader.shown(), .preamble.shown())]
    Versions { shader: PathBuf, preamble: PathBuf },
    #[error("{} includes more than {MOST_PLACES} files, or more than {}", .path.shown(), Bytes(MOST_BYTES as u64))]
    Includes { path: PathBuf },
    #[error("{} is SPIR-V: macros, preambles and include folders are for GLSL", .path.shown())]
    NoPreprocessor { path: PathBuf },
    #[error("{}: {error}", .path.shown())]
    Reflect { path: PathBuf, error: ReflectError },
    #[error("{0}; --no-validate takes it all the same")]
    Refused(Box<FileError>),
    #[error("{}: {error}", .path.shown())]
    Invalid { path: PathBuf, error: Invalid },
    /// It keeps the compiler or the validator too busy: `what` is such as `takes longer than 20 s`.
    #[error("{}: {error}", .path.shown())]
    Default { path: PathBuf, error: WrongSize },
    #[error("{}: {task} {what}", .path.shown())]
    Exceeded { path: PathBuf, task: &'static str, what: String },
    #[error("{0}")]
    Compile(#[from] CompileError),
}

/// The module of a file: SPIR-V of either byte order as it is, all else as GLSL.
pub fn from_file(path: &Path, reading: &Reading) -> Result<Arc<Module>, FileError> {
    let module = as_written(path, reading)?;
    if reading.defaults.is_empty() {
        return Ok(module);
    }
    let wrong = |error| FileError::Default { path: path.to_owned(), error };
    let words = with_defaults(&module.words, &reading.defaults).map_err(wrong)?;
    let reflected = |error| FileError::Reflect { path: path.to_owned(), error };
    let new = Module::of_spirv(words, reading.entry.as_deref()).map_err(reflected)?;
    let Module { source_hash, compile_time, notes, is_invalid, .. } = &*module;
    let (source_hash, notes) = (source_hash.clone(), notes.clone());
    Ok(Arc::new(Module { source_hash, compile_time: *compile_time, notes, is_invalid: *is_invalid, ..new }))
}

fn as_written(path: &Path, reading: &Reading) -> Result<Arc<Module>, FileError> {
    let bytes = read(path, reading.may_stream)?;
    let reflected = |error| FileError::Reflect { path: path.to_owned(), error };
    let exceeded = |task: &'static str| move |what: String| FileError::Exceeded { path: path.to_owned(), task, what };
    if let Some(words) = spirv_words(path, &bytes)? {
        if !(reading.macros.is_empty() && reading.include_folders.is_empty() && reading.preamble.is_none()) {
            return Err(FileError::NoPreprocessor { path: path.to_owned() });
        }
        let Undecorated { words, note, hindrance } = undecorated(&words);
        let mut module = Module::of_spirv(words, reading.entry.as_deref()).map_err(reflected)?;
        module.notes.extend(note.map(str::to_owned));
        let verdict = apart::check(&module.words).map_err(exceeded("telling whether it is valid SPIR-V"));
        let refused = |error: Invalid| FileError::Invalid { path: path.to_owned(), error: error.explained(hindrance) };
        match verdict.and_then(|verdict| verdict.map_err(refused)) {
            Ok(()) => {}
            Err(error) if reading.may_be_invalid => {
                module
                    .notes
                    .push(format!("{error}; --no-validate takes it all the same: a driver may crash, or make anything of it"));
                module.is_invalid = true;
            }
            Err(error @ FileError::Invalid { .. }) => return Err(FileError::Refused(Box::new(error))),
            Err(error) => return Err(error),
        }
        return Ok(Arc::new(module));
    }
    let text = text_of(path, bytes)?;
    check_language(path, &text, reading)?;
    let name = key(path);
    let whole = whole_text(path, &text, reading)?;
    let library = with_includes(path, &whole, reading)?.with_local_size_ids(reading.local_size_ids);
    let module = apart::compile(
        &library,
        ModuleKey { has_lines: reading.has_lines, ..ModuleKey::new(&name, &reading.macros, reading.target) },
    )
    .map_err(|error| {
        if let CompileError::Exceeded(what) = error {
            return exceeded("compiling it")(what);
        }
        explained(error, path, &text, (&library, reading)).into()
    })?;
    if reading.local_size_ids != [None; 3] {
        // The GLSL compiler makes branches of some expressions of specialization constants, which only functions may have.
        apart::check(&module.words)
            .map_err(exceeded("telling whether it is valid SPIR-V"))?
            .map_err(|error| FileError::Invalid { path: path.to_owned(), error })?;
    }
    if let Some(entry) = &reading.entry {
        // What the GLSL compiler makes has one entry point, and is described already.
        Reflection::of_entry(&module.words, entry).map_err(reflected)?;
    }
    Ok(module)
}

/// What has no version, and isn't put behind a preamble, may be no GLSL.
fn check_language(path: &Path, text: &str, reading: &Reading) -> Result<(), FileError> {
    let has_version = text.lines().any(|line| directive(line).is_some_and(|name| name.starts_with("version")));
    match Language::of(path, text).filter(|_| !has_version && reading.preamble.is_none()) {
        Some(language) => Err(FileError::Language { path: path.to_owned(), language }),
        None => Ok(()),
    }
}

fn text_of(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    let is_wide = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    let text = String::from_utf8(bytes).map_err(|_| match is_wide {
        true => FileError::Wide { path: path.to_owned() },
        false => FileError::Unknown { path: path.to_owned() },
    })?;
    Ok(without_mark(text))
}

/// Some editors begin a text with a byte order mark, which the compiler doesn't know.
fn without_mark(text: String) -> String {
    text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text)
}

/// The text that is compiled: with a preamble, and without definitions that are given otherwise.
fn whole_text(path: &Path, text: &str, reading: &Reading) -> Result<String, FileError> {
    // Macros may be given with their parameters.
    let is_named = |given: &str, name: &str| given.split('(').next() == Some(name);
    let is_macro = |name: &str| reading.macros.iter().any(|(given, _)| is_named(given, name));
    let is_given = |line: &str| defined(line).or_else(|| named_by(line, "undef")).is_some_and(is_macro);
    let (mut lines, mut goes_on) = (Vec::new(), false);
    for line in text.split('\n') {
        // A definition may go on behind its line's end; Godot's shaders begin with the kind that they are of.
        let is_left_out = goes_on || is_given(line) || line.trim() == GODOTS_KIND;
        goes_on = is_left_out && line.trim_end_matches('\r').ends_with('\\');
        lines.push(if is_left_out { "" } else { line });
    }
    let Some(preamble) = &reading.preamble else { return Ok(lines.join("\n")) };
    let before = text_of(preamble, read(preamble, reading.may_stream)?)?;
    let before = before.trim_end();
    // What stands before the version counts as lines: it is blanks and comments.
    let version = lines.iter().position(|line| directive(line).is_some_and(|name| name.starts_with("version")));
    let Some(version) = version else { return Ok(format!("{before}\n#line 1\n{}", lines.join("\n"))) };
    if before.lines().any(|line| directive(line).is_some_and(|name| name.starts_with("version"))) {
        return Err(FileError::Versions { shader: path.to_owned(), preamble: preamble.clone() });
    }
    let (head, rest) = lines.split_at(version + 1);
    Ok(format!("{}\n{before}\n#line {}\n{}", head.join("\n"), version + 2, rest.join("\n")))
}

/// What follows the `#` of a line that the preprocessor reads.
fn directive(line: &str) -> Option<&str> {
    Some(line.trim_start().strip_prefix('#')?.trim_start())
}

/// The macro that a line defines.
fn defined(line: &str) -> Option<&str> {
    named_by(line, "define")
}

fn named_by<'l>(line: &'l str, what: &str) -> Option<&'l str> {
    let rest = directive(line)?.strip_prefix(what)?;
    let name = rest.trim_start();
    let end = name.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(name.len());
    (rest.len() > name.len() && end > 0).then(|| &name[..end])
}

/// The macros that a shader's file defines by itself and that set its workgroup size, by direction.
pub fn size_macros(path: &Path) -> [Option<String>; 3] {
    let text = read(path, false).ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default();
    let defined: BTreeSet<&str> = text.lines().filter_map(defined).collect();
    ["local_size_x", "local_size_y", "local_size_z"].map(|direction| {
        let after = text.split(direction).nth(1)?.trim_start().strip_prefix('=')?.trim_start();
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(after.len());
        defined.get(&after[..end]).map(|name| (*name).to_owned())
    })
}

fn read(path: &Path, may_stream: bool) -> Result<Vec<u8>, FileError> {
    regular::read(path, Kind { may_stream, ..SHADER }).map_err(|source| FileError::Read { path: path.to_owned(), source })
}

/// The words of SPIR-V, in this machine's byte order; nothing where it is something else.
fn spirv_words(path: &Path, bytes: &[u8]) -> Result<Option<Vec<u32>>, FileError> {
    let word = |bytes: &[u8]| bytes.try_into().map(u32::from_ne_bytes).ok();
    let swap = match bytes.get(..4).and_then(word) {
        Some(MAGIC) => false,
        Some(first) if first.swap_bytes() == MAGIC => true,
        _ if path.extension().is_some_and(|ending| ending == "spv") => {
            return Err(FileError::NoSpirv { path: path.to_owned() });
        }
        _ => return Ok(None),
    };
    if bytes.len() % 4 != 0 {
        return Err(FileError::CutOff { path: path.to_owned(), bytes: bytes.len() });
    }
    let words = bytes.chunks_exact(4).filter_map(word);
    let words: Vec<u32> = words.map(|word| if swap { word.swap_bytes() } else { word }).collect();
    Ok(Some(words))
}

// ---- includes ---------------------------------------------------------------------------------------------------------------

/// A file's path as the compiler names it: with `/` on every system, and with marks for what is no text in it.
pub(super) fn key(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = path_text(&absolute);
    // Elsewhere than on Windows, `\` is a character like any other.
    let text = if cfg!(windows) { text.replace('\\', "/") } else { text };
    text.trim_start_matches('/').to_owned()
}

/// A file that the compiler of a shader named, as whoever named the shader would write it; as it is where it is no such name.
pub fn written_path(file: &str, shader: &Path) -> PathBuf {
    let name = key(shader);
    if file == name {
        return shader.to_owned();
    }
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let beside = file.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/'));
    let whole = on_disk(file);
    match beside.zip(shader.parent()) {
        Some((rest, folder)) if !rest.is_empty() => folder.join(rest),
        _ if whole.exists() => whole,
        _ => PathBuf::from(file),
    }
}

/// The shader with all that it may include. Files that aren't there, or can't be read, are left to the compiler: their `#include` may be
/// one that a condition rules out.
fn with_includes(shader: &Path, text: &str, reading: &Reading) -> Result<Library, FileError> {
    let name = key(shader);
    let mut library = Library::empty(reading.include_folders.iter().map(|folder| key(folder)).collect());
    let mut seen = BTreeSet::from([name.clone()]);
    let mut open = vec![(name, text.to_owned())];
    let mut bytes = text.len();
    while let Some((name, text)) = open.pop() {
        let asked: Vec<String> = included(&text).into_iter().map(str::to_owned).collect();
        library = library.with(name.clone(), text);
        let places: Vec<String> = asked.iter().flat_map(|asked| library.places(&name, asked)).collect();
        for path in places {
            if !seen.insert(path.clone()) {
                continue;
            }
            match regular::read_text(&on_disk(&path), SHADER) {
                Ok(text) => {
                    bytes += text.len();
                    open.push((path, without_mark(text)));
                }
                Err(error) if is_elsewhere(&error) => {}
                Err(error) => library = library.with_unreadable(path, error.to_string()),
            }
            if seen.len() > MOST_PLACES || bytes > MOST_BYTES {
                return Err(FileError::Includes { path: shader.to_owned() });
            }
        }
    }
    Ok(library)
}

/// The files that a shader includes, or would include under some condition.
pub fn included_files(shader: &Path, reading: &Reading) -> Result<Vec<PathBuf>, FileError> {
    let bytes = read(shader, false)?;
    if spirv_words(shader, &bytes)?.is_some() {
        return Ok(Vec::new());
    }
    let whole = whole_text(shader, &text_of(shader, bytes)?, reading)?;
    let (own, library) = (key(shader), with_includes(shader, &whole, reading)?);
    Ok(library.paths().filter(|path| *path != own).map(on_disk).collect())
}

/// Whether an include may lie in another folder, since nothing that can be one is here.
fn is_elsewhere(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}

pub(super) fn on_disk(key: &str) -> PathBuf {
    let path = if cfg!(windows) { key.to_owned() } else { format!("/{key}") };
    system_name(&path).into()
}

fn included(text: &str) -> Vec<&str> {
    let (mut found, mut comment) = (Vec::new(), None);
    for line in text.lines() {
        let asked = if comment.is_none() { included_by(line) } else { None };
        found.extend(asked);
        // A path may look like a comment.
        let rest = asked.map_or(line, |path| &line[path.as_ptr() as usize - line.as_ptr() as usize + path.len()..]);
        comment = comment_behind(rest, comment);
    }
    found
}

/// A comment that goes on in the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comment {
    Block,
    Line,
}

/// The comment that a line, or the rest of one, leaves open, where it began in such a one or in none.
fn comment_behind(mut line: &str, mut open: Option<Comment>) -> Option<Comment> {
    loop {
        match open {
            Some(Comment::Block) => match line.split_once("*/") {
                Some((_, rest)) => line = rest,
                None => return open,
            },
            Some(Comment::Line) => return open.filter(|_| line.ends_with('\\')),
            None => {
                let next = line.find("//").into_iter().chain(line.find("/*")).min();
                let at = next?;
                open = Some(if line[at..].starts_with("/*") { Comment::Block } else { Comment::Line });
                line = &line[at + 2..];
                continue;
            }
        }
        open = None;
    }
}

fn included_by(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?.trim_start();
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    rest[1..].split(close).next()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_line_includes_what_stands_between_its_marks() {
        assert_eq!(included("#include \"a/b.glsl\""), ["a/b.glsl"]);
        assert_eq!(included("  #  include <c.glsl> // why\n#include \"d\""), ["c.glsl", "d"]);
        for line in ["// #include \"a\"", "#included", "#include a", "#define include \"a\"", ""] {
            assert_eq!(included(line), Vec::<&str>::new(), "{line}");
        }
    }

    #[test]
    fn what_comments_include_is_not_looked_for() {
        for hidden in
            ["/*\n#include \"a\"\n*/", "// b \\\n#include \"a\"", "x /* y */ /* z\n#include \"a\"\n", "/*/\n#include \"a\""]
        {
            assert_eq!(included(hidden), Vec::<&str>::new(), "{hidden}");
        }
        for shown in [
            "/* x */\n#include \"a//b\"",
            "// /*\n#include <a//b>",
            "x / * y\n#include \"a//b\" /* x */",
            "/**/\n#include \"a//b\"",
        ] {
            assert_eq!(included(shown), ["a//b"], "{shown}");
        }
        assert_eq!(included("#include \"a\" /*\n#include \"b\"\n*/"), ["a"]);
    }

    #[test]
    fn spirv_of_either_byte_order_is_known() {
        let path = Path::new("a.spv");
        let bytes = |words: [u32; 2], swap: bool| {
            words.iter().flat_map(|word| if swap { word.swap_bytes() } else { *word }.to_ne_bytes()).collect::<Vec<u8>>()
        };
        for swap in [false, true] {
            assert_eq!(spirv_words(path, &bytes([MAGIC, 5], swap)).unwrap(), Some(vec![MAGIC, 5]));
        }
        for text in [&b"#version 460\n"[..], b""] {
            assert_eq!(spirv_words(Path::new("a.comp"), text).unwrap(), None);
            assert!(matches!(spirv_words(path, text), Err(FileError::NoSpirv { .. })));
        }
        assert!(matches!(spirv_words(path, &bytes([MAGIC, 5], false)[..7]), Err(FileError::CutOff { bytes: 7, .. })));
    }

    fn read_with(shader: &str, preamble: Option<&str>, macros: &[(&str, &str)]) -> Result<Arc<Module>, String> {
        let folder = tempfile::tempdir().unwrap();
        let [path, before] = ["shader.comp", "before.glsl"].map(|name| folder.path().join(name));
        fs::write(&path, shader).unwrap();
        preamble.iter().for_each(|text| fs::write(&before, text).unwrap());
        let macros = macros.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let reading = Reading { preamble: preamble.map(|_| before), macros, ..Reading::default() };
        from_file(&path, &reading).map_err(|error| error.to_string())
    }

    fn width(module: &Module) -> u32 {
        module.reflection.local_size(&module.reflection.entry_points[0], &[].into()).unwrap()[0]
    }

    const BODY: &str =
        "layout(local_size_x = WIDTH) in;\nlayout(binding = 0) buffer B { uint b[]; };\nvoid main() { b[0] = X; }\n";

    #[test]
    fn a_preamble_stands_behind_the_version_or_brings_one() {
        let with = format!("// mine\n#version 460\n{BODY}");
        let both = read_with(&with, Some("#define WIDTH 24\n#define X 1u"), &[]).unwrap();
        let none = read_with(BODY, Some("#version 460\n#define WIDTH 24\n#define X 1u\n"), &[]).unwrap();
        assert_eq!((width(&both), width(&none)), (24, 24));
        // Lines are those of the shader.
        let wrong = read_with(&with, Some("#define WIDTH 24\n\n\n"), &[]).unwrap_err();
        assert!(wrong.contains("shader.comp:5: error: 'X'") && wrong.contains("\n    void main() { b[0] = X; }"), "{wrong}");
        let twice = read_with(&with, Some("#version 460"), &[]).unwrap_err();
        assert!(twice.contains("leave the preamble's out"), "{twice}");
        let neither = read_with(BODY, None, &[]).unwrap_err();
        assert!(neither.contains("--preamble"), "{neither}");
    }

    #[test]
    fn a_macro_that_is_given_counts_instead_of_the_shaders_own() {
        let shader = format!("#version 460\n#define WIDTH 64 // as written\n  # define  X WIDTH\n{BODY}");
        assert_eq!(width(&read_with(&shader, None, &[]).unwrap()), 64);
        assert_eq!(width(&read_with(&shader, None, &[("WIDTH", "16"), ("X", "3u")]).unwrap()), 16);
        assert_eq!(defined("#define F(x) x"), Some("F"));
        let undefined = shader.replace("  # define", "#undef WIDTH\n  # define");
        assert_eq!(width(&read_with(&undefined, None, &[("WIDTH", "16"), ("X", "3u")]).unwrap()), 16);
        // With all of its lines, and by its name alone where it has parameters.
        let long = format!("#version 460\n#define WIDTH \\\n  64 \\\r\n  + 0\n#define X F(1u)\n#define F(x) x+\n{BODY}");
        assert_eq!(width(&read_with(&long, None, &[("WIDTH", "16"), ("F(x)", "x")]).unwrap()), 16);
        for line in ["#defined X", "// #define X", "#undef X", "#define", "#define  "] {
            assert_eq!(defined(line), None, "{line}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_text() {
        let shader = format!("\u{feff}#version 460\n#include \"before.glsl\"\n{BODY}");
        let extension = "#version 460\n#extension GL_GOOGLE_include_directive : require";
        let shader = shader.replace("#version 460", extension);
        assert_eq!(width(&read_with(&shader, Some("\u{feff}#define WIDTH 24\n#define X 1u"), &[]).unwrap()), 24);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wide.comp");
        let wide: Vec<u8> = "\u{feff}#version 460".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(&path, wide).unwrap();
        let error = from_file(&path, &Reading::default()).unwrap_err().to_string();
        assert!(error.contains("is UTF-16: save it as UTF-8"), "{error}");
    }

    #[test]
    fn a_shader_of_godots_is_read() {
        let shader = format!("#[compute]\n#version 460\n#define WIDTH 8\n#define X 1u\n{BODY}");
        assert_eq!(width(&read_with(&shader, None, &[]).unwrap()), 8);
    }

    #[test]
    fn the_macros_that_set_the_size_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("shader.comp");
        let found = |text: &str| {
            fs::write(&path, text).unwrap();
            size_macros(&path)
        };
        let text = "#define WG 64\nlayout(local_size_x = WG, local_size_y=H, local_size_z = 1) in;";
        assert_eq!(found(text), [Some("WG".to_owned()), None, None]);
        assert_eq!(found("#define WG 64\nlayout(local_size_x_id = 0) in;"), [None, None, None]);
        assert_eq!(size_macros(Path::new("/no/such/file")), [None, None, None]);
    }

    #[test]
    fn a_later_vulkan_that_would_do_is_named() {
        let shader = "#version 460\n#extension GL_EXT_ray_tracing : require\nlayout(binding = 0) buffer B { uint b[]; };\n\
                      void main() { b[0] = X; }\n";
        let told = read_with(shader, None, &[("X", "1u")]).unwrap_err();
        assert!(told.contains("It compiles for Vulkan 1.2: try --target-env vulkan1.2"), "{told}");
        let never = read_with(shader, None, &[("X", "y")]).unwrap_err();
        assert!(!never.contains("--target-env"), "{never}");
    }

    #[test]
    fn includes_are_read_beside_their_file_and_in_folders() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        write("lib/b.glsl", "#include \"c.glsl\"\n");
        write("lib/c.glsl", "const uint THREE = 3u;\n");
        write("own/a.glsl", "#include <b.glsl>\n");
        let shader = "#version 460\n#extension GL_GOOGLE_include_directive : require\n#include \"a.glsl\"\n#ifdef NEVER\n\
                      #include \"missing.glsl\"\n#endif\nlayout(local_size_x = WIDTH) in;\n\
                      layout(binding = 0) buffer B { uint b[]; };\nvoid main() { b[0] = THREE; }\n";
        let path = write("own/shader.comp", shader);
        let macros = vec![("WIDTH".to_owned(), "48".to_owned())];
        let reading = Reading { include_folders: vec![folder.path().join("lib")], macros, ..Reading::default() };
        let module = from_file(&path, &reading).unwrap_or_else(|error| panic!("{error}"));
        let entry = &module.reflection.entry_points[0];
        assert_eq!(module.reflection.local_size(entry, &[].into()), Ok([48, 1, 1]));
        let without = Reading { include_folders: Vec::new(), ..reading };
        assert!(from_file(&path, &without).unwrap_err().to_string().contains("b.glsl"));
    }
}
