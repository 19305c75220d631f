//! Plans what is inserted where, before the ids are known.

use flow_codec::MethodId;

use super::accesses::{Access, Accessed, Accesses, Choice, FieldName};
use super::catch::CatchPlaces;
use super::constructor::{self, Before};
use super::handlers::{HandlerProbe, HandlerProbes};
use super::leaf;
use super::lines::{LineProbes, Lines};
use super::steps::Steps;
use super::values::Values;
use crate::certain::Certain as _;
use crate::rewrite::Skip;
use crate::rewrite::class_file::class::{ClassFile, Entry};
use crate::rewrite::class_file::code::{Code, Instruction, Places};
use crate::rewrite::class_file::opcode::{self, Flow, MONITORENTER, MONITOREXIT, RETURN};
use crate::text::{binary_name, decode};

/// What is recorded of a method beside its calls.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Detail {
    /// Lines that are reached.
    pub lines: LineProbes,
    /// Arguments, results, and messages of exceptions.
    pub values: bool,
    /// Each instruction that is executed.
    pub instructions: bool,
    /// Accesses to fields and elements of arrays.
    pub accesses: bool,
    /// Exceptions that reach handlers.
    pub exceptions: bool,
    /// The version of the method. Calls of any version but 0 are marked.
    pub version: u16,
}

/// What would be inserted into a method. See [`ClassFile::plan`].
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The calls of other constructors for the same object, in the order of the code.
    pub calls: Vec<ConstructorCall>,
    /// Whether entry and exit are recorded by one call, at the start.
    pub leaf: bool,
    /// The values that are recorded.
    pub values: Option<Values>,
    /// The instructions that are recorded.
    pub steps: Option<Steps>,
    /// The fields of which accesses are recorded, each once.
    pub fields: Vec<FieldName>,
    /// Whether messages of exceptions that reach handlers are left out.
    pub redacts_handled: bool,
    /// Whether the exceptions of a handler are not recorded, though those of others would be.
    pub has_other_handlers: bool,
    /// The version with which calls of the method are marked; `None` for version 0.
    pub(in crate::rewrite) version: u16,
    /// Whether probes might make HotSpot's compilers refuse the method, so that the result must be
    /// judged.
    pub(in crate::rewrite) delicate: bool,
    pub(in crate::rewrite) line_probes: LineProbes,
    /// The lines that are recorded, in the order of the code.
    pub(in crate::rewrite) line_starts: Vec<u16>,
    /// For each probe of lines, the index of the first one.
    pub(in crate::rewrite) first_lines: Vec<usize>,
    /// The accesses that are recorded, in the order of the code.
    pub(in crate::rewrite) accesses: Vec<Access>,
    /// The handlers whose exceptions are recorded, in the order of the code.
    pub(in crate::rewrite) handlers: Vec<HandlerProbe>,
    pub(in crate::rewrite) announced: Option<Announced<'a>>,
    pub(in crate::rewrite) code: Code<'a>,
    /// In the order of the code.
    pub(in crate::rewrite) points: Vec<Point>,
    /// What our handlers cover, in the order of the code.
    pub(in crate::rewrite) covered: Vec<Covered>,
}

/// A static method that gets the first argument as the method begins: of the same name and type, in a class of ours.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Announced<'a> {
    pub(in crate::rewrite) class: &'static [u8],
    pub(in crate::rewrite) name: &'a [u8],
    pub(in crate::rewrite) descriptor: &'a [u8],
}

/// A constructor's call of `super(…)` or `this(…)`. The constructor of `Object` does not count.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConstructorCall {
    /// The binary name of the class whose constructor it is.
    pub class: String,
    /// The descriptor of that constructor.
    pub descriptor: String,
    /// Whether it is `this(…)`.
    pub is_this: bool,
}

/// A place where code is inserted, or whose instruction changes as it moves.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::rewrite) struct Point {
    pub(in crate::rewrite) pc: usize,
    pub(in crate::rewrite) kind: PointKind,
}

