//! Vulkan objects that free themselves.

use std::sync::Arc;

use ash::vk;

use super::logical::Logical;

pub(super) trait Destroy: vk::Handle + Copy {
    /// Destroys the object.
    ///
    /// # Safety
    /// It was made by this device, nothing on the device uses it any more, and it isn't destroyed twice.
    unsafe fn destroy(self, device: &ash::Device);
}

macro_rules! destroy {
    ($($handle:ty: $function:ident),* $(,)?) => {
        $(impl Destroy for $handle {
            unsafe fn destroy(self, device: &ash::Device) {
                // SAFETY: what the caller promises is what the call asks for.
                unsafe { device.$function(self, None) }
            }
        })*
    };
}

destroy! {
    vk::Buffer: destroy_buffer,
    vk::BufferView: destroy_buffer_view,
    vk::CommandPool: destroy_command_pool,
    vk::DescriptorPool: destroy_descriptor_pool,
    vk::DescriptorSetLayout: destroy_descriptor_set_layout,
    vk::DeviceMemory: free_memory,
    vk::Event: destroy_event,
    vk::Fence: destroy_fence,
    vk::Image: destroy_image,
    vk::ImageView: destroy_image_view,
    vk::Pipeline: destroy_pipeline,
    vk::PipelineLayout: destroy_pipeline_layout,
    vk::QueryPool: destroy_query_pool,
    vk::Sampler: destroy_sampler,
    vk::Semaphore: destroy_semaphore,
    vk::ShaderModule: destroy_shader_module,
}

/// An object with its device. Every submission is waited for before control returns to whoever owns objects, so an object that
/// is dropped is idle; the exception, a device that hangs, leaks its objects instead (see [`Logical::hang`]).
pub(super) struct Owned<H: Destroy> {
    handle: H,
    logical: Arc<Logical>,
}

impl<H: Destroy> Owned<H> {
    /// Takes an object over and names it for captures and validation messages.
    pub(super) fn new(logical: &Arc<Logical>, handle: H, name: &str) -> Self {
        logical.name(handle, name);
        Self { handle, logical: Arc::clone(logical) }
    }

    /// The handle, valid as long as this object.
    pub(super) fn raw(&self) -> H {
        self.handle
    }
}

impl<H: Destroy> Drop for Owned<H> {
    fn drop(&mut self) {
        if self.logical.may_destroy() {
            // SAFETY: made by this device, which lives by the Arc; idle, as said above; owned here alone.
            unsafe { self.handle.destroy(&self.logical.raw) };
        }
    }
}
