//! Whether what is for people has colours.

use clap::{Args, ColorChoice};

use crate::output::choose_colours;

/// The flag of every command that shows tables.
#[derive(Clone, Copy, Debug, Args)]
pub struct Colours {
    /// Colours in tables and answers: `auto` has them on a terminal, unless NO_COLOR is set. Files never have any
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    pub color: ColorChoice,
}

impl Colours {
    pub fn choose(self) {
        match self.color {
            ColorChoice::Auto => {}
            ColorChoice::Always => choose_colours(true),
            ColorChoice::Never => choose_colours(false),
        }
    }
}
