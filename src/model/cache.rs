//! What the caches hold when a sample begins.

words! {
    #[derive(Default, Hash)]
    pub enum Cache, as_str {
        /// What the passes before left there.
        #[default]
        Warm = "warm",
        /// Nothing of the case: they were evicted before the sample, which is of one pass. Compares only with warm rows of batch 1.
        Cold = "cold",
    }
}
