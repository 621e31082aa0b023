//! Whose buffers are copied, as the layer is told it, and what it copied: src/layer/contents.rs describes both files.

use std::fmt::Write;
use std::sync::Arc;

use super::log::LoggedKernel;
use super::modules::values;
use super::profile::Kernel;
use crate::model::MemoryKind;
use crate::shader::{Access, BindingInfo, BlockInfo, BlockPlace, Module};

/// A kernel whose buffers are copied around one of its dispatches.
pub struct Wanted<'k> {
    pub kernel: &'k Kernel,
    /// Which of its dispatches, by the order in which they are recorded, from 0.
    pub call: u64,
    pub module: Arc<Module>,
    /// The share of the time of all kernels that it has in the application.
    pub share: Option<f64>,
}

/// One that the layer was told of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By its place among those that were wanted.
    pub wanted: usize,
    /// Nothing where the device read them, and nobody else.
    pub groups: Option<[u32; 3]>,
    pub base: [u32; 3],
    pub push: Vec<u8>,
    /// Whether its queue does no graphics: some devices run a kernel otherwise there.
    pub is_compute: bool,
    /// Whether the device keeps accesses within buffers.
    pub is_robust: bool,
    pub bound: Vec<BoundRange>,
    /// Buffers that may be reached by their addresses.
    pub addressed: Vec<Addressed>,
    pub regions: Vec<Region>,
}

/// The region, the first byte in it, and how many; or why nothing was copied.
pub type Copied = Result<(usize, u64, u64), String>;

/// A buffer by its address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed {
    pub start: u64,
    pub bytes: u64,
    pub range: Copied,
}

/// What stands at a descriptor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundRange {
    pub set: u32,
    pub binding: u32,
    pub element: u32,
    pub range: Copied,
}

/// Ranges that overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub bytes: u64,
    pub has_before: bool,
    pub has_after: bool,
    pub place: MemoryKind,
}

impl Wanted<'_> {
    /// What the kernel may reach of a binding, in bytes; nothing where that follows the buffer.
    fn reach(&self, blocks: &[BlockInfo], set: u32, binding: u32) -> Option<u64> {
        let is_it =
            |place| [BlockPlace::StorageBuffer { set, binding }, BlockPlace::UniformBuffer { set, binding }].contains(&place);
        let place = |block: &&BlockInfo| is_it(block.place);
        let sizes = blocks.iter().filter(place).map(|block| (block.runtime_stride().is_none()).then_some(block.layout.bytes));
        // What rounds up may read behind it.
        sizes.collect::<Option<Vec<u64>>>()?.into_iter().max().map(|bytes| bytes.next_multiple_of(16))
    }

    /// What it does something with, with as many descriptors as its constants make.
    pub(super) fn bindings(&self) -> Vec<BindingInfo> {
        let reflection = &self.module.reflection;
        let counts = reflection.bindings_under(&values(&self.kernel.logged.constants)).unwrap_or_default();
        let with_count = |info: &BindingInfo| {
            let own = counts.iter().find(|own| (own.set, own.binding) == (info.set, info.binding));
            BindingInfo { count: own.map_or(info.count, |own| own.count), ..info.clone() }
        };
        reflection.used_bindings.iter().filter(|info| !info.is_untouched).map(with_count).collect()
    }

    fn lines(&self) -> String {
        let Kernel { logged, groups, is_indirect, .. } = self.kernel;
        let LoggedKernel { module, entry, constants, required_subgroup_size: size, has_full_subgroups, .. } = logged;
        let groups = groups.filter(|_| !is_indirect);
        let groups = groups.map_or_else(|| "?\t?\t?".to_owned(), |groups| groups.map(|count| count.to_string()).join("\t"));
        let full = if *has_full_subgroups { "full" } else { "" };
        let mut lines = format!("kernel\t{module}\t{entry}\t{constants}\t{size}{full}\t{groups}\t{}\n", self.call);
        let reflection = &self.module.reflection;
        let values = values(constants);
        let blocks = reflection.blocks(&values).unwrap_or_default();
        for info in self.bindings() {
            let access = match info.access {
                Access::ReadOnly => "r",
                Access::WriteOnly => "w",
                Access::ReadWrite => "rw",
            };
            let reach = self.reach(&blocks, info.set, info.binding).map_or_else(String::new, |bytes| bytes.to_string());
            // Writing to a string can't fail.
            let _ = writeln!(lines, "binding\t{}\t{}\t{}\t{access}\t{reach}", info.set, info.binding, info.count.max(1));
        }
        lines += &self.addresses_line(&blocks);
        lines
    }
}

