//! The methods of the page. Each is named once: first those that are drawn, then the application's own, then those with
//! the largest totals, up to a size.

use std::cmp::Reverse;
use std::collections::HashMap;

use flow_codec::read::Methods;
use flow_codec::{MethodId, MethodNames, NameForm};
use serde::{Serialize, Serializer};

use super::charts::chart::NO_METHOD;
use super::charts::gather::MethodSums;
use super::numbers::cut;
use super::rough::Rough;
use crate::failure::Failure;
use flow_query::shapes::JoinedNames;

/// The most methods that are named.
const METHODS: usize = 8000;
/// The most bytes of their names.
const NAME_BYTES: usize = 1 << 20;
/// The most bytes of the names of further methods, which only calls that are unfolded need.
const FURTHER_NAME_BYTES: usize = 8 << 20;
/// The most characters of a class, a method's name or a descriptor.
const NAME_CHARS: usize = 400;

/// The methods of the page and their places on it.
#[derive(Serialize)]
pub(super) struct PageMethods {
    /// Classes, with and without their packages.
    classes: Vec<[String; 2]>,
    methods: Vec<Row>,
    more_methods: MoreMethods,
    /// The index in `methods` of each method number.
    #[serde(skip)]
    places: Vec<Option<u32>>,
    #[serde(skip)]
    further: FurtherMethods,
    /// The index of each method among those and, one later, the further ones.
    #[serde(skip)]
    in_shapes: HashMap<MethodId, u32>,
}

/// The methods that are named among the shapes of the page only. Their places follow that of a method that is not on
/// the page.
#[derive(Default, Serialize)]
pub(super) struct FurtherMethods {
    classes: Vec<[String; 2]>,
    methods: Vec<Row>,
}

impl FurtherMethods {
    /// All methods of several traces, on a page that has no others.
    pub(super) fn of_joined(names: &JoinedNames<'_>) -> Self {
        let (mut all, mut classes, mut bytes) = (Self::default(), HashMap::new(), 0);
        for (known, id) in names.iter() {
            if bytes > FURTHER_NAME_BYTES {
                break;
            }
            let (class, words) = words(known, id);
            bytes += words.iter().map(String::len).sum::<usize>();
            let class = *classes.entry(class).or_insert_with_key(|class| {
                bytes += 2 * class.len();
                all.classes.push([class.clone(), simple(class)]);
                small(all.classes.len() - 1)
            });
            all.methods.push(Row(class, words, MethodSums::default(), [false; 2]));
        }
        all
    }

    /// The place of a joined method.
    pub(super) fn place(&self, number: MethodId) -> u32 {
        let place = usize::try_from(number.get()).unwrap_or(usize::MAX);
        if place < self.methods.len() { small(place + 1) } else { 0 }
    }

    /// What the page reads.
    pub(super) fn json(&self) -> Result<String, Failure> {
        Ok(serde_json::to_string(self)?)
    }
}

/// A method: the index of its class; its name, its readable name without the class, and its descriptor; its sums,
/// whether it is the application's own, and how long threads waited in it; and whether total and self are known only
/// roughly.
struct Row(u32, [String; 3], MethodSums, [bool; 2]);

/// Methods that are not named.
#[derive(Default, Serialize)]
struct MoreMethods {
    methods: u64,
    calls: u64,
}

impl Serialize for Row {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Self(class, [name, label, descriptor], sums, rough) = self;
        let MethodSums { calls, total, self_weight, duration, kind, .. } = sums;
        let (is_own, waiting) = (u8::from(kind.is_own), duration.saturating_sub(*total));
        let rough = rough.map(u8::from);
        (class, name, label, descriptor, calls, total, self_weight, is_own, waiting, rough)
            .serialize(to)
    }
}

