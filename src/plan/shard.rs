//! Parts of a plan that can be measured anywhere.

use std::fmt;
use std::str::FromStr;

/// One of several parts of a plan. A case belongs to the part that its id says, so that all runs agree on it without talking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which one, from 1.
    index: u64,
    count: u64,
}

impl Shard {
    pub fn count(self) -> u64 {
        self.count
    }

    pub fn holds(self, case_id: &str) -> bool {
        // A case id is a letter and sixteen hexadecimal digits of a hash; FNV-1a would spread any other text as well.
        let hash = case_id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        (hash >> 16) % self.count == self.index - 1
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parts {
            Some((index, count)) if (1..=count).contains(&index) => Ok(Self { index, count }),
            _ => Err("a part I of N is needed, I from 1 to N, such as 3/8".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_and_refused() {
        assert_eq!("3/8".parse::<Shard>().map(|shard| shard.to_string()), Ok("3/8".to_owned()));
        for wrong in ["0/8", "9/8", "1/0", "3", "a/b", "", "-1/8", "1/8/2"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_case_belongs_to_one_part_and_parts_are_alike() {
        let shards: Vec<Shard> = (1..=8).map(|index| Shard { index, count: 8 }).collect();
        let mut sizes = [0; 8];
        for case in 0..8000_u64 {
            let id = format!("c{:016x}", case.wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let holding: Vec<usize> = (0..8).filter(|&i| shards[i].holds(&id)).collect();
            assert_eq!(holding.len(), 1);
            sizes[holding[0]] += 1;
        }
        assert!(sizes.iter().all(|size| (850..=1150).contains(size)), "{sizes:?}");
    }
}