/// What the layer is told: these kernels, with copies of at most so many bytes.
pub fn order<'w>(wanted: impl IntoIterator<Item = &'w Wanted<'w>>, most: u64) -> String {
    let kernels: String = wanted.into_iter().map(Wanted::lines).collect();
    format!("most\t{most}\n{kernels}")
}

impl Snapshot {
    /// Reads a description; nothing where it wasn't finished, or isn't one.
    pub fn read(text: &str) -> Option<Self> {
        let mut new = Self::default();
        let three = |x: &str, y: &str, z: &str| Some([x.parse().ok()?, y.parse().ok()?, z.parse().ok()?]);
        for line in text.lines() {
            match line.split('\t').collect::<Vec<_>>()[..] {
                ["kernel", wanted, x, y, z, base_x, base_y, base_z, push, kinds] => {
                    let is_one = |kind: &str| kinds.split(',').any(|own| own == kind);
                    (new.is_compute, new.is_robust) = (is_one("compute"), is_one("robust"));
                    new.wanted = wanted.parse().ok()?;
                    new.groups = three(x, y, z);
                    new.base = three(base_x, base_y, base_z)?;
                    new.push = bytes(push)?;
                }
                ["bound", set, binding, element, _, ref rest @ ..] => {
                    let range = range(rest)?;
                    let (set, binding, element) = (set.parse().ok()?, binding.parse().ok()?, element.parse().ok()?);
                    new.bound.push(BoundRange { set, binding, element, range });
                }
                ["address", start, bytes, ref rest @ ..] => {
                    let start = u64::from_str_radix(start, 16).ok()?;
                    new.addressed.push(Addressed { start, bytes: bytes.parse().ok()?, range: range(rest)? });
                }
                ["region", number, bytes, before, after, place] => {
                    (number.parse() == Ok(new.regions.len())).then_some(())?;
                    let place = match place {
                        "device" => MemoryKind::DeviceLocal,
                        "host" => MemoryKind::HostVisible,
                        "cached" => MemoryKind::HostCached,
                        _ => return None,
                    };
                    let (has_before, has_after) = (before == "1", after == "1");
                    new.regions.push(Region { bytes: bytes.parse().ok()?, has_before, has_after, place });
                }
                ["end"] => {
                    let ranges = new.bound.iter().map(|bound| &bound.range);
                    let mut ranges = ranges.chain(new.addressed.iter().map(|addressed| &addressed.range));
                    let is_there = |range: &Copied| range.as_ref().map_or(true, |(at, ..)| *at < new.regions.len());
                    return ranges.all(is_there).then_some(new);
                }
                _ => return None,
            }
        }
        None
    }
}

fn range(fields: &[&str]) -> Option<Copied> {
    match *fields {
        [why] => Some(Err(why.to_owned())),
        [region, offset, bytes] => Some(Ok((region.parse().ok()?, offset.parse().ok()?, bytes.parse().ok()?))),
        _ => None,
    }
}

fn bytes(hex: &str) -> Option<Vec<u8>> {
    hex.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "kernel\t2\t4\t1\t1\t0\t0\t0\t0a0b\tcompute,robust\nbound\t0\t1\t0\t7\t0\t16\t64\n\
        bound\t0\t2\t0\t3\tit is no buffer\nregion\t0\t128\t1\t0\thost\n";

    #[test]
    fn a_description_is_read_if_it_is_whole() {
        assert_eq!(Snapshot::read(TEXT), None);
        let snapshot = Snapshot::read(&format!("{TEXT}end\n")).unwrap();
        assert_eq!((snapshot.wanted, snapshot.groups, &snapshot.push[..]), (2, Some([4, 1, 1]), &[10, 11][..]));
        let ranges: Vec<_> = snapshot.bound.iter().map(|bound| bound.range.clone()).collect();
        assert_eq!(ranges, [Ok((0, 16, 64)), Err("it is no buffer".to_owned())]);
        let place = MemoryKind::HostVisible;
        assert_eq!(snapshot.regions, [Region { bytes: 128, has_before: true, has_after: false, place }]);
        assert!(snapshot.is_compute && snapshot.is_robust);
        assert_eq!(Snapshot::read("bound\t0\t1\t0\t7\t0\t16\t64\nend\n"), None, "there is no region");
    }
}
