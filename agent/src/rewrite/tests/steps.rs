//! Probes of instructions, and what is known of instructions beforehand.

use super::assembler::{Body, Class, Listing, rewrite_for};
use super::*;

const INSTRUCTIONS: Detail = Detail {
    lines: LineProbes::None,
    values: false,
    accesses: false,
    instructions: true,
    exceptions: false,
    version: 0,
};
const LLOAD_1: u8 = 31;
const LASTORE: u8 = 80;
const AALOAD: u8 = 50;
const ILOAD_2: u8 = 28;

fn listing(class: &Class) -> Vec<String> {
    let (new, skipped) = rewrite_for(&class.build(), 0, INSTRUCTIONS);
    assert_eq!(skipped, []);
    Listing::of(&new).code
}

/// The operands of all instructions of a method.
fn known(class: &Class) -> Vec<(u16, u8, String)> {
    let bytes = class.build();
    let class = ClassFile::parse(&bytes).unwrap();
    let plan = class.plan_for(0, INSTRUCTIONS).unwrap();
    let known = plan.steps.unwrap().code.instructions;
    known.into_iter().map(|one| (one.at, one.op, one.operands.join("|"))).collect()
}

#[test]
fn a_run_of_instructions_has_one_probe() {
    let mut class = Class::new(61, OBJECT);
    // A loop, and a division, which may throw.
    let mut body = Body::from([
        NOP, ILOAD_0, IFEQ, 0, 11, ILOAD_0, ILOAD_0, IDIV, POP, NOP, GOTO, 0xFF, 0xF7, RETURN,
    ]);
    body.frames = Some(vec![0, 2, 1, 11]);
    class.add_method(STATIC, "f", "(I)V", body);
    let expected = [
        "append 81",
        "step 0",
        "00",
        "step 1",
        "1A",
        "99 00 1F",
        "step 5",
        "1A",
        "1A",
        "6C",
        "step 8",
        "57",
        "00",
        "A7 FF E6",
        "step 13",
        "exit",
        "B1",
        "unwound",
        "BF",
    ];
    let code = listing(&class);
    assert_eq!(code.len(), expected.len(), "{code:?}");
    for (code, expected) in code.iter().zip(expected) {
        assert!(code == expected || expected.len() == 8, "{code} {expected}");
    }
    let jumps: Vec<_> =
        known(&class).into_iter().filter(|(_, op, _)| [IFEQ, GOTO].contains(op)).collect();
    assert_eq!(jumps, [(2, IFEQ, "13".to_owned()), (10, GOTO, "1".to_owned())]);
}

#[test]
#[expect(clippy::too_many_lines, reason = "the code of a method, one instruction a line")]
fn operands_of_accesses_are_taken_from_the_stack_and_stay_there() {
    let mut class = Class::new(61, OBJECT);
    let [a, b] = class.field("p/C", "o", "Ljava/lang/Object;");
    let [c, d] = class.field("p/C", "l", "J");
    let code = vec![
        ALOAD_0,
        GETFIELD,
        a,
        b,
        POP,
        ALOAD_0,
        LLOAD_1,
        PUTFIELD,
        c,
        d,
        ALOAD_0,
        ICONST_0,
        LLOAD_1,
        LASTORE,
        ALOAD_0,
        ICONST_0,
        AALOAD,
        POP,
        ACONST_NULL,
        PUTSTATIC,
        a,
        b,
        RETURN,
    ];
    class.add_method(PUBLIC, "f", "(J)V", Body { code, ..Body::default() });
    let (o, l) = (format!("{a:02X} {b:02X}"), format!("{c:02X} {d:02X}"));
    let (get, put, put_static) = (format!("B4 {o}"), format!("B5 {l}"), format!("B3 {o}"));
    let expected = [
        "append 81",
        "2A",
        "stepThis",
        "step 0",
        "2A",
        "59",
        "step 1",
        &get,
        "59",
        "stepValue",
        "step 4",
        "57",
        "2A",
        "1F",
        // Two slots, put below the object and back.
        "5D",
        "58",
        "5B",
        "step 7",
        &put,
        "step 10",
        "2A",
        "03",
        "1F",
        "5E",
        "58",
        "5E",
        "step 13",
        "50",
        "step 14",
        "2A",
        "03",
        "5C",
        "step 16",
        "32",
        "59",
        "stepValue",
        "step 17",
        "57",
        "01",
        "step 19",
        "59",
        "stepValue",
        &put_static,
        "step 22",
        "exit",
        "B1",
        "unwound",
        "BF",
    ];
    assert_eq!(listing(&class), expected);
    let fields: Vec<_> = known(&class).into_iter().filter(|(_, op, _)| *op == PUTFIELD).collect();
    assert_eq!(fields, [(7, PUTFIELD, "p/C|l|J".to_owned())]);
}

#[test]
fn this_is_known_after_the_call_of_another_constructor() {
    let old = constructor("p/B", ["p/B"], |[[a, b]]| {
        Body::from([ALOAD_0, INVOKESPECIAL, a, b, ILOAD_1, POP, RETURN])
    });
    let (new, _) = rewrite_for(&old, 0, INSTRUCTIONS);
    let code = Listing::of(&new).code;
    let at = |text: &str| code.iter().position(|line| line == text).unwrap();
    assert_eq!(code[..4], ["append 81", "step 0", "2A", "append 7B 82"]);
    assert_eq!(code[at("stepThis") - 2..][..4], ["note 7D", "2A", "stepThis", "step 4"]);
}

