//! How the work that a case counts shows in its kernels' code.

use super::Case;

/// What an invocation moves, by where it lies: of a kernel's code in bytes or loads, and of a count how many times each of them counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes read from buffers.
    pub read: u64,
    /// Bytes written to buffers.
    pub written: u64,
    /// Bytes read from workgroup memory.
    pub shared_read: u64,
    /// Bytes written there.
    pub shared_written: u64,
    /// Bytes read from uniform buffers, push constants and arrays of the kernel's own, by an index that varies.
    pub indexed: u64,
    /// Loads from buffers of which each waits for the one before it, whose value its address comes from.
    pub dependent: u64,
    /// Texels, of whatever size: those of buffers, of images, and what a sampler makes of several.
    pub texels: u64,
}

impl Moved {
    /// Nothing.
    pub const NONE: Self = Self { read: 0, written: 0, shared_read: 0, shared_written: 0, indexed: 0, dependent: 0, texels: 0 };
    /// Bytes read from buffers, once each.
    pub const READ: Self = Self { read: 1, ..Self::NONE };
    /// Bytes read from and written to buffers, once each.
    pub const READ_AND_WRITTEN: Self = Self { written: 1, ..Self::READ };
    /// Bytes read from workgroup memory, once each.
    pub const SHARED_READ: Self = Self { shared_read: 1, ..Self::NONE };

    /// The sum of all, each times `weights`.
    pub fn weighted(self, weights: Self) -> u64 {
        self.read * weights.read
            + self.written * weights.written
            + self.shared_read * weights.shared_read
            + self.shared_written * weights.shared_written
            + self.indexed * weights.indexed
            + self.dependent * weights.dependent
            + self.texels * weights.texels
    }
}

/// How what a case counts shows in one of its kernels, after an optimizer that knows all its constants: what `invocations` of them
/// move, all loops and [`counted`](Self::counted) taken into account, is `total`.
///
/// Nothing that is measured depends on it: tests hold the counts of cases against their kernels' code with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    /// Which of the case's kernels it is.
    pub kernel: usize,
    /// What of what an invocation moves counts, and how often.
    pub counted: Moved,
    /// What an invocation moves beside that and doesn't count: what it prepares before its loops and reads back behind them.
    pub uncounted: u64,
    /// The iterations of the loops that remain, outermost first; loops side by side have the same.
    pub loops: Vec<u64>,
    /// How many invocations do so.
    pub invocations: u64,
    /// What all of it comes to.
    pub total: u64,
}

impl Traffic {
    /// All that the invocations of the largest dispatch read from and write to buffers, without a loop, is the case's bytes; where it states
    /// none, its items.
    pub fn usual(case: &Case) -> Self {
        let product = |sizes: [u32; 3]| sizes.map(u64::from).iter().product::<u64>();
        let largest = case.largest_dispatch();
        Self {
            kernel: 0,
            counted: Moved::READ_AND_WRITTEN,
            uncounted: 0,
            loops: Vec::new(),
            invocations: largest.map_or(0, |(kernel, groups)| product(groups) * product(kernel.local_size)),
            total: case.work.bytes.or(case.work.items).unwrap_or(0),
        }
    }
}
