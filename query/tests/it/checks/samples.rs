//! Arbitrary bytes as samples: those that are read can be written again, and memory is in proportion to the bytes.

use flow_codec::format::samples::{BatchEncoder, Found, Sample, Sampling};
use flow_codec::read::Samples;

use crate::support::pieces::Pieces;

pub(super) fn check(bytes: &[u8]) {
    let Some((&size, bytes)) = bytes.split_first() else {
        return;
    };
    // As they are, and as the content of a batch, which a fuzzer would take long to find.
    check_file(bytes, size);
    let len = u32::try_from(bytes.len()).expect("an input of a fuzzer").to_be_bytes();
    let mut crc = crc32fast::Hasher::new();
    crc.update(&len);
    crc.update(bytes);
    let header = [&b"flow-smp\x01"[..], &len, &crc.finalize().to_be_bytes()].concat();
    check_file(&[&header, bytes].concat(), size);
}

fn check_file(bytes: &[u8], size: u8) {
    let sizes = [usize::from(size).max(1), 0];
    let mut samples = Samples::new(Pieces::new(bytes, &sizes), "samples");
    let mut encoder: Option<(Sampling, BatchEncoder)> = None;
    let (mut again, mut seen) = (Vec::new(), Vec::new());
    while let Some((sampling, sample)) = samples.next_sample().expect("memory can be read") {
        if let Found::Stack { frames, .. } = sample.found {
            assert!(frames.len() <= bytes.len() / 3, "frames take three bytes");
        }
        if seen.len() < 1000 {
            seen.push(format!("{sampling:?} {sample:?}"));
            add(&mut encoder, &mut again, sampling, &sample);
        }
    }
    if let Some((_, encoder)) = &mut encoder {
        again.extend_from_slice(encoder.finish().expect("a sample"));
    }
    let mut samples = Samples::new(&again[..], "samples");
    for expected in seen {
        let (sampling, sample) = samples.next_sample().expect("memory").expect("a sample");
        assert_eq!(format!("{sampling:?} {sample:?}"), expected);
    }
    assert!(samples.next_sample().expect("memory").is_none() && samples.damage().is_empty());
}

fn add(
    encoder: &mut Option<(Sampling, BatchEncoder)>,
    again: &mut Vec<u8>,
    sampling: Sampling,
    sample: &Sample<'_>,
) {
    if let Some((of, batch)) = encoder
        && *of != sampling
    {
        again.extend_from_slice(batch.finish().expect("a sample"));
        *encoder = None;
    }
    let (_, batch) = encoder.get_or_insert_with(|| (sampling, BatchEncoder::new(sampling)));
    batch.add(sample);
}
