//! Whole methods, rewritten: every event at its place, and every table correct.

mod assembler;
mod locking;
mod parameters;
mod steps;

use assembler::{Body, Class, Listing, id, rewrite_for, rewrite_lines, rewrite_one};

use super::{ClassFile, Detail, Ids, LineProbes, Malformed, Probes, Skip, announce, rewrite};
use crate::rewrite::class_file::opcode::{
    ALOAD_0, ATHROW, BIPUSH, GETFIELD, GETSTATIC, GOTO, IFEQ, INVOKESPECIAL, INVOKESTATIC, LDC,
    LOOKUPSWITCH, MONITORENTER, MONITOREXIT, PUTFIELD, PUTSTATIC, RETURN, TABLESWITCH,
};

const NOP: u8 = 0;
const ACONST_NULL: u8 = 1;
const ICONST_0: u8 = 3;
const ILOAD_0: u8 = 26;
const ILOAD_1: u8 = 27;
const ALOAD_1: u8 = 43;
const ALOAD_2: u8 = 44;
const ASTORE_0: u8 = 75;
const ASTORE_1: u8 = 76;
const ASTORE_2: u8 = 77;
const POP: u8 = 87;
const IDIV: u8 = 108;
const DUP: u8 = 89;
const IRETURN: u8 = 172;
const NEW: u8 = 187;

const PUBLIC: u16 = 1;
const STATIC: u16 = 8;
const FINAL: u16 = 16;
const SYNCHRONIZED: u16 = 32;
const OBJECT: &str = "java/lang/Object";

fn leaf_of(class: &Class) -> bool {
    ClassFile::parse(&class.build()).unwrap().plan(0).unwrap().leaf
}

#[test]
fn a_method_is_entered_left_and_unwound() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let mut body = Body::from([INVOKESTATIC, a, b, RETURN, INVOKESTATIC, a, b, RETURN]);
    body.frames = Some(vec![0, 1, 4]);
    body.lines = vec![[0, 10], [3, 11], [4, 12]];
    body.variables = vec![[0, 8], [3, 1], [4, 4]];
    class.add_method(STATIC, "f", "()V", body);
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    let (call, back) = (format!("B8 {a:02X} {b:02X}"), "B1".to_owned());
    assert_eq!(
        new.code,
        ["append 81", &call, "exit", &back, &call, "exit", &back, "unwound", "BF"]
    );
    assert_eq!(new.handlers, [[1, 2, 7], [4, 5, 7]]);
    assert_eq!(new.frames, [4, 7]);
    // The table ends with a full frame: no local variables, an exception on the stack.
    assert_eq!(new.table[3..11], [255, 0, 6, 0, 0, 0, 1, 7]);
    // ENTER has 5 bytes, each exit 3.
    assert_eq!(new.lines, [[0, 10], [8, 11], [12, 12]]);
    assert_eq!(new.variables, [[0, 19], [8, 4], [12, 7]]);
    assert_eq!(new.max_stack, 8);
}

#[test]
fn handlers_of_the_program_begin_with_a_catch_each() {
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let body = Body {
        handlers: vec![[0, 3, 4], [0, 4, 4]],
        ..Body::from([INVOKESTATIC, a, b, RETURN, POP, RETURN])
    };
    class.add_method(STATIC, "f", "()V", body);
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    let call = format!("B8 {a:02X} {b:02X}");
    assert_eq!(
        new.code,
        ["append 81", &call, "exit", "B1", "note 7E", "57", "exit", "B1", "unwound", "BF"]
    );
    assert_eq!(new.handlers, [[1, 2, 4], [1, 4, 4], [1, 2, 8], [4, 6, 8]]);
    // A class of this version has no frames.
    assert!(new.frames.is_empty());
}

#[test]
fn no_catch_leads_back_to_itself() {
    // As javac compiles `synchronized`: the handler covers itself up to where the monitor is free.
    const MONITOREXIT: u8 = 195;
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let body = Body {
        handlers: vec![[0, 3, 4], [4, 7, 4]],
        ..Body::from([INVOKESTATIC, a, b, RETURN, ASTORE_0, ALOAD_0, MONITOREXIT, ALOAD_0, ATHROW])
    };
    class.add_method(STATIC, "f", "()V", body);
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    assert_eq!(new.code[4..9], ["4B", "2A", "C3", "note 7E", "2A"]);
    assert_eq!(new.handlers, [[1, 2, 4], [4, 7, 4], [1, 2, 10], [4, 10, 10]]);
}

const EXCEPTIONS: Detail = Detail {
    exceptions: true,
    lines: LineProbes::None,
    values: false,
    instructions: false,
    accesses: false,
    version: 0,
};

#[test]
fn an_exception_is_recorded_where_its_handler_begins() {
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let body = Body {
        handlers: vec![[0, 3, 4], [0, 3, 6]],
        lines: vec![[0, 10], [4, 12], [6, 40000]],
        ..Body::from([INVOKESTATIC, a, b, RETURN, POP, RETURN, POP, RETURN])
    };
    class.add_method(STATIC, "f", "()V", body);
    let plain = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    let (new, skipped) = rewrite_for(&class.build(), 0, EXCEPTIONS);
    let new = Listing::of(&new);
    assert_eq!(skipped, []);
    assert_eq!(new.code[4..8], ["note 7E", "59", "handled 12", "57"]);
    assert_eq!(new.code[10..14], ["note 7E", "59", "handled 40000", "57"]);
    assert_eq!(new.max_stack, plain.max_stack + 2);
    assert_eq!(new.lines.len(), plain.lines.len());
}

