//! Reader of optional columns of members: owned partitions, generation and user data.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array, StructArray};
use arrow_schema::DataType;
use numpy::{PyArray1, PyArrayDescrMethods, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::arrow::{arrow_array, check_column, is_list_column, is_text_column, not_of, same_length};
use super::arrow_types::{Lists, bytes, integers};
use super::members::push_owned_partitions;
use super::text_column::TextColumn;
use super::values::{index, is_int, iterate, one_dimension};
use crate::group::Group;
use crate::python::error::wrong_type;
use crate::python::imports::{IllegalArgumentError, READ_PARTITIONS};
use crate::python::numpy_api::as_array;

/// Names of the columns.
const NAMES: [&str; 3] = ["generation", "owned_partitions", "user_data"];

/// The columns that were given.
#[derive(Default)]
pub(crate) struct MemberDataColumns<'py> {
    /// Generation of each member; None for a negative number or one beyond int32.
    generations: Option<Vec<Option<i32>>>,
    owned: Option<OwnedColumn<'py>>,
    user_data: Option<UserDataColumn<'py>>,
}

impl<'py> MemberDataColumns<'py> {
    /// Read columns of Arrow, numpy or Python; `column` returns the column with a name.
    pub(crate) fn read(column: impl Fn(&str) -> PyResult<Bound<'py, PyAny>>) -> PyResult<Self> {
        let given = |name: &str| column(name).map(|column| (!column.is_none()).then_some(column));
        let [generations, owned, user_data] = NAMES;
        Ok(Self {
            generations: given(generations)?.map(|column| read_generations(&column)).transpose()?,
            owned: given(owned)?.map(|column| OwnedColumn::read(&column)).transpose()?,
            user_data: given(user_data)?.map(|column| UserDataColumn::read(&column)).transpose()?,
        })
    }

    /// Read columns of an Arrow table; `column` returns the column with a name.
    pub(crate) fn of_table(column: impl Fn(&str) -> Option<ArrayRef>) -> PyResult<Self> {
        let [generations, owned, user_data] = NAMES;
        Ok(Self {
            generations: column(generations).map(|column| generations_of(&column)).transpose()?,
            owned: column(owned).map(|column| OwnedColumn::of(&column)).transpose()?,
            user_data: column(user_data).map(|column| UserDataColumn::of(&column)).transpose()?,
        })
    }

    /// Check that each column has an entry per member.
    pub(crate) fn check_lengths(&self, members: usize) -> PyResult<()> {
        let lengths = [
            self.generations.as_ref().map(Vec::len),
            self.owned.as_ref().map(OwnedColumn::len),
            self.user_data.as_ref().map(UserDataColumn::len),
        ];
        for (name, length) in NAMES.into_iter().zip(lengths) {
            same_length(name, length.unwrap_or(members), members, "member")?;
        }
        Ok(())
    }

    /// Return true if there is no column at all.
    pub(crate) fn are_absent(&self) -> bool {
        self.generations.is_none() && self.owned.is_none() && self.user_data.is_none()
    }

    /// Set the values of the member added last from a row of the columns.
    pub(crate) fn set_in(&self, group: &mut Group, row: usize) -> PyResult<()> {
        let generation = self.generations.as_ref().and_then(|generations| generations[row]);
        let user_data = self.user_data.as_ref().and_then(|user_data| user_data.get(row));
        if let Some(owned) = &self.owned {
            owned.push(row, group)?;
        }
        group.set_member_data(user_data.as_deref(), generation);
        Ok(())
    }
}

/// Return an id or generation as int32; None if it is negative or beyond int32.
fn natural(number: i64) -> Option<i32> {
    i32::try_from(number).ok().filter(|number| *number >= 0)
}

fn read_generations(given: &Bound<'_, PyAny>) -> PyResult<Vec<Option<i32>>> {
    if let Some(array) = as_array(given)?
        && matches!(array.dtype().kind(), b'i' | b'u')
    {
        one_dimension(array, "generation")?;
        let numbers = given.call_method1("astype", ("int64",))?.cast_into::<PyArray1<i64>>()?;
        return Ok(numbers.readonly().as_array().iter().map(|number| natural(*number)).collect());
    }
    if let Some(array) = arrow_array(given)? {
        return generations_of(&array);
    }
    let wrong = || wrong_type("column generation", "a column of integers", given);
    let mut found = Vec::new();
    for (row, number) in iterate(given, wrong)?.enumerate() {
        let number = number?;
        if number.is_none() {
            found.push(None);
        } else if is_int(&number)? {
            found.push(index(&number, || format!("generation[{row}]"))?.extract().ok().and_then(natural));
        } else {
            return Err(wrong_type(&format!("generation[{row}]"), "an int or None", &number));
        }
    }
    Ok(found)
}

fn generations_of(array: &ArrayRef) -> PyResult<Vec<Option<i32>>> {
    let numbers = integers(array).ok_or_else(|| not_of("integers", array, "generation"))?;
    Ok(numbers.iter().map(|number| number.and_then(natural)).collect())
}

/// Owned partitions of each member.
enum OwnedColumn<'py> {
    Arrow(Box<ArrowPartitions>),
    /// Pairs of topic and id, checked by Python code.
    Pairs(Vec<Option<Bound<'py, PyAny>>>),
}

