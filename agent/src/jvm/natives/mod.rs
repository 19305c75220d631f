//! Classes of Java with native methods: that of the probes, and that of the Java API.
//!
//! | module | what |
//! |---|---|
//! | `probe` | the class of the probes, and what it calls |
//! | `values` | values that probes cannot store themselves |
//! | `api` | the native methods of the Java API |
//! | `waits/` | what threads wait for: monitors, and native methods of the JDK that are wrapped |

pub(super) mod api;
pub(super) mod probe;
mod values;
pub(super) mod waits;