/// In the order in which several of them appear at one place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in crate::rewrite) enum PointKind {
    /// The start of an exception handler, or soon after it.
    Catch,
    /// The place where the exception of a handler is recorded: its number in [`Plan::handlers`].
    Handler(usize),
    /// The start of one or more lines: its number in [`Plan::first_lines`].
    Line(usize),
    /// The start of a run of instructions: its number in [`Plan::steps`].
    Step(usize),
    /// A return.
    Exit,
    /// A call of another constructor: its number in [`Plan::calls`].
    Call(usize),
    /// An access to a field or an element: its number in [`Plan::accesses`].
    Access(usize),
    /// A branch with an offset of two bytes.
    Branch,
    /// A branch with an offset of four bytes.
    WideBranch,
    /// `tableswitch` or `lookupswitch`.
    Switch,
    /// After the first instruction of a run: its number in [`Plan::steps`].
    After(usize),
}

/// Instructions that one of our handlers covers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) struct Covered {
    pub(in crate::rewrite) start: usize,
    pub(in crate::rewrite) end: End,
    /// Whether `this` is not initialised in them.
    pub(in crate::rewrite) before: bool,
}

/// Where a covered range ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::rewrite) enum End {
    /// Before what is inserted there.
    At(usize),
    /// Before the exit probe of this return.
    Exit(usize),
    /// Directly before this call, after what is inserted there.
    Call(usize),
}

/// The ids that the probes of a method record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ids {
    /// The id of the method itself.
    pub method: MethodId,
    /// The ids of the constructors in [`Plan::calls`]; `None` for those that are not recorded.
    pub callees: Vec<Option<MethodId>>,
    /// The ids of the fields in [`Plan::fields`].
    pub fields: Vec<MethodId>,
    /// The number of the first one of [`Plan::places`].
    pub first_place: u32,
}

impl<'a> ClassFile<'a> {
    /// Analyses a method: what would be inserted, and where.
    ///
    /// # Errors
    /// The method must not be changed.
    pub fn plan(&self, method: usize) -> Result<Plan<'a>, Skip> {
        self.plan_for(method, Detail::default())
    }

    /// Analyses a method of which more than calls may be recorded.
    ///
    /// # Errors
    /// The method must not be changed.
    pub fn plan_for(&self, method: usize, detail: Detail) -> Result<Plan<'a>, Skip> {
        self.plan_with(method, detail, &|_| Choice::All)
    }

    /// Like [`plan_for`](Self::plan_for), with a choice of accesses, if any are recorded.
    ///
    /// # Errors
    /// The method must not be changed.
    pub fn plan_with(
        &self,
        method: usize,
        detail: Detail,
        choose: &dyn Fn(&Accessed) -> Choice,
    ) -> Result<Plan<'a>, Skip> {
        let entry = self.methods.get(method).ok_or(Skip::NoCode)?;
        let content = entry.code_content(self.bytes).ok_or(Skip::NoCode)?;
        Plan::new(self, entry, content, detail, choose)
    }

    /// A plan without probes, for a method that is announced to a class.
    pub(in crate::rewrite) fn plan_announced(
        &self,
        entry: &Entry<'a>,
        class: &'static [u8],
    ) -> Result<Plan<'a>, Skip> {
        let content = entry.code_content(self.bytes).ok_or(Skip::NoCode)?;
        let code = Code::parse(content, &self.pool)?;
        let (points, _locks) = scan(&code)?;
        let Entry { name, descriptor, .. } = *entry;
        let announced = Some(Announced { class, name, descriptor });
        Ok(Plan { announced, ..Plan::of_lines(code, points, Lines::default(), 0) })
    }
}

