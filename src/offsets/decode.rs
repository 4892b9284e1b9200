//! Decoder of structures: it reads bytes into a list of nodes by the tables of `schema`.

use std::ops::Range;

use super::fields::{Content, Node};
use super::schema::{Field, FieldType};
use crate::bytes::{Lengths, Reader, read_error};
use crate::error::WireError;

/// Largest number of tags of a structure; tags are consecutive from 0.
pub(super) const MAX_TAGS: usize = 2;
/// Size of the byte before a nullable structure that marks it as null or present.
const PRESENCE: usize = 1;

/// Format of a message: its version, and whether it is flexible.
#[derive(Debug, Clone, Copy)]
pub(super) struct Format {
    /// The version, which decides which fields the message has.
    pub(super) version: i16,
    /// True if lengths are compact and structures end with tagged fields.
    pub(super) flexible: bool,
}

impl Format {
    fn lengths(self) -> Lengths {
        if self.flexible { Lengths::Compact } else { Lengths::Fixed }
    }

    /// Return the minimum size in bytes of a value.
    fn min_size(self, kind: FieldType, nullable: bool) -> usize {
        match kind {
            FieldType::Int8 => 1,
            FieldType::Int16 | FieldType::Uint16 => 2,
            FieldType::Int32 => 4,
            FieldType::Int64 => 8,
            FieldType::Uuid => 16,
            FieldType::String | FieldType::Bytes | FieldType::Array(_) => match (self.flexible, kind) {
                (true, _) => 1,
                (false, FieldType::String) => 2,
                (false, _) => 4,
            },
            FieldType::Struct(_) if nullable => PRESENCE,
            FieldType::Struct(fields) => {
                let untagged = fields.iter().filter(|field| field.is_in(self.version) && field.tag.is_none());
                untagged.map(|field| self.min_size(field.kind, field.nullable)).sum::<usize>()
                    + usize::from(self.flexible)
            }
        }
    }
}

/// Decoder of a key or value, which adds nodes to a list.
pub(super) struct Decoder<'a, 'n> {
    pub(super) reader: Reader<'a>,
    pub(super) format: Format,
    pub(super) nodes: &'n mut Vec<Node<'a>>,
}

