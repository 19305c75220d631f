//! Monitors: compilers that accept a method accept it with probes too.

use proptest::prelude::*;

use super::super::{ClassFile, Ids, Probes, Skip, rewrite};
use super::assembler::{Body, Class, Listing, id, rewrite_one};
use super::{ASTORE_0, NOP, OBJECT, POP, STATIC};
use crate::rewrite::class_file::code::{Code, Coverage, Handler};
use crate::rewrite::class_file::judge::{CompiledBy, judge};
use crate::rewrite::class_file::opcode::{
    ALOAD_0, ATHROW, GETFIELD, GOTO, INVOKESTATIC, MONITORENTER, MONITOREXIT, RETURN,
};

const BOTH: CompiledBy = CompiledBy { c1: true, c2: true };
const NEITHER: CompiledBy = CompiledBy { c1: false, c2: false };

/// Judges code whose handlers catch everything.
fn compiled_by(code: &[u8], handlers: &[[u16; 3]]) -> CompiledBy {
    let handler =
        |&[start, end, handler]: &[u16; 3]| Handler { start, end, handler, catch_type: 0 };
    let handlers = handlers.iter().map(handler).collect();
    let code =
        Code { max_stack: 8, max_locals: 8, bytes: code, handlers, tables: Default::default() };
    judge(&code).unwrap().unwrap()
}

const CALL: [u8; 3] = [INVOKESTATIC, 0, 1];

/// The code of `synchronized (a) { f(); }` as Kotlin has it: the handler does not cover itself.
fn kotlin() -> Vec<u8> {
    let mut code = vec![ALOAD_0, MONITORENTER];
    code.extend(CALL);
    code.extend([ALOAD_0, MONITOREXIT, RETURN]);
    code.extend([ASTORE_0, ALOAD_0, MONITOREXIT, ALOAD_0, ATHROW]);
    code
}

#[test]
fn compilers_accept_structured_locking_only() {
    assert_eq!(compiled_by(&kotlin(), &[[2, 5, 8]]), BOTH);
    assert_eq!(compiled_by(&kotlin(), &[]), NEITHER, "an exception leaves with the monitor");
    assert_eq!(compiled_by(&[MONITOREXIT, RETURN], &[]), NEITHER);
    assert_eq!(compiled_by(&[MONITORENTER, RETURN], &[]), NEITHER);
    assert_eq!(compiled_by(&[MONITORENTER, GOTO, 0xFF, 0xFF], &[]), NEITHER, "a loop that enters");

    // As an earlier version inserted probes: a call before the handler's `monitorexit`, and one handler for
    // all.
    let mut code = kotlin();
    code.splice(8..8, CALL);
    code.push(ATHROW);
    assert_eq!(compiled_by(&code, &[[2, 5, 8], [0, 16, 16]]), NEITHER);
    // C2 accepts what the handler itself covers, C1 does not.
    assert_eq!(compiled_by(&code, &[[2, 5, 8], [8, 14, 8]]), CompiledBy { c1: false, c2: true });
}

#[test]
fn a_catch_comes_after_the_monitor_is_left() {
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let mut code = kotlin();
    code[3..5].copy_from_slice(&[a, b]);
    class.add_method(
        STATIC,
        "f",
        "()V",
        Body { code, handlers: vec![[2, 5, 8]], ..Body::default() },
    );
    let bytes = rewrite_one(&class.build(), 0).unwrap();
    let new = Listing::of(&bytes);
    assert_eq!(new.code[8..13], ["4B", "2A", "C3", "note 7E", "2A"]);
    // All of it is covered: even if `monitorexit` throws, the exit is recorded.
    assert_eq!(new.handlers, [[3, 4, 8], [1, 6, 14], [8, 14, 14]]);
    assert_eq!(ClassFile::parse(&bytes).unwrap().judge(0), Some(BOTH));
}

#[test]
fn a_method_that_compilers_would_refuse_with_probes_stays_unchanged() {
    // The handler jumps to its `monitorexit`: there is no place for a CATCH before that.
    let mut code = kotlin();
    code.splice(8..8, [GOTO, 0, 3]);
    assert_eq!(compiled_by(&code, &[[2, 5, 8]]), BOTH);
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    code[3..5].copy_from_slice(&[a, b]);
    let body = |handlers| Body { code: code.clone(), handlers, ..Body::default() };
    class.add_method(STATIC, "f", "()V", body(vec![[2, 5, 8]]));
    assert_eq!(rewrite_one(&class.build(), 0), Err(Skip::NotCompilable));
    // Without that handler, no compiler accepts the method anyway.
    let mut class = Class::new(49, OBJECT);
    class.method("p/D", "f", "()V");
    class.add_method(STATIC, "f", "()V", body(vec![]));
    assert!(rewrite_one(&class.build(), 0).is_ok());
}

