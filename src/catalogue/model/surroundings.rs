//! What surrounds measuring: the files of the loader, of drivers and of layers that are loaded, and who else works on a GPU.

use serde::{Deserialize, Serialize};

use super::{FilePath, real};

/// What was found by looking at the libraries that are mapped, and at the manifests that name others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadedFiles {
    /// The loader's library; `None` where the system doesn't tell which files are mapped.
    pub loader: Option<FilePath>,
    pub drivers: Vec<DriverFile>,
    pub layers: Vec<LayerFile>,
}

/// A driver by its files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriverFile {
    /// What names it to the loader; `None` where a registry does.
    pub manifest: Option<FilePath>,
    /// Its library, as it is mapped; `None` where it isn't.
    pub library: Option<FilePath>,
    /// Why the loader can't use what its manifest says. Files stand there without their folders.
    pub fault: Option<String>,
}

/// A layer that is active: its library is mapped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFile {
    /// Its name, such as `VK_LAYER_KHRONOS_validation`; that of its file where no manifest tells.
    pub name: String,
    pub library: FilePath,
}

/// A process that works on the same device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OtherProcess {
    /// The name of its program; empty where it can't be seen.
    pub name: String,
    /// The share of the device's time that it had lately.
    #[serde(with = "real")]
    pub share: f64,
}

/// The one of [`GpuState::slowdowns`] that holds back any card that works hard.
pub const POWER_LIMIT: &str = "power limit";

/// What the vendor's interface tells of a GPU under load, beside its clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GpuState {
    /// The highest core clock that it can have, in MHz.
    pub max_mhz: Option<f64>,
    /// Why its clock is lower than it might be, in words.
    pub slowdowns: Vec<String>,
    /// Other processes that worked on it lately, the busiest first; `None` where they can't be seen.
    pub others: Option<Vec<OtherProcess>>,
}
