//! HOT: the words by which a thread's chunk is found and switched off.
//!
//! | offset | size | field | value |
//! |---:|---:|---|---|
//! | 0 | 16 | nowhere | exits are stored here while there is no chunk; never read |
//! | 16 |  8 | position | address of the next byte to be written; 0 before the thread has started |
//! | 24 |  8 | limit | an event may be stored at any position below it; 0 sends the thread to the recorder: no chunk, or recording is off |
//! | 32 |  8 | ended | not 0 once the thread has ended |
//! |  40 |  8 | last | the last address at which an exit can begin; exits do not check the limit, and stop here |
//! | 48 |  8 | stacks | bits 0–47: the address of the place for the next sampled position; bits 48–62: how many more there are; bit 63: whether there is one before it. 0 while the thread changes its chunk, or has none |
//! | 56 |  8 | first | the address of the first event of the chunk |
//!
//! The probes (`agent/java`) read and write position and limit of the blocks in the table of
//! `blocks`. A block fills a cache line, because its thread stores to it with each event.
//!
//! An exit stores its byte without a check. So the block of a running thread always has a position that can
//! be written to; [`Control::park`] sets one in the block itself.
//!
//! The last two words are for the signal handler that samples the stack of the thread, and so interrupts it. It reads the
//! position, which is after a whole event at every instruction: an event is stored before the position moves, once. What
//! was being stored when the signal came is not before the position, and happens after the sample.
//!
//! No thread has the id 0. Its block belongs to the table: its word `ended` switches all probes off.

#![expect(
    unsafe_code,
    reason = "signal handlers store to the chunk of the thread that they interrupt"
)]
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use flow_codec::format::journal::{SAMPLE_WORDS, stacks_place};

/// The parts of the word `stacks`.
const ADDRESS: u64 = (1 << ROOM_SHIFT) - 1;
const ROOM_SHIFT: u32 = 48;
const MAX_ROOM: u64 = (1 << 15) - 1;
const HAS_LAST: u64 = 1 << 63;

/// The control block of one thread.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Control {
    nowhere: [AtomicU64; 2],
    position: AtomicU64,
    /// Sequentially consistent, like `Switch::is_still_on`: if one thread sets it up while another one ends the
    /// recording, at least one of them sees the other.
    limit: AtomicU64,
    ended: AtomicU64,
    last: AtomicU64,
    stacks: AtomicU64,
    first: AtomicU64,
}

impl Control {
    /// The address of the next byte to be written.
    #[inline]
    pub(crate) fn position(&self, order: Ordering) -> u64 {
        self.position.load(order)
    }

    /// Moves the position. For the thread itself.
    #[inline]
    pub(crate) fn set_position(&self, address: u64, order: Ordering) {
        self.position.store(address, order);
    }

    /// The limit and the last place for an exit.
    #[cfg(test)]
    pub(crate) fn ends(&self) -> (u64, u64) {
        (self.limit.load(Ordering::Relaxed), self.last.load(Ordering::Relaxed))
    }

