//! Formats that show calls one by one, in order.

mod calls;
mod chrome;
mod firefox;
mod hpl;
mod otlp;
mod perfetto;
mod speedscope;

pub(super) use self::calls::Calls;
pub(super) use self::chrome::Chrome;
pub(super) use self::firefox::Firefox;
pub(super) use self::hpl::Hpl;
pub(crate) use self::hpl::HplSamples;
pub(super) use self::otlp::Otlp;
pub(super) use self::perfetto::Perfetto;
pub(super) use self::speedscope::Speedscope;