#[test]
fn an_exception_is_found_in_the_variable_that_the_handler_stores_it_in() {
    // As javac compiles `synchronized` and `finally`: the handler covers its first instructions.
    let handler = |code: &[u8], covers: u16| {
        let mut class = Class::new(49, OBJECT);
        let [a, b] = class.method("p/D", "f", "()V");
        let code = [&[INVOKESTATIC, a, b, RETURN], code].concat();
        let body = Body {
            handlers: vec![[0, 3, 4], [4, 4 + covers, 4]],
            ..Body { code, ..Body::from([NOP]) }
        };
        class.add_method(STATIC, "f", "()V", body);
        let (new, skipped) = rewrite_for(&class.build(), 0, EXCEPTIONS);
        assert_eq!(skipped, []);
        let parsed = class.build();
        let parsed = ClassFile::parse(&parsed).unwrap();
        let has_others = parsed.plan_for(0, EXCEPTIONS).unwrap().has_other_handlers;
        (Listing::of(&new).code[4..].to_vec(), has_others)
    };
    const LSTORE_0: u8 = 63;
    const LCONST_0: u8 = 9;
    let (code, has_others) = handler(&[ASTORE_2, NOP, ALOAD_2, ATHROW], 1);
    assert_eq!(
        (&code[..4], has_others),
        (&["4D", "note 7E", "19 02", "handled 0"].map(String::from)[..], false)
    );
    // It is stored in no variable, or something else is there by then; a branch leads to the place.
    for (code, covers) in [
        (&[POP, ACONST_NULL, ATHROW][..], 1),
        (&[ASTORE_1, ACONST_NULL, ASTORE_1, ALOAD_1, ATHROW], 3),
        (&[ASTORE_1, LCONST_0, LSTORE_0, ALOAD_1, ATHROW], 3),
        (&[ASTORE_1, NOP, GOTO, 0xFF, 0xFF], 1),
    ] {
        let (code, has_others) = handler(code, covers);
        assert!(has_others && !code.iter().any(|line| line.starts_with("handled")), "{code:?}");
    }
    // As javac compiles an empty `catch` at the end of a `synchronized` block: another handler covers it.
    let mut class = Class::new(49, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let code =
        [INVOKESTATIC, a, b, GOTO, 0, 4, ASTORE_1, ALOAD_0, MONITOREXIT, RETURN, ASTORE_2, ALOAD_0]
            .into_iter()
            .chain([MONITOREXIT, ALOAD_2, ATHROW])
            .collect();
    let handlers = vec![[0, 3, 6], [0, 9, 10], [10, 13, 10]];
    class.add_method(
        STATIC,
        "f",
        "(Ljava/lang/Object;)V",
        Body { code, handlers, ..Body::from([NOP]) },
    );
    let plan = class.build();
    let plan = ClassFile::parse(&plan).unwrap().plan_for(0, EXCEPTIONS).map(|plan| {
        let places: Vec<_> = plan.handlers.iter().map(|handler| handler.pc).collect();
        (places, plan.has_other_handlers)
    });
    assert_eq!(plan, Ok((vec![6, 13], false)));
    // Other code continues in the handler.
    let mut class = Class::new(49, OBJECT);
    let body = Body { handlers: vec![[0, 1, 1]], ..Body::from([ACONST_NULL, POP, RETURN]) };
    class.add_method(STATIC, "f", "()V", body);
    let bytes = class.build();
    assert!(ClassFile::parse(&bytes).unwrap().plan_for(0, EXCEPTIONS).unwrap().has_other_handlers);
}

#[test]
fn a_class_without_handlers_has_the_same_bytes_with_exceptions() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    class.add_method(STATIC, "f", "()V", Body::from([INVOKESTATIC, a, b, RETURN]));
    let (new, _) = rewrite_for(&class.build(), 0, EXCEPTIONS);
    assert_eq!(new, rewrite_one(&class.build(), 0).unwrap());
}

#[test]
fn a_loop_to_the_start_enters_once() {
    let mut class = Class::new(61, OBJECT);
    // for (;;) if (i == 0) return;
    let mut body = Body::from([ILOAD_0, IFEQ, 0, 6, GOTO, 0xFF, 0xFC, RETURN]);
    body.code = vec![ILOAD_0, IFEQ, 0, 6, GOTO, 0xFF, 0xFC, RETURN];
    body.frames = Some(vec![0, 2, 0, 6]);
    class.add_method(STATIC, "f", "(I)V", body);
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    assert_eq!(
        new.code,
        ["append 81", "1A", "99 00 06", "A7 FF FC", "exit", "B1", "unwound", "BF"]
    );
    assert_eq!(new.frames, [1, 4, 6]);
    // A thread can be stopped in the loop.
    assert_eq!(new.handlers, [[1, 4, 6]]);
}

#[test]
fn switches_are_padded_anew() {
    for (op, entries) in [(TABLESWITCH, 1), (LOOKUPSWITCH, 2)] {
        for nops in 0..4 {
            let mut code = vec![NOP; nops];
            code.push(ILOAD_0);
            let at = code.len();
            code.push(op);
            code.resize((at | 3) + 1, 0);
            let end = code.len() + 8 + 4 * 2;
            let offset = |to: usize| i32::try_from(to - at).unwrap().to_be_bytes();
            code.extend(offset(end));
            let numbers: [i32; 2] = if entries == 1 { [7, 7] } else { [1, 7] };
            code.extend(numbers[0].to_be_bytes());
            code.extend(numbers[1].to_be_bytes());
            code.extend(offset(end + 1));
            code.extend([RETURN, RETURN]);
            let mut class = Class::new(49, OBJECT);
            // A division may throw, so this is not a leaf.
            class.add_method(STATIC | SYNCHRONIZED, "f", "(I)V", Body { code, ..Body::default() });
            let bytes = rewrite_one(&class.build(), 0).unwrap();
            let parsed = ClassFile::parse(&bytes).unwrap();
            // Planning checks that both branches lead to instructions; the listing, that to probes.
            parsed.plan(0).unwrap();
            let new = Listing::of(&bytes);
            let back = ["exit", "B1", "exit", "B1"];
            assert_eq!(new.code[new.code.len() - 4..], back, "{op} {nops}");
            let switch = &new.code[new.code.len() - 5];
            assert!(switch.len() / 3 >= 16, "{switch}");
        }
    }
}

