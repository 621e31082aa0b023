//! How measuring a case can end.

words! {
    /// Why measuring a case ended.
    pub enum Stop, as_str {
        /// The precision asked for was reached.
        Precise = "precise",
        /// More rounds no longer made it more precise.
        Stable = "stable",
        /// Its time, or the last round, was spent.
        Budget = "budget",
        /// In a race, another case is faster for certain.
        Beaten = "beaten",
        /// No more than a look was asked for.
        Glanced = "glanced",
        /// The search ended before it had as many rounds as an interval needs.
        BrokenOff = "broken_off",
    }
}

impl Stop {
    pub fn is_early(self) -> bool {
        matches!(self, Self::Beaten | Self::Glanced | Self::BrokenOff)
    }
}
