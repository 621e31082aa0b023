//! Where a device sits on the PCI bus.

use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PciAddress {
    /// The domain, which most machines have one of.
    pub domain: u32,
    pub bus: u32,
    pub device: u32,
    pub function: u32,
}

/// As Linux and lspci write it: `0000:65:00.0`.
impl fmt::Display for PciAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}:{:02x}:{:02x}.{:x}", self.domain, self.bus, self.device, self.function)
    }
}

impl FromStr for PciAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Option<Vec<u32>> = text.split([':', '.']).map(|part| u32::from_str_radix(part, 16).ok()).collect();
        let address = match numbers.as_deref() {
            Some(&[domain, bus, device, function]) => Some(Self { domain, bus, device, function }),
            _ => None,
        };
        address.filter(|address| address.to_string() == text).ok_or_else(|| format!("`{text}` is no PCI address"))
    }
}

sent_as_text!(PciAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_as_linux_does_and_read_back() {
        let address = PciAddress { domain: 0, bus: 0x65, device: 0x1f, function: 7 };
        assert_eq!(address.to_string(), "0000:65:1f.7");
        // Virtual machines and some hosts have domains of more than 16 bits.
        for address in [address, PciAddress::default(), PciAddress { domain: 0x1_0000, ..address }] {
            assert_eq!(address.to_string().parse(), Ok(address));
        }
        for wrong in
            ["", "65:00.0", "0000:65:00", "0000:65:00.0.0", "0000-65-00.0", "0000.65.00.0", "+000:65:00.0", "0000:65:0g.0"]
        {
            assert!(wrong.parse::<PciAddress>().is_err(), "{wrong}");
        }
    }
}
