//! Classes that the JVM has already, when a recording ends or its filter changes (safe).
//!
//! | module | what |
//! |---|---|
//! | `aftermath` | takes the probes out after a fault |
//! | `refilter` | records other methods while the program runs |
//! | `unprepared` | classes with probes that are still being defined |

pub(super) mod aftermath;
pub(super) mod refilter;
pub(super) mod unprepared;