/// Statements of a method whose local variable 0 holds an object.
#[derive(Clone, Debug)]
enum Statement {
    Nop,
    Call,
    Synchronized(Style, Vec<Statement>),
    /// `try`, and a handler, after which both continue at the same place.
    Try(Vec<Statement>, Vec<Statement>),
}

/// How compilers write the handler of a `synchronized` block.
#[derive(Clone, Copy, Debug)]
enum Style {
    /// It covers itself, up to and with `monitorexit`.
    Java,
    /// It does not. Groovy and Clojure write both.
    Kotlin,
    /// The exception stays on the stack.
    Scala,
}

fn statements() -> impl Strategy<Value = Vec<Statement>> {
    let leaf = prop_oneof![Just(Statement::Nop), Just(Statement::Call)];
    let style = || prop_oneof![Just(Style::Java), Just(Style::Kotlin), Just(Style::Scala)];
    let statement = leaf.prop_recursive(5, 32, 4, move |inner| {
        let block = || proptest::collection::vec(inner.clone(), 0..4);
        prop_oneof![
            (style(), block()).prop_map(|(style, body)| Statement::Synchronized(style, body)),
            (block(), block()).prop_map(|(body, handler)| Statement::Try(body, handler)),
        ]
    });
    proptest::collection::vec(statement, 0..5)
}

/// Code being written.
struct Compiler {
    code: Vec<u8>,
    handlers: Vec<[u16; 3]>,
    call: [u8; 3],
    /// The next free local variable.
    variable: u8,
}

const ALOAD: u8 = 25;
const ASTORE: u8 = 58;

impl Compiler {
    fn at(&self) -> u16 {
        u16::try_from(self.code.len()).unwrap()
    }

    fn goto(&mut self) -> usize {
        self.code.extend([GOTO, 0, 0]);
        self.code.len() - 3
    }

    fn land(&mut self, goto: usize) {
        let distance = u16::try_from(self.code.len() - goto).unwrap();
        self.code[goto + 1..goto + 3].copy_from_slice(&distance.to_be_bytes());
    }

    fn block(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Nop => self.code.push(NOP),
                Statement::Call => self.code.extend(self.call),
                Statement::Synchronized(style, body) => self.synchronized(*style, body),
                Statement::Try(body, handler) => {
                    let start = self.at();
                    self.code.extend(self.call);
                    self.block(body);
                    let end = self.at();
                    let goto = self.goto();
                    self.handlers.push([start, end, self.at()]);
                    self.code.push(POP);
                    self.block(handler);
                    self.land(goto);
                }
            }
        }
    }

    fn synchronized(&mut self, style: Style, body: &[Statement]) {
        let (lock, exception) = (self.variable, self.variable + 1);
        self.variable += 2;
        self.code.extend([ALOAD_0, ASTORE, lock, ALOAD, lock, MONITORENTER]);
        let start = self.at();
        self.code.extend(self.call);
        self.block(body);
        if !matches!(style, Style::Java) {
            self.handlers.push([start, self.at(), 0]);
        }
        self.code.extend([ALOAD, lock, MONITOREXIT]);
        let covered = self.handlers.len();
        if matches!(style, Style::Java) {
            self.handlers.push([start, self.at(), 0]);
        }
        let goto = self.goto();
        let handler = self.at();
        let entry = covered - usize::from(!matches!(style, Style::Java));
        self.handlers[entry][2] = handler;
        if matches!(style, Style::Scala) {
            self.code.extend([ALOAD, lock, MONITOREXIT, ATHROW]);
        } else {
            self.code.extend([ASTORE, exception, ALOAD, lock, MONITOREXIT]);
            if matches!(style, Style::Java) {
                self.handlers.push([handler, self.at(), handler]);
            }
            self.code.extend([ALOAD, exception, ATHROW]);
        }
        self.land(goto);
    }
}

