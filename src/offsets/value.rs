//! What a record's fields hold, as a small tree with accessors by name.

/// A decoded field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Null.
    Null,
    /// An integer of any width.
    Int(i64),
    /// Text.
    String(String),
    /// A byte array.
    Bytes(Vec<u8>),
    /// A uuid.
    Uuid([u8; 16]),
    /// Elements in wire order.
    Array(Vec<Value>),
    /// Named fields in the order of their table. Fields that the version lacks, and tagged fields at their default, are
    /// not in it.
    Struct(Vec<(&'static str, Value)>),
}

impl Value {
    /// The field of that name, if this is a structure that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields().iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// The fields of a structure; none for anything else.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Value)] {
        if let Self::Struct(fields) = self { fields } else { &[] }
    }

    /// The elements of an array; none for anything else.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// The text, if this is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The integer, if this is one.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// The bytes, if this is a byte array.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// The sixteen bytes, if this is a uuid.
    #[must_use]
    pub fn as_uuid(&self) -> Option<&[u8; 16]> {
        if let Self::Uuid(uuid) = self { Some(uuid) } else { None }
    }
}
