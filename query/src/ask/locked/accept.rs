//! Replaces tests of a lock by those of a run.

use std::collections::BTreeSet;

use flow_codec::format::test_lock::{LockedTest, TestLock};

use super::LockedTests;
use crate::Error;
use crate::ask::code::parts_of_name;
use crate::error::ClassesNotRun;

/// What to do about tests of a lock that a run does not have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GoneTests {
    /// Keep them: the run had some of the tests only.
    Keep,
    /// Remove them: they no longer exist.
    Remove,
}

impl LockedTests {
    /// Replaces the tests of a lock that are asked for by those of a run. Without `gone`, a test that the run does not have is
    /// removed if other tests of its class ran.
    ///
    /// # Errors
    /// `gone` is missing, and the run has no test of a class.
    pub fn accept(
        &self,
        lock: TestLock,
        run: TestLock,
        gone: Option<GoneTests>,
    ) -> Result<TestLock, Error> {
        if gone.is_none()
            && let Some(classes) = self.classes_not_run(&lock, &run)
        {
            return Err(Error::ClassesNotRun(classes));
        }
        let ran: BTreeSet<&str> = run.tests.iter().map(|test| &*test.name).collect();
        let stays = |LockedTest { name, .. }: &LockedTest| {
            !self.tests.include(name) || gone == Some(GoneTests::Keep) && !ran.contains(&**name)
        };
        let mut new = lock;
        new.tests.retain(stays);
        if new.tests.is_empty() {
            return Ok(run);
        }
        new.tests.extend(run.tests);
        new.tests.sort_unstable();
        new.recorded.extend(run.recorded);
        Ok(new)
    }

    /// Keeps the tests of a lock that are asked for; of these, with [`GoneTests::Keep`], the ones that a run has.
    #[must_use]
    pub fn only(&self, mut lock: TestLock, run: &TestLock, gone: Option<GoneTests>) -> TestLock {
        let ran: BTreeSet<&str> = run.tests.iter().map(|test| &*test.name).collect();
        let is_compared = |name: &str| gone != Some(GoneTests::Keep) || ran.contains(name);
        lock.tests.retain(|test| self.tests.include(&test.name) && is_compared(&test.name));
        lock
    }

    /// Returns the classes of a lock of which a run has no test, if there are any, without tests that are not asked for.
    #[must_use]
    pub fn classes_not_run(&self, lock: &TestLock, run: &TestLock) -> Option<ClassesNotRun> {
        let ran: BTreeSet<&str> = run.tests.iter().map(|test| class_of(&test.name)).collect();
        let asked_for = lock.tests.iter().filter(|test| self.tests.include(&test.name));
        let missing: Vec<&LockedTest> =
            asked_for.filter(|test| !ran.contains(class_of(&test.name))).collect();
        let first = missing.first()?.name.clone();
        let classes: BTreeSet<&str> = missing.iter().map(|test| class_of(&test.name)).collect();
        let (classes, tests) = (classes.len() as u64, missing.len() as u64);
        Some(ClassesNotRun { classes, tests, first })
    }
}

/// The class of a test. One that is named in another way is by itself.
fn class_of(name: &str) -> &str {
    parts_of_name(name).map_or(name, |(class, _)| class)
}