impl<'a> Plan<'a> {
    fn new(
        class: &ClassFile<'a>,
        entry: &Entry<'a>,
        content: &'a [u8],
        detail: Detail,
        choose: &dyn Fn(&Accessed) -> Choice,
    ) -> Result<Self, Skip> {
        let code = Code::parse(content, &class.pool)?;
        // With an empty `finalize()`, the JVM knows that the objects need no finalizer.
        if entry.name == b"finalize" && entry.descriptor == b"()V" && code.bytes == [RETURN] {
            return Err(Skip::EmptyFinalizer);
        }
        let (mut points, locks) = scan(&code)?;
        let mut delicate = locks;
        let lines = Lines::of(&code, locks, detail.lines)?;
        if detail.lines == LineProbes::Alone {
            return Ok(Self::of_lines(code, points, lines, detail.version));
        }
        let values = detail.values.then(|| Values::of(class, entry, &code)).transpose()?;
        let before = match entry.is_constructor() {
            true => Some(constructor::analyse(class, entry, &code)?),
            false => None,
        };
        let steps = match detail.instructions {
            false => None,
            true => Steps::of(class, entry, &code, locks, before.as_ref()).ok(),
        };
        points.extend(steps.iter().flat_map(step_points));
        let is_early = |pc| before.as_ref().is_some_and(|it| it.instructions.contains(pc));
        let Accesses { list: accesses, fields } = match detail.accesses {
            false => Accesses::default(),
            true => Accesses::of(class, &code, is_early, choose)?,
        };
        let places = CatchPlaces::new(&code, locks).collect::<Result<Vec<_>, _>>()?;
        let HandlerProbes { list: handlers, has_others } = match detail.exceptions {
            false => HandlerProbes::default(),
            true => HandlerProbes::of(&code, &places)?,
        };
        // All of this comes between entry and exit.
        let has_probes = !lines.numbers.is_empty()
            || !accesses.is_empty()
            || !handlers.is_empty()
            || detail.instructions
            || detail.version > 0;
        let leaf = !has_probes && values.is_none() && leaf::is_leaf(class, entry, &code);
        delicate |= has_probes && !code.handlers.is_empty();
        points.extend(detail_points(&accesses, &handlers, &lines));
        let calls = constructor_calls(class, before.as_ref(), &mut points);
        for place in places {
            points.push(Point { pc: place.pc, kind: PointKind::Catch });
            delicate |= place.leads_back;
        }
        points.sort_unstable();
        points.dedup();
        let covered = match leaf {
            true => Vec::new(),
            false => {
                let has_arguments = detail.version > 0
                    || values.is_some()
                    || steps.as_ref().is_some_and(|steps| steps.has_this);
                let has_result = values.as_ref().is_some_and(|values| values.result.is_some());
                cover(&code, &points, before.as_ref(), (has_arguments, has_result))?
            }
        };
        Ok(Self {
            calls,
            leaf,
            values,
            steps,
            fields,
            redacts_handled: false,
            has_other_handlers: has_others,
            version: detail.version,
            delicate,
            line_probes: detail.lines,
            line_starts: lines.numbers,
            first_lines: lines.firsts,
            accesses,
            handlers,
            announced: None,
            code,
            points,
            covered,
        })
    }

    /// A plan of probes of lines only.
    fn of_lines(code: Code<'a>, mut points: Vec<Point>, lines: Lines, version: u16) -> Self {
        points.retain(|point| point.kind != PointKind::Exit);
        points.extend(detail_points(&[], &[], &lines));
        points.sort_unstable();
        Self {
            calls: Vec::new(),
            leaf: false,
            values: None,
            steps: None,
            fields: Vec::new(),
            redacts_handled: false,
            has_other_handlers: false,
            version,
            delicate: !code.handlers.is_empty(),
            line_probes: LineProbes::Alone,
            line_starts: lines.numbers,
            first_lines: lines.firsts,
            accesses: Vec::new(),
            handlers: Vec::new(),
            announced: None,
            code,
            points,
            covered: Vec::new(),
        }
    }

