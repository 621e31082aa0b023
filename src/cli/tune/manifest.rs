//! What a manifest says: `lanescope tune`'s flags, whose keys they are.

use std::ffi::OsString;
use std::path::Path;

use clap::{Args, Parser};
use toml::{Table, Value};

use super::subject::{point, reference, subject};
use crate::cli::args::described::Described;
use crate::cli::args::tune::Tune;
use crate::error::{Error, nearest, suggestion};
use crate::model::{DeviceInfo, QueueChoice, Shown, path_text, system_name};
use crate::regular::{self, MANIFEST};
use crate::subject::{FixedKernel, KernelSpec, UserKernel};

/// The command line once more, for flags of which a manifest has a part.
#[derive(Parser)]
#[command(name = "lanescope tune", args_override_self = true)]
struct Whole {
    #[command(flatten)]
    tune: Tune,
}

/// Flags with what their manifest says; the command line's own win.
pub fn with_manifest(given: Tune, typed: impl Iterator<Item = OsString>) -> Result<Tune, Error> {
    check_repeats(&given)?;
    let Some(path) = &given.described.manifest else { return Ok(given) };
    let said = said(path, given.described.shader.is_none())?;
    parsed::<Whole>(path, "tune", &said, typed).map(|whole| whole.tune)
}

/// Flags of a command that takes a described shader, with what a manifest says of that: what it says of a search is left out, and axes of
/// several values with it. The command line's own flags win.
pub fn with_kernel<T: Parser>(path: &Path, has_shader: bool, typed: impl Iterator<Item = OsString>) -> Result<T, Error> {
    let all = said(path, !has_shader)?;
    parsed::<Whole>(path, "tune", &all, ["--manifest".into(), path.into()].into_iter())?;
    let known = Described::augment_args(clap::Command::new("described"));
    let is_known = |name: &str| name == "seed" || known.get_arguments().any(|argument| argument.get_long() == Some(name));
    let is_of_kernel = |flag: &&String| match flag.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
        None => true,
        Some(("axis", of)) => {
            of.split_once('=').is_some_and(|(_, values)| !values.contains([',', '[']) && !values.contains(".."))
        }
        Some((name, _)) => is_known(name),
    };
    let own: Vec<String> = all.iter().filter(is_of_kernel).cloned().collect();
    parsed::<T>(path, "", &own, typed)
}

/// How kernels are run, where the command line doesn't say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Circumstances {
    pub queue: QueueChoice,
    pub is_robust: bool,
}

/// The kernel of a manifest as it is, and how it is run: what that says of a search is left out. `seed` is that of what no file fills.
pub fn kernel_of(path: &Path, seed: u64) -> Result<(FixedKernel, Circumstances), Error> {
    let said = said(path, true)?;
    let tune = parsed::<Whole>(path, "tune", &said, ["--manifest".into(), path.into()].into_iter())?.tune;
    let usage = |error: Error| Error::Usage(format!("{}: {error}", path.shown()));
    let spec = KernelSpec { seed, ..subject(&tune).map_err(usage)? };
    // What names mean doesn't follow the device.
    let mut kernel = UserKernel::new(spec.clone(), DeviceInfo::mock());
    let files = tune.reference.as_ref().map(|text| reference(text, &mut kernel)).transpose().map_err(usage)?;
    let is_one =
        |axis: &&String| axis.split_once('=').is_some_and(|(_, values)| !values.contains([',', '[']) && !values.contains(".."));
    let axes: Vec<String> = tune.axis.iter().filter(is_one).cloned().collect();
    let point = point(&axes, &tune.described.constant, &mut kernel).map_err(usage)?;
    let kernel = FixedKernel { spec: KernelSpec { reference: files.unwrap_or_default(), ..spec }, point };
    Ok((kernel, Circumstances { queue: tune.measuring.queue, is_robust: tune.measuring.robust }))
}

/// What a manifest says, as flags.
fn said(path: &Path, wants_shader: bool) -> Result<Vec<String>, Error> {
    let usage = |words: String| Error::Usage(format!("{}: {words}", path.shown()));
    let text = regular::read_text(path, MANIFEST).map_err(|error| usage(error.to_string()))?;
    let table: Table = toml::from_str(&text).map_err(|error| usage(error.to_string()))?;
    check_keys(&table).map_err(usage)?;
    flags(&table, path.parent().unwrap_or(Path::new("")), wants_shader).map_err(usage)
}