impl<'a> Decoder<'a, '_> {
    /// Read the fields of a structure, then its tagged fields if the format is flexible.
    pub(super) fn structure(
        &mut self,
        owner: Option<&'static Field>,
        fields: &'static [Field],
    ) -> Result<(), WireError> {
        let start = self.add(owner, Content::Struct);
        let version = self.format.version;
        for field in fields.iter().filter(|field| field.tag.is_none() && field.is_in(version)) {
            self.field(field).map_err(|e| e.within(field.name))?;
        }
        if self.format.flexible {
            self.tagged(fields)?;
        }
        self.end(start);
        Ok(())
    }

    /// Add a node; return its index.
    fn add(&mut self, field: Option<&'static Field>, content: Content<'a>) -> usize {
        self.nodes.push(Node { field, content, size: 1 });
        self.nodes.len() - 1
    }

    /// End the content of a node.
    fn end(&mut self, start: usize) {
        self.nodes[start].size = self.nodes.len() - start;
    }

    fn field(&mut self, field: &'static Field) -> Result<(), WireError> {
        match field.kind {
            FieldType::String if field.nullable => {
                let text = self.reader.nullable_string_bytes(self.format.lengths())?;
                self.add(Some(field), text.map_or(Content::Null, Content::Text));
            }
            FieldType::Struct(_) if field.nullable && self.reader.int8()? < 0 => {
                self.add(Some(field), Content::Null);
            }
            kind => self.value(Some(field), kind)?,
        }
        Ok(())
    }

    fn value(&mut self, field: Option<&'static Field>, kind: FieldType) -> Result<(), WireError> {
        let lengths = self.format.lengths();
        let content = match kind {
            FieldType::Int8 => Content::Int(self.reader.int8()?.into()),
            FieldType::Int16 => Content::Int(self.reader.int16()?.into()),
            FieldType::Uint16 => Content::Int(self.reader.uint16()?.into()),
            FieldType::Int32 => Content::Int(self.reader.int32()?.into()),
            FieldType::Int64 => Content::Int(self.reader.int64()?),
            FieldType::Uuid => Content::Uuid(self.reader.uuid()?),
            FieldType::String => Content::Text(self.reader.string_bytes(lengths)?),
            FieldType::Bytes => Content::Bytes(self.reader.bytes(lengths)?),
            FieldType::Array(FieldType::Int32) => Content::Int32s(self.reader.int32s(lengths)?),
            FieldType::Struct(fields) => return self.structure(field, fields),
            FieldType::Array(element) => {
                let count = self.reader.count(lengths, self.format.min_size(*element, false))?;
                return self.elements(field, *element, count);
            }
        };
        self.add(field, content);
        Ok(())
    }

    fn elements(&mut self, field: Option<&'static Field>, element: FieldType, count: usize) -> Result<(), WireError> {
        let start = self.add(field, Content::Array);
        for index in 0..count {
            self.value(None, element).map_err(|e| e.within_element(index))?;
        }
        self.end(start);
        Ok(())
    }

    /// Read the section of tagged fields.
    ///
    /// As in Kafka's generated readers, unknown fields are skipped, the last of repeated fields counts, and the encoded size of a
    /// known field is ignored.
    fn tagged(&mut self, fields: &'static [Field]) -> Result<(), WireError> {
        let unnamed = |e: WireError| e.within("taggedFields");
        let first = self.nodes.len();
        // The nodes of each tag, and true if they are in order and no tag is repeated.
        let (mut found, mut is_sorted) = ([(); MAX_TAGS].map(|()| 0..0), true);
        let sections = self.reader.varint().map_err(unnamed)?;
        for _ in 0..sections {
            let tag = self.reader.varint().map_err(unnamed)?;
            let position = self.reader.position();
            let size = self.reader.varint().map_err(unnamed)?;
            let known = fields.iter().find(|field| field.tag == Some(tag) && field.is_in(self.format.version));
            let Some(field) = known else {
                let Ok(size) = usize::try_from(size) else {
                    return Err(unnamed(read_error(position, format!("a size of {size} is negative"))));
                };
                self.reader.take(size).map_err(unnamed)?;
                continue;
            };
            let start = self.nodes.len();
            if self.tagged_field(field).map_err(|e| e.within(field.name))? {
                self.nodes.truncate(start);
            }
            is_sorted &= found[tag as usize..].iter().all(Range::is_empty);
            found[tag as usize] = start..self.nodes.len();
        }
        if !is_sorted {
            let sorted: Vec<_> = found.into_iter().flat_map(|nodes| &self.nodes[nodes]).copied().collect();
            self.nodes.truncate(first);
            self.nodes.extend(sorted);
        }
        Ok(())
    }

    /// Read a tagged field; return true if its value is the default.
    ///
    /// The presence of a nullable structure is a varint here, but an int8 in an untagged field (KIP-893).
    fn tagged_field(&mut self, field: &'static Field) -> Result<bool, WireError> {
        let start = self.nodes.len();
        match field.kind {
            FieldType::Struct(_) if field.nullable => {
                if self.reader.varint()? <= 0 {
                    self.add(Some(field), Content::Null);
                    return Ok(false);
                }
                let position = self.reader.position();
                self.value(Some(field), field.kind)?;
                // A structure with unknown tagged fields is longer, and differs from the default.
                if self.reader.position() - position > self.format.min_size(field.kind, false) {
                    return Ok(false);
                }
            }
            FieldType::Array(element) if field.nullable => {
                let before = self.reader.clone();
                let least = self.format.min_size(*element, false);
                if self.reader.nullable_count(self.format.lengths(), least)?.is_none() {
                    self.add(Some(field), Content::Null);
                    return Ok(false);
                }
                self.reader = before;
                self.value(Some(field), field.kind)?;
            }
            kind => self.value(Some(field), kind)?,
        }
        Ok(Node::are_default(&self.nodes[start..], field.default))
    }
}
