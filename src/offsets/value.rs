//! Tree of the values of a record's fields.

/// Value of a field.
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
    /// Named fields, in the order of the layout. Fields that the version lacks and tagged fields at their default are left out.
    Struct(Vec<(&'static str, Value)>),
}

impl Value {
    /// Return the field with a name, if this is a structure that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.fields().iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Return the fields of a structure; empty for other values.
    #[must_use]
    pub fn fields(&self) -> &[(&'static str, Value)] {
        if let Self::Struct(fields) = self { fields } else { &[] }
    }

    /// Return the elements of an array; empty for other values.
    #[must_use]
    pub fn items(&self) -> &[Value] {
        if let Self::Array(items) = self { items } else { &[] }
    }

    /// Return the text, if this is text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Return the integer, if this is an integer.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// Return the bytes, if this is a byte array.
    #[must_use]
    pub fn as_bytes(&self) -> Option<&[u8]> {
        if let Self::Bytes(bytes) = self { Some(bytes) } else { None }
    }

    /// Return the sixteen bytes, if this is a uuid.
    #[must_use]
    pub fn as_uuid(&self) -> Option<&[u8; 16]> {
        if let Self::Uuid(uuid) = self { Some(uuid) } else { None }
    }
}
