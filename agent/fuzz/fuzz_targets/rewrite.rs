//! Any bytes are refused, or rewritten into a class file that is consistent, is not changed by a second
//! rewriting, and holds no method that a compiler refuses because of the probes.

#![no_main]

use flow_codec::MethodId;
use flowagent::rewrite::{ClassFile, Detail, Ids, LineProbes, Plan, Probes, rewrite};
use libfuzzer_sys::fuzz_target;

/// Ids of one, two, three and four bytes, and one that is too large for a probe.
const IDS: [u64; 5] = [5, 100, 9_000, 2_000_000, 1 << 40];

fn id(number: usize) -> MethodId {
    MethodId::new(IDS[number % IDS.len()]).expect("small")
}

fn chosen<'a>(class: &ClassFile<'a>) -> Vec<(usize, Plan<'a>, Ids)> {
    let plan = |method: usize| {
        let detail = Detail { lines: LineProbes::Each, values: true, accesses: true, instructions: true, exceptions: true, version: 3 };
        let plan = class.plan_for(method, detail).ok()?;
        let callees = (0..plan.calls.len()).map(|call| (call % 2 == 0).then(|| id(call))).collect();
        let fields = (0..plan.fields.len()).map(id).collect();
        Some((method, plan, Ids { method: id(method), callees, fields, first_place: 0 }))
    };
    (0..class.methods().count()).filter_map(plan).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(class) = ClassFile::parse(bytes) else {
        return;
    };
    let _names = (class.name(), class.super_name(), class.source_file());
    let chosen_methods = chosen(&class);
    let methods: Vec<usize> = chosen_methods.iter().map(|(method, ..)| *method).collect();
    let (new, skipped) = rewrite(&class, chosen_methods, Probes::Plain);
    let Some(new) = new else {
        assert!(class.has_probes() || skipped.len() == methods.len());
        return;
    };

    let old = class;
    let class = ClassFile::parse(&new).expect("what was written can be read");
    assert!(class.has_probes());
    // Planning checks that all places in the code are those of instructions.
    for method in methods.into_iter().filter(|method| skipped.iter().all(|(s, _)| s != method)) {
        if let Err(why) = class.plan(method) {
            panic!("method {method} cannot be planned again: {why}");
        }
        if let (Some(old), Some(new)) = (old.judge(method), class.judge(method)) {
            assert!(new.is_as_good_as(old), "method {method}: {old:?} became {new:?}");
        }
    }
    assert_eq!(rewrite(&class, chosen(&class), Probes::Plain), (None, vec![]));
});