#[test]
fn a_method_that_can_only_return_is_a_leaf_with_one_probe() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.field("p/C", "x", "I");
    class.add_field(PUBLIC, "x", "I");
    class.add_method(PUBLIC, "getX", "()I", Body::from([ALOAD_0, GETFIELD, a, b, IRETURN]));
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    assert_eq!(new.code, ["append 81 00", "2A", &format!("B4 {a:02X} {b:02X}"), "AC"]);
    assert!(new.handlers.is_empty() && new.frames.is_empty());
}

#[test]
fn a_leaf_reads_fields_of_its_own_class_only() {
    let plan = |owner: &str, declared: u16, access: u16, code: fn([u8; 2]) -> Body| {
        let mut class = Class::new(61, OBJECT);
        let field = class.field(owner, "x", "I");
        class.add_field(declared, "x", "I");
        class.add_method(access, "f", "(Lp/C;)I", code(field));
        leaf_of(&class)
    };
    let get_of_this = |[a, b]: [u8; 2]| Body::from([ALOAD_0, GETFIELD, a, b, IRETURN]);
    assert!(plan("p/C", PUBLIC, PUBLIC, get_of_this));
    assert!(!plan("p/D", PUBLIC, PUBLIC, get_of_this), "a field of another class");
    assert!(!plan("p/C", STATIC, PUBLIC, get_of_this), "a static field");
    assert!(!plan("p/C", PUBLIC, STATIC, get_of_this), "this of a static method");
    assert!(!plan("p/C", PUBLIC, PUBLIC | SYNCHRONIZED, get_of_this));
    let get_of_other = |[a, b]: [u8; 2]| Body::from([ALOAD_1, GETFIELD, a, b, IRETURN]);
    assert!(!plan("p/C", PUBLIC, PUBLIC, get_of_other), "a field of another object");
    let get_of_stored =
        |[a, b]: [u8; 2]| Body::from([ALOAD_1, ASTORE_0, ALOAD_0, GETFIELD, a, b, IRETURN]);
    assert!(!plan("p/C", PUBLIC, PUBLIC, get_of_stored), "this was overwritten");
    let get_static = |[a, b]: [u8; 2]| Body::from([GETSTATIC, a, b, IRETURN]);
    assert!(plan("p/C", STATIC, STATIC, get_static));
    assert!(!plan("p/D", STATIC, STATIC, get_static), "a class to initialise");
    let set = |[a, b]: [u8; 2]| Body::from([ALOAD_0, ICONST_0, PUTFIELD, a, b, ICONST_0, IRETURN]);
    assert!(plan("p/C", PUBLIC, PUBLIC, set));
    assert!(!plan("p/C", FINAL, PUBLIC, set), "a final field");
    let set_static = |[a, b]: [u8; 2]| Body::from([ICONST_0, PUTSTATIC, a, b, ICONST_0, IRETURN]);
    assert!(plan("p/C", STATIC, STATIC, set_static));
}

#[test]
fn a_method_that_may_throw_loop_or_link_is_no_leaf() {
    let leaf = |body: Body| {
        let mut class = Class::new(49, OBJECT);
        let constant = u8::try_from(class.class("p/D")).unwrap();
        let text = u8::try_from(class.string("text")).unwrap();
        let code = body.code.iter().map(|byte| match byte {
            0xF0 => constant,
            0xF1 => text,
            byte => *byte,
        });
        let code = code.collect();
        class.add_method(STATIC, "f", "(I)V", Body { code, ..body });
        leaf_of(&class)
    };
    assert!(leaf(Body::from([RETURN])));
    assert!(leaf(Body::from([ILOAD_0, IFEQ, 0, 3, RETURN])));
    assert!(leaf(Body::from([LDC, 0xF1, POP, RETURN])));
    assert!(!leaf(Body::from([LDC, 0xF0, POP, RETURN])), "a class");
    assert!(!leaf(Body::from([ILOAD_0, ILOAD_0, IDIV, POP, RETURN])), "a division");
    assert!(!leaf(Body::from([ILOAD_0, IFEQ, 0xFF, 0xFF, RETURN])), "a loop");
    assert!(!leaf(Body::from([ACONST_NULL, ATHROW])), "a throw");
    let handlers = vec![[0, 1, 2]];
    assert!(!leaf(Body { handlers, ..Body::from([NOP, RETURN, POP, RETURN]) }), "a handler");
}

/// A constructor of `p/C` that calls those of these classes, as operands of its code.
fn constructor<const N: usize>(
    superclass: &str,
    callees: [&str; N],
    body: impl Fn([[u8; 2]; N]) -> Body,
) -> Vec<u8> {
    let mut class = Class::new(61, superclass);
    let callees = callees.map(|callee| class.method(callee, "<init>", "()V"));
    class.add_method(PUBLIC, "<init>", "(I)V", body(callees));
    class.build()
}

#[test]
fn a_call_of_super_is_between_begin_and_end() {
    let old = constructor("p/B", ["p/B"], |[[a, b]]| {
        Body::from([ALOAD_0, INVOKESPECIAL, a, b, ALOAD_0, POP, RETURN])
    });
    let class = ClassFile::parse(&old).unwrap();
    let call = &class.plan(0).unwrap().calls[0];
    assert_eq!((&*call.class, &*call.descriptor, call.is_this), ("p.B", "()V", false));
    let new = Listing::of(&rewrite_one(&old, 0).unwrap());
    assert_eq!(new.code.len(), 14);
    assert_eq!(new.code[..3], ["append 81", "2A", "append 7B 82"]);
    assert!(new.code[3].starts_with("B7 "), "{:?}", new.code);
    assert_eq!(new.code[4..9], ["note 7D", "2A", "57", "exit", "B1"]);
    assert_eq!(new.code[9..], ["unwound", "BF", "note 7D", "unwound", "BF"]);
    // END has its own handler; the code before the call has another one; the call itself has none, and what
    // follows cannot throw.
    assert_eq!(new.handlers, [[4, 5, 11], [1, 3, 9]]);
    assert_eq!(new.frames, [9, 11]);
    // Before the call, the frame declares that `this` is not initialised.
    assert_eq!(new.table[5..10], [0, 1, 6, 0, 1]);
    assert_eq!(new.max_stack, 9);
}