    /// The lines of each place, if they are recorded once.
    #[must_use]
    pub fn places(&self) -> Vec<Box<[u16]>> {
        if !matches!(self.line_probes, LineProbes::Once | LineProbes::Alone) {
            return Vec::new();
        }
        let ends = self.first_lines.iter().skip(1).copied().chain([self.line_starts.len()]);
        let lines = self.first_lines.iter().zip(ends).map(|(first, end)| *first..end);
        lines.filter_map(|lines| self.line_starts.get(lines).map(Box::from)).collect()
    }

    /// The lines that are recorded, each once, in order.
    #[must_use]
    pub fn lines(&self) -> Vec<u16> {
        let mut lines = self.line_starts.clone();
        lines.sort_unstable();
        lines.dedup();
        lines
    }

    /// Returns what is recorded beside calls.
    #[must_use]
    pub fn detail(&self) -> Detail {
        Detail {
            lines: match self.line_starts.is_empty() {
                true => LineProbes::None,
                false => self.line_probes,
            },
            values: self.values.is_some(),
            accesses: !self.accesses.is_empty(),
            exceptions: !self.handlers.is_empty(),
            instructions: self.steps.is_some(),
            version: self.version,
        }
    }

    /// The same plan without the probes of instructions.
    #[must_use]
    pub fn without_instructions(&self) -> Self {
        let mut plan = Self { steps: None, ..self.clone() };
        plan.points.retain(|point| !matches!(point.kind, PointKind::Step(_) | PointKind::After(_)));
        plan
    }
}

/// Where runs of instructions have probes.
fn step_points(steps: &Steps) -> impl Iterator<Item = Point> {
    steps.runs.iter().enumerate().flat_map(|(number, run)| {
        let after = run.has_probe_after().then_some(PointKind::After(number));
        let kinds = [PointKind::Step(number)].into_iter().chain(after);
        kinds.map(|kind| Point { pc: run.place, kind })
    })
}

/// Where accesses, exceptions of handlers and lines have probes.
fn detail_points<'p>(
    accesses: &'p [Access],
    handlers: &'p [HandlerProbe],
    lines: &'p Lines,
) -> impl Iterator<Item = Point> + use<'p> {
    let of_access = |(number, access): (_, &Access)| (access.pc, PointKind::Access(number));
    let of_handler = |(number, probe): (_, &HandlerProbe)| (probe.pc, PointKind::Handler(number));
    let of_line = |(number, pc): (_, &usize)| (*pc, PointKind::Line(number));
    let accesses = accesses.iter().enumerate().map(of_access);
    let handlers = handlers.iter().enumerate().map(of_handler);
    let lines = lines.places.iter().enumerate().map(of_line);
    accesses.chain(handlers).chain(lines).map(|(pc, kind)| Point { pc, kind })
}

/// Returns the calls of other constructors by a constructor, and adds where they are to `points`.
fn constructor_calls(
    class: &ClassFile<'_>,
    before: Option<&Before<'_>>,
    points: &mut Vec<Point>,
) -> Vec<ConstructorCall> {
    let mut calls = Vec::new();
    for (pc, callee) in before.iter().flat_map(|before| &before.calls) {
        if callee.class != b"java/lang/Object" {
            points.push(Point { pc: *pc, kind: PointKind::Call(calls.len()) });
            calls.push(ConstructorCall {
                class: binary_name(callee.class),
                descriptor: decode(callee.descriptor).into_owned(),
                is_this: callee.class == class.name,
            });
        }
    }
    calls
}