fn check_keys(table: &Table) -> Result<(), String> {
    let known = Tune::augment_args(clap::Command::new("tune"));
    let known: Vec<&str> = known.get_arguments().filter_map(clap::Arg::get_long).chain(["shader"]).collect();
    let plain = |key: &String| key.replace('_', "-");
    match table.keys().map(plain).find(|key| !known.contains(&key.as_str())) {
        Some(key) => Err(format!("there is no key `{key}`{}", suggestion(&nearest(&key, known)))),
        None => Ok(()),
    }
}

fn parsed<T: Parser>(path: &Path, command: &str, said: &[String], typed: impl Iterator<Item = OsString>) -> Result<T, Error> {
    let all = std::iter::once(OsString::from(command)).chain(said.iter().map(|flag| system_name(flag))).chain(typed);
    T::try_parse_from(all).map_err(|error| Error::Usage(format!("{}: {}", path.shown(), said_by(&error))))
}

/// Of two lists of one axis's values the latter would count without a word. Of macros and members the last counts, as with compilers.
fn check_repeats(given: &Tune) -> Result<(), Error> {
    let parts = |text: &'_ str| text.split_once('=').map(|(name, values)| (name.trim().to_owned(), values.trim().to_owned()));
    let axes: Vec<(String, String)> = given.axis.iter().filter_map(|text| parts(text)).collect();
    for (i, (name, values)) in axes.iter().enumerate() {
        if let Some((_, earlier)) = axes[..i].iter().find(|(other, _)| other == name) {
            return Err(Error::Usage(format!(
                "--axis gives `{name}` twice: give all its values at once, as in {name}={earlier},{values}"
            )));
        }
    }
    Ok(())
}

fn said_by(error: &clap::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}

/// Keys whose values are paths that count from the manifest's folder.
const PATHS: [&str; 7] = ["shader", "include", "preamble", "output", "resume", "save-table", "t4"];
/// Keys of flags that come as `NAME=VALUES`, which a table may hold.
const NAMED: [&str; 12] = [
    "axis",
    "constant",
    "constant-bytes",
    "shared",
    "define",
    "buffer",
    "memory",
    "address",
    "image",
    "sampler",
    "push",
    "check",
];

/// A manifest as flags, paths as [`path_text`]. `wants_shader`: whether its shader counts.
fn flags(table: &Table, folder: &Path, wants_shader: bool) -> Result<Vec<String>, String> {
    let mut flags = Vec::new();
    for (key, value) in table {
        let place = |text: String| {
            // `-` is standard output.
            let is_path = PATHS.contains(&key.replace('_', "-").as_str()) && text != "-";
            if is_path { path_text(&folder.join(&text)) } else { text }
        };
        if key == "manifest" {
            return Err("a manifest can't name another one".to_owned());
        }
        if key == "shader" {
            let Value::String(shader) = value else { return Err("`shader` is a path".to_owned()) };
            if wants_shader {
                flags.push(place(shader.clone()));
            }
            continue;
        }
        let flag = format!("--{}", key.replace('_', "-"));
        for text in texts(key, value)? {
            match text {
                Some(text) => flags.push(format!("{flag}={}", in_folder(key, &place(text), folder))),
                None => flags.push(flag.clone()),
            }
        }
    }
    Ok(flags)
}

/// What a fill or a reference says of files counts from the manifest's folder as well.
fn in_folder(key: &str, text: &str, folder: &Path) -> String {
    let joined = |path: &str| path_text(&folder.join(path));
    match key {
        "buffer" | "memory" | "image" => match text.split_once(":file=") {
            Some((head, path)) => format!("{head}:file={}", joined(path)),
            None => text.to_owned(),
        },
        "reference" if regular::is_named(&folder.join(text)) => joined(text),
        "reference" => {
            let one = |pair: &str| match pair.split_once('=') {
                Some((name, path)) if regular::is_named(&folder.join(path.trim())) => format!("{name}={}", joined(path.trim())),
                _ => pair.to_owned(),
            };
            text.split(',').map(one).collect::<Vec<_>>().join(",")
        }
        _ => text.to_owned(),
    }
}