    /// Returns whether an event may be stored at the position.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.position.load(Ordering::Relaxed) < self.limit.load(Ordering::Relaxed)
    }

    /// Directs the thread to a chunk: the addresses of its first byte, of its limit, and of the last place
    /// for an exit. For the thread itself.
    pub(crate) fn begin(&self, first: u64, limit: u64, last: u64) {
        self.place_no_stacks();
        self.last.store(last, Ordering::Relaxed);
        self.set_position(first, Ordering::Release);
        self.limit.store(limit, Ordering::SeqCst);
    }

    /// Lets signal handlers store positions: `first` is the address of the first event of the chunk, `stacks` that of the
    /// first of `room` places. For the thread itself.
    pub(crate) fn begin_stacks(&self, first: u64, stacks: u64, room: usize) {
        self.first.store(first, Ordering::Relaxed);
        let room = (room as u64).min(MAX_ROOM);
        self.stacks.store((stacks & ADDRESS) | room << ROOM_SHIFT, Ordering::SeqCst);
    }

    /// Lets signal handlers store no positions. For the thread itself, before it leaves its chunk.
    pub(crate) fn place_no_stacks(&self) {
        self.stacks.store(0, Ordering::SeqCst);
    }

    /// Stores where the thread is while its stack is sampled. If there is no room, the thread is sent to the recorder. For
    /// a signal handler that interrupts the thread.
    pub(crate) fn place_stack(&self, at_ns: u64) {
        let bytes = self.position.load(Ordering::Relaxed);
        let bytes = bytes.wrapping_sub(self.first.load(Ordering::Relaxed));
        self.put_stacks(bytes, at_ns, at_ns);
    }

    /// Stores that stacks of the thread were sampled after this many bytes of its chunk. For the thread itself, and signal
    /// handlers that interrupt it.
    pub(crate) fn put_stacks(&self, bytes: u64, first_ns: u64, last_ns: u64) {
        let next = self.stacks.load(Ordering::Relaxed);
        let (address, room) = (next & ADDRESS, next >> ROOM_SHIFT & MAX_ROOM);
        if address == 0 {
            return;
        }
        let words = |address: u64| -> &[AtomicU64; SAMPLE_WORDS] {
            let address = usize::try_from(address).unwrap_or_default();
            // SAFETY: the word `stacks` has the address of places in the slot of the thread, from `begin_stacks` until
            // the thread leaves it, which it does after `place_no_stacks`. So the memory is kept as that of its events.
            unsafe { &*ptr::with_exposed_provenance(address) }
        };
        let place = stacks_place(bytes).to_le();
        if next & HAS_LAST != 0 {
            let last_address = address - (SAMPLE_WORDS * size_of::<u64>()) as u64;
            let [last, _, from] = words(last_address);
            if last.load(Ordering::Relaxed) == place {
                from.store(last_ns.to_le(), Ordering::Release);
                return;
            }
        }
        let Some(room) = room.checked_sub(1) else { return self.call_for_attention() };
        let [first, by, from] = words(address);
        from.store(last_ns.to_le(), Ordering::Relaxed);
        by.store(first_ns.to_le(), Ordering::Relaxed);
        // A reader that sees this store sees those before it.
        first.store(place, Ordering::Release);
        let after = address + (SAMPLE_WORDS * size_of::<u64>()) as u64;
        self.stacks.store(HAS_LAST | after | room << ROOM_SHIFT, Ordering::Relaxed);
    }

    /// Sends the thread to the recorder at its next entry.
    pub(crate) fn call_for_attention(&self) {
        self.limit.store(0, Ordering::SeqCst);
    }

    /// Discards the thread's exits. For the thread itself, while it has no chunk.
    pub fn park(&self) {
        let nowhere = ptr::from_ref(&self.nowhere).expose_provenance() as u64;
        self.place_no_stacks();
        self.call_for_attention();
        self.last.store(nowhere, Ordering::Relaxed);
        self.set_position(nowhere, Ordering::Relaxed);
    }

    /// Returns whether the thread has no position yet.
    pub(crate) fn is_new(&self) -> bool {
        self.position.load(Ordering::Relaxed) == 0
    }

    /// Returns whether the thread has ended; its last probes may still run.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed) != 0
    }

    /// Parks the thread for good.
    pub(crate) fn end(&self) {
        self.ended.store(1, Ordering::Relaxed);
        self.park();
    }

    /// The word with the address of the next byte to be written, which only the thread itself changes.
    pub(crate) fn position_word(&self) -> &AtomicU64 {
        &self.position
    }

    /// The word that is not 0 while probes are switched off; in the first block only.
    #[must_use]
    pub fn off_switch(&self) -> &AtomicU64 {
        &self.ended
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::mem::offset_of;

    use flow_codec::format::raw;

    use super::*;

    const PROBES: &str = include_str!("../../../java/FlowProbe.java.in");

    /// A constant of the probe class.
    pub(crate) fn constant(name: &str) -> usize {
        let declaration = format!("private static final int {name} = ");
        let (_, rest) = PROBES.split_once(&declaration).unwrap();
        let (value, _) = rest.split_once(';').unwrap();
        match value.strip_prefix("0x") {
            Some(hex) => usize::from_str_radix(hex, 16).unwrap(),
            None => value.parse().unwrap(),
        }
    }

    #[test]
    fn a_signal_handler_stores_each_position_once_as_long_as_there_is_room() {
        let (control, slot) = (Control::default(), [const { AtomicU64::new(0) }; 9]);
        let address = slot.as_ptr().expose_provenance() as u64;
        let stored = || slot.each_ref().map(|word| u64::from_le(word.load(Ordering::Relaxed)));
        control.begin(1000, 2000, 3000);
        control.place_stack(5);
        assert_eq!(stored(), [0; 9]);
        control.begin_stacks(1000, address, 2);
        control.place_stack(10);
        control.place_stack(20);
        assert_eq!(stored()[..4], [stacks_place(0), 10, 20, 0]);
        control.set_position(1007, Ordering::Relaxed);
        control.place_stack(30);
        assert!(control.has_room());
        control.place_stack(40);
        control.set_position(1008, Ordering::Relaxed);
        control.place_stack(50);
        assert!(!control.has_room(), "it is sent to the recorder");
        let expected = [stacks_place(0), 10, 20, stacks_place(7), 30, 40, 0, 0, 0];
        assert_eq!(stored(), expected);
        control.place_no_stacks();
        control.place_stack(60);
        assert_eq!(stored(), expected);
    }

    #[test]
    fn the_probe_class_has_the_layout_of_control_blocks_and_events() {
        for (name, expected) in [
            ("BLOCK_SHIFT", size_of::<Control>().trailing_zeros() as usize),
            ("POSITION", offset_of!(Control, position)),
            ("LIMIT", offset_of!(Control, limit)),
            ("OFF_SWITCH", offset_of!(Control, ended)),
            ("LAST", offset_of!(Control, last)),
            ("EXIT", raw::EXIT.into()),
            ("TIME", raw::TIME.into()),
            ("TIME_BYTES", raw::TIME_BYTES),
            ("LINE", raw::LINE.into()),
            ("LINE_BYTES", raw::LINE_BYTES),
            ("STEP", raw::STEP.into()),
            ("STEP_BYTES", raw::RUN_BYTES),
            ("OPERAND_BYTES", raw::OPERAND_BYTES),
            ("NUMBER", raw::NUMBER.into()),
            ("NUMBER_BYTES", raw::NUMBER_BYTES),
            ("UNWOUND_BYTES", raw::UNWOUND_BY_BYTES),
        ] {
            assert_eq!(constant(name), expected, "{name}");
        }
        assert!(size_of::<Control>().is_power_of_two());
    }

    #[test]
    fn the_probes_refer_to_the_layout_by_its_constants() {
        let before = [
            "block + ",
            "BLOCKS + ",
            "CLASSES + ",
            "& IDS) << ",
            "nanoTime() << 8 | ",
            ", 1) << 8 | ",
            "(byte) ~",
        ];
        for before in before {
            let uses: Vec<_> = PROBES.split(before).skip(1).collect();
            assert!(!uses.is_empty(), "{before}");
            let named =
                |rest: &&str| rest.starts_with(|c: char| c.is_ascii_uppercase() || c == '(');
            assert!(uses.iter().all(named), "{before}");
        }
    }
}
