//! The structure of a class file (JVMS §4.1): where each part is.

use std::borrow::Cow;
use std::ops::Range;

use super::annotations;
use super::bridge;
use super::bytes::{Attributes, Reader};
use super::code::{Code, Instruction, line_numbers};
use super::judge::{CompiledBy, judge};
use super::opcode::INVOKESTATIC;
use super::pool::{Additions, Pool, probe_class, tag};
use crate::certain::Certain as _;
use crate::rewrite::{Malformed, SourceMap, is_accessor};
use crate::text::{binary_name, decode};

/// A class file: what the rewriter needs, and the bytes it was read from.
#[derive(Debug)]
pub struct ClassFile<'a> {
    pub(in crate::rewrite) bytes: &'a [u8],
    pub(in crate::rewrite) major: u16,
    pub(in crate::rewrite) pool: Pool<'a>,
    /// The offset of what follows the pool.
    pub(in crate::rewrite) pool_end: usize,
    access: u16,
    pub(in crate::rewrite) name: &'a [u8],
    pub(in crate::rewrite) super_name: Option<&'a [u8]>,
    interfaces: Vec<&'a [u8]>,
    pub(in crate::rewrite) fields: Vec<Field<'a>>,
    pub(in crate::rewrite) methods: Vec<Entry<'a>>,
    source_file: Option<&'a [u8]>,
    /// The content of its `SourceDebugExtension`.
    debug: Option<&'a [u8]>,
    /// The method handles of its bootstrap methods.
    bootstraps: Vec<u16>,
    /// The contents of its attributes for annotations.
    annotations: Vec<&'a [u8]>,
}

/// A field of the class.
#[derive(Debug)]
pub(in crate::rewrite) struct Field<'a> {
    pub(in crate::rewrite) access: u16,
    pub(in crate::rewrite) name: &'a [u8],
    pub(in crate::rewrite) descriptor: &'a [u8],
}

/// A method of the class, in the file.
#[derive(Debug)]
pub(in crate::rewrite) struct Entry<'a> {
    pub(in crate::rewrite) access: u16,
    pub(in crate::rewrite) name: &'a [u8],
    pub(in crate::rewrite) descriptor: &'a [u8],
    /// The whole of its `Code` attribute.
    pub(in crate::rewrite) code: Option<Range<usize>>,
    /// The range of all attributes of the method, with their number.
    pub(in crate::rewrite) attributes: Range<usize>,
    /// Whether the method has `MethodParameters`.
    pub(in crate::rewrite) has_parameters: bool,
    /// The content of its `RuntimeVisibleAnnotations`, and of its `RuntimeInvisibleAnnotations`.
    annotations: Option<&'a [u8]>,
    invisible_annotations: Option<&'a [u8]>,
}

/// The description of a method.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Method<'a> {
    /// The name: `<init>` of a constructor.
    pub name: Cow<'a, str>,
    /// The descriptor: `(I)V`.
    pub descriptor: Cow<'a, str>,
    /// The access flags.
    pub access: u16,
    /// Whether it is neither abstract nor native.
    pub has_code: bool,
    /// The line of its first instruction.
    pub first_line: Option<u32>,
    /// Whether the JVM treats it specially: it has an annotation of the JDK's internals.
    pub annotated: bool,
}

const ACC_INTERFACE: u16 = 0x0200;

impl<'a> ClassFile<'a> {
    /// Reads the structure. The code of methods is only read by [`ClassFile::plan`].
    ///
    /// Any version is accepted: what a later version adds shows as an unknown constant, frame or instruction.
    ///
    /// # Errors
    /// The bytes are not a class file, or have an unknown structure.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(bytes);
        if reader.u32()? != 0xCAFE_BABE {
            return Err(Malformed::NotAClass);
        }
        let _minor = reader.u16()?;
        let major = reader.u16()?;
        let pool = Pool::parse(&mut reader)?;
        let pool_end = reader.at();
        let access = reader.u16()?;
        let name = pool.class_name(reader.u16()?)?;
        let super_name = match reader.u16()? {
            0 => None,
            index => Some(pool.class_name(index)?),
        };
        let mut interfaces = Vec::new();
        for _ in 0..reader.u16()? {
            interfaces.push(pool.class_name(reader.u16()?)?);
        }

