//! What experiments of several families share.

pub(in crate::experiments) mod axes;
pub(in crate::experiments) mod builder;
pub(in crate::experiments) mod chains;
pub(in crate::experiments) mod chase;
pub(in crate::experiments) mod choices;
pub(in crate::experiments) mod commands;
pub(in crate::experiments) mod components;
pub(in crate::experiments) mod config;
pub(in crate::experiments) mod elements;
pub(in crate::experiments) mod factored;
pub(in crate::experiments) mod grid;
pub(in crate::experiments) mod issue;
pub(in crate::experiments) mod knee;
pub(in crate::experiments) mod ladder;
pub(in crate::experiments) mod lanes;
pub(in crate::experiments) mod ledger;
pub(in crate::experiments) mod levels;
pub(in crate::experiments) mod parts;
pub(in crate::experiments) mod prelude;
pub(in crate::experiments) mod products;
pub(in crate::experiments) mod reduction;
pub(in crate::experiments) mod ring;
#[cfg(test)]
pub(in crate::experiments) mod rows;
pub(in crate::experiments) mod stepped;
pub(in crate::experiments) mod subgroup_tiles;
pub(in crate::experiments) mod submissions;
pub(in crate::experiments) mod sweep;
#[cfg(test)]
pub(in crate::experiments) mod testing;
pub(in crate::experiments) mod tiles;
pub(in crate::experiments) mod windows;
pub(in crate::experiments) mod words;
