//! Drivers with faults, for the commands that tests start: the layer of `tests/fault_layer`, which says what there is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use tempfile::TempDir;

use super::built::built;

const LAYER: &str = "VK_LAYER_LANESCOPE_fault";

/// Never ends, on whatever device: the atomic keeps compilers from proving anything. It needs no resources.
const ENDLESS: &str = "#version 450
    layout(local_size_x = 1) in;
    shared uint never;
    void main() { never = 0; do {} while (atomicOr(never, 0u) == 0u); }";

pub struct Faults {
    /// The layer's manifest, and what else the layer is told of by files.
    folder: TempDir,
    faults: Option<String>,
    is_once: bool,
}

impl Faults {
    /// Faults in the layer's own words.
    pub fn new(faults: &str) -> Self {
        Self { faults: Some(faults.to_owned()), ..Self::none() }
    }

    /// The layer alone.
    pub fn none() -> Self {
        let folder = TempDir::new().unwrap();
        let manifest = serde_json::json!({
            "file_format_version": "1.1.0",
            "layer": {
                "name": LAYER,
                "type": "GLOBAL",
                "library_path": *LIBRARY,
                "api_version": "1.3.239",
                "implementation_version": "1",
                "description": "Plays drivers' faults",
            },
        });
        fs::write(folder.path().join("fault_layer.json"), manifest.to_string()).unwrap();
        Self { folder, faults: None, is_once: false }
    }

    /// The first of them comes once, in whichever of the commands meets it first.
    pub fn once(mut self) -> Self {
        self.is_once = true;
        self
    }

    pub fn text(&self) -> &str {
        self.faults.as_deref().unwrap_or_default()
    }

    /// Whether the first of those that come once has come.
    pub fn has_come(&self) -> bool {
        self.once_path().exists()
    }

    /// Where the layer's manifest is.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Lets a command meet them.
    pub fn meet<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        command.env("VK_LAYER_PATH", self.folder.path()).env("VK_INSTANCE_LAYERS", LAYER);
        if let Some(faults) = &self.faults {
            command.env("LANESCOPE_FAULT", faults);
        }
        if self.text().contains("spin") {
            command.env("LANESCOPE_FAULT_SPIRV", self.endless_shader());
        }
        if self.is_once {
            command.env("LANESCOPE_FAULT_ONCE", self.once_path());
        }
        command
    }

    fn once_path(&self) -> PathBuf {
        self.folder.path().join("once")
    }

    fn endless_shader(&self) -> PathBuf {
        let path = self.folder.path().join("endless.spv");
        let compiler = shaderc::Compiler::new().unwrap();
        let kind = shaderc::ShaderKind::Compute;
        let shader = compiler.compile_into_spirv(ENDLESS, kind, "endless.comp", "main", None).unwrap();
        fs::write(&path, shader.as_binary_u8()).unwrap();
        path
    }
}

static LIBRARY: LazyLock<PathBuf> = LazyLock::new(|| built(&["--example", "fault_layer"], "fault_layer"));