        let mut fields = Vec::new();
        for _ in 0..reader.u16()? {
            fields.push(Field {
                access: reader.u16()?,
                name: pool.utf8(reader.u16()?)?,
                descriptor: pool.utf8(reader.u16()?)?,
            });
            for attribute in Attributes::new(&mut reader) {
                let _unchanged = attribute?;
            }
        }
        let mut methods = Vec::new();
        for _ in 0..reader.u16()? {
            methods.push(Entry::parse(&mut reader, &pool)?);
        }
        let (mut source_file, mut debug, mut bootstraps) = (None, None, Vec::new());
        let mut annotations = Vec::new();
        for attribute in Attributes::new(&mut reader) {
            let (name, content) = attribute?;
            match pool.utf8(name)? {
                b"SourceFile" => source_file = Some(pool.utf8(Reader::new(content).u16()?)?),
                b"SourceDebugExtension" => debug = Some(content),
                b"BootstrapMethods" => bootstraps = bootstrap_handles(content),
                b"RuntimeVisibleAnnotations" | b"RuntimeInvisibleAnnotations" => {
                    annotations.push(content);
                }
                _ => {}
            }
        }
        if !reader.is_empty() {
            return Err(Malformed::TrailingBytes);
        }
        Ok(Self {
            bytes,
            major,
            pool,
            pool_end,
            access,
            name,
            super_name,
            interfaces,
            fields,
            methods,
            source_file,
            debug,
            bootstraps,
            annotations,
        })
    }

    /// The binary name: `pkg.Outer$Inner`.
    #[must_use]
    pub fn name(&self) -> String {
        binary_name(self.name)
    }

    /// The binary name of the superclass. Only `java.lang.Object` and modules have none.
    #[must_use]
    pub fn super_name(&self) -> Option<String> {
        self.super_name.map(binary_name)
    }

    /// The binary names of the superclass and of the interfaces that the class names. An interface has no superclass, though its
    /// class file names `Object`.
    #[must_use]
    pub fn supertypes(&self) -> Vec<String> {
        let super_name = self.super_name.filter(|_| !self.is_interface());
        super_name.iter().chain(&self.interfaces).map(|name| binary_name(name)).collect()
    }

    /// The name of the source file.
    #[must_use]
    pub fn source_file(&self) -> Option<String> {
        self.source_file.map(|name| decode(name).into_owned())
    }

    /// Returns the map from the lines of the class to those of other code, if there is one.
    #[must_use]
    pub fn source_map(&self) -> Option<SourceMap> {
        self.debug.and_then(SourceMap::parse)
    }

    /// Returns the line numbers of a method, in the order of its code.
    #[must_use]
    pub fn line_numbers(&self, method: usize) -> Vec<u32> {
        let content = self.methods.get(method).and_then(|entry| entry.code_content(self.bytes));
        let numbers = content.and_then(|content| line_numbers(content, &self.pool).ok());
        numbers.unwrap_or_default().into_iter().map(|(_, line)| line.into()).collect()
    }

    /// The internal name of the class of a bootstrap method.
    pub(in crate::rewrite) fn bootstrap_class(&self, number: u16) -> Option<&'a [u8]> {
        let handle = *self.bootstraps.get(usize::from(number))?;
        let mut handle = self.pool.entry(handle, &[tag::METHOD_HANDLE]).ok()?;
        let _kind = handle.u8().ok()?;
        Some(self.pool.any_member(handle.u16().ok()?).ok()?.class)
    }

    /// The access flags.
    #[must_use]
    pub fn access(&self) -> u16 {
        self.access
    }

    /// Returns whether it is an interface.
    #[must_use]
    pub fn is_interface(&self) -> bool {
        self.access & ACC_INTERFACE != 0
    }

    /// Returns whether the class has probes already, or is the probe class.
    #[must_use]
    pub fn has_probes(&self) -> bool {
        // The name in the pool proves nothing: a JVM that restores a class keeps our constants.
        self.pool.names_probe() && self.methods.iter().any(|entry| self.calls_probe(entry))
    }

    /// Assembles a class with additions to the pool, and with `rest` for everything that follows the pool.
    pub(in crate::rewrite) fn with_pool(
        &self,
        additions: &Additions,
        rest: &[&[u8]],
    ) -> Result<Vec<u8>, Malformed> {
        const MAGIC_AND_VERSION: usize = 8;
        let (pool, added) = (self.pool.bytes(), additions.bytes());
        let len = pool.len() + added.len() + rest.iter().map(|part| part.len()).sum::<usize>();
        let mut out = Vec::with_capacity(MAGIC_AND_VERSION + 2 + len);
        out.extend_from_slice(self.bytes.get(..MAGIC_AND_VERSION).ok_or(Malformed::Truncated)?);
        out.extend_from_slice(&additions.count().to_be_bytes());
        [pool, added].iter().chain(rest).for_each(|part| out.extend_from_slice(part));
        Ok(out)
    }

    fn calls_probe(&self, entry: &Entry<'a>) -> bool {
        let code = entry.code_content(self.bytes).map(|content| Code::parse(content, &self.pool));
        let Some(Ok(code)) = code else { return false };
        code.instructions().flatten().any(|Instruction { pc, op, .. }| {
            op == INVOKESTATIC
                && Reader::new(code.bytes.get(pc + 1..).certain())
                    .u16()
                    .and_then(|index| self.pool.method(index))
                    .is_ok_and(|called| called.class == probe_class())
        })
    }

    /// The methods, in the order of the file. Other functions identify a method by its number in it.
    pub fn methods(&self) -> impl Iterator<Item = Method<'a>> {
        self.methods.iter().map(|entry| Method {
            name: decode(entry.name),
            descriptor: decode(entry.descriptor),
            access: entry.access,
            has_code: entry.code.is_some(),
            first_line: entry
                .code_content(self.bytes)
                .and_then(|content| line_numbers(content, &self.pool).ok())
                .and_then(|numbers| numbers.first().map(|(_, line)| (*line).into())),
            annotated: entry
                .annotations
                .is_some_and(|content| annotations::are_internal(content, &self.pool)),
        })
    }

    /// The binary names of the annotations of a method and of the class itself, as far as they can be read.
    #[must_use]
    pub fn annotations(&self, method: usize) -> Vec<String> {
        let entry = self.methods.get(method);
        let of_method =
            entry.into_iter().flat_map(|entry| [entry.annotations, entry.invisible_annotations]);
        let all = self.annotations.iter().copied().chain(of_method.flatten());
        all.flat_map(|content| annotations::names(content, &self.pool)).collect()
    }

    /// Returns whether a method [is an accessor](is_accessor).
    #[must_use]
    pub fn is_accessor(&self, method: usize) -> bool {
        let entry = self.methods.get(method);
        let found = entry.and_then(|entry| {
            let (code, _attributes) = Code::parse_head(entry.code_content(self.bytes)?).ok()?;
            let (name, descriptor) = (decode(entry.name), decode(entry.descriptor));
            Some(is_accessor(&name, &descriptor, entry.access.into(), code.bytes))
        });
        found.unwrap_or(false)
    }

    /// Returns whether a method is synthetic, and no visibility bridge.
    #[must_use]
    pub fn is_synthetic(&self, method: usize) -> bool {
        let Some(entry) = self.methods.get(method) else { return false };
        let is_bridge = || {
            let code = entry.code_content(self.bytes).map(Code::parse_head);
            let code = code.and_then(|parsed| parsed.ok()).map(|(code, _attributes)| code.bytes);
            code.is_some_and(|code| {
                bridge::calls_same(entry.access, (entry.name, entry.descriptor), code, &self.pool)
            })
        };
        entry.access & bridge::ACC_SYNTHETIC != 0 && !is_bridge()
    }

    /// Judges whether HotSpot's compilers accept a method. `None` if that cannot be judged.
    #[must_use]
    pub fn judge(&self, method: usize) -> Option<CompiledBy> {
        let content = self.methods.get(method)?.code_content(self.bytes)?;
        let (code, _attributes) = Code::parse_head(content).ok()?;
        judge(&code).ok()?
    }
}

