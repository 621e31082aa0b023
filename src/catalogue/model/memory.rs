//! Kinds of memory, and which of a device's memory types serves each.

use std::fmt;
use std::iter::Sum;
use std::ops::Add;

use serde::{Deserialize, Serialize};

use super::{DeviceInfo, Skip};

words! {
    #[derive(Default, Hash)]
    pub enum MemoryKind, as_str {
        /// Memory that the device reaches fastest; filled and read back through staging buffers.
        #[default]
        DeviceLocal = "device_local",
        /// The host's memory as the device sees it, which the host writes past its caches where there is such.
        HostVisible = "host_visible",
        /// The host's memory as the device sees it, which the host's caches hold.
        HostCached = "host_cached",
        /// The device's own memory as the host sees it.
        DeviceHostVisible = "device_host_visible",
    }
}

/// A memory type of a device. Only those are listed that a program may use as plain memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryType {
    /// Its index among the device's types.
    pub index: u32,
    pub heap: u32,
    pub device_local: bool,
    /// Whether the host can map it, without having to flush anything (`HOST_VISIBLE` and `HOST_COHERENT`).
    pub host_visible: bool,
    pub host_cached: bool,
}

impl MemoryKind {
    pub fn is_mapped(self) -> bool {
        self != Self::DeviceLocal
    }

    /// How well a type serves: nothing where it doesn't, else the less the better.
    fn rank(self, ty: &MemoryType) -> Option<u32> {
        let MemoryType { device_local, host_visible, host_cached, .. } = *ty;
        match self {
            Self::DeviceLocal => device_local.then_some(u32::from(host_visible)),
            // On devices that share the host's memory all types are the device's own as well.
            Self::HostVisible => host_visible.then_some(2 * u32::from(device_local) + u32::from(host_cached)),
            Self::HostCached => (host_visible && host_cached).then_some(u32::from(device_local)),
            Self::DeviceHostVisible => (device_local && host_visible).then_some(u32::from(host_cached)),
        }
    }
}

/// Bytes of the two places that resources lie in. A device that has no memory of its own takes everything from the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    pub device: u64,
    pub host: u64,
}

impl Footprint {
    pub const ENDLESS: Self = Self { device: u64::MAX, host: u64::MAX };

    pub fn fits(self, room: Self) -> bool {
        self.device <= room.device && self.host <= room.host
    }

    /// Whether it may be loaded alone where so many bytes of the device's own are free. It may have nine tenths of them: the rest is
    /// for what else is made on the way, and for other programs, whose next buffer would drive it out.
    /// Skipped: it takes more.
    pub fn fits_alone(self, free: u64) -> Result<(), Skip> {
        let most = free / 10 * 9;
        let reason = || {
            format!("nine tenths of the {free} bytes that the heap's budget leaves are {most}, the case needs {}", self.device)
        };
        if self.device <= most { Ok(()) } else { Err(Skip::new(reason())) }
    }

    /// The room that is left beside it.
    #[must_use]
    pub fn left_of(self, room: Self) -> Self {
        Self { device: room.device.saturating_sub(self.device), host: room.host.saturating_sub(self.host) }
    }

    #[must_use]
    pub fn share(self, users: u32) -> Self {
        let users = u64::from(users.max(1));
        Self { device: self.device / users, host: self.host / users }
    }
}

impl Add for Footprint {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { device: self.device.saturating_add(other.device), host: self.host.saturating_add(other.host) }
    }
}

impl Sum for Footprint {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), Self::add)
    }
}

impl DeviceInfo {
    /// The heap that the host's memory is taken from, as far as the device sees it.
    pub fn host_heap(&self) -> Option<u32> {
        self.memory_types_for(MemoryKind::HostVisible, u32::MAX).first().map(|ty| ty.heap)
    }

    /// Whether the device has no memory of its own: what the host's takes, its own lacks.
    pub fn shares_memory(&self) -> bool {
        let own = self.memory_types_for(MemoryKind::DeviceLocal, u32::MAX);
        self.host_heap().is_none_or(|heap| own.first().is_none_or(|ty| ty.heap == heap))
    }

    /// Bytes of a heap; zero where there is none.
    pub fn heap_bytes(&self, heap: u32) -> u64 {
        self.heaps.get(heap as usize).map_or(0, |heap| heap.bytes)
    }

