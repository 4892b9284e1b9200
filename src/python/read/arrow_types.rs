//! Access to Arrow arrays whose type varies: text, bytes, integers and lists of any layout, and joined chunks.
//!
//! The constructors return None for an array of another kind.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{
    AnyDictionaryArray, Array, ArrayRef, DictionaryArray, Int64Array, LargeStringArray, OffsetSizeTrait, StringArray,
    StringViewArray, make_array,
};
use arrow_data::ArrayData;
use arrow_data::transform::MutableArrayData;
use arrow_schema::{ArrowError, DataType, Field, FieldRef};

/// Column of text.
pub(crate) enum Texts {
    Narrow(StringArray),
    Wide(LargeStringArray),
    View(StringViewArray),
    /// Values, and for each row the number of its value.
    Dictionary(Box<Texts>, Vec<Option<usize>>),
    /// Number of rows, all null.
    Null(usize),
}

impl Texts {
    pub(crate) fn of(array: &ArrayRef) -> Option<Self> {
        Some(match array.data_type() {
            DataType::Utf8 => Self::Narrow(array.as_string().clone()),
            DataType::LargeUtf8 => Self::Wide(array.as_string().clone()),
            DataType::Utf8View => Self::View(array.as_string_view().clone()),
            DataType::Null => Self::Null(array.len()),
            DataType::Dictionary(_, _) => {
                let dictionary = array.as_any_dictionary();
                Self::Dictionary(Box::new(Self::of(dictionary.values())?), keys(dictionary))
            }
            _ => return None,
        })
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Narrow(array) => array.len(),
            Self::Wide(array) => array.len(),
            Self::View(array) => array.len(),
            Self::Dictionary(_, keys) => keys.len(),
            Self::Null(rows) => *rows,
        }
    }

    /// Return the text of a row; None for null.
    pub(crate) fn get(&self, row: usize) -> Option<&str> {
        match self {
            Self::Narrow(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Wide(array) => array.is_valid(row).then(|| array.value(row)),
            Self::View(array) => array.is_valid(row).then(|| array.value(row)),
            Self::Dictionary(values, keys) => keys[row].and_then(|key| values.get(key)),
            Self::Null(_) => None,
        }
    }
}

/// Column of lists of any type.
pub(crate) struct Lists {
    bounds: Vec<Option<Range<usize>>>,
    pub(crate) items: ArrayRef,
}

impl Lists {
    pub(crate) fn of(array: &ArrayRef) -> Option<Self> {
        let (bounds, items): (Vec<Range<usize>>, &ArrayRef) = match array.data_type() {
            DataType::List(_) => (between(array.as_list::<i32>().value_offsets()), array.as_list::<i32>().values()),
            DataType::LargeList(_) => {
                (between(array.as_list::<i64>().value_offsets()), array.as_list::<i64>().values())
            }
            DataType::ListView(_) => {
                let lists = array.as_list_view::<i32>();
                (views(lists.value_offsets(), lists.value_sizes()), lists.values())
            }
            DataType::LargeListView(_) => {
                let lists = array.as_list_view::<i64>();
                (views(lists.value_offsets(), lists.value_sizes()), lists.values())
            }
            // Lists of size 0 are not supported.
            DataType::FixedSizeList(_, size) if *size > 0 => {
                let (size, lists) = (*size as usize, array.as_fixed_size_list());
                ((0..lists.len()).map(|row| row * size..(row + 1) * size).collect(), lists.values())
            }
            DataType::Null => return Some(Self { bounds: vec![None; array.len()], items: array.clone() }),
            _ => return None,
        };
        let bounds = bounds.into_iter().enumerate().map(|(row, bounds)| array.is_valid(row).then_some(bounds));
        Some(Self { bounds: bounds.collect(), items: items.clone() })
    }

    pub(crate) fn len(&self) -> usize {
        self.bounds.len()
    }

    /// Return the places of a row's items; None for null.
    pub(crate) fn get(&self, row: usize) -> Option<Range<usize>> {
        self.bounds[row].clone()
    }
}

/// Lists of text. Rows with the same list may share it in a dictionary.
pub(crate) struct TextLists {
    /// Place of the list of each row; None if each row has its own list.
    keys: Option<Vec<Option<usize>>>,
    lists: Lists,
    texts: Texts,
}

impl TextLists {
    /// Read a column; `lists` and `texts` read the types that the caller accepts.
    pub(crate) fn read<E>(
        array: &ArrayRef,
        lists: impl FnOnce(&ArrayRef) -> Result<Lists, E>,
        texts: impl FnOnce(&ArrayRef) -> Result<Texts, E>,
    ) -> Result<Self, E> {
        let (keys, lists) = match array.as_any_dictionary_opt() {
            Some(dictionary) => (Some(keys(dictionary)), lists(dictionary.values())?),
            None => (None, lists(array)?),
        };
        Ok(Self { keys, texts: texts(&lists.items)?, lists })
    }

    pub(crate) fn len(&self) -> usize {
        self.keys.as_ref().map_or(self.lists.len(), Vec::len)
    }

    /// Return the place of a row's list, which other rows may share; None for null.
    pub(crate) fn place(&self, row: usize) -> Option<usize> {
        let place = self.keys.as_ref().map_or(Some(row), |keys| keys[row])?;
        self.lists.get(place).map(|_| place)
    }

    /// Return true if the lists at two places have the same texts.
    pub(crate) fn same(&self, left: usize, right: usize) -> bool {
        left == right || self.texts(left).eq(self.texts(right))
    }

    /// Return the texts of the list at a place.
    pub(crate) fn texts(&self, place: usize) -> impl ExactSizeIterator<Item = Option<&str>> {
        self.lists.get(place).unwrap_or_default().map(|item| self.texts.get(item))
    }
}

