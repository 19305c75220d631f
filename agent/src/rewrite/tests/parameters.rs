//! Parameters that are put back into a class.

use super::super::{ClassFile, LoadedParameters, Skip, put_parameters, with_other_flags};
use super::assembler::{Body, Class, rewrite_one};
use super::{OBJECT, RETURN, STATIC};
use crate::rewrite::class_file::bytes::Attributes;
use crate::rewrite::class_file::bytes::Reader;

const FINAL: u16 = 0x10;
const SYNTHETIC: u16 = 0x1000;

/// The class without its parameters, and what the JVM knows of them: the names for `f` and `g`, and nothing about `h`.
fn lost() -> (Class, Vec<u8>, Vec<LoadedParameters>) {
    let mut class = Class::new(61, OBJECT);
    class.utf8("known");
    for (name, descriptor) in [("f", "(IJ)V"), ("g", "(I)V"), ("h", "(I)V")] {
        class.add_method(STATIC, name, descriptor, Body::from([RETURN]));
    }
    let mut loaded = Class::new(61, "p/Other");
    let mut method = |name: &str, descriptor: &str, parameters: &[(&str, u16)]| LoadedParameters {
        name: loaded.utf8(name),
        descriptor: loaded.utf8(descriptor),
        parameters: parameters
            .iter()
            .map(|(name, flags)| (if name.is_empty() { 0 } else { loaded.utf8(name) }, *flags))
            .collect(),
    };
    let methods = vec![
        method("g", "(I)V", &[("", SYNTHETIC)]),
        method("f", "(IJ)V", &[("known", FINAL), ("new", 0)]),
        method("no", "(I)V", &[("such", 0)]),
    ];
    // The pool and its count follow the version.
    (class, loaded.build().split_off(8), methods)
}

/// The `MethodParameters` of each method.
fn parameters(bytes: &[u8]) -> Vec<Vec<(String, u16)>> {
    let class = ClassFile::parse(bytes).unwrap();
    let of = |attributes: &std::ops::Range<usize>| {
        let mut reader = Reader::new(&bytes[attributes.clone()]);
        let mut found = Vec::new();
        for attribute in Attributes::new(&mut reader) {
            let (name, content) = attribute.unwrap();
            if class.pool.utf8(name).unwrap() == b"MethodParameters" {
                let mut content = Reader::new(content);
                for _ in 0..content.u8().unwrap() {
                    let name = class.pool.utf8(content.u16().unwrap()).unwrap_or_default();
                    let name = String::from_utf8(name.to_vec()).unwrap();
                    found.push((name, content.u16().unwrap()));
                }
                assert!(content.is_empty());
            }
        }
        assert!(reader.is_empty());
        found
    };
    class.methods.iter().map(|entry| of(&entry.attributes)).collect()
}

#[test]
fn parameters_that_a_class_lacks_are_put_back() {
    let (class, pool, loaded) = lost();
    let expected = [
        vec![("known".to_owned(), FINAL), ("new".to_owned(), 0)],
        vec![(String::new(), SYNTHETIC)],
        vec![],
    ];
    for bytes in [class.build(), rewrite_one(&class.build(), 0).unwrap()] {
        let put = put_parameters(&bytes, &pool, &loaded).unwrap().unwrap();
        assert_eq!(parameters(&put), expected);
        assert_eq!(ClassFile::parse(&put).unwrap().has_probes(), bytes != class.build());
        // Parameters that are there stay.
        assert_eq!(put_parameters(&put, &pool, &loaded), Ok(None));
    }
}

#[test]
fn a_class_without_room_for_names_is_reported() {
    let (mut class, pool, loaded) = lost();
    let constants = |class: &Class| ClassFile::parse(&class.build()).unwrap().pool.count();
    while constants(&class) + 1000 < usize::from(u16::MAX) {
        for _ in 0..1000 {
            class.utf8("");
        }
    }
    while constants(&class) < usize::from(u16::MAX) {
        class.utf8("");
    }
    assert_eq!(put_parameters(&class.build(), &pool, &loaded), Err(Skip::PoolFull));
}

#[test]
fn other_flags_are_the_only_difference() {
    let (class, ..) = lost();
    let bytes = class.build();
    let other = with_other_flags(&bytes).unwrap();
    let access = |bytes: &[u8]| ClassFile::parse(bytes).unwrap().access();
    assert_eq!(access(&other), access(&bytes) ^ SYNTHETIC);
    assert_eq!(bytes.iter().zip(&other).filter(|(a, b)| a != b).count(), 1);
}
