//! Arrow tables under construction, declared by the names and types of their columns.
//!
//! Arrow's offsets into text and lists are int32; exceeding them would panic. So each column has a limit.

use std::borrow::Cow;
use std::fmt;
use std::slice::IterMut;
use std::sync::Arc;

use arrow_array::builder::{ArrayBuilder, BooleanBuilder, Float64Builder, Int32Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer};
use arrow_schema::{Field, Fields};

/// Largest offset.
pub(crate) const LARGEST_OFFSET: usize = i32::MAX as usize;

/// Type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Text,
    Boolean,
    Int32,
    Int64,
    Float64,
    List(&'static Type),
    Struct(&'static [Declared]),
}

/// Name and type of a column.
pub(crate) type Declared = (&'static str, Type);

/// Type of a list of texts.
pub(crate) const TEXTS: Type = Type::List(&Type::Text);

/// Type of a list of spans.
pub(crate) const SPANS: Type = Type::List(&Type::Struct(&[
    ("member_id", Type::Text),
    ("topic", Type::Text),
    ("start", Type::Int32),
    ("count", Type::Int32),
]));

/// Error for a column that exceeds its limit.
#[derive(Debug)]
#[expect(clippy::box_collection, reason = "each value of a row returns a result, so it must be small")]
pub(crate) struct ColumnFull(Box<String>);

impl ColumnFull {
    fn of_text(column: &Column) -> Self {
        let limit = if column.limit == LARGEST_OFFSET { "2 GiB".to_owned() } else { format!("{} bytes", column.limit) };
        Self(Box::new(format!("the text column {} exceeds {limit}", column.path())))
    }

    fn of_rows(column: &Column) -> Self {
        Self(Box::new(format!("the list column {} exceeds {} rows", column.path(), column.limit)))
    }
}

impl fmt::Display for ColumnFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Table under construction.
pub(crate) struct Table(Vec<Column>);

impl Table {
    /// Create a table whose columns have at most `limit` bytes of text, or `limit` items of lists.
    pub(crate) fn new(declared: &[Declared], limit: usize) -> Self {
        Self(declared.iter().map(|(name, kind)| Column::new(name, *kind, limit)).collect())
    }

    /// Begin a row. The last columns are null if they get no value.
    pub(crate) fn row(&mut self) -> Row<'_> {
        Row(self.0.iter_mut())
    }

    /// Return the number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.0.first().map_or(0, Column::rows)
    }

    /// Return the structs of the columns.
    pub(crate) fn finish(self) -> StructArray {
        structs(self.0, NullBufferBuilder::new(0))
    }
}

/// Row under construction, of a table, of a struct, or of the items of a list (one column unless they are structs): the columns
/// that have no value yet.
pub(crate) struct Row<'a>(IterMut<'a, Column>);

impl Row<'_> {
    /// Set the next column.
    pub(crate) fn put(&mut self, cell: impl Cell) -> Result<&mut Self, ColumnFull> {
        let column = self.0.next().unwrap_or_else(|| unreachable!("the row has no more columns"));
        cell.add_to(column)?;
        Ok(self)
    }
}

impl Drop for Row<'_> {
    fn drop(&mut self) {
        self.0.by_ref().for_each(Column::push_null);
    }
}

/// Value of a column in a row.
pub(crate) trait Cell {
    /// Add the value to a column of its type.
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull>;
}

impl<T: Cell> Cell for Option<T> {
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
        let Some(cell) = self else {
            column.push_null();
            return Ok(());
        };
        cell.add_to(column)
    }
}

impl<T: AsRef<str> + ?Sized> Cell for &T {
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
        let text = self.as_ref();
        match &mut column.data {
            Data::Text(builder) if builder.values_slice().len() + text.len() > column.limit => {
                return Err(ColumnFull::of_text(column));
            }
            Data::Text(builder) => builder.append_value(text),
            _ => wrong(column.name, "text"),
        }
        Ok(())
    }
}