#[test]
fn the_constructor_of_object_is_not_announced() {
    let old = constructor(OBJECT, [OBJECT], |[[a, b]]| {
        Body::from([ALOAD_0, INVOKESPECIAL, a, b, ILOAD_1, ILOAD_1, IDIV, POP, RETURN])
    });
    let new = Listing::of(&rewrite_one(&old, 0).unwrap());
    assert_eq!(new.code[3..], ["1B", "1B", "6C", "57", "exit", "B1", "unwound", "BF"]);
    assert_eq!(new.handlers, [[3, 7, 9]]);

    let plain = constructor(OBJECT, [OBJECT], |[[a, b]]| {
        Body::from([ALOAD_0, INVOKESPECIAL, a, b, RETURN])
    });
    assert_eq!(Listing::of(&rewrite_one(&plain, 0).unwrap()).code[0], "append 81 00");
}

#[test]
fn calls_for_other_objects_are_not_announced() {
    // super(new B()), where both are the same constructor.
    let old = constructor("p/B", ["p/B"], |[[a, b]]| {
        let argument = [NEW, 0, 4, DUP, INVOKESPECIAL, a, b, POP];
        let code = [&[ALOAD_0][..], &argument, &[INVOKESPECIAL, a, b, RETURN]].concat();
        Body { code, ..Body::default() }
    });
    let new = Listing::of(&rewrite_one(&old, 0).unwrap());
    assert_eq!(new.code.iter().filter(|line| *line == "append 7B 82").count(), 1);
    assert_eq!(new.code[6], "append 7B 82");
}

#[test]
fn each_of_several_calls_is_announced() {
    // if (i == 0) this(); else super();
    let old = constructor("p/B", ["p/B", "p/C"], |[[a, b], [c, d]]| Body {
        frames: Some(vec![0, 2, 9, 255, 0, 3, 0, 2, 7, 0, 2, 1, 0, 0]),
        ..Body::from([
            ILOAD_1,
            IFEQ,
            0,
            8,
            ALOAD_0,
            INVOKESPECIAL,
            a,
            b,
            RETURN,
            ALOAD_0,
            INVOKESPECIAL,
            c,
            d,
            RETURN,
        ])
    });
    let class = ClassFile::parse(&old).unwrap();
    let calls = class.plan(0).unwrap().calls;
    assert_eq!(calls.iter().map(|call| call.is_this).collect::<Vec<_>>(), [false, true]);
    let new = Listing::of(&rewrite_one(&old, 0).unwrap());
    assert_eq!(new.code.iter().filter(|line| *line == "append 7B 82").count(), 2);
    // Two ENDs, two pieces before the calls.
    assert_eq!(new.handlers.len(), 4);
}

#[test]
fn each_place_where_a_line_begins_has_a_probe() {
    let mut class = Class::new(61, OBJECT);
    // A leaf without lines; a loop whose head is reached again; two entries for one place, of which the first counts.
    let mut body = Body::from([NOP, ILOAD_0, IFEQ, 0, 7, NOP, GOTO, 0xFF, 0xFB, RETURN]);
    body.frames = Some(vec![0, 2, 1, 7]);
    body.lines = vec![[5, 300], [0, 10], [1, 11], [9, 40_000], [1, 99]];
    class.add_method(STATIC, "f", "(I)V", body);
    let (new, skipped) = rewrite_lines(&class.build(), 0);
    let new = Listing::of(&new);
    let expected = [
        "append 81",
        "line 10",
        "00",
        "line 11",
        "1A",
        "99 00 0D",
        "line 300",
        "00",
        "A7 FF F0",
        "line 40000",
        "exit",
        "B1",
        "unwound",
        "BF",
    ];
    assert_eq!(new.code, expected);
    // A backward branch may throw.
    assert_eq!((new.handlers, skipped), (vec![[1, 10, 12]], vec![]));
    // The numbers of lines are unchanged, also those of our probes.
    assert_eq!(new.lines, [[20, 300], [0, 10], [11, 11], [30, 40_000], [11, 99]]);
    assert_eq!(new.max_stack, 9);
}

#[test]
fn lines_that_are_always_reached_together_share_a_place() {
    let mut class = Class::new(61, OBJECT);
    // The second two follow a branch, the last one is where it leads.
    let mut body = Body::from([NOP, ILOAD_0, IFEQ, 0, 5, NOP, NOP, RETURN]);
    body.frames = Some(vec![0, 1, 7]);
    body.lines = vec![[0, 10], [1, 11], [5, 12], [6, 13], [7, 14]];
    class.add_method(STATIC, "f", "(I)V", body);
    let bytes = class.build();
    let listing = |lines| {
        let (new, skipped) = rewrite_for(&bytes, 0, Detail { lines, ..Detail::default() });
        assert_eq!(skipped, []);
        Listing::of(&new)
    };
    let within = listing(LineProbes::Once);
    let expected =
        ["append 81", "place 0", "00", "1A", "99 00 0A", "place 1", "00", "00", "place 2"];
    assert_eq!(within.code[..9], expected);
    let alone = listing(LineProbes::Alone);
    let expected = ["firstPlace 0", "00", "1A", "99 00 0A", "place 1", "00", "00", "place 2", "B1"];
    assert_eq!((alone.code, alone.handlers), (expected.map(str::to_owned).to_vec(), vec![]));
    let class = ClassFile::parse(&bytes).unwrap();
    let plan = class.plan_for(0, Detail { lines: LineProbes::Once, ..Detail::default() }).unwrap();
    let places: Vec<_> = plan.places().into_iter().map(Vec::from).collect();
    assert_eq!(places, [vec![10, 11], vec![12, 13], vec![14]]);
    assert_eq!(plan.lines(), [10, 11, 12, 13, 14]);
}

