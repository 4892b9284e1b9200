//! Names: many of them in one allocation, Java's order of them, and the way back from a name to its number.

use std::cmp::Ordering;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use rustc_hash::FxHasher;

/// How tables here hash: fast, and without a defence against made-up collisions.
pub(crate) const HASHING: BuildHasherDefault<FxHasher> = BuildHasherDefault::new();

/// Compares as Java's `String.compareTo` does: by UTF-16 code unit.
///
/// UTF-8 order is code point order. The two differ only where one string has a character of two code units (lead byte
/// `F0` and up) and the other one from U+E000 to U+FFFF (lead byte `EE` or `EF`): surrogates sort before those.
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

/// The numbers below `count` by the names that they stand for, in Java's order; equal names keep the order of numbers.
///
/// Names of one kind mostly begin alike, so what is compared first is the eight bytes after what all have in common.
pub(crate) fn sorted_by_name<'a>(count: usize, name: impl Fn(u32) -> &'a str) -> Vec<u32> {
    let numbers = 0..count as u32;
    if numbers.clone().is_sorted_by(|left, right| java_order(name(*left), name(*right)).is_le()) {
        return numbers.collect();
    }
    let first = name(0).as_bytes();
    let common = numbers.clone().skip(1).fold(first.len(), |common, number| {
        first[..common].iter().zip(name(number).as_bytes()).take_while(|(left, right)| left == right).count()
    });
    let key = |number: u32| {
        let mut key = [0; 8];
        for (place, byte) in key.iter_mut().zip(&name(number).as_bytes()[common..]) {
            *place = weight(*byte);
        }
        u64::from_be_bytes(key)
    };
    let mut keyed: Vec<(u64, u32)> = numbers.map(|number| (key(number), number)).collect();
    keyed.sort_unstable_by(|(left_key, left), (right_key, right)| {
        left_key.cmp(right_key).then_with(|| java_order(name(*left), name(*right))).then_with(|| left.cmp(right))
    });
    keyed.into_iter().map(|(_, number)| number).collect()
}

/// Names by number, in one allocation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
}

impl Names {
    /// No names yet, with room for so many.
    #[must_use]
    pub fn with_capacity(count: usize) -> Self {
        Self { text: String::with_capacity(16 * count), ends: Vec::with_capacity(count) }
    }

    /// Adds a name; its number is how many there were.
    pub fn push(&mut self, name: &str) {
        self.text.push_str(name);
        self.ends.push(self.text.len());
    }

    /// How many names there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The name of a number.
    #[must_use]
    pub fn get(&self, number: usize) -> &str {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[number]]
    }

    /// The names, by number.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> + Clone {
        (0..self.len()).map(|number| self.get(number))
    }

    /// Whether they are in Java's order.
    #[must_use]
    pub fn are_sorted(&self) -> bool {
        self.iter().is_sorted_by(|left, right| java_order(left, right).is_le())
    }

    /// The bytes of all names together.
    #[must_use]
    pub fn total_bytes(&self) -> usize {
        self.text.len()
    }
}

impl<S: AsRef<str>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        let mut found = Self::default();
        for name in names {
            found.push(name.as_ref());
        }
        found
    }
}

/// A table from names to their numbers; it keeps numbers only, and asks `Names` for what they stand for.
#[derive(Debug, Clone, Default)]
pub struct NameTable(HashTable<u32>);

impl NameTable {
    /// A table of all the names; of equal ones the first counts.
    #[must_use]
    pub fn of(names: &Names) -> Self {
        let mut table = Self(HashTable::with_capacity(names.len()));
        for number in 0..names.len() {
            table.number_or_insert(names, names.get(number), number as u32);
        }
        table
    }

    /// The number of the first name that was there before.
    #[must_use]
    pub fn twice(names: &Names) -> Option<usize> {
        let mut table = Self(HashTable::with_capacity(names.len()));
        (0..names.len())
            .find(|number| table.number_or_insert(names, names.get(*number), *number as u32) != *number as u32)
    }

    /// The number of a name, if it has one.
    #[must_use]
    pub fn number(&self, names: &Names, name: &str) -> Option<u32> {
        self.0.find(HASHING.hash_one(name), |number| names.get(*number as usize) == name).copied()
    }

    /// The number of a name; `new` becomes the number of one that has none.
    pub fn number_or_insert(&mut self, names: &Names, name: &str, new: u32) -> u32 {
        let rehash = |number: &u32| HASHING.hash_one(names.get(*number as usize));
        *self.0.entry(HASHING.hash_one(name), |number| names.get(*number as usize) == name, rehash).or_insert(new).get()
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

            assert_eq!(expected, sorted_by_name(names.len(), |number| names.get(number as usize)), "{prefix:?}");
        }
    }

    #[test]
    fn a_table_finds_the_number_of_a_name_and_keeps_the_first_of_equal_ones() {
        let names: Names = ["t", "u", "t", ""].into_iter().collect();
        let table = NameTable::of(&names);

        let found = ["t", "u", "", "absent"].map(|name| table.number(&names, name));

        assert_eq!([Some(0), Some(1), Some(3), None], found);
        assert_eq!(Some(2), NameTable::twice(&names));
    }
}
