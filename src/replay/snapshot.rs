//! Snapshots of a replay: the state of all groups as bytes, with a version and a checksum.
//!
//! The header is `assignor`, a byte for the engine, an u16 version, and the u32 length and CRC-32 of the body, all big-endian. The body
//! has the fields of the state one after another; a list begins with the number of its elements. The reader checks each length against
//! the remaining bytes, so broken bytes neither panic nor allocate more memory than they justify.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::classic::{ClassicGroup, ParsedMember, ParsedSubscription};
use super::committed::{Committed, PartitionState, Tenure};
use super::difference::GroupRecord;
use super::epochs::{CurrentMemberAssignment, EpochGroup, MemberMetadata, Topology};
use super::known_member::KnownMember;
use super::machine::Counts;
use super::state::{GroupState, HeldGeneration, OpenEpoch, OpenRebalance, PendingLeave, Settings};
use super::storms::Storm;
use super::stuck::CommitRhythm;
use super::target::{TargetAssignment, TargetLog, TargetMember};
use super::timeline_order::TimelineOrder;
use super::{Generation, GenerationNumber, GroupKind};
use crate::wire::TopicPartitions;

const MAGIC: &[u8; 8] = b"assignor";
const ENGINE: u8 = b'R';
const VERSION: u16 = 1;
/// Number of bytes of the header.
pub(super) const HEADER: usize = 19;

/// Causes of rebalances and departures, which a snapshot stores by name.
const CAUSES: [&str; 19] = [
    "unknown",
    "protocol_upgraded",
    "protocol_downgraded",
    "leader_rejoined",
    "owned_partitions_changed",
    "consumer_closed",
    "consumer_dead",
    "application_crashed",
    "member_removed",
    "protocol_changed",
    "static_member_returned",
    "partitions_increased",
    "topic_created",
    "topic_deleted",
    "partitions_initialized",
    "subscription_changed",
    "consumer_subscribed",
    "sync_timed_out",
    "expired",
];

/// Error of bytes that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SnapshotError(String);

impl SnapshotError {
    fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    fn damaged() -> Self {
        Self::new("the snapshot is damaged: its content is invalid")
    }
}

/// Write the state of groups.
pub(super) fn write_snapshot(
    settings: Settings,
    counts: Counts,
    groups: &[&GroupState],
) -> Result<Vec<u8>, SnapshotError> {
    let mut body = Vec::new();
    settings.write(&mut body);
    counts.write(&mut body);
    groups.len().write(&mut body);
    for group in groups {
        group.write(&mut body);
    }
    if u32::try_from(body.len()).is_err() {
        return Err(SnapshotError::new(format!("the state has {} bytes; a snapshot holds at most 4 GiB", body.len())));
    }
    Ok(sealed(&body))
}

/// Return a body with its header.
pub(super) fn sealed(body: &[u8]) -> Vec<u8> {
    let mut data = Vec::with_capacity(HEADER + body.len());
    data.extend(MAGIC);
    data.push(ENGINE);
    data.extend(VERSION.to_be_bytes());
    data.extend((body.len() as u32).to_be_bytes());
    data.extend(crc32(body).to_be_bytes());
    data.extend(body);
    data
}

/// Read the state of groups.
pub(super) fn read_snapshot(data: &[u8], wanted: Settings) -> Result<(Counts, Vec<GroupState>), SnapshotError> {
    let Some((header, body)) = data.split_at_checked(HEADER).filter(|(header, _)| header.starts_with(MAGIC)) else {
        return Err(SnapshotError::new("the bytes are not a snapshot of a replay"));
    };
    let number = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let version = u16::from_be_bytes([header[9], header[10]]);
    if header[8] != ENGINE {
        return Err(SnapshotError::new("the snapshot is of another engine"));
    }
    if version != VERSION {
        let text = format!("the snapshot has version {version}; this package reads version {VERSION}");
        return Err(SnapshotError::new(text));
    }
    if body.len() as u64 != u64::from(number(11)) || crc32(body) != number(15) {
        return Err(SnapshotError::new("the snapshot is damaged: its length or checksum is wrong"));
    }
    let mut rest = body;
    let settings = Settings::read(&mut rest)?;
    if settings != wanted {
        let text = format!("the snapshot has the settings {settings}; this replay has {wanted}");
        return Err(SnapshotError::new(text));
    }
    let counts = Counts::read(&mut rest)?;
    let groups = Vec::<GroupState>::read(&mut rest)?;
    if !rest.is_empty() {
        return Err(SnapshotError::damaged());
    }
    Ok((counts, groups))
}

impl std::fmt::Display for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { storm_rebalances, storm_window, stuck_factor, stuck_interval, never_committed } = self;
        write!(f, "[{storm_rebalances}, {storm_window}, {stuck_factor}, {stuck_interval}, {never_committed}]")
    }
}

