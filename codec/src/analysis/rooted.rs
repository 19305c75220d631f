//! HOT: only what happens in some methods.

#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::num::NonZeroU64;

use crate::read::Visit;
use crate::{MethodId, MethodMap};

/// Hands on the calls of some methods, and all calls made in them, as if nobody had called them. Of a chosen
/// method within another only the outer one begins anew.
#[derive(Clone, Debug)]
pub struct Rooted<F, V> {
    chosen: F,
    /// What `chosen` said.
    known: MethodMap<bool>,
    inner: V,
    /// Open frames of the outermost chosen method and those above it.
    inside: u64,
}

impl<F: FnMut(MethodId) -> bool, V: Visit> Visit for Rooted<F, V> {
    #[inline]
    fn enter(&mut self, method: MethodId) {
        if self.inside > 0 || self.is_chosen(method) {
            self.inside += 1;
            self.inner.enter(method);
        }
    }

    #[inline]
    fn exit(&mut self, count: NonZeroU64) {
        // Frames outside lie below: nothing else need be known of them.
        if let Some(left) = NonZeroU64::new(self.inside.min(count.get())) {
            self.inside -= left.get();
            self.inner.exit(left);
        }
    }
}

impl<F: FnMut(MethodId) -> bool, V> Rooted<F, V> {
    /// Hands on to `inner` what happens in the methods that `chosen` says yes to. It is asked once for each
    /// method.
    pub fn new(chosen: F, inner: V) -> Self {
        Self { chosen, known: MethodMap::default(), inner, inside: 0 }
    }

    #[inline]
    fn is_chosen(&mut self, method: MethodId) -> bool {
        match self.known.get(method) {
            Some(is_chosen) => *is_chosen,
            None => {
                let is_chosen = (self.chosen)(method);
                self.known.insert(method, is_chosen);
                is_chosen
            }
        }
    }

    /// A thread has ended; whoever receives the calls is to be told apart.
    pub fn end_thread(&mut self) {
        self.inside = 0;
    }

    /// Who receives the calls.
    pub fn inner_mut(&mut self) -> &mut V {
        &mut self.inner
    }

    /// Who has received the calls.
    pub fn into_inner(self) -> V {
        self.inner
    }
}
