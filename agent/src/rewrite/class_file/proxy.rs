//! Proxies that the JDK makes (`java.lang.reflect.Proxy`): which interface each method implements.
//!
//! Such a class finds the methods of its interfaces when it is initialised, and keeps them in static fields. The first constant
//! that it loads for a field is the name of the interface, or `java.lang.Object`; each method passes its field on:
//!
//! ```text
//! <clinit>   ldc "com.app.Orders"; …; invokestatic Class.forName; ldc "find"; …; invokevirtual Class.getMethod; putstatic m3
//! find       …; getstatic m3; …
//! ```
//!
//! Seen in JDK 8 to 25.

use std::collections::HashMap;

use super::class::{ClassFile, Entry};
use super::code::{Code, Instruction};
use super::opcode::{GETSTATIC, LDC, LDC_W, PUTSTATIC};
use super::pool::tag;
use crate::text::decode;

const PROXY: &[u8] = b"java/lang/reflect/Proxy";
const OBJECT: &str = "java.lang.Object";

impl<'a> ClassFile<'a> {
    /// Returns the interfaces that the methods of a proxy implement, by the numbers of the methods; none if it is no proxy.
    #[must_use]
    pub fn proxied(&self) -> HashMap<usize, String> {
        let mut proxied = HashMap::new();
        if self.super_name != Some(PROXY) {
            return proxied;
        }
        let Some(initialiser) = self.methods.iter().find(|entry| entry.name == b"<clinit>") else {
            return proxied;
        };
        let mut interfaces = HashMap::new();
        // The first constant since the last field.
        let mut first = None;
        for (op, index) in self.constants(initialiser) {
            match op {
                LDC | LDC_W => {
                    first.get_or_insert(index);
                }
                PUTSTATIC => {
                    let name = first.take().and_then(|index| self.string(index));
                    let name = name.filter(|name| name != OBJECT);
                    if let (Some(name), Ok(field)) = (name, self.pool.field(index)) {
                        interfaces.insert(field.name, name);
                    }
                }
                _ => {}
            }
        }
        for (number, entry) in self.methods.iter().enumerate() {
            let field = self.constants(entry).find(|(op, _)| *op == GETSTATIC);
            let field = field.and_then(|(_, index)| self.pool.field(index).ok());
            let interface = field.and_then(|field| interfaces.get(field.name));
            if let Some(interface) = interface.filter(|_| !entry.name.starts_with(b"<")) {
                proxied.insert(number, interface.clone());
            }
        }
        proxied
    }

    /// The instructions of a method that refer to constants or static fields, with the index of these.
    fn constants(&self, entry: &Entry<'a>) -> impl Iterator<Item = (u8, u16)> {
        let content = entry.code_content(self.bytes);
        let code = content.and_then(|content| Code::parse_head(content).ok());
        let instructions = code.into_iter().flat_map(|(code, _attributes)| {
            let bytes = code.bytes;
            code.instructions().flatten().map(move |instruction| (bytes, instruction))
        });
        instructions.filter_map(|(code, Instruction { pc, op, .. })| {
            let byte = |at: usize| code.get(pc + at).copied().map(u16::from);
            match op {
                LDC => Some((op, byte(1)?)),
                LDC_W | GETSTATIC | PUTSTATIC => Some((op, byte(1)? << 8 | byte(2)?)),
                _ => None,
            }
        })
    }

    fn string(&self, index: u16) -> Option<String> {
        let text = self.pool.entry(index, &[tag::STRING]).ok()?.u16().ok()?;
        Some(decode(self.pool.utf8(text).ok()?).into_owned())
    }
}
