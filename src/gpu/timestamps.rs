//! Timestamp queries: pools that grow, and the one right way to write a timestamp.

use std::sync::Arc;

use ash::vk;

use crate::units::Ticks;

use super::error::{Context, Error};
use super::logical::Logical;
use super::object::Owned;

/// Queries that a pool has at least: one or two hundred samples fit into a submission without a new pool.
const FEWEST_QUERIES: u32 = 512;

/// How a timestamp is written once all earlier work is done. Never at TOP_OF_PIPE: that latches while earlier work still runs.
pub(super) enum WriteTimestamp {
    /// vkCmdWriteTimestamp2 of Vulkan 1.3, at ALL_COMMANDS.
    Core,
    /// The same of VK_KHR_synchronization2.
    Extension(ash::khr::synchronization2::Device),
    /// vkCmdWriteTimestamp, at BOTTOM_OF_PIPE.
    First,
}

impl WriteTimestamp {
    /// `synchronization2` is the Vulkan version of a device where that feature is enabled.
    pub(super) fn new(instance: &ash::Instance, device: &ash::Device, synchronization2: Option<u32>) -> Self {
        match synchronization2 {
            Some(version) if version >= vk::API_VERSION_1_3 => Self::Core,
            Some(_) => Self::Extension(ash::khr::synchronization2::Device::new(instance, device)),
            None => Self::First,
        }
    }

    /// Records a timestamp.
    ///
    /// # Safety
    /// The buffer is recording on a queue family that has timestamps; the query exists and was reset.
    pub(super) unsafe fn record(&self, device: &ash::Device, buffer: vk::CommandBuffer, pool: vk::QueryPool, query: u32) {
        let all = vk::PipelineStageFlags2::ALL_COMMANDS;
        // SAFETY: the caller's promise; the newer functions are used only where the feature is enabled.
        unsafe {
            match self {
                Self::Core => device.cmd_write_timestamp2(buffer, all, pool, query),
                Self::Extension(functions) => functions.cmd_write_timestamp2(buffer, all, pool, query),
                Self::First => device.cmd_write_timestamp(buffer, vk::PipelineStageFlags::BOTTOM_OF_PIPE, pool, query),
            }
        }
    }
}

pub(super) struct QueryPool {
    pool: Owned<vk::QueryPool>,
    pub(super) capacity: u32,
    logical: Arc<Logical>,
}

impl QueryPool {
    /// A pool of at least so many queries.
    pub(super) fn new(logical: &Arc<Logical>, queries: u32) -> Result<Self, Error> {
        let capacity = queries.max(FEWEST_QUERIES);
        let info = vk::QueryPoolCreateInfo::default().query_type(vk::QueryType::TIMESTAMP).query_count(capacity);
        // SAFETY: the device lives, and the count isn't zero.
        let pool = unsafe { logical.raw.create_query_pool(&info, None) }
            .on("vkCreateQueryPool", || format!("{capacity} timestamp queries"))?;
        Ok(Self { pool: Owned::new(logical, pool, "timestamps"), capacity, logical: Arc::clone(logical) })
    }

    pub(super) fn raw(&self) -> vk::QueryPool {
        self.pool.raw()
    }

    /// The timestamps of the first `samples` pairs, which the device has written.
    pub(super) fn pairs(&self, samples: u32) -> Result<Vec<(Ticks, Ticks)>, Error> {
        let mut raw = vec![[0_u64; 2]; samples as usize];
        let flat = raw.as_flattened_mut();
        // Without WAIT: the fence has said that all is written, and a driver that disagrees must not block for ever.
        let flags = vk::QueryResultFlags::TYPE_64;
        // SAFETY: the pool has these queries, all were written by a submission that has ended, and `flat` has room for each.
        unsafe { self.logical.raw.get_query_pool_results(self.raw(), 0, flat, flags) }
            .on("vkGetQueryPoolResults", || format!("{samples} pairs of timestamps"))?;
        Ok(raw.into_iter().map(|[start, end]| (Ticks(start), Ticks(end))).collect())
    }
}
