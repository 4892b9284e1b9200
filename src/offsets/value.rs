//! Tree of the values of the fields of a record to encode.

/// Value of a field, with texts of type `S` and byte arrays of type `B`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value<S = String, B = Vec<u8>> {
    /// Null.
    Null,
    /// An integer of any width.
    Int(i64),
    /// Text.
    String(S),
    /// A byte array.
    Bytes(B),
    /// A uuid.
    Uuid([u8; 16]),
    /// Elements.
    Array(Vec<Self>),
    /// Named fields.
    Struct(Vec<(&'static str, Self)>),
}

impl<S: AsRef<str>, B: AsRef<[u8]>> Value<S, B> {
    /// Return true if the value of a tagged field is the default, which is not written.
    ///
    /// The default of a nullable field is the empty array or structure, not null: Kafka's message generator reads
    /// `"default": null` in this way. A null is therefore written, and Kafka's JSON converters print it.
    pub(super) fn is_default(&self, default: i64) -> bool {
        match self {
            Self::Null => false,
            Self::Int(number) => *number == default,
            Self::Uuid(uuid) => *uuid == [0; 16],
            Self::String(text) => text.as_ref().is_empty(),
            Self::Bytes(bytes) => bytes.as_ref().is_empty(),
            Self::Array(items) => items.is_empty(),
            Self::Struct(fields) => fields.iter().all(|(_, value)| value.is_default(0)),
        }
    }
}
