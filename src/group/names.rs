//! Names in one allocation, Java's order of strings, and a table that finds the number of a name.

use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// Hash function of all tables: fast, but not resistant to deliberate collisions.
pub(crate) const HASHING: BuildHasherDefault<FxHasher> = BuildHasherDefault::new();

/// Compare as Java's `String.compareTo` does: by UTF-16 code unit.
///
/// UTF-8 order is code point order. UTF-16 order differs from it only where one string has a character of two code
/// units (lead byte `F0` and up) and the other string has a character from U+E000 to U+FFFF (lead byte `EE` or `EF`):
/// surrogates sort before such a character.
#[must_use]
pub fn java_order(left: &str, right: &str) -> Ordering {
    let (left, right) = (left.as_bytes(), right.as_bytes());
    match left.iter().zip(right).find(|(left, right)| left != right) {
        Some((left, right)) => weight(*left).cmp(&weight(*right)),
        None => left.len().cmp(&right.len()),
    }
}

const fn weight(byte: u8) -> u8 {
    if byte == 0xEE || byte == 0xEF { byte + 0x10 } else { byte }
}

/// Return `String.hashCode()` of Java: over UTF-16 code units.
#[must_use]
pub fn string_hash(text: &str) -> i32 {
    let add = |hash: i32, unit: i32| hash.wrapping_mul(31).wrapping_add(unit);
    if !text.is_ascii() {
        return text.encode_utf16().fold(0, |hash, unit| add(hash, i32::from(unit)));
    }
    // Four units at a time make the chain of dependent multiplications four times shorter.
    let units = text.as_bytes().chunks_exact(4);
    let rest = units.remainder();
    let hash = units.fold(0_i32, |hash, units| {
        let units = units.iter().fold(0, |sum, unit| 31 * sum + i32::from(*unit));
        hash.wrapping_mul(31 * 31 * 31 * 31).wrapping_add(units)
    });
    rest.iter().fold(hash, |hash, unit| add(hash, i32::from(*unit)))
}

/// Fold the high half of a hash code into its low half, as `java.util.HashMap` does; the low bits select the bucket.
#[inline]
#[must_use]
pub const fn folded_hash(hash: i32) -> u32 {
    let hash = hash as u32;
    hash ^ hash >> 16
}

/// Numbers sorted by their names.
#[derive(Debug)]
pub(crate) struct Sorted {
    pub(crate) numbers: Vec<u32>,
    /// True if two names are equal.
    pub(crate) has_equal: bool,
}

/// Return the numbers below `count`, sorted by their names in Java's order; equal names stay in the order of numbers.
///
/// Most names share a prefix, so the eight bytes after the common prefix are compared first.
pub(crate) fn sorted_by_name<'a>(count: usize, name: impl Fn(u32) -> &'a str) -> Sorted {
    let numbers = 0..count as u32;
    if numbers.clone().is_sorted_by(|left, right| java_order(name(*left), name(*right)).is_lt()) {
        return Sorted { numbers: numbers.collect(), has_equal: false };
    }
    let first = name(0).as_bytes();
    let common = numbers.clone().skip(1).fold(first.len(), |common, number| {
        let name = name(number).as_bytes();
        if name.starts_with(&first[..common]) {
            return common;
        }
        first.iter().zip(name).take_while(|(left, right)| left == right).count()
    });
    let key = |number: u32| {
        let name = &name(number).as_bytes()[common..];
        let mut key = [0; 8];
        match name.first_chunk() {
            Some(first) => key = *first,
            None => key[..name.len()].copy_from_slice(name),
        }
        u64::from_be_bytes(if key.is_ascii() { key } else { key.map(weight) })
    };
    let mut keyed = sorted_by_key(numbers.map(|number| (key(number), number)).collect());
    let mut has_equal = false;
    for equal in keyed.chunk_by_mut(|left, right| left.0 == right.0).filter(|equal| equal.len() > 1) {
        // Equal keys are in the order of numbers, which a stable sort keeps.
        equal.sort_by(|(_, left), (_, right)| java_order(name(*left), name(*right)));
        has_equal |= equal.windows(2).any(|pair| name(pair[0].1) == name(pair[1].1));
    }
    Sorted { numbers: keyed.into_iter().map(|(_, number)| number).collect(), has_equal }
}

/// Sort by key, byte by byte from the last; entries with equal keys stay in order. A byte that all keys share takes no time.
fn sorted_by_key(mut keyed: Vec<(u64, u32)>) -> Vec<(u64, u32)> {
    let differing = keyed.iter().fold(0, |bits, (key, _)| bits | key ^ keyed[0].0);
    let mut sorted = keyed.clone();
    for shift in (0..u64::BITS).step_by(8).filter(|shift| differing >> shift & 0xFF != 0) {
        let byte = |key: u64| (key >> shift & 0xFF) as usize;
        let mut places = [0_u32; 257];
        for (key, _) in &keyed {
            places[byte(*key) + 1] += 1;
        }
        for value in 0..256 {
            places[value + 1] += places[value];
        }
        for entry in &keyed {
            let place = &mut places[byte(entry.0)];
            sorted[*place as usize] = *entry;
            *place += 1;
        }
        std::mem::swap(&mut keyed, &mut sorted);
    }
    keyed
}

