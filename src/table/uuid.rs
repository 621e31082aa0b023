//! What Vulkan tells devices and drivers by.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Sixteen bytes that identify a device or a driver build.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Uuid(pub [u8; 16]);

/// The hyphenated form of RFC 9562.
impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let hyphen = if matches!(i, 4 | 6 | 8 | 10) { "-" } else { "" };
            write!(f, "{hyphen}{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        let byte = |i: usize| {
            let pair = std::str::from_utf8(digits.get(2 * i..2 * i + 2)?).ok()?;
            u8::from_str_radix(pair, 16).ok()
        };
        let bytes: Option<Vec<u8>> = (0..16).map(byte).collect();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok()).map(Self);
        bytes.filter(|uuid| uuid.to_string() == text.to_lowercase()).ok_or_else(|| format!("`{text}` is no UUID"))
    }
}

impl Serialize for Uuid {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Uuid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        <Cow<'_, str>>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_prints_hyphenated() {
        let uuid = Uuid(std::array::from_fn(|i| u8::try_from(i).unwrap()));
        assert_eq!(uuid.to_string(), "00010203-0405-0607-0809-0a0b0c0d0e0f");
        assert_eq!(uuid.to_string().parse(), Ok(uuid));
        for wrong in ["", "00010203", "00010203-0405-0607-0809-0a0b0c0d0e0g", "000102030405060708090a0b0c0d0e0f"] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
    }
}
