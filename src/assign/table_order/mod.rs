//! Iteration order of a `java.util.HashMap` or `HashSet`.
//!
//! Some of Kafka's assignors iterate over members, topic ids or partitions in such an order, and their answers depend on it. The
//! number of buckets of a table is a power of two. The bucket of a key is in the low bits of its hash code, after the high half is
//! folded into the low half. The table doubles when it has more keys than three quarters of its buckets, and when a ninth key is
//! added to a bucket while there are fewer than 64 buckets. Keys of a bucket keep their insertion order when the table doubles. So
//! the table iterates by bucket, then by insertion.
//!
//! A table that `computeIfAbsent` fills differs: a new key is the first of its bucket, not the last. The table doubles before an
//! insertion instead of after it, and when an eighth key is added to a bucket.
//!
//! In a table of 64 or more buckets, such a long bucket becomes a tree instead, which has another order: see `trees`. The order
//! of a tree is known for keys that Java compares, and for keys with different hash codes. Not modelled: keys with equal hash codes
//! that Java cannot compare, such as `TopicPartition`, whose order depends on identity hash codes.
//!
//! Source: `java.util.HashMap` and `java.util.HashSet` of Java 17.

mod trees;

use std::cmp::Ordering;

use crate::group::{Group, TableOrders, folded_hash, java_order, string_hash};
use trees::{Filling, TreeTable};

/// Number of buckets of a table that is created without a capacity.
pub(super) const DEFAULT_CAPACITY: usize = 16;

/// Largest number of keys of a chain (`TREEIFY_THRESHOLD`); one more key makes a small table double.
pub(super) const TREEIFY_THRESHOLD: u32 = 8;

/// Smallest number of buckets of a table with trees (`MIN_TREEIFY_CAPACITY`). A smaller table doubles when a chain gets too long.
pub(super) const MIN_TREEIFY_CAPACITY: usize = 64;

/// Return `TopicPartition.hashCode()`, given the hash code of the topic's name.
#[must_use]
pub(super) fn partition_hash(topic: i32, partition: i32) -> i32 {
    31_i32.wrapping_mul(partition.wrapping_add(31)).wrapping_add(topic)
}

/// Return the hash code of Kafka's `Uuid`.
#[must_use]
pub(super) fn uuid_hash(id: u128) -> i32 {
    let halves = (id >> 64) as u64 ^ id as u64;
    ((halves >> 32) ^ halves) as i32
}

/// Return the hash code of Kafka's `TopicIdPartition`, given the hash code of the topic's id.
#[must_use]
pub(super) fn id_partition_hash(topic_id: i32, partition: i32) -> i32 {
    31_i32.wrapping_mul(topic_id).wrapping_add(partition)
}

/// Compare ids as Kafka's `Uuid` does: by two signed halves.
pub(super) fn uuid_order(left: u128, right: u128) -> Ordering {
    let halves = |id: u128| ((id >> 64) as i64, id as i64);
    halves(left).cmp(&halves(right))
}

/// Return the initial number of buckets of `new HashSet<>(collection)`.
#[must_use]
pub(super) fn presized_capacity(size: usize) -> usize {
    (size * 4 / 3 + 1).max(DEFAULT_CAPACITY).next_power_of_two()
}

/// Return the initial number of buckets of Kafka's `newHashMap(size)` and `newHashSet(size)`.
#[must_use]
pub(super) fn expected_capacity(size: usize) -> usize {
    (4 * (size + 1) / 3 + 1).next_power_of_two()
}

/// Return the indices of keys in the iteration order of a table.
///
/// `hashes` are the hash codes of distinct keys in insertion order; `capacity` is the initial number of buckets.
#[must_use]
pub(super) fn table_order(hashes: &[i32], capacity: usize) -> Vec<u32> {
    table_order_by(hashes, capacity, |_, _| Ordering::Equal)
}

