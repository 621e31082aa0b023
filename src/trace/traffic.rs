//! How many bytes a dispatch has memory move.
//!
//! Loads: the blocks in which memory is fetched, each once for a workgroup, whichever of its instructions touch it: the caches near it keep
//! them meanwhile. Stores go on to memory request by request, and a store of part of a sector may cost more than the sector.

use super::hardware::Hardware;
use super::request::{blocks, partial, touched};
use super::requests::Request;
use crate::shader::{AccessKind, Site, Space, Target, Traced};

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
    pub(super) fn add(&mut self, request: &Request, group: u32, site: &Site, traced: &Traced, hardware: &Hardware) {
        if matches!(site.target, Target::Nothing | Target::Unfollowed(_)) {
            return;
        }
        let mut all: Vec<(u32, u32, u64)> = request
            .lanes
            .iter()
            .filter_map(|(_, record)| {
                let root = record.root.map_or(u32::MAX, |root| u32::try_from(root).unwrap_or(u32::MAX));
                Some((root, record.element, record.offset?))
            })
            .collect();
        all.sort_unstable();
        for of_memory in all.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1)) {
            let (root, element, _) = of_memory[0];
            let space = traced.roots.get(root as usize).map(|root| root.space);
            if matches!(space, Some(Space::Shared | Space::PushConstants)) {
                continue;
            }
            let offsets: Vec<u64> = of_memory.iter().map(|(_, _, offset)| *offset).collect();
            let bytes = touched(&offsets, site.target.runs());
            if site.kind == AccessKind::Load {
                let size = hardware.fetch_bytes;
                // Elements of an array of descriptors are memory of their own; offsets don't get that far.
                let of_block = |block: u64| (group, root, (u64::from(element) << 40) ^ block);
                self.open.extend(bytes.iter().flat_map(|bytes| bytes.start / size..=(bytes.end - 1) / size).map(of_block));
            } else {
                let size = hardware.sector_bytes;
                self.stored_sectors += blocks(&bytes, size) + partial(&bytes, size) * (hardware.partial_store_sectors - 1);
            }
        }
        if self.open.len() > self.compact_at.max(MANY) {
            self.open.sort_unstable();
            self.open.dedup();
            self.compact_at = 2 * self.open.len();
        }
    }

    /// Counts the blocks of all workgroups so far, which have no more.
    pub fn close(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.sort_unstable();
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
