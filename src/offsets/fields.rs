//! Decoded fields of a record, as a flat list that borrows from the bytes of the record.
//!
//! The nodes of a structure or array follow its own node, so reading a record allocates one list and copies no text.

use std::borrow::Cow;

use super::schema::Field;
use crate::bytes::{Int32s, java_text};

/// Decoded value, without the elements of an array and the fields of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Content<'a> {
    /// Null.
    Null,
    /// An integer of any width.
    Int(i64),
    /// The bytes of text, which [`java_text`] decodes.
    Text(&'a [u8]),
    /// A byte array.
    Bytes(&'a [u8]),
    /// A uuid.
    Uuid([u8; 16]),
    /// An array of int32.
    Int32s(Int32s<'a>),
    /// An array of other elements; [`FieldValue::items`] returns them.
    Array,
    /// A structure; [`FieldValue::fields`] returns its fields.
    Struct,
}

/// Node of the list: a field, an element of an array, or a whole key or value.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<'a> {
    /// The field; None for an element, a key or a value.
    pub(super) field: Option<&'static Field>,
    pub(super) content: Content<'a>,
    /// Number of nodes, including this one and those of its content.
    pub(super) size: usize,
}

impl Node<'_> {
    /// Return true if nodes are the default value of a tagged field, as [`Value::is_default`](super::Value::is_default) does.
    pub(super) fn are_default(nodes: &[Self], default: i64) -> bool {
        let is_default = |(index, node): (usize, &Self)| match node.content {
            Content::Null => false,
            Content::Int(number) => number == if index == 0 { default } else { 0 },
            Content::Text(bytes) | Content::Bytes(bytes) => bytes.is_empty(),
            Content::Uuid(uuid) => uuid == [0; 16],
            Content::Int32s(numbers) => numbers.is_empty(),
            Content::Array => node.size == 1,
            Content::Struct => true,
        };
        nodes.iter().enumerate().all(is_default)
    }
}

/// Decoded value of a field, an element, or a whole key or value.
#[derive(Debug, Clone, Copy)]
pub struct FieldValue<'a> {
    /// The node of the value, then the nodes of its content.
    nodes: &'a [Node<'a>],
}

impl<'a> FieldValue<'a> {
    /// Create a value from its node and the nodes of its content.
    pub(super) fn new(nodes: &'a [Node<'a>]) -> Self {
        Self { nodes }
    }

    /// Return the value itself.
    #[must_use]
    pub fn content(self) -> Content<'a> {
        self.nodes.first().map_or(Content::Null, |node| node.content)
    }

    /// Iterate over the values directly inside this one, with their fields.
    fn inside(self) -> impl Iterator<Item = (Option<&'static Field>, Self)> {
        let mut rest = self.nodes.get(1..).unwrap_or_default();
        std::iter::from_fn(move || {
            let first = rest.first()?;
            let (nodes, after) = rest.split_at_checked(first.size)?;
            rest = after;
            Some((first.field, Self { nodes }))
        })
    }

    /// Iterate over the fields of a structure, in the order of the layout. Fields that the version lacks and tagged fields at their
    /// default are left out.
    pub fn fields(self) -> impl Iterator<Item = (&'static str, Self)> {
        self.inside().filter_map(|(field, value)| Some((field?.name, value)))
    }

    /// Iterate over the elements of an array, unless they are int32.
    pub fn items(self) -> impl Iterator<Item = Self> {
        self.inside().filter(|(field, _)| field.is_none()).map(|(_, value)| value)
    }

    /// Return the field with the given name; None if this is not a structure or lacks the field.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Self> {
        self.fields().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Return the text, if this is text.
    #[must_use]
    pub fn as_text(self) -> Option<Cow<'a, str>> {
        self.as_text_bytes().map(java_text)
    }

    /// Return the bytes of the text, if this is text.
    #[must_use]
    pub fn as_text_bytes(self) -> Option<&'a [u8]> {
        if let Content::Text(bytes) = self.content() { Some(bytes) } else { None }
    }

    /// Return the integer, if this is an integer.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        if let Content::Int(number) = self.content() { Some(number) } else { None }
    }

    /// Return the elements, if this is an array of int32.
    #[must_use]
    pub fn as_int32s(self) -> Option<Int32s<'a>> {
        if let Content::Int32s(numbers) = self.content() { Some(numbers) } else { None }
    }

    /// Return the bytes, if this is a byte array.
    #[must_use]
    pub fn as_bytes(self) -> Option<&'a [u8]> {
        if let Content::Bytes(bytes) = self.content() { Some(bytes) } else { None }
    }

    /// Return the sixteen bytes, if this is a uuid.
    #[must_use]
    pub fn as_uuid(self) -> Option<[u8; 16]> {
        if let Content::Uuid(uuid) = self.content() { Some(uuid) } else { None }
    }
}
