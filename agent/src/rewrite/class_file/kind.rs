//! Kinds of values, as instructions and probes tell them apart.

use flow_codec::format::values::kind;

use super::opcode::{ALOAD, DUP, DUP2};

/// How a value is passed to a probe.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) enum Kind {
    /// Of a type that is an int on the stack, with its number.
    Int(u8),
    Float,
    Long,
    Double,
    Object,
}

impl Kind {
    pub(in crate::rewrite) fn of(descriptor: &[u8]) -> Self {
        match descriptor {
            b"Z" => Self::Int(kind::BOOLEAN),
            b"B" => Self::Int(kind::BYTE),
            b"C" => Self::Int(kind::CHAR),
            b"S" => Self::Int(kind::SHORT),
            b"I" => Self::Int(kind::INT),
            b"F" => Self::Float,
            b"J" => Self::Long,
            b"D" => Self::Double,
            _ => Self::Object,
        }
    }

    /// The type, as far as it is known before the method runs.
    pub(in crate::rewrite) fn number(self) -> u8 {
        match self {
            Self::Int(number) => number,
            Self::Float => kind::FLOAT,
            Self::Long => kind::LONG,
            Self::Double => kind::DOUBLE,
            Self::Object => 0,
        }
    }

    /// How much later than `iload` the instruction comes that loads it.
    pub(in crate::rewrite) fn load(self) -> u8 {
        const ILOAD: u8 = ALOAD - 4;
        match self {
            Self::Int(_) => ILOAD,
            Self::Long => ILOAD + 1,
            Self::Float => ILOAD + 2,
            Self::Double => ILOAD + 3,
            Self::Object => ALOAD,
        }
    }

    pub(in crate::rewrite) fn duplicate(self) -> u8 {
        if matches!(self, Self::Long | Self::Double) { DUP2 } else { DUP }
    }
}
