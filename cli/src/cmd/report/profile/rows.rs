//! The rows of a profile that are shown, in order, with their shares.

use std::cmp::{Ordering, Reverse};

use flow_query::profile::{Numbers, Profile, ProfileRow};

use crate::args::{PercentOf, ProfileArgs, ProfileBy, ProfileKey};
use crate::input::conditions::Facts;

/// What figures are shown, and how many rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    pub(super) by: ProfileBy,
    pub(super) of: PercentOf,
    pub(super) sort: ProfileKey,
    /// Whether two runs are compared.
    pub(super) is_diff: bool,
    pub(super) depth: usize,
    pub(super) min_percent: f64,
    pub(super) max: usize,
}

/// The rows to show.
#[derive(Debug)]
pub(super) struct Selected<'a> {
    pub(super) rows: Vec<ProfileRow<'a>>,
    /// How many are left out by their depth, by their share, and because there are too many.
    pub(super) deeper: u64,
    pub(super) smaller: u64,
    pub(super) more: u64,
}

/// Total and self of a figure.
pub(super) fn pair(numbers: Numbers, by: ProfileBy) -> [i64; 2] {
    let count = |count| i64::try_from(count).unwrap_or(i64::MAX);
    match by {
        ProfileBy::Count => [count(numbers.total_count), count(numbers.self_count)],
        ProfileBy::Time => [numbers.total_ns, numbers.self_ns],
    }
}

/// A share in percent; 0 of nothing.
#[expect(clippy::cast_precision_loss, reason = "a share is shown with one decimal")]
fn share(part: i64, whole: i64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// A number that sorts as it is shown.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Rank(f64);

impl Eq for Rank {}

impl PartialOrd for Rank {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Rank {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl Limits {
    /// The shares of total and self of a run, in percent.
    pub(super) fn shares(&self, row: &ProfileRow<'_>, run: usize, profile: &Profile) -> [f64; 2] {
        let whole = match self.of {
            PercentOf::All => profile.whole(),
            PercentOf::Thread => row.of_thread,
            PercentOf::Parent => row.of_parent,
        };
        self.shares_of(row, run, whole[run])
    }

    fn shares_of(&self, row: &ProfileRow<'_>, run: usize, whole: Numbers) -> [f64; 2] {
        let [whole, _] = pair(whole, self.by);
        pair(row.numbers[run], self.by).map(|part| share(part, whole))
    }

    /// By how much a row is shown before others: its figure, or how much its share changed.
    fn rank(&self, row: &ProfileRow<'_>, profile: &Profile, is_self: bool) -> Rank {
        let index = usize::from(is_self);
        #[expect(clippy::cast_precision_loss, reason = "rows that differ by so little are equal")]
        Rank(match self.is_diff {
            false => pair(row.numbers[0], self.by)[index] as f64,
            true => {
                let [before, after] = [0, 1].map(|run| self.shares(row, run, profile)[index]);
                (after - before).abs()
            }
        })
    }

    /// Selects the rows that meet the conditions and the limits.
    pub(super) fn select<'a>(
        &self,
        profile: &'a Profile,
        args: &ProfileArgs,
        name: impl Fn(&ProfileRow<'_>) -> String,
    ) -> Selected<'a> {
        let is_self = self.sort == ProfileKey::SelfWeight;
        let mut rows = profile.rows(|row| match self.sort {
            ProfileKey::Name => (Reverse(Rank(0.0)), name(row)),
            _ => (Reverse(self.rank(row, profile, is_self)), String::new()),
        });
        let mut selected = Selected { rows: Vec::new(), deeper: 0, smaller: 0, more: 0 };
        let is_frame = |row: &ProfileRow<'_>| row.frame.is_some();
        rows.retain(|row| {
            let is_deep = is_frame(row) && row.depth >= self.depth;
            selected.deeper += u64::from(is_deep);
            !is_deep
        });
        rows.retain(|row| {
            let of_all = |run| self.shares_of(row, run, profile.whole()[run])[0].abs();
            let is_small = is_frame(row) && of_all(0).max(of_all(1)) < self.min_percent;
            selected.smaller += u64::from(is_small);
            !is_small
        });
        // A tree keeps the rows with the largest totals, so that no row is without its parent.
        let is_tree = args.is_tree();
        let rank = |row: &ProfileRow<'_>| {
            let rank = match is_tree {
                true => Rank(
                    [0, 1]
                        .map(|run| self.shares_of(row, run, profile.whole()[run])[0].abs())
                        .into_iter()
                        .fold(0.0, f64::max),
                ),
                false => self.rank(row, profile, is_self),
            };
            (Reverse(rank), row.number)
        };
        let mut ranks: Vec<_> = rows.iter().filter(|row| is_frame(row)).map(rank).collect();
        if self.max < ranks.len() {
            selected.more = (ranks.len() - self.max) as u64;
            let (_, first_left, _) = ranks.select_nth_unstable(self.max);
            let first_left = *first_left;
            rows.retain(|row| !is_frame(row) || rank(row) < first_left);
        }
        selected.rows = rows;
        selected
    }

    /// The rows that meet the conditions, and those on the way to them.
    pub(super) fn filtered(&self, profile: &Profile, args: &ProfileArgs) -> Profile {
        if args.conditions.is_empty() {
            return profile.clone();
        }
        let names = flow_codec::MethodNames::new(profile.methods());
        profile.clone().only(|row| {
            let Some(frame) = row.frame else { return true };
            let info = profile.methods().get(frame.method).map(|method| &method.info);
            let name = names.get(frame.method, flow_codec::NameForm::Readable);
            let run = |run| (row.numbers[run], self.shares(row, run, profile));
            let runs = if self.is_diff { vec![run(0), run(1)] } else { vec![run(0)] };
            let facts = Facts {
                name: &name,
                class: info.map_or("", |info| &info.class),
                method: info.map_or("", |info| &info.name),
                source: info.and_then(|info| info.source.as_deref()).unwrap_or_default(),
                thread: row.thread.name.as_deref().unwrap_or_default(),
                runs: &runs,
            };
            args.conditions.iter().all(|condition| condition.holds(&facts))
        })
    }
}
