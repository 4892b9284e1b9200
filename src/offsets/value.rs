//! Tree of the values of the fields of a record to encode.

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
    /// Elements.
    Array(Vec<Value>),
    /// Named fields.
    Struct(Vec<(&'static str, Value)>),
}

impl Value {
    /// Return the field with a name, if this is a structure that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        let Self::Struct(fields) = self else { return None };
        fields.iter().find(|(field, _)| *field == name).map(|(_, value)| value)
    }

    /// Return true if the value of a tagged field is the default, which is not written.
    ///
    /// The default of a nullable field is the empty array or structure, not null. Kafka's generator reads `"default": null` in this
    /// way, and its JSON prints a null that was written.
    pub(super) fn is_default(&self, default: i64) -> bool {
        match self {
            Self::Null => false,
            Self::Int(number) => *number == default,
            Self::Uuid(uuid) => *uuid == [0; 16],
            Self::String(text) => text.is_empty(),
            Self::Bytes(bytes) => bytes.is_empty(),
            Self::Array(items) => items.is_empty(),
            Self::Struct(fields) => fields.iter().all(|(_, value)| value.is_default(0)),
        }
    }
}
