//! What may happen to a recorded program: it is killed, the disk is full, there are hundreds of thousands of
//! threads. Programs and faults follow from a seed. Environment variables set the number of attempts of each
//! test, which is small unless `scripts/torture.sh` sets it.

mod collectors;
mod crowds;
mod cycles;
mod disk;
mod endings;
mod forks;
mod kills;
mod meddling;
mod memory;
mod order;
mod overflows;
mod sampling;
mod sharing;
mod speed;

/// The number of attempts of a test: the environment variable `TORTURE_<name>`, or else this.
fn times(name: &str, short: u64) -> u64 {
    let name = format!("TORTURE_{name}");
    std::env::var(&name).map_or(short, |text| {
        text.parse().unwrap_or_else(|_| panic!("{name}={text}: expected a number"))
    })
}

/// Returns whether this is the long form. Some tests of other modules have one, too, in which they try all combinations of
/// engines, programs and options of the JVM; the short form tries a part of them.
pub(crate) fn is_long() -> bool {
    times("LONG", 0) > 0
}

/// Random numbers that follow from `TORTURE_SEED` and the name of the test.
struct Random(u64);

impl Random {
    fn new(test: &str) -> Self {
        let seed = times("SEED", 1);
        println!("TORTURE_SEED={seed}");
        Self(
            test.bytes()
                .fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)),
        )
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below this.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// One of these.
    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::try_from(self.below(of.len() as u64)).unwrap()]
    }
}