/// The values of a key: one for each time that its flag is to come, none of which is a value where the flag has none.
fn texts(key: &str, value: &Value) -> Result<Vec<Option<String>>, String> {
    let key = key.replace('_', "-");
    match value {
        Value::Boolean(true) => Ok(vec![None]),
        Value::Boolean(false) => Ok(Vec::new()),
        Value::Table(table) if NAMED.contains(&key.as_str()) => {
            table.iter().map(|(name, value)| Ok(Some(format!("{name}={}", joined(value)?)))).collect()
        }
        Value::Table(_) => Err(format!("`{key}` takes no table")),
        Value::Array(values)
            if NAMED.contains(&key.as_str()) || ["restrict", "include", "output", "ignore"].contains(&key.as_str()) =>
        {
            values.iter().map(|value| text(value).map(Some)).collect()
        }
        value => Ok(vec![Some(joined(value)?)]),
    }
}

fn joined(value: &Value) -> Result<String, String> {
    match value {
        Value::Array(values) => Ok(values.iter().map(text).collect::<Result<Vec<_>, _>>()?.join(",")),
        value => text(value),
    }
}

fn text(value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Integer(number) => Ok(number.to_string()),
        Value::Float(number) => Ok(number.to_string()),
        Value::Boolean(truth) => Ok(truth.to_string()),
        other => Err(format!("a {} is neither a text nor a number", other.type_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tuning::search::Budget;

    fn manifested(manifest: &str, typed: &[&str]) -> Result<Tune, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kernel.toml");
        std::fs::write(&path, manifest).unwrap();
        let typed: Vec<OsString> = ["--manifest", path.to_str().unwrap()].iter().chain(typed).map(OsString::from).collect();
        let first = Whole::try_parse_from(std::iter::once(OsString::from("tune")).chain(typed.clone())).unwrap().tune;
        let tune = with_manifest(first, typed.into_iter()).map_err(|error| error.to_string())?;
        assert!(tune.described.shader.as_ref().is_some_and(|shader| shader.parent().is_some()));
        Ok(tune)
    }

    #[test]
    fn every_flag_has_its_key_and_the_command_line_wins() {
        let manifest = "
            shader = \"a.comp\"
            n = 4096
            threads = [\"n / 4\", 1]
            restrict = [\"TILE > 1\", \"n > TILE\"]
            max-noise = \"2%\"
            budget = 200
            idempotent = true
            validation = false
            axis = { TILE = [8, 16], local_size_x = \"32..1024:*2\" }
            buffer = [\"data=float[n]:random\"]
            image = { picture = \"rgba8[n, 4]\", other = \":file=texels.bin\" }
            sampler = { picture = [\"nearest\", \"repeat\"] }
            [define]
            UNROLL = [1, 2]
        ";
        let tune = manifested(manifest, &["--n", "64", "--axis", "WIDTH=1"]).unwrap();
        assert_eq!((tune.described.n, tune.budget, tune.measuring.max_noise), (64, Some(Budget::Count(200)), Some(0.02)));
        assert_eq!(tune.described.threads.as_deref(), Some("n / 4,1"));
        assert_eq!(tune.restrict, ["TILE > 1", "n > TILE"]);
        assert_eq!(tune.axis, ["TILE=8,16", "local_size_x=32..1024:*2", "WIDTH=1"]);
        assert_eq!(
            (&tune.described.define[..], &tune.described.buffer[..]),
            (&["UNROLL=1,2".to_owned()][..], &["data=float[n]:random".to_owned()][..])
        );
        assert_eq!(
            (tune.described.image[1].as_str(), tune.described.sampler[0].as_str()),
            ("picture=rgba8[n, 4]", "picture=nearest,repeat")
        );
        let in_folder = Path::new(tune.described.image[0].strip_prefix("other=:file=").unwrap());
        assert!(in_folder.is_absolute() && in_folder.ends_with("texels.bin"), "{}", tune.described.image[0]);
        assert!(
            tune.idempotent
                && !tune.measuring.validation
                && tune.described.shader.is_some_and(|shader| shader.ends_with("a.comp"))
        );
    }

    #[test]
    fn what_is_no_flag_is_named() {
        for (manifest, part) in [
            ("shader = \"a.comp\"\ntile = 3", "there is no key `tile`"),
            ("shader = 3", "is a path"),
            ("shader = \"a\"\nn = { a = 1 }", "takes no table"),
            ("shader = \"a\"\nn = \"many\"", "2^20"),
            ("shader = ", "shader"),
            ("manifest = \"b\"", "another one"),
        ] {
            let error = manifested(manifest, &[]).unwrap_err();
            assert!(error.contains("kernel.toml") && error.contains(part), "{manifest}: {error}");
        }
    }
}
