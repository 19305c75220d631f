//! The frames of samples by the names of their methods, and the samples added up by these.

use std::collections::HashMap;

use super::lean::{LeanFrame, LeanPlace, LeanProfile, SampleWeight};
use super::numbered::Numbered;
use crate::analysis::{PathTree, ROOT, StackSums};
use flow_codec::MethodId;
use flow_codec::format::hpl::NATIVE_BCI;
use flow_codec::format::methods::MethodInfo;
use flow_codec::read::{Methods, TimeAxis};

/// Which frames are one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum FrameGrouping {
    /// Frames of the same method.
    #[default]
    Method,
    /// Frames at the same line of a method.
    Line,
    /// Frames at the same instruction of a method.
    Bci,
}

/// A method, and where in it a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Frame {
    /// The method, one of [`Frames::methods`].
    pub method: MethodId,
    /// The line, if frames are distinguished by it and it is known.
    pub line: Option<u32>,
    /// The bytecode index, if frames are distinguished by it and it is known; [`NATIVE_BCI`] in a native method.
    pub bci: Option<i32>,
}

impl Frame {
    /// A frame anywhere in a method.
    #[must_use]
    pub const fn of(method: MethodId) -> Self {
        Self { method, line: None, bci: None }
    }
}

/// The frames of a [`LeanProfile`] by name. Trees of its samples have their numbers in the place of those of methods.
#[derive(Debug)]
pub struct Frames<'a> {
    profile: &'a LeanProfile,
    methods: Methods,
    frames: Numbered<Frame>,
    /// The number of each frame of the profile.
    numbers: HashMap<LeanFrame, MethodId>,
}

impl<'a> Frames<'a> {
    /// Returns the frames of a profile. Methods of the same name are one.
    #[must_use]
    pub fn new(profile: &'a LeanProfile, grouping: FrameGrouping) -> Self {
        let (mut methods, mut frames) = (Methods::default(), Numbered::default());
        let (mut ids, mut numbers) = (HashMap::new(), HashMap::new());
        for node in profile.nodes() {
            let LeanPlace::Frame(lean) = node.place else { continue };
            numbers.entry(lean).or_insert_with(|| {
                let unknown =
                    || MethodInfo { name: format!("?#{}", lean.method), ..MethodInfo::default() };
                let info = profile.methods().get(&lean.method).cloned().unwrap_or_else(unknown);
                let key = [&info.class, &info.name, &info.descriptor].map(String::clone);
                let next = id(ids.len());
                let method = *ids.entry((key, info.inlined.clone())).or_insert(next);
                if method == next {
                    methods.insert(method, info);
                }
                let line = u32::try_from(lean.line).ok().filter(|line| *line > 0);
                let bci = Some(lean.bci).filter(|bci| *bci >= 0 || *bci == NATIVE_BCI);
                let frame = frames.number(&match grouping {
                    FrameGrouping::Method => Frame::of(method),
                    FrameGrouping::Line => Frame { method, line, bci: None },
                    FrameGrouping::Bci => Frame { method, line, bci },
                });
                MethodId::new((frame.get() - 1).into()).unwrap_or(MethodId::MAX)
            });
        }
        Self { profile, methods, frames, numbers }
    }

    /// The methods of the frames.
    #[must_use]
    pub fn methods(&self) -> &Methods {
        &self.methods
    }

    /// Lets names be those of the class files, as [`Methods::show_raw_names`] does.
    pub fn show_raw_names(&mut self) {
        self.methods.show_raw_names();
    }

    /// Returns the frame with a number.
    #[must_use]
    pub fn get(&self, number: MethodId) -> Option<Frame> {
        self.frames.get(u32::try_from(number.get()).ok()?.checked_add(1)?).copied()
    }

    /// Returns the frames as methods, by the same numbers: one for each line, if lines are distinguished.
    #[must_use]
    pub fn as_methods(&self) -> Methods {
        let mut methods = Methods::default();
        for (number, frame) in self.frames.all().iter().enumerate() {
            let info = self.methods.get(frame.method).map(|method| method.info().clone());
            let info = info.unwrap_or_default();
            let (source, line) = info.named_place(frame.line);
            let source = source.map(str::to_owned);
            methods
                .insert(id(number), MethodInfo { source, line, inlined: Box::default(), ..info });
        }
        methods
    }

    /// Adds up the samples of the selected threads, which weigh their time on this axis; if there is none, 1 each. Callees of
    /// frames of methods that are not shown move up to their callers, which also get their samples.
    #[must_use]
    pub fn tree(
        &self,
        is_selected: impl Fn(i64) -> bool,
        is_shown: impl Fn(&MethodInfo) -> bool,
        axis: Option<TimeAxis>,
    ) -> PathTree {
        let (mut sums, unknown) = (StackSums::default(), MethodInfo::default());
        // By node of the profile, where it is; `None` in threads that are left out.
        let mut places: Vec<Option<u32>> = Vec::new();
        for node in self.profile.nodes() {
            let parent = node.parent.and_then(|parent| places.get(parent).copied().flatten());
            let place = match (node.place, parent) {
                (LeanPlace::Thread(thread), _) => is_selected(thread).then_some(ROOT),
                (LeanPlace::Frame(frame), Some(parent)) => {
                    let method = self.profile.methods().get(&frame.method).unwrap_or(&unknown);
                    let number = self.numbers.get(&frame).filter(|_| is_shown(method));
                    let here = number.map_or(parent, |number| sums.child(parent, *number));
                    let SampleWeight { count, ns, waiting_ns } = node.samples;
                    let [ns, waiting_ns] =
                        [ns, waiting_ns].map(|ns| u64::try_from(ns).unwrap_or_default());
                    sums.add(here, count, ns, waiting_ns);
                    Some(here)
                }
                (LeanPlace::Frame(_), None) => None,
            };
            places.push(place);
        }
        sums.into_tree(axis)
    }
}

fn id(number: usize) -> MethodId {
    MethodId::new(number as u64).unwrap_or(MethodId::MAX)
}