impl<'py> OwnedColumn<'py> {
    fn read(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array);
        }
        let wrong = || wrong_type("column owned_partitions", "a column of lists of (topic, partition)", given);
        let read = READ_PARTITIONS.get(given.py())?;
        let mut found = Vec::new();
        for (row, partitions) in iterate(given, wrong)?.enumerate() {
            let partitions = partitions?;
            let checked = || read.call1((&partitions, format!("owned_partitions[{row}]")));
            found.push(if partitions.is_none() { None } else { Some(checked()?) });
        }
        Ok(Self::Pairs(found))
    }

    fn of(array: &ArrayRef) -> PyResult<Self> {
        let is_partition = |kind: &DataType| match kind {
            DataType::Struct(fields) => [("topic", true), ("partition", false)].iter().all(|(name, is_text)| {
                fields.find(name).is_some_and(|(_, field)| match field.data_type() {
                    kind if *is_text => is_text_column(kind),
                    kind => kind.is_integer(),
                })
            }),
            DataType::Null => true,
            _ => false,
        };
        let wanted = "lists of structs of topic and partition";
        check_column(array, "owned_partitions", wanted, |kind| is_list_column(kind, is_partition))?;
        let wrong = || not_of(wanted, array, "owned_partitions");
        let members = Lists::of(array).ok_or_else(wrong)?;
        let Some(partitions) = members.items.as_struct_opt().cloned() else {
            return Ok(Self::Pairs(vec![None; array.len()])); // no partition at all
        };
        let field = |name: &str| partitions.column_by_name(name).ok_or_else(wrong);
        let topics = TextColumn::of(field("topic")?, "owned_partitions")?;
        let ids = integers(field("partition")?).ok_or_else(wrong)?;
        Ok(Self::Arrow(Box::new(ArrowPartitions { members, partitions, topics, ids })))
    }

    fn len(&self) -> usize {
        match self {
            Self::Arrow(owned) => owned.members.len(),
            Self::Pairs(members) => members.len(),
        }
    }

    fn push(&self, row: usize, group: &mut Group) -> PyResult<()> {
        match self {
            Self::Arrow(owned) => owned.push(row, group),
            Self::Pairs(members) => match &members[row] {
                Some(partitions) => push_owned_partitions(group, partitions, 0),
                None => Ok(()),
            },
        }
    }
}

/// Owned partitions of each member as lists of structs.
struct ArrowPartitions {
    members: Lists,
    partitions: StructArray,
    /// Fields of `partitions`.
    topics: TextColumn,
    ids: Int64Array,
}

impl ArrowPartitions {
    fn push(&self, row: usize, group: &mut Group) -> PyResult<()> {
        let Self { members, partitions, topics, ids } = self;
        let Some(places) = members.get(row) else { return Ok(()) };
        let wrong = |reason: &str| IllegalArgumentError::new_err(format!("owned_partitions[{row}]{reason}"));
        let mut last: Option<(&str, u32)> = None;
        for place in places {
            let is_valid = partitions.is_valid(place) && ids.is_valid(place);
            let topic = topics.get(place).filter(|_| is_valid).ok_or_else(|| wrong(" has a null"))?;
            let id = ids.value(place);
            if id < 0 {
                return Err(wrong(&format!(": a partition id cannot be negative: {id}")));
            }
            let id = natural(id).unwrap_or(-1); // no partition has an id beyond int32
            let number = match last {
                Some((name, number)) if name == topic => number,
                _ => group.owned_topic_number(topic),
            };
            last = Some((topic, number));
            group.push_owned_id(number, id);
        }
        Ok(())
    }
}

/// User data of each member.
enum UserDataColumn<'py> {
    Arrow(ArrayRef),
    Bytes(Vec<Option<Bound<'py, PyBytes>>>),
}

impl<'py> UserDataColumn<'py> {
    fn read(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Some(array) = arrow_array(given)? {
            return Self::of(&array);
        }
        let wrong = || wrong_type("column user_data", "a column of bytes", given);
        let mut found = Vec::new();
        for (row, bytes) in iterate(given, wrong)?.enumerate() {
            let bytes = bytes?;
            if bytes.is_none() {
                found.push(None);
                continue;
            }
            let Ok(bytes) = bytes.cast::<PyBytes>() else {
                return Err(wrong_type(&format!("user_data[{row}]"), "bytes or None", &bytes));
            };
            found.push(Some(bytes.clone()));
        }
        Ok(Self::Bytes(found))
    }

    fn of(array: &ArrayRef) -> PyResult<Self> {
        check_column(array, "user_data", "binary", |kind| {
            matches!(
                kind,
                DataType::Binary
                    | DataType::LargeBinary
                    | DataType::BinaryView
                    | DataType::FixedSizeBinary(_)
                    | DataType::Null
            )
        })?;
        Ok(Self::Arrow(array.clone()))
    }

    fn len(&self) -> usize {
        match self {
            Self::Arrow(array) => array.len(),
            Self::Bytes(bytes) => bytes.len(),
        }
    }

    fn get(&self, row: usize) -> Option<Vec<u8>> {
        match self {
            Self::Arrow(array) => bytes(array, row).map(<[u8]>::to_vec),
            Self::Bytes(bytes) => bytes[row].as_ref().map(|bytes| bytes.as_bytes().to_vec()),
        }
    }
}
