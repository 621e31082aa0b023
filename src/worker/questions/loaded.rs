//! What this process has loaded of Vulkan: asked in a process of its own, since it tries drivers that the loader didn't take.

use serde::{Deserialize, Serialize};

use super::{Question, QuestionState};
use crate::gpu::loaded_files;
use crate::model::{Failure, LoadedFiles};
use crate::worker::host::Host;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindLoaded;

impl Question for FindLoaded {
    type Answer = LoadedFiles;

    fn answer(self, host: &Host, _: &mut QuestionState) -> Result<LoadedFiles, Failure> {
        Ok(match host {
            Host::Mock(_) => LoadedFiles::default(),
            Host::Vulkan(_) => loaded_files(),
        })
    }

    #[cfg(test)]
    fn example() -> (Self, LoadedFiles) {
        use crate::model::{DriverFile, LayerFile};
        let driver = DriverFile {
            manifest: Some("/a.json".into()),
            library: Some("/a.so".into()),
            fault: Some("it is no JSON".to_owned()),
        };
        let layer = LayerFile { name: "VK_LAYER_a".to_owned(), library: "/b.so".into() };
        (Self, LoadedFiles { loader: Some("/l.so".into()), drivers: vec![driver], layers: vec![layer] })
    }
}