/// Return the indices of keys in the iteration order of a table; `compare` is `compareTo` of the keys with two indices.
#[must_use]
pub(super) fn table_order_by(hashes: &[i32], capacity: usize, compare: impl Fn(u32, u32) -> Ordering) -> Vec<u32> {
    let buckets = bucket_count(hashes, capacity);
    if may_have_trees(hashes, capacity, buckets, TREEIFY_THRESHOLD) {
        return TreeTable::order(hashes, capacity, Filling::Put, compare);
    }
    order_by_bucket(hashes, buckets, 0..hashes.len())
}

/// Return the indices of keys in the iteration order of a table that `computeIfAbsent` fills; `is_called_again` is true if a call for
/// a known key follows the last insertion. `compare` is `compareTo` of the keys with two indices.
#[must_use]
pub(super) fn computed_order_by(
    hashes: &[i32],
    capacity: usize,
    is_called_again: bool,
    compare: impl Fn(u32, u32) -> Ordering,
) -> Vec<u32> {
    let buckets = computed_bucket_count(hashes, capacity, is_called_again);
    if may_have_trees(hashes, capacity, buckets, TREEIFY_THRESHOLD - 1) {
        return TreeTable::order(hashes, capacity, Filling::Compute { is_called_again }, compare);
    }
    order_by_bucket(hashes, buckets, (0..hashes.len()).rev())
}

/// Return the indices of keys in the iteration order of a table without trees; `keys` are all indices in the order of the keys of one
/// bucket.
fn order_by_bucket(hashes: &[i32], buckets: usize, keys: impl Iterator<Item = usize>) -> Vec<u32> {
    let mut ends = vec![0_u32; buckets + 1];
    for hash in hashes {
        ends[bucket(*hash, buckets) + 1] += 1;
    }
    for bucket in 0..buckets {
        ends[bucket + 1] += ends[bucket];
    }
    // At first `ends` has the start of each bucket. Each written key advances it by one, until it is the end.
    let mut order = vec![0; hashes.len()];
    for index in keys {
        let place = &mut ends[bucket(hashes[index], buckets)];
        order[*place as usize] = index as u32;
        *place += 1;
    }
    order
}

/// Return the indices of distinct names in the iteration order of a table keyed by them.
///
/// `names` are in insertion order; `capacity` is the initial number of buckets.
#[must_use]
pub(super) fn name_order(names: &[&str], capacity: usize) -> Vec<u32> {
    let hashes: Vec<i32> = names.iter().map(|name| string_hash(name)).collect();
    table_order_by(&hashes, capacity, |left, right| java_order(names[left as usize], names[right as usize]))
}

/// Return the members in the iteration order of a table keyed by member id, filled in the given order.
#[must_use]
pub(super) fn member_order(group: &Group) -> &[u32] {
    &member_orders(group).table
}

/// Return the members in the iteration order of a table that is filled in the order of `member_order`.
///
/// The two orders differ if a bucket is a tree, and if only one of the tables doubles for a long chain.
#[must_use]
pub(super) fn copied_member_order(group: &Group) -> &[u32] {
    let TableOrders { table, copy } = member_orders(group);
    copy.as_ref().unwrap_or(table)
}

fn member_orders(group: &Group) -> &TableOrders {
    group.table_orders(|| {
        let members = group.members();
        let hashes: Vec<i32> = members.iter().map(string_hash).collect();
        let compare = |left: u32, right: u32| java_order(members.get(left as usize), members.get(right as usize));
        let buckets = bucket_count(&hashes, DEFAULT_CAPACITY);
        let has_trees = may_have_trees(&hashes, DEFAULT_CAPACITY, buckets, TREEIFY_THRESHOLD);
        let table = if has_trees {
            TreeTable::order(&hashes, DEFAULT_CAPACITY, Filling::Put, compare)
        } else {
            order_by_bucket(&hashes, buckets, 0..hashes.len())
        };
        let in_order: Vec<i32> = table.iter().map(|member| hashes[*member as usize]).collect();
        if !has_trees && keeps_order(&in_order, buckets) {
            return TableOrders { table, copy: None };
        }
        let compare = |left: u32, right: u32| compare(table[left as usize], table[right as usize]);
        let copy = table_order_by(&in_order, DEFAULT_CAPACITY, compare);
        let copy = copy.into_iter().map(|index| table[index as usize]).collect();
        TableOrders { table, copy: Some(copy) }
    })
}