/// Return the CRC-32 of bytes, with the polynomial of zlib.
fn crc32(data: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut index = 0;
        while index < 256 {
            let mut value = index as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { (value >> 1) ^ 0xedb8_8320 } else { value >> 1 };
                bit += 1;
            }
            table[index] = value;
            index += 1;
        }
        table
    };
    !data.iter().fold(!0, |crc, byte| (crc >> 8) ^ TABLE[((crc ^ u32::from(*byte)) & 0xff) as usize])
}

/// Value of a snapshot.
trait Stored: Sized {
    /// Append the value.
    fn write(&self, out: &mut Vec<u8>);
    /// Read the value and remove its bytes.
    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError>;
}

fn take<'a>(data: &mut &'a [u8], count: usize) -> Result<&'a [u8], SnapshotError> {
    let (found, rest) = data.split_at_checked(count).ok_or_else(SnapshotError::damaged)?;
    *data = rest;
    Ok(found)
}

/// Read the number of elements of a list; each has at least one byte.
fn count(data: &mut &[u8]) -> Result<usize, SnapshotError> {
    let count = usize::read(data)?;
    if count > data.len() { Err(SnapshotError::damaged()) } else { Ok(count) }
}

macro_rules! stored_numbers {
    ($($kind:ty),*) => {$(
        impl Stored for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                out.extend(self.to_be_bytes());
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                let bytes = take(data, size_of::<Self>())?;
                bytes.try_into().map(Self::from_be_bytes).map_err(|_| SnapshotError::damaged())
            }
        }
    )*};
}

stored_numbers!(u8, i16, i32, i64, u64);

impl Stored for usize {
    fn write(&self, out: &mut Vec<u8>) {
        // Counts are small: seven bits per byte.
        let mut left = *self;
        while left >= 0x80 {
            out.push(left as u8 | 0x80);
            left >>= 7;
        }
        out.push(left as u8);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let mut value = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = u8::read(data)?;
            value |= ((byte & 0x7f) as usize).checked_shl(shift).unwrap_or(0);
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(SnapshotError::damaged())
    }
}

impl Stored for bool {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        match u8::read(data)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(SnapshotError::damaged()),
        }
    }
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    text.len().write(out);
    out.extend(text.as_bytes());
}

fn read_text<'a>(data: &mut &'a [u8]) -> Result<&'a str, SnapshotError> {
    let length = usize::read(data)?;
    str::from_utf8(take(data, length)?).map_err(|_| SnapshotError::damaged())
}

impl Stored for String {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        read_text(data).map(str::to_owned)
    }
}

impl Stored for Arc<str> {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        read_text(data).map(Self::from)
    }
}

impl Stored for &'static str {
    fn write(&self, out: &mut Vec<u8>) {
        write_text(self, out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let name = read_text(data)?;
        CAUSES.into_iter().find(|cause| *cause == name).ok_or_else(SnapshotError::damaged)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_some().write(out);
        if let Some(value) = self {
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        bool::read(data)?.then(|| T::read(data)).transpose()
    }
}

impl<T: Stored, E: Stored> Stored for Result<T, E> {
    fn write(&self, out: &mut Vec<u8>) {
        self.is_ok().write(out);
        match self {
            Ok(value) => value.write(out),
            Err(error) => error.write(out),
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Ok(if bool::read(data)? { Ok(T::read(data)?) } else { Err(E::read(data)?) })
    }
}

impl<A: Stored, B: Stored> Stored for (A, B) {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
        self.1.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Ok((A::read(data)?, B::read(data)?))
    }
}

macro_rules! stored_lists {
    ($($kind:ty),*) => {$(
        impl<T: Stored> Stored for $kind {
            fn write(&self, out: &mut Vec<u8>) {
                self.len().write(out);
                for each in self.iter() {
                    each.write(out);
                }
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                (0..count(data)?).map(|_| T::read(data)).collect()
            }
        }
    )*};
}

stored_lists!(Vec<T>, VecDeque<T>, Arc<[T]>);

impl<T: Stored + Ord> Stored for BTreeSet<T> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for each in self {
            each.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| T::read(data)).collect()
    }
}

impl<K: Stored + Ord, V: Stored> Stored for BTreeMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        self.len().write(out);
        for (key, value) in self {
            key.write(out);
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| <(K, V)>::read(data)).collect()
    }
}

impl<K: Stored + Ord + Hash + Clone, V: Stored> Stored for FxHashMap<K, V> {
    fn write(&self, out: &mut Vec<u8>) {
        // The same state gives the same bytes.
        let mut entries: Vec<(&K, &V)> = self.iter().collect();
        entries.sort_by(|left, right| left.0.cmp(right.0));
        entries.len().write(out);
        for (key, value) in entries {
            key.write(out);
            value.write(out);
        }
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        (0..count(data)?).map(|_| <(K, V)>::read(data)).collect()
    }
}

