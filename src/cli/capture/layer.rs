//! The layer's library: where it is, and how the loader is told of it.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::model::Shown;
use crate::platform;

const NAME: &str = "VK_LAYER_LANESCOPE_capture";

/// Names the library where it is elsewhere.
const VARIABLE: &str = "LANESCOPE_LAYER";

/// The layer's library, as an absolute path.
///
/// # Errors
/// Where it was looked for.
pub fn library() -> anyhow::Result<PathBuf> {
    if let Some(path) = env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
        let path = PathBuf::from(path);
        return fs::canonicalize(&path)
            .map_err(|error| Error::Usage(format!("{VARIABLE} names {}: {error}", path.shown())).into());
    }
    let file = format!("{}lanescope_layer{}", env::consts::DLL_PREFIX, env::consts::DLL_SUFFIX);
    let program = fs::canonicalize(platform::this_program()?)?;
    let folder = program.parent().unwrap_or(Path::new("."));
    let places = [folder.join(&file), folder.join("../lib").join(&file), folder.join("../lib/lanescope").join(&file)];
    if let Some(found) = places.iter().find_map(|place| fs::canonicalize(place).ok()) {
        return Ok(found);
    }
    let places: Vec<String> = places.iter().map(|place| place.shown().to_string()).collect();
    let words = format!(
        "the layer that captures isn't installed: there is no {}. Build it with `cargo build --release -p lanescope-layer`, or name it: \
         {VARIABLE}=FILE",
        places.join(", and no ")
    );
    Err(Error::Usage(words).into())
}

/// Variables of a program's environment: what each is set to, or that it is unset.
pub type Variables = Vec<(&'static str, Option<OsString>)>;

/// The variables by which a program's loader takes the layer, whose file is put into `folder`. Nothing is installed.
pub fn environment(library: &Path, folder: &Path, loader: &str) -> anyhow::Result<Variables> {
    let manifest = serde_json::json!({
        "file_format_version": "1.2.0",
        "layer": {
            "name": NAME,
            "type": "GLOBAL",
            "library_path": library.to_string_lossy(),
            "api_version": "1.4.0",
            "implementation_version": "1",
            "description": "Times an application's dispatches for lanescope capture",
        },
    });
    File::create_new(folder.join("lanescope_layer.json"))?.write_all(manifest.to_string().as_bytes())?;
    // Layers are listed as folders are.
    let mut all = vec![("VK_INSTANCE_LAYERS", Some(before("VK_INSTANCE_LAYERS", Path::new(NAME), Vec::new())))];
    let is_new = is_new(loader);
    // Where the one is set, the loader doesn't look at the other; older loaders look at the first one alone.
    if env::var_os("VK_LAYER_PATH").is_some_and(|path| !path.is_empty()) {
        all.push(("VK_LAYER_PATH", Some(before("VK_LAYER_PATH", folder, Vec::new()))));
    } else if is_new {
        all.push(("VK_ADD_LAYER_PATH", Some(before("VK_ADD_LAYER_PATH", folder, Vec::new()))));
    } else {
        all.push(("VK_LAYER_PATH", Some(before("VK_LAYER_PATH", folder, loader_folders("explicit_layer.d")))));
    }
    if is_new {
        all.extend(drivers());
    }
    Ok(all)
}

/// A list of folders with our own before those that the variable has, and others behind them.
fn before(name: &str, own: &Path, others: Vec<PathBuf>) -> OsString {
    let known = env::var_os(name).unwrap_or_default();
    let known = env::split_paths(&known).filter(|path| !path.as_os_str().is_empty());
    env::join_paths([own.to_owned()].into_iter().chain(known).chain(others)).unwrap_or_else(|_| own.into())
}

/// Whether a loader of this version knows VK_ADD_LAYER_PATH and VK_LOADER_DRIVERS_SELECT; 1.3.234 was the first to know both.
fn is_new(loader: &str) -> bool {
    let version: Vec<u32> = loader.split('.').filter_map(|part| part.parse().ok()).collect();
    // Of a loader that can't be asked, nothing is known.
    version.len() < 3 || version >= vec![1, 3, 234]
}

/// Where the loader looks for files of a kind, by their folder's name, unless a variable says otherwise.
fn loader_folders(kind: &str) -> Vec<PathBuf> {
    let home = |folder: &str| env::var_os("HOME").map(|home| PathBuf::from(home).join(folder)).into_iter().collect();
    let listed = |name: &str, otherwise: Vec<PathBuf>| match env::var_os(name).filter(|value| !value.is_empty()) {
        Some(value) => env::split_paths(&value).collect(),
        None => otherwise,
    };
    let all = [
        listed("XDG_CONFIG_HOME", home(".config")),
        listed("XDG_CONFIG_DIRS", vec!["/etc/xdg".into()]),
        vec!["/etc".into(), "/usr/local/etc".into()],
        listed("XDG_DATA_HOME", home(".local/share")),
        listed("XDG_DATA_DIRS", vec!["/usr/local/share".into(), "/usr/share".into()]),
    ];
    all.into_iter().flatten().map(|folder| folder.join("vulkan").join(kind)).collect()
}

/// Some engines load the driver of `VK_DRIVER_FILES` themselves, without a loader and its layers: where the loader finds that file by
/// itself, it is told its name instead.
fn drivers() -> Variables {
    let set = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .into_iter()
        .find_map(|name| env::var_os(name).filter(|value| !value.is_empty()));
    let Some(files) = set.filter(|_| env::var_os("VK_LOADER_DRIVERS_SELECT").is_none()) else { return Vec::new() };
    let folders = loader_folders("icd.d");
    // By its name the loader takes every file that is called so.
    let called_so = |file: &PathBuf| {
        let name = file.file_name().unwrap_or_default();
        folders.iter().map(|own| own.join(name)).filter(|own| own.exists()).collect::<Vec<_>>()
    };
    let is_the_systems = |file: &PathBuf| called_so(file) == [file.clone()];
    let files: Vec<PathBuf> = env::split_paths(&files).collect();
    if !files.iter().all(is_the_systems) {
        return Vec::new();
    }
    let names: Vec<String> =
        files.iter().filter_map(|file| file.file_name()).map(|name| name.to_string_lossy().into_owned()).collect();
    let names = names.join(",").into();
    vec![("VK_DRIVER_FILES", None), ("VK_ICD_FILENAMES", None), ("VK_LOADER_DRIVERS_SELECT", Some(names))]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_loaders_are_told_where_all_layers_are() {
        assert_eq!(["1.3.239", "1.4.300", "1.3.234", ""].map(is_new), [true; 4]);
        assert_eq!(["1.3.204", "1.2.162", "1.3.233"].map(is_new), [false; 3]);
        let folder = tempfile::tempdir().unwrap();
        let told = environment(Path::new("/of/layer.so"), folder.path(), "1.2.162").unwrap();
        let path = told.iter().find(|(name, _)| *name == "VK_LAYER_PATH").and_then(|(_, value)| value.clone()).unwrap();
        let all: Vec<PathBuf> = env::split_paths(&path).collect();
        assert!(all[0] == folder.path() && (cfg!(windows) || all.contains(&"/etc/vulkan/explicit_layer.d".into())), "{all:?}");
    }
}
