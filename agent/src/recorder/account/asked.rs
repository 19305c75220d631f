//! Class loaders of the program that were asked for the probe class.

use std::collections::BTreeMap;

use flow_codec::format::manifest::AskedLoader;
use parking_lot::Mutex;

/// A program may generate classes of loaders without end. This many are named, and the others are counted
/// together.
const MAX_CLASSES: usize = 1000;
/// The name under which the others are counted.
const OTHERS: &str = "*";

/// How many requests loaders of each class got.
#[derive(Debug, Default)]
pub(in crate::recorder) struct AskedLoaders(Mutex<BTreeMap<String, u64>>);

impl AskedLoaders {
    /// Counts a request.
    pub(in crate::recorder) fn add(&self, class: &str) {
        let mut requests = self.0.lock();
        let is_named = requests.len() < MAX_CLASSES || requests.contains_key(class);
        let class = if is_named { class } else { OTHERS };
        *requests.entry(class.to_owned()).or_default() += 1;
    }

    pub(in crate::recorder) fn all(&self) -> Vec<AskedLoader> {
        let asked = |(class, requests): (&String, &u64)| AskedLoader {
            class: class.clone(),
            requests: *requests,
        };
        self.0.lock().iter().map(asked).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_requests_are_counted_and_the_first_classes_named() {
        let asked = AskedLoaders::default();
        for _ in 0..2 {
            (0..MAX_CLASSES + 5).for_each(|number| asked.add(&format!("a.Loader{number}")));
        }
        let all = asked.all();
        assert_eq!(all.len(), MAX_CLASSES + 1);
        assert_eq!(all[0], AskedLoader { class: OTHERS.to_owned(), requests: 10 });
        assert!(all[1..].iter().all(|asked| asked.requests == 2));
    }
}