#[test]
fn a_line_at_a_return_is_covered() {
    let mut class = Class::new(61, OBJECT);
    let body = Body { lines: vec![[0, 7]], ..Body::from([RETURN]) };
    class.add_method(STATIC, "f", "()V", body);
    let new = Listing::of(&rewrite_lines(&class.build(), 0).0);
    assert_eq!(new.code, ["append 81", "line 7", "exit", "B1", "unwound", "BF"]);
    assert_eq!(new.handlers, [[1, 2, 4]]);
}

#[test]
fn lines_around_the_call_of_another_constructor_are_recorded() {
    let old = constructor("p/B", ["p/B"], |[[a, b]]| Body {
        lines: vec![[0, 5], [1, 6], [4, 7]],
        ..Body::from([ALOAD_0, INVOKESPECIAL, a, b, RETURN])
    });
    let new = Listing::of(&rewrite_lines(&old, 0).0);
    let probes: Vec<_> =
        new.code.iter().filter(|line| line.len() > 2 && !line.starts_with("B7")).collect();
    let expected = [
        "append 81",
        "line 5",
        "line 6",
        "append 7B 82",
        "note 7D",
        "line 7",
        "exit",
        "unwound",
        "note 7D",
        "unwound",
        "unwound",
    ];
    assert_eq!(probes, expected);
}

/// As for `synchronized`: the handler releases the monitor, and covers itself up to there.
fn class_with_lock(lines: Vec<[u16; 2]>) -> Class {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let body = Body {
        handlers: vec![[4, 10, 11], [11, 14, 11]],
        frames: Some(vec![0, 1, 255, 0, 11, 0, 2, 7, 0, 2, 7, 0, 2, 0, 1, 7, 0, 2]),
        lines,
        ..Body::from([
            ALOAD_0,
            DUP,
            ASTORE_1,
            MONITORENTER,
            INVOKESTATIC,
            a,
            b,
            NOP,
            ALOAD_1,
            MONITOREXIT,
            RETURN,
            ASTORE_2,
            ALOAD_1,
            MONITOREXIT,
            ALOAD_2,
            ATHROW,
        ])
    };
    class.add_method(STATIC, "f", "(Ljava/lang/Object;)V", body);
    class
}

#[test]
fn lines_at_the_start_of_a_handler_are_recorded_where_a_call_may_be() {
    let class = class_with_lock(vec![[0, 1], [4, 2], [11, 3]]);
    let (new, skipped) = rewrite_lines(&class.build(), 0);
    let new = Listing::of(&new);
    let at = |text: &str| new.code.iter().position(|line| line == text).unwrap();
    assert_eq!(skipped, []);
    assert_eq!(at("line 3"), at("note 7E") + 1);
    assert_eq!(new.code[at("note 7E") - 1], "C3", "after the monitor is released");
}

#[test]
fn a_method_that_lines_would_make_too_large_is_recorded_without_them() {
    let rewritten = |nops: usize| {
        let mut class = Class::new(61, OBJECT);
        let code = [vec![NOP; nops], vec![RETURN]].concat();
        let lines = (0..200).map(|line| [line, line]).collect();
        class.add_method(STATIC, "f", "()V", Body { code, lines, ..Body::default() });
        let (new, skipped) = rewrite_lines(&class.build(), 0);
        (Listing::of(&new).code.iter().any(|line| line.starts_with("line")), skipped)
    };
    assert_eq!(rewritten(6000), (true, vec![]));
    assert_eq!(rewritten(7900), (false, vec![(0, Skip::WithoutLines)]), "too large to compile");
    assert_eq!(rewritten(65_500), (false, vec![(0, Skip::WithoutLines)]), "too large for a class");
}

const ACCESSES: Detail = Detail {
    lines: LineProbes::None,
    values: false,
    accesses: true,
    instructions: false,
    exceptions: false,
    version: 0,
};

/// The code of a method that is one access, with its probes: opcodes, and of what is pushed the id or the first byte.
fn accessed(op: u8, descriptor: &str) -> String {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.field("p/D", "f", descriptor);
    let mut code = vec![NOP, op];
    if (GETSTATIC..=PUTFIELD).contains(&op) {
        code.extend([a, b]);
    }
    code.push(RETURN);
    class.add_method(STATIC, "f", "()V", Body { code, ..Body::default() });
    let (new, skipped) = rewrite_for(&class.build(), 0, ACCESSES);
    assert_eq!(skipped, []);
    let new = Listing::of(&new);
    assert_eq!(new.max_stack, 8 + 4);
    let code = &new.code[2..new.code.len() - 4];
    code.iter().map(|line| line.split(' ').next().unwrap().to_owned() + &number(line)).collect()
}

/// The role and type, or the id, that is pushed, if it is that.
fn number(line: &str) -> String {
    match line.split(' ').collect::<Vec<_>>()[..] {
        ["11", _, head] => format!(":{head} "),
        ["10", id] => format!(":{id} "),
        _ => " ".to_owned(),
    }
}