/// Return true if a table of default capacity has the order in which it is filled, which is that of a table without trees.
fn keeps_order(hashes: &[i32], buckets: usize) -> bool {
    // Long chains double only small tables, so they do not change the size of a table that gets larger anyway. With all keys and equal
    // sizes, both tables have the same chains. Before, the other keys are missing.
    (buckets > MIN_TREEIFY_CAPACITY || bucket_count(hashes, DEFAULT_CAPACITY) == buckets)
        && !may_have_trees(hashes, DEFAULT_CAPACITY, buckets / 2, TREEIFY_THRESHOLD)
}

/// Return the bucket of a hash code.
#[inline]
pub(super) fn bucket(hash: i32, buckets: usize) -> usize {
    folded_hash(hash) as usize & (buckets - 1)
}

/// Return true if a bucket may have become a tree, at any size of the table up to `end` buckets; chains have at most `longest` keys.
fn may_have_trees(hashes: &[i32], capacity: usize, end: usize, longest: u32) -> bool {
    let mut buckets = capacity.max(MIN_TREEIFY_CAPACITY);
    let mut chains: Vec<u8> = Vec::new();
    while buckets <= end && hashes.len() > longest as usize {
        chains.clear();
        chains.resize(buckets, 0);
        for hash in &hashes[..hashes.len().min(3 * buckets / 4 + 1)] {
            let chain = &mut chains[bucket(*hash, buckets)];
            *chain += 1;
            if u32::from(*chain) > longest {
                return true;
            }
        }
        buckets *= 2;
    }
    false
}

/// Return the number of buckets after all insertions.
fn bucket_count(hashes: &[i32], capacity: usize) -> usize {
    let mut buckets = capacity;
    let mut chains = [0; MIN_TREEIFY_CAPACITY];
    for (index, hash) in hashes.iter().enumerate() {
        if buckets >= MIN_TREEIFY_CAPACITY {
            break;
        }
        let chain = &mut chains[bucket(*hash, buckets)];
        let before = buckets;
        if *chain >= TREEIFY_THRESHOLD {
            buckets *= 2;
        }
        if is_full(index + 1, buckets) {
            buckets *= 2;
        }
        *chain += 1;
        if buckets > before && buckets < MIN_TREEIFY_CAPACITY {
            chains = [0; MIN_TREEIFY_CAPACITY];
            for hash in &hashes[..=index] {
                chains[bucket(*hash, buckets)] += 1;
            }
        }
    }
    while is_full(hashes.len(), buckets) {
        buckets *= 2;
    }
    buckets
}

/// Return the number of buckets after all calls of `computeIfAbsent`.
fn computed_bucket_count(hashes: &[i32], capacity: usize, is_called_again: bool) -> usize {
    let mut buckets = capacity;
    for (index, hash) in hashes.iter().enumerate() {
        if buckets >= MIN_TREEIFY_CAPACITY {
            break;
        }
        if is_full(index, buckets) {
            buckets *= 2;
        }
        let place = bucket(*hash, buckets);
        let chain = hashes[..=index].iter().filter(|other| bucket(**other, buckets) == place).count();
        if chain >= TREEIFY_THRESHOLD as usize && buckets < MIN_TREEIFY_CAPACITY {
            buckets *= 2;
        }
    }
    let last = if is_called_again { hashes.len() } else { hashes.len().saturating_sub(1) };
    while is_full(last, buckets) {
        buckets *= 2;
    }
    buckets
}