    /// The memory types that serve a kind, the best first. Only those whose bit is set in `allowed`.
    pub fn memory_types_for(&self, kind: MemoryKind, allowed: u32) -> Vec<MemoryType> {
        let is_allowed = |ty: &&MemoryType| allowed.checked_shr(ty.index).is_some_and(|bits| bits & 1 == 1);
        let mut types: Vec<(u32, MemoryType)> =
            self.memory_types.iter().filter(is_allowed).filter_map(|ty| Some((kind.rank(ty)?, *ty))).collect();
        types.sort_by_key(|(rank, ty)| (*rank, ty.index));
        types.into_iter().map(|(_, ty)| ty).collect()
    }
}

/// `type 3 of heap 1 (device_local, host_visible)`
impl fmt::Display for MemoryType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let properties =
            [(self.device_local, "device_local"), (self.host_visible, "host_visible"), (self.host_cached, "host_cached")];
        let mut properties: Vec<&str> = properties.iter().filter(|(has, _)| *has).map(|(_, name)| *name).collect();
        if properties.is_empty() {
            properties.push("no properties");
        }
        write!(f, "type {} of heap {} ({})", self.index, self.heap, properties.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn types(list: &[(bool, bool, bool)]) -> DeviceInfo {
        let ty = |(index, &(device_local, host_visible, host_cached)): (u32, &(bool, bool, bool))| MemoryType {
            index,
            heap: u32::from(!device_local),
            device_local,
            host_visible,
            host_cached,
        };
        DeviceInfo { memory_types: (0..).zip(list).map(ty).collect(), ..DeviceInfo::default() }
    }

    fn chosen(info: &DeviceInfo, kind: MemoryKind) -> Option<u32> {
        info.memory_types_for(kind, u32::MAX).first().map(|ty| ty.index)
    }

    #[test]
    fn a_discrete_device_has_a_type_for_each_kind() {
        let info = types(&[(true, false, false), (false, true, false), (false, true, true), (true, true, false)]);
        let kinds = [MemoryKind::DeviceLocal, MemoryKind::HostVisible, MemoryKind::HostCached, MemoryKind::DeviceHostVisible];
        assert_eq!(kinds.map(|kind| chosen(&info, kind)), [Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(kinds.map(|kind| MemoryKind::named(kind.as_str())), kinds.map(Some));
    }

    #[test]
    fn what_a_device_lacks_is_not_made_up() {
        let software = types(&[(true, true, true)]);
        assert_eq!(chosen(&software, MemoryKind::HostVisible), Some(0));
        let without_window = types(&[(true, false, false), (false, true, true)]);
        assert_eq!(chosen(&without_window, MemoryKind::DeviceHostVisible), None);
        assert_eq!(chosen(&without_window, MemoryKind::HostVisible), Some(1));
        assert!(without_window.memory_types_for(MemoryKind::HostVisible, 0b01).is_empty(), "a resource may forbid a type");
    }

    #[test]
    fn memory_is_shared_where_both_take_it_from_one_heap() {
        assert!(!DeviceInfo::mock().shares_memory());
        assert!(types(&[(true, true, true)]).shares_memory());
        // A device whose own memory the host sees whole: there is none that is only the host's.
        assert!(types(&[(true, false, false), (true, true, false)]).shares_memory());
        assert!(!types(&[(true, false, false), (false, true, true)]).shares_memory());
    }

    #[test]
    fn what_lies_in_one_place_does_not_fill_the_other() {
        let room = Footprint { device: 10, host: 4 };
        let (large, hosts) = (Footprint { device: 9, host: 0 }, Footprint { device: 0, host: 4 });
        assert!(large.fits(room) && hosts.fits(large.left_of(room)));
        assert!(!(hosts + hosts).fits(room) && !(large + large).fits(room));
        assert_eq!(room.share(3), Footprint { device: 3, host: 1 });
        assert!([large, hosts].into_iter().sum::<Footprint>().fits(room));
    }

    #[test]
    fn what_is_alone_may_have_nine_tenths_of_what_is_free() {
        let case = |device| Footprint { device, host: 1 };
        assert_eq!(case(90).fits_alone(100), Ok(()));
        let reason = "nine tenths of the 100 bytes that the heap's budget leaves are 90, the case needs 91";
        assert_eq!(case(91).fits_alone(100).unwrap_err().reason, reason);
        assert!(case(1).fits_alone(0).is_err());
    }

    #[test]
    fn a_type_says_what_it_is() {
        let info = types(&[(true, true, false)]);
        assert_eq!(info.memory_types[0].to_string(), "type 0 of heap 0 (device_local, host_visible)");
    }
}
