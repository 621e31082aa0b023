//! Which libraries of Vulkan this process has mapped. Nothing else tells which layers are active and which driver was loaded: what
//! manifests name may not be there, and what isn't named may be put in between.

use std::path::Path;

use libloading::Library;

use super::drivers::Named;
use super::manifests;
use crate::model::{DriverFile, FilePath, LayerFile, LoadedFiles, Shown};
use crate::platform::{self, MappedLibrary};

/// How the loader's library is called: on Unix, on macOS, on Windows.
const LOADERS: [&str; 3] = ["libvulkan.so", "libvulkan.1", "vulkan-1.dll"];

/// What only drivers export.
const OF_DRIVERS: [&[u8]; 2] = [b"vk_icdGetInstanceProcAddr\0", b"vk_icdNegotiateLoaderICDInterfaceVersion\0"];
/// What layers export: newer ones the first, older ones the second, as drivers and the loader do.
const OF_LAYERS: [&[u8]; 2] = [b"vkNegotiateLoaderLayerInterfaceVersion\0", b"vkGetInstanceProcAddr\0"];

/// A library that is loaded in this process.
struct Open {
    mapped: MappedLibrary,
    library: Library,
}

impl Open {
    /// Nothing where it isn't loaded yet: it isn't loaded now, either.
    fn find(mapped: MappedLibrary) -> Option<Self> {
        already_loaded(&mapped.path).map(|library| Self { mapped, library })
    }

    /// Whether the library has one of these functions itself: what it depends on may have them as well.
    fn exports(&self, names: &[&[u8]]) -> bool {
        addresses(&self.library, names).any(|address| self.mapped.addresses.contains(&address))
    }

    /// Whether it is what a manifest names so. The system says so, which finds names and follows links.
    fn is_named(&self, name: &Path) -> bool {
        let all = [OF_DRIVERS, OF_LAYERS].concat();
        already_loaded(name)
            .is_some_and(|library| addresses(&library, &all).any(|address| self.mapped.addresses.contains(&address)))
    }

    fn path(&self) -> FilePath {
        self.mapped.path.clone().into()
    }

    fn is_loader(&self) -> bool {
        self.mapped.path.file_name().is_some_and(|name| LOADERS.iter().any(|loader| name.to_string_lossy().starts_with(loader)))
    }

    fn is_driver(&self) -> bool {
        self.exports(&OF_DRIVERS)
    }

    fn is_layer(&self) -> bool {
        !self.is_loader() && !self.is_driver() && self.exports(&OF_LAYERS)
    }
}

#[cfg(unix)]
fn already_loaded(path: &Path) -> Option<Library> {
    use libloading::os::unix;
    // SAFETY: it is loaded only if it is already, so that none of its constructors runs.
    unsafe { unix::Library::open(Some(path), libc::RTLD_LAZY | libc::RTLD_NOLOAD) }.ok().map(Library::from)
}

#[cfg(windows)]
fn already_loaded(path: &Path) -> Option<Library> {
    libloading::os::windows::Library::open_already_loaded(path).ok().map(Library::from)
}

/// What is loaded here of the Vulkan loader, of drivers and of layers, and which drivers aren't though manifests name them. Those are
/// loaded to find out why not: ask in a process of its own, while an instance lives.
pub fn loaded_files() -> LoadedFiles {
    let mapped: Vec<Open> = platform::mapped_libraries().into_iter().filter_map(Open::find).collect();
    let mut drivers: Vec<DriverFile> =
        manifests::driver_manifests().iter().filter_map(|manifest| named(manifest, &mapped)).collect();
    // Where a registry names drivers, those are all that is known. Elsewhere what belongs to a driver may look like one.
    if drivers.is_empty() {
        let of = |open: &Open| DriverFile { library: Some(open.path()), ..DriverFile::default() };
        drivers = mapped.iter().filter(|open| open.is_driver()).map(of).collect();
    }
    let layers = manifests::layers();
    LoadedFiles {
        loader: mapped.iter().find(|open| open.is_loader()).map(Open::path),
        drivers,
        layers: mapped.iter().filter(|open| open.is_layer()).map(|open| layer(open, &layers)).collect(),
    }
}

/// Nothing for one that is for programs of another kind of processor: nobody here misses it.
fn named(manifest: &Path, mapped: &[Open]) -> Option<DriverFile> {
    let named = Named::by(manifest);
    if named.is_foreign {
        return None;
    }
    let library = named.library.as_ref().ok().and_then(|library| mapped.iter().find(|open| open.is_named(library)));
    let library = library.map(Open::path);
    let fault = if library.is_some() { None } else { named.fault() };
    let fault = fault.map(|words| without_folder(&words, named.library.as_deref().ok()));
    Some(DriverFile { manifest: Some(manifest.into()), library, fault })
}

/// Words in which a library stands without its folder, which may be a user's.
fn without_folder(words: &str, library: Option<&Path>) -> String {
    let Some((path, name)) = library.and_then(|library| Some((library, library.file_name()?.to_string_lossy().into_owned())))
    else {
        return words.to_owned();
    };
    words.replace(&path.shown(), &name).replace(&*path.to_string_lossy(), &name)
}

/// A layer as the manifest calls it that names its library.
fn layer(open: &Open, named: &[LayerFile]) -> LayerFile {
    let name = named.iter().find(|layer| open.is_named(&layer.library)).map(|layer| layer.name.clone());
    let of_file = || open.mapped.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    LayerFile { name: name.unwrap_or_else(of_file), library: open.path() }
}

fn addresses(library: &Library, names: &[&[u8]]) -> impl Iterator<Item = usize> {
    // SAFETY: what is found is neither called nor read: only where it lies is asked for.
    names.iter().filter_map(|name| unsafe { library.get::<*const ()>(name) }.ok().map(|symbol| *symbol as usize))
}
