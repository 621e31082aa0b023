//! Buffers that copies read though no dispatch binds them. The application may destroy them once a command buffer is recorded; they stay
//! until that can't run any more.

use std::collections::HashMap;
use std::hash::Hash;

use ash::vk;

#[derive(Debug, Default)]
pub(crate) struct Pins {
    buffers: Kept<vk::Buffer>,
    memories: Kept<vk::DeviceMemory>,
}

/// A buffer, and what it lies in.
pub(crate) type Pinned = (vk::Buffer, vk::DeviceMemory);

/// Of each object, how many copies read it, and whether the application is through with it.
#[derive(Debug)]
struct Kept<T>(HashMap<T, (u32, bool)>);

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Copy + Eq + Hash> Kept<T> {
    fn add(&mut self, object: T) {
        self.0.entry(object).or_default().0 += 1;
    }

    fn gone(&mut self, object: T) -> bool {
        self.0.get_mut(&object).map(|(_, is_gone)| *is_gone = true).is_some()
    }

    fn release(&mut self, object: T) -> Option<T> {
        let (count, is_gone) = self.0.get_mut(&object)?;
        *count -= 1;
        let is_to_go = (*count == 0).then_some(*is_gone)?;
        self.0.remove(&object);
        is_to_go.then_some(object)
    }
}

impl Pins {
    pub(crate) fn add(&mut self, (buffer, memory): Pinned) {
        self.buffers.add(buffer);
        self.memories.add(memory);
    }

    /// Whether a buffer that the application destroys is to stay.
    pub(crate) fn keeps_buffer(&mut self, buffer: vk::Buffer) -> bool {
        self.buffers.gone(buffer)
    }

    /// Whether memory that the application frees is to stay.
    pub(crate) fn keeps_memory(&mut self, memory: vk::DeviceMemory) -> bool {
        self.memories.gone(memory)
    }

    /// What nothing keeps any longer.
    pub(crate) fn release(&mut self, pinned: &[Pinned]) -> (Vec<vk::Buffer>, Vec<vk::DeviceMemory>) {
        let buffers = pinned.iter().filter_map(|(buffer, _)| self.buffers.release(*buffer)).collect();
        (buffers, pinned.iter().filter_map(|(_, memory)| self.memories.release(*memory)).collect())
    }
}

#[cfg(test)]
mod tests {
    use ash::vk::Handle;

    use super::*;

    #[test]
    fn what_is_destroyed_goes_with_the_last_that_reads_it() {
        let [one, other] = [1, 2].map(vk::Buffer::from_raw);
        let memory = vk::DeviceMemory::from_raw(3);
        let mut pins = Pins::default();
        [(one, memory), (other, memory), (one, memory)].into_iter().for_each(|pinned| pins.add(pinned));
        assert!(pins.keeps_buffer(one) && pins.keeps_memory(memory) && !pins.keeps_buffer(vk::Buffer::from_raw(4)));
        assert_eq!(pins.release(&[(one, memory), (other, memory)]), (vec![], vec![]));
        assert!(!pins.keeps_buffer(other), "nobody reads it, and nobody destroyed it");
        assert_eq!(pins.release(&[(one, memory)]), (vec![one], vec![memory]));
    }
}
