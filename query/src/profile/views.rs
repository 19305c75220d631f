//! Other views of a profile: by frame, callers and callees of frames, and only some rows.

use std::num::NonZeroU32;

use super::by_name::{NumbersOfRuns, Profile, ProfileFrame, ProfileRow, at};
use super::lean::Numbers;
use crate::analysis::{Paths, ROOT};

/// How the frames of a path are on it: by number of the frame, the index of the outermost one.
struct Outermost {
    first: Vec<Option<usize>>,
    path: Vec<u32>,
}

impl Outermost {
    fn new(frames: usize) -> Self {
        Self { first: vec![None; frames + 1], path: Vec::new() }
    }

    /// Moves to a frame of this depth, below the path so far. Returns where the same frame is for the first time; its own
    /// depth if it is there for the first time.
    fn enter(&mut self, depth: usize, frame: u32) -> usize {
        for (index, left) in self.path.drain(depth..).enumerate().rev() {
            if let Some(first) = self.first.get_mut(at(left))
                && *first == Some(depth + index)
            {
                *first = None;
            }
        }
        self.path.push(frame);
        self.first.get_mut(at(frame)).map_or(depth, |first| *first.get_or_insert(depth))
    }
}

impl Profile {
    /// The frames of each thread, wherever they were called: no row has a row below it. A frame that calls itself counts
    /// once for each sample.
    #[must_use]
    pub fn flat(self) -> Self {
        self.callers_to(&|_| true, 1)
    }

    /// The callers of these frames. A row for each of the frames has rows for its direct callers, these for theirs, and so
    /// on. Figures are those of the frame, called in this way; for a frame that calls itself, they count once, for the
    /// outermost call.
    #[must_use]
    pub fn callers(self, is_chosen: impl Fn(&ProfileFrame) -> bool) -> Self {
        self.callers_to(&is_chosen, usize::MAX)
    }

    fn callers_to(self, is_chosen: &dyn Fn(&ProfileFrame) -> bool, depth: usize) -> Self {
        let chosen = self.chosen(is_chosen);
        self.viewed(|profile, nodes| {
            let mut outermost = Outermost::new(profile.frames.all().len());
            let mut root = ROOT;
            profile.walk(|node, place| {
                let Some(place) = place else {
                    root = add(nodes, ROOT, node.method, node.counts);
                    return;
                };
                let first = outermost.enter(place, node.method);
                if !chosen.get(at(node.method)).is_some_and(|is| *is) {
                    return;
                }
                let numbers = node.counts.map(|numbers| match first == place {
                    true => numbers,
                    false => Numbers { total_count: 0, total_ns: 0, waiting_ns: 0, ..numbers },
                });
                let callers = outermost.path.get(..=first).unwrap_or_default();
                callers
                    .iter()
                    .rev()
                    .take(depth)
                    .fold(root, |below, caller| add(nodes, below, *caller, numbers));
            });
        })
    }

    /// What these frames call. A row for each of the frames has rows for its callees, and so on. A frame that calls itself
    /// is a row only where no outer one is the same; what it calls inside that is below it.
    #[must_use]
    pub fn callees(self, is_chosen: impl Fn(&ProfileFrame) -> bool) -> Self {
        let chosen = self.chosen(&is_chosen);
        self.viewed(|profile, nodes| {
            let mut outermost = Outermost::new(profile.frames.all().len());
            let mut root = ROOT;
            // For each frame of the path, the nodes that count it: one for each chosen frame that it is in.
            let mut places: Vec<Vec<u32>> = Vec::new();
            profile.walk(|node, place| {
                let Some(place) = place else {
                    root = add(nodes, ROOT, node.method, node.counts);
                    return;
                };
                let is_first = outermost.enter(place, node.method) == place;
                let is_chosen = chosen.get(at(node.method)).is_some_and(|is| *is);
                places.truncate(place);
                let outer = places.last().cloned().unwrap_or_default();
                let here = outer.into_iter().chain((is_first && is_chosen).then_some(root));
                places
                    .push(here.map(|above| add(nodes, above, node.method, node.counts)).collect());
            });
        })
    }

    /// Keeps the rows that are chosen, and those on the way to them. Figures do not change.
    #[must_use]
    pub fn only(mut self, is_chosen: impl Fn(&ProfileRow<'_>) -> bool) -> Self {
        let mut stays = vec![false; self.nodes.nodes().len()];
        // Backwards, each row comes after those below it.
        for row in self.rows(|row| row.number).iter().rev() {
            let is_kept = row.frame.is_none()
                || stays.get(at(row.number)).is_some_and(|stays| *stays)
                || is_chosen(row);
            for number in [row.number, row.parent] {
                if let Some(stays) = stays.get_mut(at(number)) {
                    *stays |= is_kept;
                }
            }
        }
        self.nodes.retain(&stays, |_, _| {});
        self
    }

    /// The same threads and frames with other nodes.
    fn viewed(mut self, view: impl FnOnce(&Self, &mut Paths<NumbersOfRuns>)) -> Self {
        let mut nodes = Paths::default();
        view(&self, &mut nodes);
        self.nodes = nodes;
        self
    }

    /// By number of the frame, whether it is chosen.
    fn chosen(&self, is_chosen: &dyn Fn(&ProfileFrame) -> bool) -> Vec<bool> {
        // Numbers count from 1 on.
        [false].into_iter().chain(self.frames.all().iter().map(is_chosen)).collect()
    }
}

/// Adds to the figures of a node below another one, which is made if it is new. Returns it.
fn add(nodes: &mut Paths<NumbersOfRuns>, parent: u32, number: u32, more: NumbersOfRuns) -> u32 {
    let Some(number) = NonZeroU32::new(number) else { return parent };
    let node = nodes.child(parent, number);
    if let Some(sums) = nodes.counts_mut(node) {
        sums.iter_mut().zip(more).for_each(|(sum, more)| sum.add(more));
    }
    node
}
