//! The GLSL compiler's errors, as a user can mend them: with paths as they were written, the line that is meant, and what is missing.

use std::path::Path;

use super::compile::{shortened, version};
use super::files::{Reading, key, on_disk};
use super::library::join;
use super::{CompileError, GlslError, Library, ModuleKey, apart, undefined};
use crate::model::{Shown, SpirvTarget, readable};

/// What the binding to the compiler puts in the place of words that it can't read.
const UNREADABLE: &str = "(followed by invalid UTF-8 characters)";

/// An error of a shader's text, compiled from a library.
pub(super) fn explained(
    error: CompileError,
    path: &Path,
    text: &str,
    (library, reading): (&Library, &Reading),
) -> CompileError {
    let later = later_target(library, path, reading);
    match error {
        CompileError::Glsl(error) => {
            let missing = undefined::missing(&error.words, library, reading).map(|words| as_written(&words, path, library));
            let error = with_stray_character(error, library);
            let mut error = GlslError {
                subject: written_key(error.subject, path, library),
                file: error.file.as_deref().map(|file| as_written(file, path, library)),
                words: as_written(&error.words, path, library),
                ..error
            };
            show_line(&mut error, path, text);
            if let Some(later) = later {
                let version = version(later).0;
                error.words.push_str(&format!("\nIt compiles for Vulkan {version}: try --target-env vulkan{version}"));
            }
            missing.into_iter().for_each(|words| error.words.push_str(&format!("\n{words}")));
            CompileError::Glsl(error)
        }
        CompileError::Reflect { subject, error } => {
            CompileError::Reflect { subject: written_key(subject, path, library), error }
        }
        other => other,
    }
}

fn later_target(library: &Library, path: &Path, reading: &Reading) -> Option<SpirvTarget> {
    let later = [SpirvTarget::Vulkan1_2, SpirvTarget::Vulkan1_3].into_iter().filter(|later| *later > reading.target);
    later.into_iter().find(|later| apart::compile(library, ModuleKey::new(&key(path), &reading.macros, *later)).is_ok())
}

/// The line that an error of the shader's own file is about, below its first words.
fn show_line(error: &mut GlslError, path: &Path, text: &str) {
    let is_own = error.file.as_deref() == Some(&*path.shown());
    let line = error.line.and_then(|line| text.lines().nth(usize::try_from(line).ok()?.checked_sub(1)?));
    if let Some(line) = line.filter(|line| is_own && !line.trim().is_empty()) {
        let (first, rest) = error.words.split_once('\n').unwrap_or((&error.words, ""));
        error.words = format!("{first}\n    {}\n{rest}", shortened(line.trim())).trim_end().to_owned();
    }
}

/// The compiler reads bytes, and names the first one of a character that it doesn't know.
fn with_stray_character(error: GlslError, library: &Library) -> GlslError {
    let stray = || {
        let (place, _) = error.words.split_once(": error:").filter(|_| error.words.contains(UNREADABLE))?;
        let character = undefined::stray_character(library.get(error.file.as_deref()?)?, error.line)?;
        Some(format!("{place}: error: `{character}` (U+{:04X}) can't stand in code", u32::from(character)))
    };
    match stray() {
        Some(words) => GlslError { words, ..error },
        None => error,
    }
}

fn written_key(subject: ModuleKey, path: &Path, library: &Library) -> ModuleKey {
    ModuleKey { path: as_written(&subject.path, path, library), ..subject }
}

/// A text whose paths are as the user writes them: beside the shader as its own is, elsewhere whole.
fn as_written(text: &str, path: &Path, library: &Library) -> String {
    let name = key(path);
    // What stands before the file's name, in the compiler's words and in the user's: includes have it without `..`.
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let plain = join("", folder).unwrap_or_default();
    let written = path.parent().map(|folder| folder.join("").shown()).unwrap_or_default();
    let elsewhere: Vec<&str> = library.paths().filter(|path| !path.starts_with(&format!("{plain}/"))).collect();
    let beside = |text: &str| {
        let mut text = text.to_owned();
        if !folder.is_empty() {
            text = text.replace(&format!("{folder}/"), &written).replace(&format!("{plain}/"), &written);
        }
        for path in &elsewhere {
            text = text.replace(*path, &on_disk(path).shown());
        }
        readable(&text)
    };
    text.split(&name).map(beside).collect::<Vec<_>>().join(&path.shown())
}