#[test]
fn the_stack_is_the_same_before_and_after_an_access() {
    const LALOAD: u8 = 47;
    const AALOAD: u8 = 50;
    const LASTORE: u8 = 80;
    const BASTORE: u8 = 84;
    for (op, descriptor, expected) in [
        (GETSTATIC, "I", "B2 10:03 11:45 B8 59 11:75 B8 "),
        (GETSTATIC, "D", "B2 10:03 11:45 B8 5C 11:78 B8 "),
        (PUTSTATIC, "[I", "10:03 11:45 B8 59 11:80 B8 B3 "),
        (PUTSTATIC, "J", "10:03 11:45 B8 5C 11:87 B8 B3 "),
        (GETFIELD, "Z", "59 B4 10:03 11:45 B8 5F 11:50 B8 59 11:71 B8 "),
        (GETFIELD, "J", "59 B4 10:03 11:45 B8 5D 58 11:50 B8 5C 11:77 B8 "),
        (PUTFIELD, "F", "10:03 11:45 B8 5C 57 11:50 B8 59 11:86 B8 B5 "),
        (PUTFIELD, "D", "10:03 11:45 B8 5D 58 5B 11:50 B8 5C 11:88 B8 B5 "),
        (LALOAD, "I", "5C 2F 5E 58 11:65 B8 11:50 B8 5C 11:77 B8 "),
        (AALOAD, "I", "5C 32 5B 57 11:65 B8 11:50 B8 59 11:70 B8 "),
        (LASTORE, "I", "5E 58 5E 11:65 B8 11:50 B8 5C 11:87 B8 50 "),
        (BASTORE, "I", "5B 57 5D 11:65 B8 11:50 B8 59 11:82 B8 54 "),
    ] {
        assert_eq!(accessed(op, descriptor), expected, "{op} {descriptor}");
    }
}

#[test]
fn a_field_that_is_written_before_super_has_no_object() {
    let mut class = Class::new(61, "p/B");
    let [a, b] = class.field("p/C", "f", "I");
    let [c, d] = class.method("p/B", "<init>", "()V");
    let write = [ALOAD_0, ICONST_0, PUTFIELD, a, b];
    let code = [&write[..], &[ALOAD_0, INVOKESPECIAL, c, d], &write, &[RETURN]].concat();
    class.add_method(PUBLIC, "<init>", "()V", Body { code, ..Body::default() });
    let new = Listing::of(&rewrite_for(&class.build(), 0, ACCESSES).0).code;
    let super_call = new.iter().position(|line| line.starts_with("B7")).unwrap();
    let objects = |code: &[String]| code.iter().filter(|line| *line == "11 00 50").count();
    assert_eq!((objects(&new[..super_call]), objects(&new[super_call..])), (0, 1));
}

#[test]
fn a_method_whose_accesses_would_make_it_too_large_is_recorded_without_them() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.field("p/D", "f", "I");
    let code = [[GETSTATIC, a, b, POP].repeat(1000), vec![RETURN]].concat();
    class.add_method(STATIC, "f", "()V", Body { code, ..Body::default() });
    let (new, skipped) = rewrite_for(&class.build(), 0, ACCESSES);
    assert_eq!(skipped, [(0, Skip::WithoutFields)]);
    assert!(!Listing::of(&new).code.iter().any(|line| line.starts_with("B8")));
}

#[test]
fn odd_constructors_stay_unchanged() {
    let odd = |body: fn([[u8; 2]; 1]) -> Body| {
        let bytes = constructor("p/B", ["p/B"], body);
        rewrite_one(&bytes, 0).unwrap_err()
    };
    let covered = odd(|[[a, b]]| Body {
        handlers: vec![[0, 4, 5]],
        ..Body::from([ALOAD_0, INVOKESPECIAL, a, b, RETURN, ATHROW])
    });
    assert_eq!(covered, Skip::OddConstructor);
    assert_eq!(odd(|_| Body::from([RETURN])), Skip::OddConstructor);
    let overwritten = odd(|[[a, b]]| {
        Body::from([ALOAD_0, DUP, ASTORE_0, ACONST_NULL, ASTORE_0, INVOKESPECIAL, a, b, RETURN])
    });
    assert_eq!(overwritten, Skip::OddConstructor);
    let merged = odd(|[[a, b]]| {
        let code =
            [ILOAD_1, IFEQ, 0, 7, ALOAD_0, GOTO, 0, 4, ACONST_NULL, INVOKESPECIAL, a, b, RETURN];
        Body::from(code)
    });
    assert_eq!(merged, Skip::OddConstructor);

    let bytes =
        constructor("p/B", ["p/B"], |_| Body { lines: vec![[0, 1]], ..Body::from([RETURN]) });
    let class = ClassFile::parse(&bytes).unwrap();
    assert_eq!(class.plan(0).unwrap_err(), Skip::OddConstructor);
    let plan = class.plan_for(0, Detail { lines: LineProbes::Alone, ..Detail::default() });
    assert!(plan.is_ok(), "its lines can be recorded without its calls");
}

#[test]
fn a_class_without_lines_stays_unchanged_if_calls_are_not_recorded() {
    let bytes = constructor("p/B", ["p/B"], |_| Body::from([RETURN]));
    let class = ClassFile::parse(&bytes).unwrap();
    let detail = Detail { lines: LineProbes::Alone, ..Detail::default() };
    let plan = class.plan_for(0, detail).unwrap();
    let ids = Ids { method: id(1), callees: vec![], fields: vec![], first_place: 0 };
    assert_eq!(rewrite(&class, vec![(0, plan, ids)], Probes::Plain), (None, vec![]));
}

/// `if (i == 0)` over `len` bytes, with or without a frame after the branch.
fn long_branch(op: u8, len: usize, frame: bool) -> Result<Listing, Skip> {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.method("p/D", "f", "()V");
    let offset = u16::try_from(len + 3).unwrap().to_be_bytes();
    let mut code = vec![ILOAD_0, op, offset[0], offset[1]];
    if op == GOTO {
        code[0] = NOP;
    }
    code.extend(std::iter::repeat_n(NOP, len - 4));
    code.extend([INVOKESTATIC, a, b, RETURN, RETURN]);
    let mut frames = vec![0, 1];
    if frame {
        frames = vec![0, 2, 4];
    }
    let at = len + 4 - if frame { 5 } else { 0 };
    frames.push(251);
    frames.extend(u16::try_from(at).unwrap().to_be_bytes());
    let body = Body { code, frames: Some(frames), ..Body::default() };
    class.add_method(STATIC, "f", "(I)V", body);
    rewrite_one(&class.build(), 0).map(|bytes| Listing::of(&bytes))
}

