//! The values of calls and the exceptions that ended them, by the numbers of the calls, within budgets.
//!
//! Of the calls with values, those are kept that an exception ended, then the longest, and of equally long ones those with most calls
//! in them; of exceptions the first ones.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

use flow_codec::MethodId;
use flow_codec::format::values::CallValue;
use flow_codec::read::Methods;

use super::super::numbers::{cut, exact};
use crate::output::ValueTexts;

/// The most characters of the values of a call, or of the class and the message of an exception.
const CHARS: usize = 300;

/// How much is kept of a thread.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::html) struct DetailBudget {
    /// The most calls with values.
    pub(in crate::html) values: usize,
    /// The most calls that exceptions ended.
    pub(in crate::html) exceptions: usize,
}

/// Texts that are on the page once, however many calls have them.
#[derive(Default, Debug)]
pub(in crate::html) struct Texts {
    places: HashMap<String, usize>,
}

impl Texts {
    /// The place of a text.
    pub(in crate::html) fn place(&mut self, text: &str) -> usize {
        let (text, next) = (cut(text, CHARS), self.places.len());
        *self.places.entry(text).or_insert(next)
    }

    /// All texts, in the order of their places.
    pub(in crate::html) fn into_list(self) -> Vec<String> {
        let mut list: Vec<_> = self.places.into_iter().collect();
        list.sort_by_key(|(_, place)| *place);
        list.into_iter().map(|(text, _)| text).collect()
    }
}

/// A call that has ended.
#[derive(Debug)]
pub(in crate::html) struct EndedCall {
    pub(in crate::html) number: u64,
    pub(in crate::html) method: MethodId,
    /// How long it took, in the unit of the page.
    pub(in crate::html) width: u64,
    /// The number of calls in it, itself included.
    pub(in crate::html) calls: u64,
    pub(in crate::html) values: Vec<CallValue>,
    /// Whether an exception ended it, and the class, if that is known.
    pub(in crate::html) unwound: Option<Option<Arc<str>>>,
}

/// What a kept call is sorted by: those that are left out first are last.
type Rank = (bool, Reverse<(u64, u64)>, u64);

/// The details of a thread.
#[derive(Default, Debug)]
pub(in crate::html) struct Details {
    budget: DetailBudget,
    /// The ranks of calls with values, and these calls by number.
    ranks: BinaryHeap<Rank>,
    valued: HashMap<u64, EndedCall>,
    thrown: Vec<EndedCall>,
    more: MoreDetails,
}

/// Calls whose details are not on the page.
#[derive(Clone, Copy, Default, Debug)]
pub(in crate::html) struct MoreDetails {
    pub(in crate::html) values: u64,
    pub(in crate::html) exceptions: u64,
}

/// The details of a thread as the page has them: lists of the number of a call, less that of the call before it in the list,
/// and the place of a text.
#[derive(Clone, Default, Debug)]
pub(in crate::html) struct PageDetails {
    pub(in crate::html) values: Vec<i64>,
    pub(in crate::html) exceptions: Vec<i64>,
}

impl Details {
    pub(in crate::html) fn within(budget: DetailBudget) -> Self {
        Self { budget, ..Self::default() }
    }

    /// Returns whether the values of a call may be kept.
    pub(in crate::html) fn keeps_values(&self) -> bool {
        self.budget.values > 0
    }

    /// Adds a call that has values, or that an exception ended.
    pub(in crate::html) fn add(&mut self, call: EndedCall) {
        let rank = (call.unwound.is_none(), Reverse((call.width, call.calls)), call.number);
        // With the values, since one of them is its message.
        if call.unwound.is_some() && self.thrown.len() < self.budget.exceptions {
            return self.thrown.push(call);
        }
        if call.values.is_empty() {
            self.more.exceptions += u64::from(call.unwound.is_some());
            return;
        }
        self.ranks.push(rank);
        self.valued.insert(call.number, call);
        if self.ranks.len() > self.budget.values
            && let Some((is_returned, _, number)) = self.ranks.pop()
        {
            self.valued.remove(&number);
            self.more.values += 1;
            self.more.exceptions += u64::from(!is_returned);
        }
    }

    /// Encodes what was kept. Returns also how much was not.
    pub(in crate::html) fn finish(
        self,
        methods: &Methods,
        texts: &mut Texts,
    ) -> (PageDetails, MoreDetails) {
        let mut calls: Vec<_> = self.thrown.into_iter().chain(self.valued.into_values()).collect();
        calls.sort_unstable_by_key(|call| call.number);
        let mut details = PageDetails::default();
        let mut last = [0; 2];
        for EndedCall { number, method, values, unwound, .. } in calls {
            let thrown = unwound.flatten();
            let shown = ValueTexts::new(methods, Some(method)).of_call(&values, thrown.as_deref());
            let lists = [&mut details.values, &mut details.exceptions];
            for ((list, text), last) in lists.into_iter().zip(shown).zip(&mut last) {
                if !text.is_empty() {
                    let place = i64::try_from(texts.place(&text)).unwrap_or(i64::MAX);
                    list.extend([exact(number - *last), place]);
                    *last = number;
                }
            }
        }
        (details, self.more)
    }
}

#[cfg(test)]
mod tests {
    use flow_codec::format::values::{Primitive, Role, Value};

    use super::*;

    fn ended(number: u64, width: u64, value: i32, class: Option<&str>) -> EndedCall {
        let value = Value::Primitive(Primitive::Int(value));
        let values = vec![CallValue {
            role: Role::Result,
            version: 0,
            value,
            place: None,
            handled: None,
            wait: None,
        }];
        let unwound = class.map(|class| Some(class.into()));
        EndedCall { number, method: MethodId::new(1).unwrap(), width, calls: 1, values, unwound }
    }

    #[test]
    fn the_longest_calls_and_the_first_exceptions_are_kept() {
        let mut details = Details::within(DetailBudget { values: 3, exceptions: 2 });
        for (number, width, class) in [
            (9, 1, Some("a.Early")),
            (8, 50, None),
            (20, 5, None),
            (2, 70, None),
            (21, 5, Some("a.Early")),
            (30, 0, Some("a.Late")),
        ] {
            details.add(ended(number, width, 7, class));
        }
        let without_values = EndedCall { values: Vec::new(), ..ended(40, 0, 7, Some("a.Late")) };
        details.add(without_values);
        let mut texts = Texts::default();
        let (page, more) = details.finish(&Methods::default(), &mut texts);
        // Of the later exceptions, one is kept for its value. The narrowest call has no values.
        assert_eq!(page.values, [2, 0, 6, 0, 1, 0, 12, 0, 9, 0]);
        assert_eq!(page.exceptions, [9, 1, 12, 1, 9, 2]);
        assert_eq!((more.values, more.exceptions), (1, 1));
        assert_eq!(texts.into_list(), ["= 7", "a.Early", "a.Late"]);
    }
}
