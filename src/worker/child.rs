//! A worker process as the supervisor sees it.

use std::io;
use std::process::Command;
use std::sync::Arc;

use super::Platform;
use super::protocol::{LONGEST_REPLY, Reply};
use crate::platform::this_program;
use crate::process::{Child, Listener};

pub(super) type Worker = Child<Reply>;

pub(super) fn start(platform: &Platform, listener: &Arc<dyn Listener>) -> io::Result<Worker> {
    Child::start(&mut command(platform)?, LONGEST_REPLY, listener)
}

fn command(platform: &Platform) -> io::Result<Command> {
    let mut command = Command::new(this_program()?);
    command.arg("worker");
    match platform {
        Platform::Mock(devices) => devices.iter().for_each(|options| {
            command.arg(format!("--mock={options}"));
        }),
        Platform::Vulkan { validation, driver } => {
            command.args(validation.then_some("--validation"));
            if let Some(driver) = driver {
                command.env("VK_DRIVER_FILES", driver).env("VK_ICD_FILENAMES", driver);
            }
        }
    }
    Ok(command)
}