/// The class with a method of such statements.
fn compile(statements: &[Statement]) -> Vec<u8> {
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let call = [INVOKESTATIC, a, b];
    let mut compiler = Compiler { code: Vec::new(), handlers: Vec::new(), call, variable: 1 };
    compiler.block(statements);
    compiler.code.push(RETURN);
    let Compiler { code, handlers, .. } = compiler;
    class.add_method(
        STATIC,
        "f",
        "(Ljava/lang/Object;)V",
        Body { code, handlers, ..Body::default() },
    );
    class.build()
}

/// Code of a few instructions that matter, with handlers anywhere.
fn any_code() -> impl Strategy<Value = (Vec<u8>, Vec<[u16; 3]>)> {
    let instruction = prop_oneof![
        Just(vec![NOP]),
        Just(vec![ALOAD_0]),
        Just(vec![ASTORE_0]),
        Just(vec![MONITORENTER]),
        Just(vec![MONITOREXIT]),
        Just(vec![MONITOREXIT]),
        Just(vec![ATHROW]),
        Just(vec![RETURN]),
        Just(CALL.to_vec()),
        Just(vec![GETFIELD, 0, 1]),
        (0u8..8).prop_map(|distance| vec![GOTO, 0, distance]),
        (0u8..8).prop_map(|distance| vec![super::IFEQ, 0xFF, 0u8.wrapping_sub(distance)]),
    ];
    let code = proptest::collection::vec(instruction, 1..24).prop_map(|it| it.concat());
    let handlers = proptest::collection::vec([0u16..30, 1u16..30, 0u16..30], 0..4);
    (code, handlers)
}

proptest! {
    #[test]
    fn structured_locking_stays_structured(statements in statements()) {
        let old = compile(&statements);
        prop_assert_eq!(ClassFile::parse(&old).unwrap().judge(0), Some(BOTH));
        let new = rewrite_one(&old, 0).unwrap();
        prop_assert_eq!(ClassFile::parse(&new).unwrap().judge(0), Some(BOTH));
    }

    #[test]
    fn no_compiler_refuses_a_method_because_of_probes((code, handlers) in any_code()) {
        let mut class = Class::new(49, OBJECT);
        class.method("p/D", "f", "()V");
        class.add_method(STATIC, "f", "()V", Body { code, handlers, ..Body::default() });
        let old = class.build();
        let class = ClassFile::parse(&old).unwrap();
        if let Ok(plan) = class.plan(0)
            && let ids = (Ids { method: id(1), callees: vec![], fields: vec![], first_place: 0 })
            && let (Some(new), _) = rewrite(&class, vec![(0, plan, ids)], Probes::Plain)
            && let (old, new) = (class.judge(0), ClassFile::parse(&new).unwrap().judge(0))
            && let (Some(old), Some(new)) = (old, new)
        {
            prop_assert!(new.is_as_good_as(old), "{old:?} {new:?}");
        }
    }

    #[test]
    fn coverage_agrees_with_a_search_of_all_handlers(
        handlers in proptest::collection::vec([0u16..40, 1u16..20, 0u16..6], 0..24),
    ) {
        let handler = |[start, len, handler]: [u16; 3]| {
            Handler { start, end: start + len, handler, catch_type: 0 }
        };
        let handlers: Vec<_> = handlers.into_iter().map(handler).collect();
        let by_place = Coverage::new(&handlers).by_place();
        let coverage = Coverage::new(&handlers);
        for pc in 0..64 {
            let first = handlers.iter().map(|entry| usize::from(entry.handler));
            prop_assert_eq!(coverage.handler_from(pc), first.filter(|at| *at >= pc).min());
            let mut found = Vec::new();
            by_place.at(pc, &mut |handler| { found.push(handler); Ok::<_, Skip>(()) }).unwrap();
            found.sort_unstable();
            let covers = |at: usize, pc: usize| {
                handlers.iter().any(|entry| usize::from(entry.handler) == at && entry.covers(pc))
            };
            let expected: Vec<usize> = (0..6).filter(|at| covers(*at, pc)).collect();
            prop_assert_eq!(by_place.covers(pc), !expected.is_empty());
            prop_assert_eq!(&found, &expected);
            for at in 0..6 {
                let end = covers(at, pc).then(|| (pc..).find(|pc| !covers(at, *pc)).unwrap());
                prop_assert_eq!(coverage.end_of(at, pc), end);
            }
        }
    }
}
