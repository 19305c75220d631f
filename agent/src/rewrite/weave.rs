//! Assembles a class: everything unchanged, except for the end of the pool and the code of some methods.

use flow_codec::MethodId;

use super::class_file::bytes::u32_at;
use super::class_file::class::ClassFile;
use super::class_file::code::Code;
use super::class_file::judge::judge;
use super::class_file::pool::{Additions, Probes};
use super::layout::{self, Scratch};
use super::planning::lines::LineProbes;
use super::planning::plan::{Detail, Ids, Plan};
use super::tables::{close_attribute, open_attribute};
use crate::certain::Certain as _;
use crate::rewrite::{Malformed, Skip};

/// Rewrites the chosen methods, each given by its number. Returns the new class file, if anything changed,
/// and the methods that stayed unchanged, or of which less is recorded: without [instructions](Skip::WithoutInstructions), or
/// without [lines](Skip::WithoutLines), [values](Skip::WithoutValues) and [accesses](Skip::WithoutFields), too.
///
/// A class that has probes already is not changed.
#[must_use]
pub fn rewrite(
    class: &ClassFile<'_>,
    mut chosen: Vec<(usize, Plan<'_>, Ids)>,
    probes: Probes,
) -> (Option<Vec<u8>>, Vec<(usize, Skip)>) {
    let mut skipped = Vec::new();
    if class.has_probes() {
        return (None, skipped);
    }
    chosen.sort_unstable_by_key(|(method, ..)| *method);
    let mut weave = Weave::new(class, probes);
    let mut changed = false;
    for (method, plan, ids) in &chosen {
        if plan.line_probes == LineProbes::Alone && plan.line_starts.is_empty() {
            // Without a table of lines, nothing of the method is recorded.
            continue;
        }
        let mut written = weave.method(*method, plan, ids);
        let Detail { lines, values, accesses, instructions, exceptions, .. } = plan.detail();
        if lines == LineProbes::Alone {
            changed |= written.is_ok();
            skipped.extend(written.err().map(|_| (*method, Skip::WithoutLines)));
            continue;
        }
        let lines = lines != LineProbes::None;
        if written.is_err() && instructions && (lines || values || accesses || exceptions) {
            written = weave.method(*method, &plan.without_instructions(), ids);
            if written.is_ok() {
                skipped.push((*method, Skip::WithoutInstructions));
            }
        }
        if written.is_err() && (lines || values || accesses || instructions || exceptions) {
            written = class.plan(*method).and_then(|plan| weave.method(*method, &plan, ids));
            let without = [
                (lines, Skip::WithoutLines),
                (values, Skip::WithoutValues),
                (instructions, Skip::WithoutInstructions),
                (accesses, Skip::WithoutFields),
                (exceptions, Skip::WithoutExceptions),
            ];
            let without = without.into_iter().filter(|(wanted, _)| *wanted && written.is_ok());
            skipped.extend(without.map(|(_, skip)| (*method, skip)));
        }
        changed |= written.is_ok();
        skipped.extend(written.err().map(|skip| (*method, skip)));
    }
    let bytes = if changed { weave.finish().ok() } else { None };
    (bytes, skipped)
}

/// Makes the methods with these names, which take one object, call the static methods of the same name and type in another
/// class with it as they begin. Returns the new class file, if all of them could be changed.
#[must_use]
pub fn announce(class: &ClassFile<'_>, to: &'static [u8], names: &[&[u8]]) -> Option<Vec<u8>> {
    let mut weave = Weave::new(class, Probes::Plain);
    // Nothing is recorded, so no id matters.
    let ids =
        Ids { method: MethodId::new(0)?, callees: Vec::new(), fields: Vec::new(), first_place: 0 };
    for (index, entry) in class.methods.iter().enumerate() {
        if names.contains(&entry.name) && entry.descriptor.starts_with(b"(L") {
            weave.method(index, &class.plan_announced(entry, to).ok()?, &ids).ok()?;
        }
    }
    weave.finish().ok()
}

struct Weave<'c, 'a> {
    class: &'c ClassFile<'a>,
    additions: Additions,
    scratch: Scratch,
    /// What follows the pool, up to the last rewritten method.
    rest: Vec<u8>,
    /// How much of the class file was copied to `rest`.
    copied: usize,
}

impl<'c, 'a> Weave<'c, 'a> {
    fn new(class: &'c ClassFile<'a>, probes: Probes) -> Self {
        let rest = Vec::with_capacity(class.bytes.len() * 2);
        let additions = Additions::to(&class.pool, probes);
        Self { class, additions, scratch: Scratch::default(), rest, copied: class.pool_end }
    }

    fn method(&mut self, method: usize, plan: &Plan<'_>, ids: &Ids) -> Result<(), Skip> {
        let entry = self.class.methods.get(method).ok_or(Skip::NoCode)?;
        let code = entry.code.clone().ok_or(Skip::NoCode)?;
        let (mark, len) = (self.additions.mark(), self.rest.len());
        let written = self.copy(code.start).and_then(|name| {
            let content_at = open_attribute(name, &mut self.rest);
            let (additions, scratch) = (&mut self.additions, &mut self.scratch);
            layout::assemble(self.class, plan, ids, additions, scratch, &mut self.rest)?;
            close_attribute(content_at, &mut self.rest)?;
            stays_compiled(plan, self.rest.get(content_at..).certain())
        });
        match written {
            Ok(()) => self.copied = code.end,
            Err(_) => {
                self.rest.truncate(len);
                self.additions.undo(mark);
            }
        }
        written
    }

    /// Copies everything before an attribute that will be replaced. Returns the index of the attribute's
    /// name.
    fn copy(&mut self, until: usize) -> Result<u16, Skip> {
        let between = self.class.bytes.get(self.copied..until).ok_or(Skip::Malformed)?;
        self.rest.extend_from_slice(between);
        Ok(super::class_file::bytes::u16_at(self.class.bytes, until)?)
    }

    fn finish(self) -> Result<Vec<u8>, Malformed> {
        let tail = self.class.bytes.get(self.copied..).ok_or(Malformed::Truncated)?;
        self.class.with_pool(&self.additions, &[&self.rest, tail])
    }
}

/// The most bytes of code that HotSpot compiles (`HugeMethodLimit`).
const MAX_COMPILED: usize = 8000;

/// Refuses the new content of a `Code` attribute if HotSpot compiles the method now and would not compile it
/// then.
fn stays_compiled(plan: &Plan<'_>, content: &[u8]) -> Result<(), Skip> {
    const LEN_AT: usize = 4;
    let new_len = u32_at(content, LEN_AT)? as usize;
    if plan.code.bytes.len() <= MAX_COMPILED && new_len > MAX_COMPILED {
        return Err(Skip::TooLargeToCompile);
    }
    if plan.delicate
        && let (new, _attributes) = Code::parse_head(content)?
        && let (Some(old), Some(new)) = (judge(&plan.code)?, judge(&new)?)
        && !new.is_as_good_as(old)
    {
        return Err(Skip::NotCompilable);
    }
    Ok(())
}
