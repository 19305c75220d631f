//! Puts back the `MethodParameters` of methods (JVMS §4.7.24): the names and flags of their parameters.
//!
//! Before JDK 19 (JDK-8240908), the JVM passes a loaded class that it changes to the class file hooks without this attribute, and
//! the class has lost it from then on: reflection calls its parameters `arg0`, `arg1` and so on.

use std::collections::HashMap;

use super::class_file::bytes::Reader;
use super::class_file::class::ClassFile;
use super::class_file::pool::{Additions, Pool, Probes};
use super::tables::{close_attribute, open_attribute};
use crate::rewrite::{Malformed, Skip};

/// The access flag of classes that compilers generate (JVMS §4.1).
const SYNTHETIC: u8 = 0x10;

/// The parameters of a method, as the JVM stores them. All names are indices into the constant pool of the class.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadedParameters {
    /// The name of the method.
    pub name: u16,
    /// The descriptor of the method.
    pub descriptor: u16,
    /// The name of each parameter, or 0, and its flags.
    pub parameters: Vec<(u16, u16)>,
}

/// Returns the class with the parameters of methods that lack them; `None` if none lacks them. `pool` is the pool of the loaded
/// class: the number of its constants, and the constants.
///
/// # Errors
/// The class or the pool is malformed, or the class would need too many constants.
pub fn put_parameters(
    class: &[u8],
    pool: &[u8],
    loaded: &[LoadedParameters],
) -> Result<Option<Vec<u8>>, Skip> {
    let class = ClassFile::parse(class)?;
    let pool = Pool::parse(&mut Reader::new(pool))?;
    let mut by_name = HashMap::with_capacity(loaded.len());
    for LoadedParameters { name, descriptor, parameters } in loaded {
        by_name.insert((pool.utf8(*name)?, pool.utf8(*descriptor)?), parameters);
    }
    let mut texts = Texts {
        known: class.pool.texts().map(|(index, text)| (text, index)).collect(),
        additions: Additions::to(&class.pool, Probes::Plain),
    };
    let mut rest = Vec::with_capacity(class.bytes.len());
    let mut copied = class.pool_end;
    for entry in class.methods.iter().filter(|entry| !entry.has_parameters) {
        let Some(parameters) = by_name.get(&(entry.name, entry.descriptor)) else { continue };
        let attributes = &entry.attributes;
        let count = super::class_file::bytes::u16_at(class.bytes, attributes.start)?;
        let count = count.checked_add(1).ok_or(Skip::TooLarge)?;
        rest.extend_from_slice(part(&class, copied, attributes.start)?);
        rest.extend_from_slice(&count.to_be_bytes());
        rest.extend_from_slice(part(&class, attributes.start + 2, attributes.end)?);
        copied = attributes.end;
        let content_at = open_attribute(texts.index(b"MethodParameters")?, &mut rest);
        rest.push(u8::try_from(parameters.len()).map_err(|_| Skip::Malformed)?);
        for (name, flags) in *parameters {
            let name = if *name == 0 { 0 } else { texts.index(pool.utf8(*name)?)? };
            rest.extend_from_slice(&name.to_be_bytes());
            rest.extend_from_slice(&flags.to_be_bytes());
        }
        close_attribute(content_at, &mut rest)?;
    }
    if copied == class.pool_end {
        return Ok(None);
    }
    rest.extend_from_slice(part(&class, copied, class.bytes.len())?);
    Ok(Some(class.with_pool(&texts.additions, &[&rest])?))
}

/// Returns the class with another access flag. The JVM refuses this change of a loaded class, but links the class before.
///
/// # Errors
/// The class is malformed.
pub fn with_other_flags(class: &[u8]) -> Result<Vec<u8>, Malformed> {
    let flags = ClassFile::parse(class)?.pool_end;
    let mut changed = class.to_vec();
    *changed.get_mut(flags).ok_or(Malformed::Truncated)? ^= SYNTHETIC;
    Ok(changed)
}

fn part<'a>(class: &ClassFile<'a>, start: usize, end: usize) -> Result<&'a [u8], Malformed> {
    class.bytes.get(start..end).ok_or(Malformed::Truncated)
}

/// Texts in the pool of a class, and those that are added to it.
struct Texts<'a> {
    known: HashMap<&'a [u8], u16>,
    additions: Additions,
}

impl<'a> Texts<'a> {
    fn index(&mut self, text: &'a [u8]) -> Result<u16, Skip> {
        match self.known.get(text) {
            Some(index) => Ok(*index),
            None => {
                let index = self.additions.utf8(text)?;
                self.known.insert(text, index);
                Ok(index)
            }
        }
    }
}
