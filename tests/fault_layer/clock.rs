//! Timestamps as the faults would have them.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use ash::vk;

use super::faults::{self, ClockFault};

/// After which time a clock wraps that shall wrap soon.
const UNTIL_WRAP: f64 = 100e6;
/// How much a timestamp is too early, and every which.
const BACKWARDS: f64 = 100e6;
const BACKWARDS_EVERY: u64 = 5;

/// The clock of a device: the driver's, and how it is shown.
pub(crate) struct Clock {
    period: f64,
    bits: u32,
    /// The driver's first timestamp, from which others are counted.
    first: OnceLock<u64>,
    read: AtomicU64,
}

impl Clock {
    /// The driver's clock on a queue family.
    ///
    /// # Safety
    /// The physical device is one of this instance.
    pub(crate) unsafe fn of(below: &ash::Instance, physical: vk::PhysicalDevice, family: usize) -> Self {
        // SAFETY: the caller's promise.
        let (properties, families) = unsafe {
            (below.get_physical_device_properties(physical), below.get_physical_device_queue_family_properties(physical))
        };
        let bits = families.get(family).map_or(0, |family| family.timestamp_valid_bits);
        Self { period: properties.limits.timestamp_period.into(), bits, first: OnceLock::new(), read: AtomicU64::new(0) }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_possible_wrap,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "the device ran for less than 2^53 ticks since the first timestamp"
    )]
    fn show(&self, timestamp: u64) -> u64 {
        if !is_faulty() {
            return timestamp;
        }
        let (mut bits, mut period) = (self.bits, self.period);
        let (mut is_zero, mut wraps, mut late) = (false, false, 0.0);
        for fault in faults::of_clock() {
            match fault {
                ClockFault::Zero => is_zero = true,
                ClockFault::Wrap => wraps = true,
                ClockFault::Backwards => late = self.lateness(),
                ClockFault::Bits(shown) => bits = shown,
                ClockFault::Period(shown) if shown.is_normal() => period = shown.into(),
                ClockFault::Late | ClockFault::Spans(_) | ClockFault::Period(_) => {}
            }
        }
        if is_zero {
            return 0;
        }
        let first = *self.first.get_or_init(|| timestamp);
        let elapsed = timestamp.wrapping_sub(first) as i64 as f64 * self.period;
        let from = if wraps { ((UNTIL_WRAP / period) as u64).wrapping_neg() } else { first };
        from.wrapping_add_signed(((elapsed - late) / period).round() as i64) & mask(bits)
    }

    /// Timestamps that were read together, as they are shown.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "what is between two timestamps of a pair is less than 2^53 ticks"
    )]
    pub(crate) fn show_all(&self, timestamps: &mut [u64]) {
        timestamps.iter_mut().for_each(|timestamp| *timestamp = self.show(*timestamp));
        for fault in faults::of_clock() {
            if let ClockFault::Spans(factor) = fault {
                for pair in timestamps.chunks_exact_mut(2) {
                    pair[1] = pair[0] + (pair[1].saturating_sub(pair[0]) as f64 * factor) as u64;
                }
            }
        }
    }

    fn lateness(&self) -> f64 {
        let is_late = (self.read.fetch_add(1, Ordering::Relaxed) + 1) % BACKWARDS_EVERY == 0;
        if is_late { BACKWARDS } else { 0.0 }
    }
}

fn is_faulty() -> bool {
    static FAULTY: OnceLock<bool> = OnceLock::new();
    *FAULTY.get_or_init(|| faults::of_clock().next().is_some())
}

/// Whether timestamps wait for what comes after them.
pub(crate) fn are_late() -> bool {
    faults::of_clock().any(|fault| fault == ClockFault::Late)
}

fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

pub(crate) fn show_period(limits: &mut vk::PhysicalDeviceLimits) {
    for fault in faults::of_clock() {
        if let ClockFault::Period(period) = fault {
            limits.timestamp_period = period;
        }
    }
}

/// The valid bits as they are told, of a queue family that has timestamps.
pub(crate) fn show_bits(family: &mut vk::QueueFamilyProperties) {
    for fault in faults::of_clock() {
        if let ClockFault::Bits(bits) = fault {
            family.timestamp_valid_bits = bits;
        }
    }
}