/// Racks of replicas: for each topic a list, with a list of racks for each partition.
pub(crate) struct RackLists {
    topics: Lists,
    partitions: Lists,
    racks: Texts,
}

impl RackLists {
    /// Read a column; `lists` and `texts` read the types that the caller accepts.
    pub(crate) fn read<E>(
        array: &ArrayRef,
        lists: impl Fn(&ArrayRef) -> Result<Lists, E>,
        texts: impl FnOnce(&ArrayRef) -> Result<Texts, E>,
    ) -> Result<Self, E> {
        let topics = lists(array)?;
        let partitions = lists(&topics.items)?;
        Ok(Self { racks: texts(&partitions.items)?, partitions, topics })
    }

    /// Return the racks of each partition of a topic; None for a topic without racks. A null rack adds nothing.
    pub(crate) fn of_topic(&self, row: usize) -> Option<impl ExactSizeIterator<Item = impl Iterator<Item = &str>>> {
        let replicas = |place: usize| self.partitions.get(place).unwrap_or_default();
        let partitions = self.topics.get(row)?;
        Some(partitions.map(move |place| replicas(place).filter_map(|replica| self.racks.get(replica))))
    }
}

/// Return the place of each row's value in a dictionary; None for null.
fn keys(dictionary: &dyn AnyDictionaryArray) -> Vec<Option<usize>> {
    if dictionary.values().is_empty() {
        return vec![None; dictionary.len()];
    }
    let keys = dictionary.normalized_keys().into_iter().enumerate();
    keys.map(|(row, key)| dictionary.is_valid(row).then_some(key)).collect()
}

fn between<O: OffsetSizeTrait>(offsets: &[O]) -> Vec<Range<usize>> {
    offsets.windows(2).map(|pair| pair[0].as_usize()..pair[1].as_usize()).collect()
}

fn views<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O]) -> Vec<Range<usize>> {
    offsets.iter().zip(sizes).map(|(start, size)| start.as_usize()..start.as_usize() + size.as_usize()).collect()
}

/// Return integers of any type; one beyond int64 becomes null.
pub(crate) fn integers(array: &dyn Array) -> Option<Int64Array> {
    Some(match array.data_type() {
        DataType::Int8 => array.as_primitive::<Int8Type>().unary(i64::from),
        DataType::Int16 => array.as_primitive::<Int16Type>().unary(i64::from),
        DataType::Int32 => array.as_primitive::<Int32Type>().unary(i64::from),
        DataType::Int64 => array.as_primitive::<Int64Type>().clone(),
        DataType::UInt8 => array.as_primitive::<UInt8Type>().unary(i64::from),
        DataType::UInt16 => array.as_primitive::<UInt16Type>().unary(i64::from),
        DataType::UInt32 => array.as_primitive::<UInt32Type>().unary(i64::from),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().unary_opt(|number| i64::try_from(number).ok()),
        DataType::Null => Int64Array::new_null(array.len()),
        _ => return None,
    })
}

/// Return the bytes of a row of a column of binary; None for null.
pub(crate) fn bytes(array: &ArrayRef, row: usize) -> Option<&[u8]> {
    if array.is_null(row) {
        return None;
    }
    match array.data_type() {
        DataType::Binary => Some(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => Some(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => Some(array.as_binary_view().value(row)),
        DataType::FixedSizeBinary(_) => Some(array.as_fixed_size_binary().value(row)),
        _ => None,
    }
}

/// Return the chunks of a column as one array.
pub(crate) fn joined(chunks: &[ArrayRef]) -> Result<ArrayRef, ArrowError> {
    if let [chunk] = chunks {
        return Ok(chunk.clone());
    }
    let chunks: Vec<ArrayData> =
        chunks.iter().map(|chunk| with_wide_keys(chunk.to_data())).collect::<Result<_, _>>()?;
    let mut joined = MutableArrayData::new(chunks.iter().collect(), false, chunks.iter().map(ArrayData::len).sum());
    for (number, chunk) in chunks.iter().enumerate() {
        joined.try_extend(number, 0, chunk.len())?;
    }
    Ok(make_array(joined.freeze()))
}

/// Return an array whose dictionaries have keys of 64 bits, which do not overflow when the dictionaries of chunks are joined.
fn with_wide_keys(data: ArrayData) -> Result<ArrayData, ArrowError> {
    if let DataType::Dictionary(key, _) = data.data_type() {
        if matches!(**key, DataType::Int64) {
            return Ok(data);
        }
        let array = make_array(data);
        let dictionary = array.as_any_dictionary();
        let keys = integers(dictionary.keys()).expect("keys are integers");
        return Ok(DictionaryArray::<Int64Type>::try_new(keys, dictionary.values().clone())?.into_data());
    }
    let children: Vec<ArrayData> = data.child_data().iter().cloned().map(with_wide_keys).collect::<Result<_, _>>()?;
    let item = |field: &FieldRef| retyped(field, &children[0]);
    let kind = match data.data_type() {
        DataType::List(field) => DataType::List(item(field)),
        DataType::LargeList(field) => DataType::LargeList(item(field)),
        DataType::ListView(field) => DataType::ListView(item(field)),
        DataType::LargeListView(field) => DataType::LargeListView(item(field)),
        DataType::FixedSizeList(field, size) => DataType::FixedSizeList(item(field), *size),
        DataType::Struct(fields) => {
            DataType::Struct(fields.iter().zip(&children).map(|(field, child)| retyped(field, child)).collect())
        }
        _ => return Ok(data),
    };
    if kind == *data.data_type() {
        return Ok(data);
    }
    data.into_builder().data_type(kind).child_data(children).build()
}

fn retyped(field: &FieldRef, data: &ArrayData) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(data.data_type().clone()))
}