#[test]
fn branches_that_get_too_long_are_widened() {
    // An exit probe of three bytes lies below the branch.
    let new = long_branch(GOTO, 32761, true).unwrap();
    assert_eq!(new.code[2], "A7 7F FF");
    let new = long_branch(GOTO, 32762, true).unwrap();
    assert_eq!(new.code[2], "C8 00 00 80 02");
    let new = long_branch(IFEQ, 32762, true).unwrap();
    assert_eq!(new.code[2..4], ["9A 00 08", "C8 00 00 80 02"]);
    assert_eq!(new.frames[0], 4);
    assert_eq!(long_branch(IFEQ, 32762, false).unwrap_err(), Skip::TooLarge);
}

#[test]
fn frames_refer_to_the_new_offset_of_an_uninitialised_object() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.method("p/B", "<init>", "()V");
    // new B() at the start of a handler, with a branch between new and the call.
    let body = Body {
        handlers: vec![[0, 1, 2]],
        frames: Some(vec![0, 2, 66, 7, 0, 2, 255, 0, 4, 0, 0, 0, 2, 8, 0, 2, 8, 0, 2]),
        ..Body::from([NOP, RETURN, NEW, 0, 4, DUP, NOP, INVOKESPECIAL, a, b, POP, POP, RETURN])
    };
    class.add_method(STATIC, "f", "()V", body);
    let new = Listing::of(&rewrite_one(&class.build(), 0).unwrap());
    assert_eq!(new.code[4..6], ["note 7E", "BB 00 04"]);
    assert_eq!(new.frames[0], 4);
    // After ENTER (5), NOP, exit and return (4) the handler begins with CATCH (5): 15.
    let full = &new.table[6..20];
    assert_eq!(full[5..], [0, 2, 8, 0, 15, 8, 0, 15, 255]);
}

#[test]
fn a_method_is_announced_with_its_argument() {
    let mut class = Class::new(61, OBJECT);
    let mut body = Body::from([ILOAD_1, IFEQ, 0, 4, NOP, RETURN]);
    body.frames = Some(vec![0, 1, 5]);
    body.lines = vec![[0, 10], [5, 12]];
    class.add_method(PUBLIC, "fire", "(Lp/Test;)V", body);
    class.add_method(PUBLIC, "fire", "(I)V", Body::from([RETURN]));
    let bytes = class.build();
    let class = ClassFile::parse(&bytes).unwrap();
    let announced = announce(&class, b"p/Listener", &[b"fire"]).unwrap();
    let new = Listing::of(&announced);
    assert_eq!(new.code[0], "2B");
    assert!(new.code[1].starts_with("B8 "), "{:?}", new.code);
    assert_eq!(new.code[2..], ["1B", "99 00 04", "00", "B1"]);
    // That of the return, which is now at offset 9.
    assert_eq!(new.frames, [5]);
    assert_eq!(new.lines, [[0, 10], [9, 12]]);
    let text = |text: &[u8]| announced.windows(text.len()).any(|part| part == text);
    assert!(text(b"p/Listener") && text(b"(Lp/Test;)V"));
    // The other method stays as it is, and so does a class without such a method.
    let others = announce(&class, b"p/Listener", &[b"other"]).unwrap();
    assert_eq!(others, bytes);
}

#[test]
fn some_methods_are_never_touched() {
    let reason = |major, name: &str, body: Body| {
        let mut class = Class::new(major, OBJECT);
        class.add_method(PUBLIC, name, "()V", body);
        rewrite_one(&class.build(), 0).unwrap_err()
    };
    assert_eq!(reason(61, "finalize", Body::from([RETURN])), Skip::EmptyFinalizer);
    let frames = Some(vec![0, 1, 128]);
    let body = Body { frames, ..Body::from([BIPUSH, 1, POP, RETURN]) };
    assert_eq!(reason(61, "f", body), Skip::UnknownFrame);
    assert_eq!(reason(61, "f", Body::from([GOTO, 0, 2, RETURN])), Skip::Malformed);
    assert_eq!(reason(61, "f", Body::from([202])), Skip::Malformed);
    let code = vec![NOP; 65535];
    assert_eq!(reason(61, "f", Body { code, ..Body::default() }), Skip::TooLarge);
}

#[test]
fn a_method_that_is_compiled_does_not_become_too_large_for_that() {
    let rewritten = |nops: usize| {
        let mut class = Class::new(61, OBJECT);
        let code = [vec![NOP; nops], vec![RETURN]].concat();
        class.add_method(STATIC, "f", "()V", Body { code, ..Body::default() });
        rewrite_one(&class.build(), 0).map(|bytes| Listing::of(&bytes).code.len())
    };
    // A leaf gets one probe: `sipush` and `invokestatic`, six bytes.
    assert_eq!(rewritten(7993), Ok(7995));
    assert_eq!(rewritten(7994), Err(Skip::TooLargeToCompile));
    assert_eq!(rewritten(7999), Err(Skip::TooLargeToCompile));
    assert_eq!(rewritten(8000), Ok(8002), "no JVM compiles it as it is");
}

#[test]
fn the_cost_of_many_handlers_grows_with_their_number() {
    const COUNT: u16 = 20_000;
    let start = std::time::Instant::now();
    for all_at in [Some(COUNT), None] {
        let nops = vec![NOP; COUNT.into()];
        let handlers: Vec<_> = (0..COUNT).map(|at| [0, COUNT, all_at.unwrap_or(at)]).collect();
        let mut class = Class::new(49, "p/B");
        let [a, b] = class.method("p/B", "<init>", "()V");
        let code = [&nops[..], &[NOP, RETURN]].concat();
        let body = Body { code, handlers: handlers.clone(), ..Body::default() };
        class.add_method(STATIC, "f", "()V", body);
        let code = [&nops[..], &[ALOAD_0, INVOKESPECIAL, a, b, RETURN]].concat();
        class.add_method(PUBLIC, "<init>", "()V", Body { code, handlers, ..Body::default() });
        let bytes = class.build();
        let class = ClassFile::parse(&bytes).unwrap();
        let plan = class.plan(0).unwrap();
        assert_eq!(plan.points.len(), 2, "one CATCH, where no handler leads back, and one exit");
        let _of_constructor = class.plan(1);
    }
    // It takes milliseconds; if each handler searched all others, it would take hours.
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}

