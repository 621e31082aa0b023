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

/// Where systems keep the files of their drivers.
const DRIVER_FOLDERS: [&str; 4] =
    ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d", "/usr/local/share/vulkan/icd.d", "/usr/local/etc/vulkan/icd.d"];

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

/// The variables by which a program's loader takes the layer, whose file is put into `folder`. Nothing is installed.
pub fn environment(library: &Path, folder: &Path) -> anyhow::Result<Vec<(&'static str, Option<OsString>)>> {
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
    let before = |name: &str, own: &Path| -> OsString {
        let others = env::var_os(name).unwrap_or_default();
        let all = [own.to_owned()].into_iter().chain(env::split_paths(&others).filter(|path| !path.as_os_str().is_empty()));
        env::join_paths(all).unwrap_or_else(|_| own.into())
    };
    // Where the one is set, the loader doesn't look at the other.
    let path = if env::var_os("VK_LAYER_PATH").is_some() { "VK_LAYER_PATH" } else { "VK_ADD_LAYER_PATH" };
    // Layers are listed as folders are.
    let mut all =
        vec![(path, Some(before(path, folder))), ("VK_INSTANCE_LAYERS", Some(before("VK_INSTANCE_LAYERS", Path::new(NAME))))];
    all.extend(drivers());
    Ok(all)
}

/// Some engines load the driver of `VK_DRIVER_FILES` themselves, without a loader and its layers: where the loader finds that file by
/// itself, it is told its name instead.
fn drivers() -> Vec<(&'static str, Option<OsString>)> {
    let set = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"]
        .into_iter()
        .find_map(|name| env::var_os(name).filter(|value| !value.is_empty()));
    let Some(files) = set.filter(|_| env::var_os("VK_LOADER_DRIVERS_SELECT").is_none()) else { return Vec::new() };
    let is_the_systems =
        |file: &PathBuf| file.parent().is_some_and(|folder| DRIVER_FOLDERS.iter().any(|own| folder == Path::new(own)));
    let files: Vec<PathBuf> = env::split_paths(&files).collect();
    if !files.iter().all(is_the_systems) {
        return Vec::new();
    }
    let names: Vec<String> =
        files.iter().filter_map(|file| file.file_name()).map(|name| name.to_string_lossy().into_owned()).collect();
    let names = names.join(",").into();
    vec![("VK_DRIVER_FILES", None), ("VK_ICD_FILENAMES", None), ("VK_LOADER_DRIVERS_SELECT", Some(names))]
}
