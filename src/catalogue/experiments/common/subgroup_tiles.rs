//! How a workgroup's subgroups share a tile of a product on cooperative matrices: what `glsl/algo/coopmat_tiles.glsl` is told.

use super::components::Kind;
use super::products;
use crate::experiments::{Config, number, product, size_to_require, u32_of};
use crate::model::{Kernel, MatrixScope, Skip};

/// Bytes of a vector that kernels load.
pub const VECTOR_BYTES: u64 = 16;

/// Sums of a subgroup in a column, or in a row.
pub const TILES: &[u64] = &[1, 2, 3, 4, 6, 8];

#[derive(Clone, Copy, Debug)]
pub struct SubgroupTiles {
    kind: Kind,
    local_size: u32,
    shape: [u64; 3],
    tiles: [u64; 2],
    /// Subgroups in a column and in a row.
    subgroups: [u64; 2],
    /// How far a step goes along what is summed.
    pub tile_k: u64,
}

impl SubgroupTiles {
    /// The tiles that the axes `local_size_x`, `local_size_y`, `shape`, `tile_k`, `tiles_m` and `tiles_n` tell.
    ///
    /// `transposed` says which factors lie across what is summed, the left one and the right one.
    /// Skipped: what the device lacks, and what isn't whole: subgroups, matrices or vectors.
    pub fn new(config: &Config, kind: Kind, transposed: [bool; 2]) -> Result<Self, Skip> {
        let local_size = u32_of(product(["local_size_x", "local_size_y"].map(|axis| config.integer(axis))))?;
        let subgroup = config.device().subgroup.size.max(1);
        let (shape @ [m, n, k], tile_k) = (products::shape(config), config.integer("tile_k"));
        products::require_product(kind, shape, MatrixScope::Subgroup, local_size, config.device())?;
        if local_size % subgroup != 0 {
            return Err(Skip::new(format!("the case needs whole subgroups of {subgroup}, the workgroup has {local_size}")));
        }
        let vector = VECTOR_BYTES / kind.factor_bytes();
        if tile_k % k != 0 || tile_k % vector != 0 {
            return Err(Skip::new(format!(
                "tile_k is {tile_k}: the case needs whole matrices of {k}, and vectors of {vector}"
            )));
        }
        // Vectors of workgroup memory that matrices begin at: the left one's run along k, the right one's along columns.
        let [left, right] = transposed;
        for (is_across, side) in [(left, m), (!right, n)] {
            if is_across && side % vector != 0 {
                return Err(Skip::new(format!("a matrix of {side} lies across k: the case needs whole vectors of {vector}")));
            }
        }
        let all = u64::from(local_size / subgroup);
        let down = (1..=all.isqrt()).rev().find(|down| all % down == 0).unwrap_or(1);
        let tiles = ["tiles_m", "tiles_n"].map(|axis| config.integer(axis));
        let tiling = Self { kind, local_size, shape, tiles, subgroups: [down, all / down], tile_k };
        let tile = tiling.tile();
        if tile.iter().any(|side| side % vector != 0) {
            return Err(Skip::new(format!(
                "the workgroup's tile is {} x {}: the case needs whole vectors of {vector}",
                tile[0], tile[1]
            )));
        }
        Ok(tiling)
    }

    pub fn tile(&self) -> [u64; 2] {
        [0, 1].map(|side| product([self.subgroups[side], self.tiles[side], self.shape[side]]))
    }

    /// Iterations of one invocation's loops, where a sum goes over so many products.
    pub fn iterations(&self, inner: u64) -> u64 {
        let [m, n, _] = self.shape;
        inner.div_ceil(self.tile_k).saturating_add(product([self.tiles[0], self.tiles[1], m, n]))
    }

    /// The kernel of this source, told its types and its tiles.
    pub fn kernel(&self, source: &'static str, config: &Config) -> Kernel {
        let [m, n, k] = self.shape;
        let kernel = typed(Kernel::new(source, [self.local_size, 1, 1]), self.kind)
            .constant("TILE_K", number(self.tile_k))
            .constant("M", number(m))
            .constant("N", number(n))
            .constant("K", number(k))
            .constant("TILES_M", number(self.tiles[0]))
            .constant("TILES_N", number(self.tiles[1]))
            .constant("SUBGROUPS_M", number(self.subgroups[0]))
            .constant("SUBGROUPS_N", number(self.subgroups[1]));
        Kernel { required_subgroup_size: size_to_require(config.device(), self.local_size.into()), ..kernel }
    }
}

/// The kernel, told what its cooperative matrices are made of. It knows its sizes by constants: a compiler then sees that rows begin at
/// whole vectors.
pub fn typed(kernel: Kernel, kind: Kind) -> Kernel {
    kind.defines(kernel).define("CONSTANT_SIZES", "")
}
