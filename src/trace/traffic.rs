//! How many bytes a dispatch has memory move.
//!
//! Loads: the blocks in which memory is fetched, each once for a workgroup, whichever of its instructions touch it: the caches near it keep
//! them meanwhile. Stores go on to memory request by request, and a store of part of a sector may cost more than the sector.

use rayon::prelude::*;

use super::hardware::Hardware;
use super::request::{Bytes, blocks, partial};
use crate::shader::AccessKind;

/// Blocks that are noted before those that come twice are taken out.
const MANY: usize = 1 << 20;

#[derive(Default)]
pub struct Traffic {
    /// Blocks of workgroups that may have more: the workgroup, the variable, the block in it.
    open: Vec<(u32, u32, u64)>,
    compact_at: usize,
    fetched_blocks: u64,
    stored_sectors: u64,
}

impl Traffic {
    /// Adds what a request of a workgroup touches of one variable.
    pub(super) fn add(
        &mut self,
        (root, element): (usize, u32),
        touched: &[Bytes],
        group: u32,
        kind: AccessKind,
        hardware: &Hardware,
    ) {
        if kind == AccessKind::Load {
            let size = hardware.fetch_bytes;
            let root = u32::try_from(root).unwrap_or(u32::MAX);
            // Elements of an array of descriptors are memory of their own; offsets don't get that far.
            let of_block = |block: u64| (group, root, (u64::from(element) << 40) ^ block);
            self.open.extend(touched.iter().flat_map(|bytes| bytes.start / size..=(bytes.end - 1) / size).map(of_block));
        } else {
            let size = hardware.sector_bytes;
            self.stored_sectors += blocks(touched, size) + partial(touched, size) * (hardware.partial_store_sectors - 1);
        }
    }

    /// Takes out what comes twice, where there is much.
    pub(super) fn compact(&mut self) {
        if self.open.len() > self.compact_at.max(MANY) {
            self.open.par_sort_unstable();
            self.open.dedup();
            self.compact_at = 2 * self.open.len();
        }
    }

    /// Counts the blocks of all workgroups so far, which have no more.
    pub fn close(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.par_sort_unstable();
        open.dedup();
        self.fetched_blocks += open.len() as u64;
        self.compact_at = 0;
    }

    pub fn fetched_bytes(&self, hardware: &Hardware) -> u64 {
        self.fetched_blocks * hardware.fetch_bytes
    }

    pub fn stored_bytes(&self, hardware: &Hardware) -> u64 {
        self.stored_sectors * hardware.sector_bytes
    }
}