macro_rules! stored_behind_arc {
    ($($kind:ty),*) => {$(
        impl Stored for Arc<$kind> {
            fn write(&self, out: &mut Vec<u8>) {
                (**self).write(out);
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                <$kind>::read(data).map(Self::new)
            }
        }
    )*};
}

stored_behind_arc!(KnownMember, GroupRecord, ParsedMember);

impl Stored for GroupKind {
    fn write(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let number = u8::read(data)?;
        let kinds = [Self::Classic, Self::Consumer, Self::Share, Self::Streams, Self::Offsets];
        kinds.into_iter().find(|kind| *kind as u8 == number).ok_or_else(SnapshotError::damaged)
    }
}

impl Stored for TimelineOrder {
    fn write(&self, out: &mut Vec<u8>) {
        self.slots().to_vec().write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        Self::of_slots(Vec::read(data)?).ok_or_else(SnapshotError::damaged)
    }
}

macro_rules! stored_structs {
    ($($name:ident { $($field:ident),* $(; $($transient:ident: $default:expr),*)? })*) => {$(
        impl Stored for $name {
            fn write(&self, out: &mut Vec<u8>) {
                $(self.$field.write(out);)*
            }

            fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
                Ok(Self { $($field: Stored::read(data)?,)* $($($transient: $default,)*)? })
            }
        }
    )*};
}

stored_structs! {
    Settings { storm_rebalances, storm_window, stuck_factor, stuck_interval, never_committed }
    Counts { records, duplicates, bad_records, unknown_types, time_backwards }
    TopicPartitions { topic, partitions }
    ParsedSubscription { version, topics, rack, owned, generation, user_data, refused }
    ParsedMember {
        id, instance_id, client_id, client_host, session_timeout, rebalance_timeout, metadata, subscription, assignment;
        assigned: None
    }
    ClassicGroup { protocol_type, generation, protocol, leader, members }
    MemberMetadata { instance_id, client_id, client_host, rack, assignor, topics, pattern }
    CurrentMemberAssignment { epoch, state, partitions }
    Topology { epoch, sources }
    TargetMember { id, instance_id, rack, topics, owned, assigned }
    TargetAssignment { timestamp, assignors, is_homogeneous, has_predecessor, members }
    TargetLog { targets, replaced, order, joined, joined_at, is_known }
    GenerationNumber { kind, generation, members }
    Generation {
        offset, timestamp, kind, generation, protocol_type, protocol, leader, members, partitions, same_members,
        parsed_members, target
    }
    KnownMember {
        id, instance_id, holder, client_id, client_host, topics, pattern, metadata, owned, assigned, session_timeout,
        rebalance_timeout, has_paused
    }
    GroupRecord {
        kind, generation, at, began, protocol_type, protocol, leader, members, metadata_hash, resolved, counts, sources,
        initialized, is_converted
    }
    Storm { times, since, count, changed }
    CommitRhythm { last, burst, intervals, stuck_since }
    Tenure { holder, since, has_commit, is_reported }
    PartitionState { offset, tenure, last_holder, is_reported }
    PendingLeave { member, at, deadline, offset, kind, generation }
    HeldGeneration { generation, before, duration }
    OpenRebalance { causes, evidence, joined, left, replaced }
    OpenEpoch { held, rebalance, topics, is_partial }
    GroupState {
        cluster, group, storm, offset, clock, records, duplicates, bad_records, time_backwards, rebalances, classic,
        consumer, share, streams, targets, targets_of, counts, initialized, kinds, members, pending, previous, ended,
        has_history, is_deleted, last, last_members, open_epoch, held, owners, last_owners, unowned, highest, committed,
        holders_known, rhythms;
        member_of: None, holdings: None, earliest: None, queued: None
    }
}

impl Stored for Committed {
    fn write(&self, out: &mut Vec<u8>) {
        self.topics.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let topics = FxHashMap::<Arc<str>, FxHashMap<i32, PartitionState>>::read(data)?;
        let offsets = topics.values().flat_map(FxHashMap::values).filter(|found| found.offset.is_some()).count();
        Ok(Self { topics, offsets })
    }
}

impl Stored for EpochGroup {
    fn write(&self, out: &mut Vec<u8>) {
        self.epoch.write(out);
        self.target_epoch.write(out);
        self.validated_topology.write(out);
        self.topology.write(out);
        self.members.write(out);
        self.current.write(out);
        self.resolved.write(out);
        self.changed.write(out);
    }

    fn read(data: &mut &[u8]) -> Result<Self, SnapshotError> {
        let mut group = Self {
            epoch: Stored::read(data)?,
            target_epoch: Stored::read(data)?,
            validated_topology: Stored::read(data)?,
            topology: Stored::read(data)?,
            members: Stored::read(data)?,
            current: Stored::read(data)?,
            resolved: Stored::read(data)?,
            changed: Stored::read(data)?,
            ..Self::default()
        };
        group.count_all_owners();
        Ok(group)
    }
}
