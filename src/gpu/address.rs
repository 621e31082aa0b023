//! Where buffers begin for the device.

use ash::vk;

/// Tells the addresses of buffers, on a device on which that is enabled: by a function of Vulkan 1.2, or on a device of an earlier version
/// by this one of `VK_KHR_buffer_device_address`.
pub(super) struct AddressOf(Option<ash::khr::buffer_device_address::Device>);

impl AddressOf {
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device, version: u32) -> Self {
        Self((version < vk::API_VERSION_1_2).then(|| ash::khr::buffer_device_address::Device::new(instance, device)))
    }

    /// The address of a buffer.
    ///
    /// # Safety
    /// The buffer lives, was made to be reached by its address, and is bound to memory that was allocated for that.
    pub(super) unsafe fn buffer(&self, device: &ash::Device, buffer: vk::Buffer) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(buffer);
        // SAFETY: the feature is enabled, or there would be no such object; the caller answers for the buffer.
        unsafe {
            match &self.0 {
                None => device.get_buffer_device_address(&info),
                Some(functions) => functions.get_buffer_device_address(&info),
            }
        }
    }
}
