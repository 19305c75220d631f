//! What events do to the stack of a thread.

use crate::MethodId;
use crate::format::flow::{Record, records};

/// The net effect of events: the frames that they left, and those that they entered and that are still open.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NetEffect {
    /// How many frames were left that were open before.
    pub left: u64,
    /// The methods of the frames that are open now and were not before, outermost first.
    pub entered: Vec<MethodId>,
    /// How many entries there are.
    pub entries: u64,
    /// And exits.
    pub exits: u64,
}

impl NetEffect {
    /// The effect of these records.
    #[must_use]
    pub fn of(canonical: &[u8]) -> Self {
        let mut effect = Self::default();
        for (record, _) in records(canonical) {
            match record {
                Record::Enter(method) => {
                    effect.entered.push(method);
                    effect.entries += 1;
                }
                Record::Exit(count) => effect.leave(count.get()),
            }
        }
        effect
    }

    /// Adds exits.
    pub(super) fn leave(&mut self, count: u64) {
        let inside = usize::try_from(count).unwrap_or(usize::MAX).min(self.entered.len());
        self.entered.truncate(self.entered.len() - inside);
        self.left = self.left.saturating_add(count - inside as u64);
        self.exits = self.exits.saturating_add(count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_entered_and_left_again_has_no_effect() {
        let methods = |ids: &[u64]| ids.iter().map(|id| MethodId::new(*id).unwrap()).collect();
        for (bytes, left, entered, entries, exits) in [
            (&[][..], 0, &[][..], 0, 0),
            (&[0x81, 0x82, 0x00], 0, &[1], 2, 1),
            (&[0x01, 0x81, 0x82, 0x02, 0x83], 3, &[3], 3, 5),
            (&[0x81, 0x00, 0x82, 0x00], 0, &[], 2, 2),
        ] {
            let expected = NetEffect { left, entered: methods(entered), entries, exits };
            assert_eq!(NetEffect::of(bytes), expected, "{bytes:02X?}");
        }
    }
}
