//! Physical limits of devices, which no query tells, as data with their source.

use crate::model::Peaks;

/// A device by its vendor and the beginning of its name, and its limits.
struct Known {
    vendor_id: u32,
    name: &'static str,
    peaks: Peaks,
}

/// Multiprocessors of an H100 SXM5, times its highest clock in GHz.
const H100: f64 = 132.0 * 1.98;

/// NVIDIA H100 SXM5: NVIDIA H100 Tensor Core GPU Architecture, whitepaper V1.04 (2023), table 3: 5 HBM3 stacks, 3352 GB/s; 132
/// multiprocessors, each of which loads 32 banks x 4 bytes from shared memory in a cycle, and does
/// multiply-adds of 128 f32, of 256 f16 (by twos), of 64 f64 and of 64 whole numbers of 32 bits, and in dense matrices 2048 of
/// f16 or bf16 (989.4 TFLOP/s at the 1830 MHz of that table) and 4096 of bytes; 1980 MHz at most.
const KNOWN: &[Known] = &[Known {
    vendor_id: 0x10DE,
    name: "NVIDIA H100 80GB HBM3",
    peaks: Peaks {
        memory: Some(3352.0),
        shared: Some(H100 * 128.0),
        float16: Some(H100 * 2.0 * 256.0),
        float32: Some(H100 * 2.0 * 128.0),
        float64: Some(H100 * 2.0 * 64.0),
        int32: Some(H100 * 2.0 * 64.0),
        matrix16: Some(H100 * 2.0 * 2048.0),
        matrix8: Some(H100 * 2.0 * 4096.0),
    },
}];

/// The limits of a device, as far as they are known.
pub fn of(vendor_id: u32, name: &str) -> Peaks {
    let known = KNOWN.iter().find(|known| known.vendor_id == vendor_id && name.starts_with(known.name));
    known.map_or_else(Peaks::default, |known| known.peaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_known_by_vendor_and_name() {
        assert_eq!(of(0x10DE, "NVIDIA H100 80GB HBM3").memory, Some(3352.0));
        // The data sheet's 989.4 TFLOP/s, at a clock 8 % higher.
        let matrix16 = of(0x10DE, "NVIDIA H100 80GB HBM3").matrix16.unwrap();
        assert!((matrix16 * 1830.0 / 1980.0 - 989_400.0).abs() < 100.0, "{matrix16}");
        assert_eq!(of(0x10DE, "NVIDIA H100 PCIe"), Peaks::default());
        assert_eq!(of(0x1002, "NVIDIA H100 80GB HBM3"), Peaks::default());
    }
}
