//! What failed, on what, and what to try.

use ash::vk;
use gpu_allocator::AllocationError;

use crate::model::{Failure, Status};
use crate::units::Bytes;

/// The call in which drivers compile.
pub(super) const CREATE_PIPELINES: &str = "vkCreateComputePipelines";

/// A failure of the Vulkan loader, of a driver, or of a case that Vulkan must not see.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    message: String,
    status: Status,
}

impl Error {
    pub(super) fn new(status: Status, message: impl Into<String>) -> Self {
        Self { message: message.into(), status }
    }

    pub(super) fn call(call: &'static str, object: &str, result: vk::Result) -> Self {
        let status = match result {
            vk::Result::ERROR_DEVICE_LOST => Status::DeviceLost,
            vk::Result::TIMEOUT => Status::Timeout,
            result if is_out_of_memory(result) => Status::OutOfMemory,
            // The driver's compiler refuses the shader.
            _ if call == CREATE_PIPELINES => Status::CompileError,
            _ => Status::Error,
        };
        Self::new(status, format!("{call} failed with VK_{result:?} on {object}: {}", advice(result)))
    }

    pub(super) fn allocation(object: &str, bytes: u64, error: &AllocationError) -> Self {
        let bytes = Bytes(bytes);
        match error {
            AllocationError::OutOfMemory => {
                let advice = advice(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
                Self::new(Status::OutOfMemory, format!("vkAllocateMemory failed on {object} ({bytes}): {advice}"))
            }
            other => Self::new(Status::Error, format!("no memory for {object} ({bytes}): {other}")),
        }
    }

    /// How a case ends that fails in this way.
    pub fn status(&self) -> Status {
        self.status
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::new(error.status, error.message)
    }
}

/// Gives a Vulkan result the call and the object that it belongs to.
pub(super) trait Context<T> {
    /// Names the call, and by a closure (run on failure only) the object.
    fn on(self, call: &'static str, object: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Context<T> for Result<T, vk::Result> {
    fn on(self, call: &'static str, object: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|result| Error::call(call, &object(), result))
    }
}

fn is_out_of_memory(result: vk::Result) -> bool {
    matches!(
        result,
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY
            | vk::Result::ERROR_OUT_OF_HOST_MEMORY
            | vk::Result::ERROR_OUT_OF_POOL_MEMORY
            | vk::Result::ERROR_FRAGMENTED_POOL
    )
}

fn advice(result: vk::Result) -> &'static str {
    match result {
        vk::Result::ERROR_DEVICE_LOST => {
            "the driver gave the device up (a fault, or its watchdog): look into the kernel's log, try a smaller case"
        }
        vk::Result::TIMEOUT => "the device didn't finish in time: try fewer iterations or a smaller case",
        vk::Result::ERROR_INCOMPATIBLE_DRIVER => {
            "no driver answers: install one (on Windows the GPU's; elsewhere mesa-vulkan-drivers has lavapipe as well), or set \
             VK_DRIVER_FILES to a driver's .json file"
        }
        vk::Result::ERROR_INITIALIZATION_FAILED => {
            "the driver can't start: check the permissions of /dev/dri or /dev/nvidia*, and that the driver's user and kernel \
             parts are of one version"
        }
        vk::Result::ERROR_LAYER_NOT_PRESENT => "install the layer (vulkan-validationlayers), or run without --validation",
        vk::Result::ERROR_EXTENSION_NOT_PRESENT | vk::Result::ERROR_FEATURE_NOT_PRESENT => {
            "the driver lists this extension or feature and then refuses it: try another version of the driver"
        }
        vk::Result::ERROR_TOO_MANY_OBJECTS => "the driver has run out of objects: run fewer cases at a time",
        result if is_out_of_memory(result) => "try smaller sizes, or end other programs that use the device's memory",
        _ => "run with --validation to see whether the call was right; if it was, the driver is at fault",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_names_call_code_object_and_advice() {
        let error = Error::call("vkQueueSubmit", "queue family 0", vk::Result::ERROR_DEVICE_LOST);
        assert_eq!(error.status(), Status::DeviceLost);
        let text = error.to_string();
        assert!(text.starts_with("vkQueueSubmit failed with VK_ERROR_DEVICE_LOST on queue family 0: the driver"), "{text}");
    }

    #[test]
    fn results_become_the_right_status() {
        let status = |result| Error::call("vkX", "y", result).status();
        assert_eq!(status(vk::Result::ERROR_OUT_OF_HOST_MEMORY), Status::OutOfMemory);
        assert_eq!(status(vk::Result::ERROR_OUT_OF_POOL_MEMORY), Status::OutOfMemory);
        assert_eq!(status(vk::Result::TIMEOUT), Status::Timeout);
        assert_eq!(status(vk::Result::ERROR_UNKNOWN), Status::Error);
        let pipeline = |result| Error::call(CREATE_PIPELINES, "y", result).status();
        assert_eq!(pipeline(vk::Result::ERROR_UNKNOWN), Status::CompileError);
        assert_eq!(pipeline(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY), Status::OutOfMemory);
    }
}