impl PageMethods {
    /// The names of methods, which have the numbers of their places in `methods`. Those whose numbers are in
    /// `shown` come first.
    pub(super) fn new(
        known: &Methods,
        methods: &[(MethodId, MethodSums)],
        rough: &Rough,
        shown: impl Iterator<Item = u32>,
    ) -> Self {
        let mut is_shown = vec![false; methods.len()];
        for method in shown {
            if let Some(is_shown) = is_shown.get_mut(index(method)) {
                *is_shown = true;
            }
        }
        let mut order: Vec<_> = methods.iter().zip(&is_shown).enumerate().collect();
        order.sort_by_key(|(number, ((_, sums), is_shown))| {
            (!**is_shown, !sums.kind.is_own, Reverse((sums.total, sums.calls)), *number)
        });
        let mut names = Self {
            classes: Vec::new(),
            methods: Vec::new(),
            more_methods: MoreMethods::default(),
            places: vec![None; methods.len()],
            further: FurtherMethods::default(),
            in_shapes: HashMap::new(),
        };
        let known = MethodNames::new(known);
        let mut classes = HashMap::new();
        let mut bytes = 0;
        let mut is_further = false;
        for (number, ((id, sums), _)) in order {
            is_further |= names.methods.len() == METHODS || bytes > NAME_BYTES;
            if is_further {
                names.more_methods.methods += 1;
                names.more_methods.calls += sums.calls;
                if bytes > NAME_BYTES + FURTHER_NAME_BYTES {
                    continue;
                }
            }
            let (class, words) = words(&known, *id);
            bytes += words.iter().map(String::len).sum::<usize>();
            let listed = names.classes.len();
            let new = if is_further { &mut names.further.classes } else { &mut names.classes };
            let class = *classes.entry(class).or_insert_with_key(|class| {
                let simple = simple(class);
                bytes += class.len() + simple.len();
                new.push([class.clone(), simple]);
                small(if is_further { listed + new.len() } else { new.len() } - 1)
            });
            let rough = rough.get(id).copied().unwrap_or_default();
            let row = Row(class, words, *sums, rough);
            let place = small(names.methods.len());
            if is_further {
                names.further.methods.push(row);
                names.in_shapes.insert(*id, place + small(names.further.methods.len()));
            } else {
                names.methods.push(row);
                names.in_shapes.insert(*id, place);
                if let Some(of_number) = names.places.get_mut(number) {
                    *of_number = Some(place);
                }
            }
        }
        names
    }

    /// The index of a method among those of the shapes.
    pub(super) fn in_shapes(&self, id: MethodId) -> u32 {
        self.in_shapes.get(&id).copied().unwrap_or(self.unnamed())
    }

    /// The methods that only the shapes name, as JSON.
    pub(super) fn further(&self) -> Result<String, Failure> {
        self.further.json()
    }

    /// The index of the method with this number; `None` if it is not on the page.
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        self.places.get(index(number)).copied().flatten().filter(|_| number != NO_METHOD)
    }

    /// The index that means a method that is not on the page.
    pub(super) fn unnamed(&self) -> u32 {
        small(self.methods.len())
    }
}

/// A class without its package.
fn simple(class: &str) -> String {
    class.rsplit('.').next().unwrap_or(class).to_owned()
}

/// The class of a method; and its name, its readable name without the class, and its descriptor. An id without a name
/// shows as `?#7`.
fn words(known: &MethodNames<'_>, id: MethodId) -> (String, [String; 3]) {
    let readable = known.get(id, NameForm::Readable);
    let Some(method) = known.methods().get(id) else {
        return (String::new(), [readable.clone(), readable, String::new()]);
    };
    let info = method.info();
    let label = readable.strip_prefix(&info.class).unwrap_or(&readable);
    let label = label.strip_prefix('.').unwrap_or(label);
    let words = [&info.name, label, &info.descriptor].map(|word| cut(word, NAME_CHARS));
    (cut(&info.class, NAME_CHARS), words)
}

fn index(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

fn small(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}
