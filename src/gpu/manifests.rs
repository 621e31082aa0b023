//! Manifests: the files that name drivers and layers to the loader, where it looks for them (see `LoaderDriverInterface.md` and
//! `LoaderLayerInterface.md` of the Vulkan loader). Elsewhere than on Unix they are in a registry, and none is found here.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use serde_json::Value;

use crate::model::LayerFile;
use crate::regular::{self, Kind};

/// Manifests have some hundred bytes; the loader reads them as well.
pub(super) const MANIFEST: Kind = Kind { what: "a manifest", largest: 1 << 20, may_stream: false };

/// Variables that name the drivers' manifests, in the order in which the loader looks at them.
const DRIVER_VARIABLES: [&str; 2] = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
/// What it looks at besides, unless one of these is set.
const MORE_DRIVERS: &str = "VK_ADD_DRIVER_FILES";

/// Folders of layers: what takes the place of the usual ones, what comes before them, and which they are.
const LAYERS: [(&str, &str, &str); 2] = [
    ("VK_LAYER_PATH", "VK_ADD_LAYER_PATH", "explicit_layer.d"),
    ("VK_IMPLICIT_LAYER_PATH", "VK_ADD_IMPLICIT_LAYER_PATH", "implicit_layer.d"),
];

/// The manifests of all drivers: those that a variable names, else those in the system's folders.
pub fn driver_manifests() -> Vec<PathBuf> {
    let files = named_drivers().map_or_else(|| [listed(MORE_DRIVERS), in_system_folders("icd.d")].concat(), |(_, files)| files);
    without_repeats(files)
}

/// The variable that names drivers, if one does, and the manifests that it names.
pub(super) fn named_drivers() -> Option<(&'static str, Vec<PathBuf>)> {
    let name = DRIVER_VARIABLES.into_iter().find(|name| value(name).is_some())?;
    Some((name, listed(name)))
}

/// The manifests of all layers, active or not.
pub(super) fn layer_manifests() -> Vec<PathBuf> {
    let of = |(instead, first, folder): (&str, &str, &str)| match value(instead) {
        Some(_) => listed(instead),
        None => [listed(first), in_system_folders(folder)].concat(),
    };
    without_repeats(LAYERS.into_iter().flat_map(of).collect())
}

/// All layers that manifests name, active or not, with their libraries as these name them.
pub(super) fn layers() -> Vec<LayerFile> {
    layer_manifests().iter().flat_map(|path| layers_of(path)).collect()
}

fn layers_of(manifest: &Path) -> Vec<LayerFile> {
    let Ok(text) = read(manifest) else { return Vec::new() };
    let one = text.get("layer").into_iter();
    let several = text.get("layers").and_then(Value::as_array).into_iter().flatten();
    let layer = |layer: &Value| {
        let library = library_path(manifest, layer["library_path"].as_str()?);
        Some(LayerFile { name: layer["name"].as_str()?.to_owned(), library: library.into() })
    };
    one.chain(several).filter_map(layer).collect()
}

/// A library as a manifest names it: a name alone is the system's to find, anything else is seen from the manifest's folder.
pub(super) fn library_path(manifest: &Path, library: &str) -> PathBuf {
    let is_name = !library.contains(['/', '\\']);
    if is_name { library.into() } else { manifest.parent().unwrap_or(Path::new("")).join(library) }
}

/// Errors: what keeps the file from being read, or `None` where it is no JSON.
pub(super) fn read(manifest: &Path) -> Result<Value, Option<std::io::Error>> {
    let bytes = regular::read(manifest, MANIFEST).map_err(Some)?;
    serde_json::from_slice(&bytes).map_err(|_| None)
}

fn value(name: &str) -> Option<std::ffi::OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}

/// The files that a variable lists, those in its folders included.
fn listed(name: &str) -> Vec<PathBuf> {
    let files = |path: PathBuf| if path.is_dir() { in_folder(&path) } else { vec![path] };
    value(name).iter().flat_map(env::split_paths).flat_map(files).collect()
}

fn in_system_folders(kind: &str) -> Vec<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from);
    let own = |name: &str, default: &str| -> Vec<PathBuf> {
        let default = || home.as_ref().map(|home| home.join(default));
        value(name).map(PathBuf::from).or_else(default).into_iter().collect()
    };
    let of = |name: &str, default: &str| -> Vec<PathBuf> {
        env::split_paths(&value(name).unwrap_or_else(|| default.into())).collect()
    };
    let folders = [
        own("XDG_CONFIG_HOME", ".config"),
        of("XDG_CONFIG_DIRS", "/etc/xdg"),
        vec!["/etc".into()],
        own("XDG_DATA_HOME", ".local/share"),
        of("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
    ];
    folders.concat().iter().flat_map(|folder| in_folder(&folder.join("vulkan").join(kind))).collect()
}

fn in_folder(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// Each once, whatever names it has.
fn without_repeats(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut seen = HashSet::new();
    files.retain(|file| seen.insert(file.canonicalize().unwrap_or_else(|_| file.clone())));
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_read_from_manifests_of_one_and_of_several() {
        let folder = tempfile::tempdir().unwrap();
        let told = |text: &str| {
            let path = folder.path().join("layer.json");
            fs::write(&path, text).unwrap();
            let in_folder = |layer: LayerFile| {
                let library = layer.library.strip_prefix(folder.path()).unwrap_or(&layer.library).to_owned();
                (layer.name, library)
            };
            layers_of(&path).into_iter().map(in_folder).collect::<Vec<_>>()
        };
        assert_eq!(told(r#"{"layer": {"name": "A", "library_path": "./a.so"}}"#), [("A".to_owned(), "a.so".into())]);
        let layers = serde_json::json!([
            {"name": "A", "library_path": "a.so"},
            {"name": "meta"},
            {"name": "B", "library_path": folder.path().join("b.so")},
        ]);
        let several = serde_json::json!({ "layers": layers }).to_string();
        assert_eq!(told(&several), [("A".to_owned(), "a.so".into()), ("B".to_owned(), "b.so".into())]);
        assert_eq!([told("words"), told("{}"), told("[]")], [const { Vec::new() }; 3]);
    }
}
