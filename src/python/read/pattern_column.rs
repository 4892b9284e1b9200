//! Arrow column of the patterns of members: one text, or a list of texts, in each row.

use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

use super::arrow::is_text_column;
use super::arrow_types::{TextLists, Texts};
use crate::matching::dialect::Dialect;

/// Column of patterns.
pub(crate) enum PatternColumn {
    One(Texts),
    Several(TextLists),
}

impl PatternColumn {
    /// Read a column; `texts` and `lists` read the types that the caller accepts.
    pub(crate) fn read<E>(
        array: &ArrayRef,
        texts: impl FnOnce(&ArrayRef) -> Result<Texts, E>,
        lists: impl FnOnce(&ArrayRef) -> Result<TextLists, E>,
    ) -> Result<Self, E> {
        let is_list = |kind: &DataType| match kind {
            DataType::Dictionary(_, values) => !is_text_column(values),
            _ => {
                matches!(
                    kind,
                    DataType::List(_)
                        | DataType::LargeList(_)
                        | DataType::ListView(_)
                        | DataType::LargeListView(_)
                        | DataType::FixedSizeList(_, _)
                )
            }
        };
        if is_list(array.data_type()) { lists(array).map(Self::Several) } else { texts(array).map(Self::One) }
    }

    /// Return the patterns of a row, and None for each null in its list. A null row has no patterns.
    pub(crate) fn get(&self, row: usize) -> Vec<Option<&str>> {
        match self {
            Self::One(texts) => texts.get(row).map(Some).into_iter().collect(),
            Self::Several(lists) => lists.place(row).map(|place| lists.texts(place).collect()).unwrap_or_default(),
        }
    }
}

/// Return the names and the patterns of a row, as `assignor.Subscription` does: librdkafka takes both in one list, in which a
/// pattern begins with `^`. Patterns that are given twice count once.
pub(crate) fn split<'t>(
    topics: impl IntoIterator<Item = &'t str>,
    patterns: impl IntoIterator<Item = &'t str>,
    dialect: Dialect,
) -> (Vec<&'t str>, Vec<&'t str>) {
    let is_pattern = |name: &&str| dialect == Dialect::Librdkafka && name.starts_with('^');
    let (listed, names): (Vec<&str>, Vec<&str>) = topics.into_iter().partition(is_pattern);
    let mut found = Vec::new();
    for pattern in listed.into_iter().chain(patterns) {
        if !found.contains(&pattern) {
            found.push(pattern);
        }
    }
    (names, found)
}
