//! Keeps the identity hash codes of the program's main thread unchanged while the agent uses that thread.
//!
//! HotSpot draws `System.identityHashCode` from a sequence of each thread (`-XX:hashCode=5`, the default): when an object's
//! hash code is first needed, and for each class that is linked. So what a program prints, such as a `HashSet`, may depend on
//! how many were drawn before. Where the agent links a class on a thread of the program, it sets the sequence back.
//!
//! The four words of the sequence are somewhere in the JVM's object for the thread. They are found by how they changed: as the
//! sequence does. That other words do so by chance is practically impossible. If no words did, nothing is changed.

#![expect(unsafe_code, reason = "reads and writes the JVM's object for the current thread")]

use std::ptr;

use super::Vm;

impl Vm<'_> {
    /// Runs `body` on the current thread, and takes back the identity hash codes that it draws.
    pub(in crate::jvm) fn drawing_no_hashes<T>(&self, body: impl FnOnce() -> T) -> T {
        let object = self.jvmti.current_thread().and_then(|thread| {
            let object = self.native_thread(thread);
            self.forget(thread);
            object
        });
        // The first part of the object, which has the sequence, ends where the JNI environment begins.
        let words =
            object.map_or(0, |object| self.word().saturating_sub(object) / size_of::<u32>());
        let Some(object) = object.filter(|_| (SEQUENCE_WORDS..MAX_WORDS).contains(&words)) else {
            return body();
        };
        let place: *mut u32 = ptr::with_exposed_provenance_mut(object);
        let read = || -> Vec<u32> {
            let word = |number: usize| {
                // SAFETY: within the JVM's object for the current thread, which begins at this address and contains the
                // environment. Other threads may store to some of its words at the same time: those are not used.
                unsafe { place.wrapping_add(number).read_volatile() }
            };
            (0..words).map(word).collect()
        };
        let before = read();
        let result = body();
        if let Some((at, words)) = moved(&before, &read()) {
            for (number, word) in words.into_iter().enumerate() {
                // SAFETY: as above. Only the thread itself uses its sequence.
                unsafe { place.wrapping_add(at + number).write_volatile(word) };
            }
        }
        result
    }
}

const SEQUENCE_WORDS: usize = 4;
/// The limit for this part of the object, which has about 1 KiB.
const MAX_WORDS: usize = 4096;
/// The most draws that are looked for; fewer are made at a time.
const MAX_DRAWN: usize = 100;

/// The words of a sequence, in the order in which they are drawn from.
type Sequence = [u32; SEQUENCE_WORDS];

/// Returns the sequence after one draw: Marsaglia's xorshift.
const fn draw([x, y, z, w]: Sequence) -> Sequence {
    let mixed = x ^ (x << 11);
    [y, z, w, (w ^ (w >> 19)) ^ (mixed ^ (mixed >> 8))]
}

/// Returns the place of a sequence that was drawn from, and its words before. HotSpot stores the last word first.
fn moved(before: &[u32], after: &[u32]) -> Option<(usize, Sequence)> {
    let windows = before.windows(SEQUENCE_WORDS).zip(after.windows(SEQUENCE_WORDS)).enumerate();
    let mut changed = windows.filter(|(_, (before, after))| {
        // A word moves to the place of another one with each draw.
        before.iter().zip(*after).all(|(before, after)| before != after)
    });
    changed.find_map(|(at, (before, after))| {
        let [w, x, y, z] = before.first_chunk().copied()?;
        let [new_w, new_x, new_y, new_z] = after.first_chunk().copied()?;
        let (from, to) = ([x, y, z, w], [new_x, new_y, new_z, new_w]);
        let mut drawn = std::iter::successors(Some(draw(from)), |sequence| Some(draw(*sequence)));
        drawn.by_ref().take(MAX_DRAWN).any(|sequence| sequence == to).then_some((at, [w, x, y, z]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first numbers that HotSpot draws in its main thread.
    #[test]
    fn a_sequence_is_found_by_how_it_moves() {
        let start = [0x0001_2345, 842_502_087, 0x8767, 273_326_509];
        let stored = |[x, y, z, w]: Sequence| [w, x, y, z];
        let around = |sequence: Sequence, other: u32| {
            [&[7, other, 0][..], &stored(sequence), &[other, 9, 9]].concat()
        };
        let mut sequence = start;
        for _ in 0..3 {
            sequence = draw(sequence);
            let found = moved(&around(start, 1), &around(sequence, 2));
            assert_eq!(found, Some((3, stored(start))));
        }
        assert_eq!(moved(&around(start, 1), &around(start, 2)), None, "nothing was drawn");
        sequence[3] ^= 1;
        assert_eq!(moved(&around(start, 1), &around(sequence, 2)), None, "something else");
    }
}