/// Return true if a table with this number of buckets doubles at this number of keys.
pub(super) fn is_full(keys: usize, buckets: usize) -> bool {
    4 * keys > 3 * buckets
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader};

    use flate2::read::GzDecoder;
    use serde_json::Value;

    use super::*;

    fn hash(kind: &str, key: &Value) -> i32 {
        match kind {
            "string" => string_hash(key.as_str().unwrap()),
            "uuid" => uuid_hash(u128::from_str_radix(key.as_str().unwrap(), 16).unwrap()),
            "partition" => partition_hash(string_hash(key[0].as_str().unwrap()), key[1].as_i64().unwrap() as i32),
            _ => key.as_i64().unwrap() as i32,
        }
    }

    /// Compare keys as Java does; keys that Java does not compare are equal.
    fn compare(kind: &str, left: &Value, right: &Value) -> Ordering {
        match kind {
            "string" => java_order(left.as_str().unwrap(), right.as_str().unwrap()),
            "uuid" => uuid_order(
                u128::from_str_radix(left.as_str().unwrap(), 16).unwrap(),
                u128::from_str_radix(right.as_str().unwrap(), 16).unwrap(),
            ),
            _ => Ordering::Equal,
        }
    }

    #[test]
    fn iteration_orders_equal_javas() {
        let file = File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/java_table_orders.jsonl.gz")).unwrap();
        let mut kinds = Vec::new();
        for line in BufReader::new(GzDecoder::new(file)).lines() {
            let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let (kind, put) = (case["keys"].as_str().unwrap(), case["put"].as_array().unwrap());
            let hashes: Vec<i32> = put.iter().map(|key| hash(kind, key)).collect();
            let is_presized = case["presized"].as_bool().unwrap();
            let capacity = if is_presized { presized_capacity(put.len()) } else { DEFAULT_CAPACITY };

            let listed: Vec<u32> = serde_json::from_value(case["listed"].clone()).unwrap();
            let order = table_order_by(&hashes, capacity, |left, right| {
                compare(kind, &put[left as usize], &put[right as usize])
            });
            assert_eq!(listed, order, "{}", case["put"]);
            kinds.push(kind.to_owned());
        }
        kinds.sort_unstable();
        kinds.dedup();
        assert_eq!(vec!["integer", "partition", "string", "uuid"], kinds);
    }

    #[test]
    fn iteration_orders_of_tables_that_compute_if_absent_fills_equal_javas() {
        let file =
            File::open(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/java_computed_orders.jsonl.gz")).unwrap();
        for line in BufReader::new(GzDecoder::new(file)).lines() {
            let case: Value = serde_json::from_str(&line.unwrap()).unwrap();
            let (kind, calls) = (case["keys"].as_str().unwrap(), case["calls"].as_array().unwrap());
            let mut keys: Vec<&Value> = Vec::new();
            let mut is_called_again = false;
            for key in calls {
                is_called_again = keys.contains(&key);
                if !is_called_again {
                    keys.push(key);
                }
            }
            let hashes: Vec<i32> = keys.iter().map(|key| hash(kind, key)).collect();
            let capacity = case["expected"].as_i64().unwrap().try_into().map_or(DEFAULT_CAPACITY, expected_capacity);

            let order = computed_order_by(&hashes, capacity, is_called_again, |left, right| {
                compare(kind, keys[left as usize], keys[right as usize])
            });

            let listed: Vec<u32> = serde_json::from_value(case["listed"].clone()).unwrap();
            assert_eq!(listed, order, "{}", case["calls"]);
        }
    }

    #[test]
    fn hash_codes_are_computed_from_utf_16_code_units() {
        for (text, code) in
            [("", 0), ("a", 97), ("Aa", 2112), ("BB", 2112), ("\u{65E5}\u{672C}", 835_047), ("\u{1F600}", 1_772_899)]
        {
            assert_eq!(code, string_hash(text), "{text}");
        }
        assert_eq!(3_286_196_965_u32 as i32, string_hash("orders"));
        assert_eq!(i32::MIN, string_hash("polygenelubricants"));
    }
}