impl Cell for Cow<'_, str> {
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
        column.add(&*self)
    }
}

macro_rules! cells {
    ($($kind:ty, $name:literal: $($data:ident),+;)*) => {$(
        impl Cell for $kind {
            fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
                match &mut column.data {
                    $(Data::$data(builder) => builder.append_value(self.into()),)+
                    _ => wrong(column.name, $name),
                }
                Ok(())
            }
        }
    )*};
}

cells! {
    bool, "booleans": Boolean;
    i32, "integers": Int32, Int64;
    i64, "int64": Int64;
    f64, "float64": Float64;
}

/// List of texts.
pub(crate) struct Texts<I>(pub(crate) I);

impl<I: IntoIterator<Item: AsRef<str>>> Cell for Texts<I> {
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
        for text in self.0 {
            column.item()?.put(text.as_ref())?;
        }
        column.end_list();
        Ok(())
    }
}

/// List: the values, and the function that puts one, which is the fields of a struct or a single value.
pub(crate) struct Items<I, F>(pub(crate) I, pub(crate) F);

impl<I, F> Cell for Items<I, F>
where
    I: IntoIterator,
    F: FnMut(&mut Row<'_>, I::Item) -> Result<(), ColumnFull>,
{
    fn add_to(mut self, column: &mut Column) -> Result<(), ColumnFull> {
        for value in self.0 {
            self.1(&mut column.item()?, value)?;
        }
        column.end_list();
        Ok(())
    }
}

/// Struct: the function that puts its fields.
pub(crate) struct Fielded<F>(pub(crate) F);

impl<F: FnOnce(&mut Row<'_>) -> Result<(), ColumnFull>> Cell for Fielded<F> {
    fn add_to(self, column: &mut Column) -> Result<(), ColumnFull> {
        self.0(&mut column.fields())
    }
}

/// Column under construction.
pub(crate) struct Column {
    name: &'static str,
    /// Names of the columns that contain it, each with a dot behind it.
    within: String,
    limit: usize,
    data: Data,
}

enum Data {
    Text(StringBuilder),
    Boolean(BooleanBuilder),
    Int32(Int32Builder),
    Int64(Int64Builder),
    Float64(Float64Builder),
    List { items: Box<Column>, ends: Vec<i32>, valid: NullBufferBuilder },
    Struct { fields: Vec<Column>, valid: NullBufferBuilder },
}

impl Column {
    /// Create a column of at most `limit` bytes of text, or `limit` items of lists.
    pub(crate) fn new(name: &'static str, kind: Type, limit: usize) -> Self {
        Self::inside(String::new(), name, kind, limit)
    }

    fn inside(within: String, name: &'static str, kind: Type, limit: usize) -> Self {
        let data = match kind {
            Type::Text => Data::Text(StringBuilder::new()),
            Type::Boolean => Data::Boolean(BooleanBuilder::new()),
            Type::Int32 => Data::Int32(Int32Builder::new()),
            Type::Int64 => Data::Int64(Int64Builder::new()),
            Type::Float64 => Data::Float64(Float64Builder::new()),
            Type::List(item) => Data::List {
                items: Box::new(Self::inside(within.clone(), name, *item, limit)),
                ends: vec![0],
                valid: NullBufferBuilder::new(0),
            },
            Type::Struct(fields) => {
                let within = format!("{within}{name}.");
                let field = |(name, kind): &Declared| Self::inside(within.clone(), name, *kind, limit);
                Data::Struct { fields: fields.iter().map(field).collect(), valid: NullBufferBuilder::new(0) }
            }
        };
        Self { name, within, limit, data }
    }

    /// Add a value.
    pub(crate) fn add(&mut self, cell: impl Cell) -> Result<(), ColumnFull> {
        cell.add_to(self)
    }

    fn rows(&self) -> usize {
        match &self.data {
            Data::Text(builder) => builder.len(),
            Data::Boolean(builder) => builder.len(),
            Data::Int32(builder) => builder.len(),
            Data::Int64(builder) => builder.len(),
            Data::Float64(builder) => builder.len(),
            Data::List { ends, .. } => ends.len() - 1,
            Data::Struct { valid, .. } => valid.len(),
        }
    }

    fn path(&self) -> String {
        format!("{}{}", self.within, self.name)
    }

    /// Add a null.
    pub(crate) fn push_null(&mut self) {
        match &mut self.data {
            Data::Text(builder) => builder.append_null(),
            Data::Boolean(builder) => builder.append_null(),
            Data::Int32(builder) => builder.append_null(),
            Data::Int64(builder) => builder.append_null(),
            Data::Float64(builder) => builder.append_null(),
            Data::List { items, ends, valid } => {
                ends.push(items.rows() as i32);
                valid.append_null();
            }
            Data::Struct { fields, valid } => {
                fields.iter_mut().for_each(Self::push_null);
                valid.append_null();
            }
        }
    }

    /// Begin an item of the current list.
    pub(crate) fn item(&mut self) -> Result<Row<'_>, ColumnFull> {
        match &mut self.data {
            Data::List { items, .. } if items.rows() == items.limit => Err(ColumnFull::of_rows(items)),
            Data::List { items, .. } => Ok(items.fields()),
            _ => wrong(self.name, "lists"),
        }
    }

    /// End the current list; the next item begins another one.
    pub(crate) fn end_list(&mut self) {
        match &mut self.data {
            Data::List { items, ends, valid } => {
                ends.push(items.rows() as i32);
                valid.append_non_null();
            }
            _ => wrong(self.name, "lists"),
        }
    }

    /// Begin a struct; return the row of its fields. A column of another type is the only one of its row.
    pub(crate) fn fields(&mut self) -> Row<'_> {
        match self {
            Self { data: Data::Struct { fields, valid }, .. } => {
                valid.append_non_null();
                Row(fields.iter_mut())
            }
            column => Row(std::slice::from_mut(column).iter_mut()),
        }
    }

    /// Return the number of bytes of text.
    pub(crate) fn bytes(&self) -> usize {
        match &self.data {
            Data::Text(builder) => builder.values_slice().len(),
            Data::List { items, .. } => items.bytes(),
            Data::Struct { fields, .. } => fields.iter().map(Self::bytes).sum(),
            Data::Boolean(_) | Data::Int32(_) | Data::Int64(_) | Data::Float64(_) => 0,
        }
    }

    pub(crate) fn finish(self) -> ArrayRef {
        match self.data {
            Data::Text(mut builder) => Arc::new(builder.finish()),
            Data::Boolean(mut builder) => Arc::new(builder.finish()),
            Data::Int32(mut builder) => Arc::new(builder.finish()),
            Data::Int64(mut builder) => Arc::new(builder.finish()),
            Data::Float64(mut builder) => Arc::new(builder.finish()),
            Data::List { items, ends, mut valid } => {
                let items = items.finish();
                // The item has the name that Spark gives it.
                let item = Field::new("element", items.data_type().clone(), true);
                Arc::new(ListArray::new(Arc::new(item), OffsetBuffer::new(ends.into()), items, valid.finish()))
            }
            Data::Struct { fields, valid } => Arc::new(structs(fields, valid)),
        }
    }
}

/// Fail for a value of another type than the column, which is a fault of the caller.
fn wrong(column: &str, kind: &str) -> ! {
    unreachable!("column {column} is not of {kind}")
}

/// Return the structs of nullable columns.
fn structs(columns: Vec<Column>, mut valid: NullBufferBuilder) -> StructArray {
    let (fields, arrays): (Vec<Field>, Vec<ArrayRef>) = columns
        .into_iter()
        .map(|column| {
            let name = column.name;
            let array = column.finish();
            (Field::new(name, array.data_type().clone(), true), array)
        })
        .unzip();
    StructArray::new(Fields::from(fields), arrays, valid.finish())
}