/// The method handles in a `BootstrapMethods`, as far as they can be read.
fn bootstrap_handles(content: &[u8]) -> Vec<u16> {
    let mut table = Reader::new(content);
    let count = table.u16().unwrap_or_default();
    let mut handle = || {
        let handle = table.u16()?;
        let arguments = usize::from(table.u16()?);
        table.take(arguments * 2)?;
        Ok::<_, Malformed>(handle)
    };
    (0..count).map_while(|_| handle().ok()).collect()
}

/// The bytes of an attribute before its content: the index of its name, and the length.
const ATTRIBUTE_HEADER: usize = 6;

impl<'a> Entry<'a> {
    fn parse(reader: &mut Reader<'a>, pool: &Pool<'a>) -> Result<Self, Malformed> {
        let mut entry = Self {
            access: reader.u16()?,
            name: pool.utf8(reader.u16()?)?,
            descriptor: pool.utf8(reader.u16()?)?,
            code: None,
            attributes: reader.at()..reader.at(),
            has_parameters: false,
            annotations: None,
            invisible_annotations: None,
        };
        let mut attributes = Attributes::new(reader);
        while let Some(attribute) = attributes.next() {
            let (name, content) = attribute?;
            match pool.utf8(name)? {
                b"Code" => {
                    let end = attributes.at();
                    let start = end - content.len() - ATTRIBUTE_HEADER;
                    if entry.code.replace(start..end).is_some() {
                        return Err(Malformed::TwoCodes);
                    }
                }
                b"RuntimeVisibleAnnotations" => entry.annotations = Some(content),
                b"RuntimeInvisibleAnnotations" => entry.invisible_annotations = Some(content),
                b"MethodParameters" => entry.has_parameters = true,
                _ => {}
            }
        }
        entry.attributes.end = reader.at();
        Ok(entry)
    }

    pub(in crate::rewrite) fn code_content<'b>(&self, class: &'b [u8]) -> Option<&'b [u8]> {
        let code = self.code.as_ref()?;
        class.get(code.start + ATTRIBUTE_HEADER..code.end)
    }

    pub(in crate::rewrite) fn is_constructor(&self) -> bool {
        self.name == b"<init>"
    }
}
