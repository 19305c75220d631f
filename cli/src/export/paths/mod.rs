//! Formats that add up calls by path.

mod collapsed;
mod otlp_profile;
mod path_format;
mod pprof;
mod stacks;
mod svg;

pub(super) use self::collapsed::Collapsed;
pub(super) use self::otlp_profile::OtlpProfile;
pub(crate) use self::path_format::PathFormat;
pub(super) use self::pprof::Pprof;
pub(crate) use self::stacks::Stacks;
pub(super) use self::svg::Svg;