/// Names by number, in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// The end of each name in `text`.
    ends: Vec<usize>,
}

impl Names {
    /// Return an empty list with capacity for `count` names.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self { text: String::with_capacity(16 * count), ends: Vec::with_capacity(count) }
    }

    /// Add a name; its number is the number of names before it.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// Add names after the others.
    pub(crate) fn append(&mut self, names: Self) {
        if self.is_empty() {
            *self = names;
        } else {
            names.iter().for_each(|name| self.push(name));
        }
    }

    /// Return the number of names.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Return true if there are no names.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Return the name with the given number.
    #[must_use]
    #[inline]
    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// Return true if the name with the given number equals a text.
    #[must_use]
    #[inline]
    pub fn is(&self, number: usize, text: &str) -> bool {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.text.as_bytes()[start..self.ends[number]] == *text.as_bytes()
    }

    /// Iterate over the names, by number.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Return true if the names are in Java's order.
    #[must_use]
    pub fn are_sorted(&self) -> bool {
        self.iter().is_sorted_by(|left, right| java_order(left, right).is_le())
    }

    /// Return the length of all names together, in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.text.len()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let names = names.into_iter();
        let mut found = Self::with_capacity(names.size_hint().0);
        for name in names {
            found.push(name.as_ref());
        }
        found
    }
}

/// Hash table of names. It holds only their numbers; the names themselves are in a `Names`.
#[derive(Debug, Clone, Default)]
pub struct NameTable(HashTable<u32>);

impl NameTable {
    /// Return a table of all names; equal names have the number of the first.
    #[must_use]
    pub fn of(names: &Names) -> Self {
        let mut table = Self(HashTable::with_capacity(names.len()));
        for number in 0..names.len() {
            table.number_or_insert(names, names.get(number), number as u32);
        }
        table
    }

    /// Return the number of the first name that equals an earlier one.
    #[must_use]
    pub fn first_duplicate(names: &Names) -> Option<usize> {
        let mut table = Self(HashTable::with_capacity(names.len()));
        (0..names.len())
            .find(|number| table.number_or_insert(names, names.get(*number), *number as u32) != *number as u32)
    }

    /// Return the number of a name; None if the table does not have it.
    #[must_use]
    pub fn number(&self, names: &Names, name: &str) -> Option<u32> {
        self.0.find(HASHING.hash_one(name), |number| names.is(*number as usize, name)).copied()
    }

    /// Return the number of a name; add the name with the number `new` if the table does not have it.
    pub fn number_or_insert(&mut self, names: &Names, name: &str, new: u32) -> u32 {
        let rehash = |number: &u32| HASHING.hash_one(names.get(*number as usize));
        *self.0.entry(HASHING.hash_one(name), |number| names.is(*number as usize, name), rehash).or_insert(new).get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIXED: [&str; 13] = [
        "",
        "B",
        "a1",
        "a10",
        "a2",
        "b",
        "é",
        "\u{D7FF}",
        "\u{E000}",
        "\u{FF5E}",
        "\u{10000}",
        "\u{1F600}",
        "a\u{1F600}",
    ];

    #[test]
    fn java_order_is_that_of_utf16_code_units() {
        for left in MIXED {
            for right in MIXED {
                let by_units = left.encode_utf16().cmp(right.encode_utf16());

                assert_eq!(by_units, java_order(left, right), "{left:?} against {right:?}");
            }
        }
    }

    #[test]
    fn sorting_is_by_java_order_and_keeps_equal_names_in_place() {
        for prefix in ["", "consumer-", "\u{1F600}"] {
            let ends = MIXED.iter().chain(&["same", "a", "a\0", "same", "123456789", "123456788", "12345678"]);
            let names: Names = ends.map(|end| format!("{prefix}{end}")).collect();
            let mut expected: Vec<u32> = (0..names.len() as u32).collect();
            expected.sort_by_key(|number| names.get(*number as usize).encode_utf16().collect::<Vec<_>>());

            let sorted = sorted_by_name(names.len(), |number| names.get(number as usize));

            assert_eq!((expected, true), (sorted.numbers, sorted.has_equal), "{prefix:?}");
        }
    }

    #[test]
    fn different_names_are_not_equal_even_if_they_begin_alike() {
        for names in [&["a", "b"][..], &["b", "a"], &["b", "a\0", "a"], &["b", "123456789", "123456788"]] {
            assert!(!sorted_by_name(names.len(), |number| names[number as usize]).has_equal, "{names:?}");
        }
    }

    #[test]
    fn a_table_finds_the_number_of_a_name_and_keeps_the_first_of_equal_ones() {
        let names: Names = ["t", "u", "t", ""].into_iter().collect();
        let table = NameTable::of(&names);

        let found = ["t", "u", "", "absent"].map(|name| table.number(&names, name));

        assert_eq!([Some(0), Some(1), Some(3), None], found);
        assert_eq!(Some(2), NameTable::first_duplicate(&names));
    }
}