#[test]
fn this_may_be_overwritten_later() {
    let old = constructor("p/B", ["p/B"], |[[a, b]]| {
        Body::from([ALOAD_0, INVOKESPECIAL, a, b, ACONST_NULL, ASTORE_0, RETURN])
    });
    let (new, _) = rewrite_for(&old, 0, INSTRUCTIONS);
    assert!(!Listing::of(&new).code.contains(&"stepThis".to_owned()));
}

#[test]
fn runs_at_the_start_of_a_handler_are_recorded_where_a_call_may_be() {
    let class = class_with_lock(Vec::new());
    let code = listing(&class);
    let at = |text: &str| code.iter().position(|line| line == text).unwrap();
    let handler = &code[at("note 7E") - 1..];
    assert_eq!(handler[..5], ["C3", "note 7E", "step 11", "step 14", "2C"]);
}

#[test]
fn what_is_known_of_instructions_is_read_from_the_class() {
    let mut class = Class::new(61, OBJECT);
    let [_, text] = class.string("a\u{0}b").to_be_bytes();
    let [a, b] = class.class("[[I").to_be_bytes();
    let switch = [
        TABLESWITCH,
        0,
        0,
        0,
        0,
        0,
        0,
        35,
        0xFF,
        0xFF,
        0xFF,
        0xFF,
        0,
        0,
        0,
        0,
        0,
        0,
        0,
        34,
        0,
        0,
        0,
        35,
    ];
    let code = [
        // `wide iinc`, `wide iload`, and these without `wide`.
        &[196, 132, 1, 2, 0xFF, 0xFE, 196, 21, 1, 2, 132, 3, 0xFF, 21, 200][..],
        &[POP, LDC, text, POP, BIPUSH, 0x80, POP, 17, 0x80, 0, POP, NOP, ILOAD_2],
        &switch,
        &[ICONST_0, 188, 10, POP, ICONST_0, ICONST_0, 197, a, b, 2, POP, RETURN],
    ];
    let code = code.concat();
    class.add_method(STATIC, "f", "()V", Body { code, ..Body::default() });
    let operands: Vec<_> =
        known(&class).into_iter().map(|(_, op, text)| format!("{op} {text}")).collect();
    let expected = [
        "132 -2|258",
        "21 258",
        "132 -1|3",
        "21 200",
        "87 ",
        "18 a\0b|String",
        "87 ",
        "16 -128",
        "87 ",
        "17 -32768",
        "87 ",
        "0 ",
        "28 2",
        "170 63|-1:62 0:63",
        "3 ",
        "188 I|1",
        "87 ",
        "3 ",
        "3 ",
        "197 [[I|2",
        "87 ",
        "177 ",
    ];
    assert_eq!(operands, expected);
}

#[test]
fn a_method_that_steps_would_make_too_large_is_recorded_with_less() {
    let rewritten = |calls: usize, detail| {
        let mut class = Class::new(61, OBJECT);
        let [a, b] = class.method("p/D", "f", "()V");
        let code = [[INVOKESTATIC, a, b].repeat(calls), vec![RETURN]].concat();
        let lines = vec![[0, 7]];
        class.add_method(STATIC, "f", "()V", Body { code, lines, ..Body::default() });
        let (new, skipped) = rewrite_for(&class.build(), 0, detail);
        let code = Listing::of(&new).code;
        let has = |probe: &str| code.iter().any(|line| line.starts_with(probe));
        (has("step"), has("line"), skipped)
    };
    let with_lines = Detail { lines: LineProbes::Each, ..INSTRUCTIONS };
    assert_eq!(rewritten(500, with_lines), (true, true, vec![]));
    let without = vec![(0, Skip::WithoutInstructions)];
    assert_eq!(rewritten(1500, INSTRUCTIONS), (false, false, without.clone()));
    assert_eq!(rewritten(1500, with_lines), (false, true, without));
    let without = vec![(0, Skip::WithoutLines), (0, Skip::WithoutInstructions)];
    assert_eq!(rewritten(2661, with_lines), (false, false, without));
}

#[test]
fn a_jump_into_the_start_of_a_handler_leaves_its_instructions_out() {
    let mut class = Class::new(61, OBJECT);
    let body = Body {
        handlers: vec![[0, 4, 4], [4, 7, 4]],
        ..Body::from([
            ALOAD_0,
            MONITORENTER,
            NOP,
            NOP,
            ASTORE_1,
            ALOAD_0,
            MONITOREXIT,
            GOTO,
            0xFF,
            0xFE,
        ])
    };
    class.add_method(STATIC, "f", "(Ljava/lang/Object;)V", body);
    let bytes = class.build();
    let plan = ClassFile::parse(&bytes).unwrap().plan_for(0, INSTRUCTIONS).unwrap();
    assert_eq!(plan.detail(), Detail::default());
}
