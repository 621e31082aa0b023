//! From a described shader to what is run.

use std::path::Path;

use super::args::described::Described;
use super::args::values::Hex;
use super::defines;
use crate::error::Error;
use crate::model::FilePath;
use crate::subject::{AddressSpec, BufferSpec, ImageSpec, KernelSpec, SamplerSpec, listed};

/// The shader with what it needs to run. What it is compared with isn't said here.
pub fn kernel(arguments: &Described, seed: u64) -> Result<KernelSpec, Error> {
    let usage = |flag: &str, words: String| Error::Usage(format!("--{flag}: {words}"));
    let shader = arguments.shader.clone().ok_or_else(|| Error::Usage("a shader is needed".to_owned()))?;
    let macros = macros(arguments)?.into_iter().filter_map(|(name, values)| Some((name, values.into_iter().next()?)));
    let three = |flag: &str, text: &Option<String>| {
        text.as_deref().map(|text| directions(text).map_err(|words| usage(flag, words))).transpose()
    };
    Ok(KernelSpec {
        name: arguments.name.clone().unwrap_or_else(|| stem(&shader)),
        shader: shader.into(),
        include_folders: arguments.include.iter().cloned().map(FilePath::from).collect(),
        macros: macros.collect(),
        preamble: arguments.preamble.clone().map(FilePath::from),
        lengths: lengths(arguments)?,
        target: arguments.target_env.0,
        entry: arguments.entry.clone(),
        may_be_invalid: arguments.no_validate,
        n: arguments.n,
        buffers: parsed("buffer", &arguments.buffer, BufferSpec::parse)?,
        memories: parsed("memory", &arguments.memory, memory)?,
        constant_bytes: parsed("constant-bytes", &arguments.constant_bytes, constant_bytes)?,
        push_bytes: arguments.push_bytes.as_ref().map(|bytes| bytes.0.clone()),
        images: parsed("image", &arguments.image, ImageSpec::parse)?,
        addresses: parsed("address", &arguments.address, AddressSpec::parse)?,
        samplers: parsed("sampler", &arguments.sampler, SamplerSpec::parse)?,
        members: parsed("push", &arguments.push, member)?,
        threads: three("threads", &arguments.threads)?,
        groups: three("groups", &arguments.groups)?,
        base_groups: arguments.base_groups.unwrap_or_default(),
        full_subgroups: arguments.full_subgroups,
        seed,
        ..KernelSpec::default()
    })
}

fn memory(text: &str) -> Result<BufferSpec, String> {
    let spec = BufferSpec::parse(text)?;
    if spec.within.is_some() { Err("memory doesn't lie in other memory".to_owned()) } else { Ok(spec) }
}

fn constant_bytes(text: &str) -> Result<(u32, Vec<u8>), String> {
    let said = text.split_once('=').and_then(|(id, hex)| Some((id.trim().parse().ok()?, hex.trim().parse::<Hex>().ok()?.0)));
    said.ok_or_else(|| "ID=BYTES is needed, with bytes in hex, such as 0=40000000".to_owned())
}

fn member(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| "NAME=EXPRESSION is needed".to_owned())?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// The texts of a flag, each as this reads it.
pub fn parsed<T>(flag: &str, texts: &[String], parse: impl Fn(&str) -> Result<T, String>) -> Result<Vec<T>, Error> {
    texts.iter().map(|text| parse(text).map_err(|words| Error::Usage(format!("--{flag}: `{text}`: {words}")))).collect()
}

/// Arrays in shared memory with their lengths. Of several of one name the last counts: the command line's stand behind the manifest's.
fn lengths(arguments: &Described) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for text in &arguments.shared {
        let said = text.split_once('=').map(|(name, lengths)| (name.trim(), listed(lengths)));
        let Some((name, lengths)) = said.filter(|(_, lengths)| lengths.iter().all(|length| !length.is_empty())) else {
            return Err(Error::Usage(format!("--shared: `{text}`: NAME=LENGTH is needed, as in tile=local_size_x")));
        };
        all.retain(|(known, _)| known != name);
        all.push((name.to_owned(), lengths.into_iter().map(str::to_owned).collect()));
    }
    Ok(all)
}

/// A file's name without its ending, in what a row's name may have.
fn stem(shader: &Path) -> String {
    let name = shader.file_stem().map_or_else(|| "shader".into(), |name| name.to_string_lossy());
    name.chars().map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' }).collect()
}

/// Up to three expressions, separated by commas that no bracket encloses; the others are 1.
fn directions(text: &str) -> Result<[String; 3], String> {
    let mut parts = listed(text);
    if parts.len() > 3 {
        return Err(format!("`{text}` has more than three directions"));
    }
    parts.resize(3, "1");
    Ok(std::array::from_fn(|direction| parts[direction].to_owned()))
}

/// A macro with its values, separated by commas that no bracket encloses.
fn macro_of(define: &str) -> Result<(String, Vec<String>), Error> {
    let (name, values) = defines::split(define)?;
    if defines::has_parameters(name) {
        return Ok((name.to_owned(), vec![values.to_owned()]));
    }
    // Rows join their axes by semicolons, and are lines.
    let values: Vec<String> = listed(values).into_iter().map(str::to_owned).collect();
    match values.iter().find(|value| values.len() > 1 && value.contains([';', '\n', '\r'])) {
        Some(wrong) => Err(Error::Usage(format!("macro `{name}` can't be an axis with the value `{wrong}`"))),
        None => Ok((name.to_owned(), values)),
    }
}

/// Macros with their values. Of several of one name the last one counts: the command line's stand behind the manifest's.
pub fn macros(arguments: &Described) -> Result<Vec<(String, Vec<String>)>, Error> {
    let mut all: Vec<(String, Vec<String>)> = Vec::new();
    for define in &arguments.define {
        let (name, values) = macro_of(define)?;
        all.retain(|(known, _)| *known != name);
        all.push((name, values));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directions_are_separated_by_open_commas() {
        assert_eq!(directions("n").unwrap(), ["n", "1", "1"]);
        assert_eq!(directions("min(a, b), c").unwrap(), ["min(a, b)", "c", "1"]);
        assert!(directions("1,2,3,4").is_err());
    }
}
