//! Results in the formats of services that run builds.

mod github;
mod junit;
pub(crate) mod xml;

pub(crate) use github::{Annotation, Level};
pub(crate) use junit::{Case, suite};