/// Finds the returns, branches and switches, and whether monitors are entered or left. Checks that every
/// target is the start of an instruction.
fn scan(code: &Code<'_>) -> Result<(Vec<Point>, bool), Skip> {
    let code_len = code.bytes.len();
    let mut points = Vec::new();
    let mut locks = false;
    let mut starts = Places::none(code_len);
    for instruction in code.instructions() {
        let Instruction { pc, op, .. } = instruction?;
        starts.add(pc);
        let kind = match opcode::flow(op) {
            Flow::Next | Flow::Stop => {
                locks |= matches!(op, MONITORENTER | MONITOREXIT);
                continue;
            }
            Flow::Return => PointKind::Exit,
            Flow::Branch => PointKind::Branch,
            Flow::WideBranch => PointKind::WideBranch,
            Flow::Switch => PointKind::Switch,
        };
        points.push(Point { pc, kind });
    }
    for point in &points {
        let op = code.bytes.get(point.pc).copied().certain();
        for target in code.targets(point.pc, opcode::flow(op))? {
            if !starts.contains(target?) {
                return Err(Skip::Malformed);
            }
        }
    }
    for handler in &code.handlers {
        let [start, end, at] = [handler.start, handler.end, handler.handler].map(usize::from);
        let ends = end == code_len || starts.contains(end);
        if start >= end || !ends || !starts.contains(start) || !starts.contains(at) {
            return Err(Skip::Malformed);
        }
    }
    Ok((points, locks))
}

/// Finds what our handlers cover: everything except returns, whose exit is recorded already, and calls of
/// other constructors. Ranges in which nothing can be thrown are left out; most constructors begin with one. Also known is
/// whether probes follow the entry, and whether they come before an exit.
fn cover(
    code: &Code<'_>,
    points: &[Point],
    before: Option<&Before<'_>>,
    (has_arguments, has_result): (bool, bool),
) -> Result<Vec<Covered>, Skip> {
    let is_before = |pc| before.is_some_and(|before| before.instructions.contains(pc));
    let is_call = |pc| before.is_some_and(|before| before.calls.contains_key(&pc));
    let mut points = points.iter().peekable();
    let mut covered = Vec::new();
    let mut piece = Piece::new(0, is_before(0));
    piece.add_probe(has_arguments);
    for instruction in code.instructions() {
        let Instruction { pc, op, next } = instruction?;
        if is_before(pc) != piece.before {
            piece.close(End::At(pc), &mut covered);
            piece = Piece::new(pc, is_before(pc));
        }
        // The inserted instructions are calls, in which the stack may overflow.
        while let Some(point) = points.next_if(|point| point.pc == pc) {
            piece.throws |=
                matches!(point.kind, PointKind::Catch | PointKind::Call(_) | PointKind::After(_));
            piece.add_probe(match point.kind {
                PointKind::Line(_)
                | PointKind::Step(_)
                | PointKind::Access(_)
                | PointKind::Handler(_) => true,
                PointKind::Exit => has_result,
                _ => false,
            });
        }
        let flow = opcode::flow(op);
        if flow == Flow::Return || is_call(pc) {
            let end = if flow == Flow::Return { End::Exit(pc) } else { End::Call(pc) };
            piece.close(end, &mut covered);
            piece = Piece::new(next, piece.before);
        } else if !piece.throws {
            // A thread can be stopped at a backward branch.
            piece.throws = !opcode::is_harmless(op)
                || code.targets(pc, flow)?.flatten().any(|target| target <= pc);
        }
    }
    piece.close(End::At(code.bytes.len()), &mut covered);
    Ok(covered)
}

/// A candidate for [`Covered`].
struct Piece {
    start: usize,
    before: bool,
    throws: bool,
    /// Whether it contains a probe of a line, a value or an instruction, maybe alone.
    holds_probe: bool,
}

impl Piece {
    fn new(start: usize, before: bool) -> Self {
        Self { start, before, throws: false, holds_probe: false }
    }

    fn add_probe(&mut self, is_one: bool) {
        self.throws |= is_one;
        self.holds_probe |= is_one;
    }

    fn close(&self, end: End, covered: &mut Vec<Covered>) {
        let holds_code = match end {
            End::At(pc) | End::Exit(pc) => self.start < pc || self.holds_probe,
            // It contains at least a BEGIN.
            End::Call(_) => true,
        };
        if self.throws && holds_code {
            covered.push(Covered { start: self.start, end, before: self.before });
        }
    }
}
