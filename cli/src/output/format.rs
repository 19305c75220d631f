//! Output formats and styles.

use clap::ValueEnum;

/// Output formats.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
    Csv,
}

/// When to use colours.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ColorWhen {
    Auto,
    Always,
    Never,
}