#[test]
fn a_method_that_is_skipped_leaves_no_trace_in_its_class() {
    let mut class = Class::new(61, OBJECT);
    class.add_method(STATIC, "f", "()V", Body::from([RETURN]));
    let code = [vec![NOP; 65530], vec![RETURN]].concat();
    class.add_method(STATIC, "g", "()V", Body { code, ..Body::default() });
    let old = class.build();
    let class = ClassFile::parse(&old).unwrap();
    let chosen = |methods: &[usize]| -> Vec<_> {
        let ids =
            || Ids { method: id(70_000), callees: Vec::new(), fields: Vec::new(), first_place: 0 };
        methods.iter().map(|method| (*method, class.plan(*method).unwrap(), ids())).collect()
    };
    assert_eq!(rewrite(&class, Vec::new(), Probes::Plain), (None, vec![]));
    assert_eq!(rewrite(&class, chosen(&[1]), Probes::Plain), (None, vec![(1, Skip::TooLarge)]));
    let (one, _) = rewrite(&class, chosen(&[0]), Probes::Plain);
    assert_eq!(
        rewrite(&class, chosen(&[1, 0]), Probes::Plain),
        (one.clone(), vec![(1, Skip::TooLarge)])
    );

    let new = one.unwrap();
    let class = ClassFile::parse(&new).unwrap();
    assert!(class.has_probes());
    let again = (
        0,
        class.plan(0).unwrap(),
        Ids { method: id(1), callees: Vec::new(), fields: Vec::new(), first_place: 0 },
    );
    assert_eq!(rewrite(&class, vec![again], Probes::Plain), (None, vec![]));
}

#[test]
fn a_full_pool_does_not_overflow() {
    let mut class = Class::new(61, OBJECT);
    class.add_method(STATIC, "f", "()V", Body::from([RETURN]));
    for _ in 0..65_500 {
        class.utf8("");
    }
    assert!(rewrite_one(&class.build(), 0).is_ok());
    for _ in 0..20 {
        class.utf8("");
    }
    assert_eq!(rewrite_one(&class.build(), 0), Err(Skip::PoolFull));
}

#[test]
fn the_structure_of_a_class_matters_and_not_its_version() {
    for major in [45, 69, 70, u16::MAX] {
        let mut class = Class::new(major, OBJECT);
        class.add_method(STATIC, "f", "()V", Body::from([RETURN]));
        assert!(rewrite_one(&class.build(), 0).is_ok(), "{major}");
    }
    let mut class = Class::new(70, OBJECT);
    class.unknown_constant();
    assert_eq!(
        ClassFile::parse(&class.build()).unwrap_err(),
        Malformed::UnknownConstant { tag: 99 }
    );
}

#[test]
fn a_class_is_described() {
    let mut class = Class::new(61, "p/B$D");
    let body = Body { lines: vec![[1, 8], [0, 7]], ..Body::from([NOP, RETURN]) };
    class.add_method(STATIC, "f", "(I)V", body);
    let bytes = class.build();
    let class = ClassFile::parse(&bytes).unwrap();
    assert_eq!((class.name(), class.super_name()), ("p.C".into(), Some("p.B$D".into())));
    let method = class.methods().next().unwrap();
    assert_eq!((&*method.name, &*method.descriptor, method.access), ("f", "(I)V", STATIC));
    assert_eq!((method.has_code, method.first_line, method.annotated), (true, Some(7), false));
    assert!(!class.has_probes() && !class.is_interface());
}

proptest::proptest! {
    /// A class file with some bytes changed is refused or rewritten, and what comes out can be read.
    #[test]
    fn damaged_classes_do_no_harm(damage in proptest::collection::vec((0usize..4096, 0u8..), 0..4)) {
        let mut bytes = constructor("p/B", ["p/B", "p/C"], |[[a, b], [c, d]]| Body {
            frames: Some(vec![0, 2, 9, 255, 0, 3, 0, 2, 7, 0, 2, 1, 0, 0]),
            handlers: vec![[8, 9, 9]],
            lines: vec![[0, 1], [9, 2]],
            ..Body::from([
                ILOAD_1, IFEQ, 0, 8, ALOAD_0, INVOKESPECIAL, a, b, RETURN, ALOAD_0, INVOKESPECIAL,
                c, d, RETURN,
            ])
        });
        for (at, byte) in damage {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        if let Ok(class) = ClassFile::parse(&bytes)
            && let lines = [LineProbes::Each, LineProbes::Once, LineProbes::Alone][bytes.len() % 3]
            && let detail = (Detail { lines, values: true, accesses: true, instructions: true, exceptions: true, version: 3 })
            && let Ok(plan) = class.plan_for(0, detail)
            && let ids = (Ids { method: id(1), callees: vec![], fields: vec![id(3); plan.fields.len()], first_place: 0 })
            && let (Some(new), _) = rewrite(&class, vec![(0, plan, ids)], Probes::Plain)
        {
            let new = ClassFile::parse(&new).unwrap();
            proptest::prop_assert!(new.has_probes());
            // Probes of lines only are no reason to refuse a constructor that no call can be recorded of.
            let again = new.plan_for(0, Detail { lines, ..Detail::default() });
            proptest::prop_assert!(again.is_ok(), "{:?}", again.err());
        }
    }
}
