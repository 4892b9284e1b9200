use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use super::written::{Batch, CODECS, Record, compressed, message, record, varint, xerial};
use super::*;

/// Offset, timestamp, key and value of each record.
type Rows = Vec<(i64, i64, Option<Vec<u8>>, Option<Vec<u8>>)>;

fn rows(records: &Records) -> Rows {
    let row = |row: usize| {
        let (key, value) = (records.key.get(row), records.value.get(row));
        (records.offset[row], records.timestamp[row], key.map(Into::into), value.map(Into::into))
    };
    (0..records.len()).map(row).collect()
}

fn values(records: &Records) -> Vec<(i64, String)> {
    rows(records).into_iter().map(|row| (row.0, String::from_utf8(row.3.unwrap()).unwrap())).collect()
}

/// Read a file in one piece.
fn read(data: &[u8]) -> (Records, SegmentEnd) {
    read_pieces([data])
}

fn read_pieces<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> (Records, SegmentEnd) {
    let (mut reader, mut records) = (SegmentReader::default(), Records::default());
    for piece in pieces {
        reader.push(piece, &mut records).unwrap();
    }
    (records, reader.end())
}

/// Read a file that has one damaged batch; return the reason.
fn damage(data: &[u8]) -> String {
    let (records, end) = read(data);
    assert_eq!((0, 0, 1), (records.len(), end.batches, end.damage.len()), "{end:?}");
    assert_eq!((None, 0), (end.end_offset, end.damage[0].position));
    end.damage[0].reason.clone()
}

fn has(reason: &str, part: &str) {
    assert!(reason.contains(part), "{reason}");
}

// ---- version 2

#[test]
fn a_batch_of_each_codec_gives_its_records() {
    for codec in CODECS {
        let headers = vec![(b"h".to_vec(), Some(b"v".to_vec())), (vec![], None)];
        let first = Record { key: Some(b"k".into()), timestamp_delta: 5, headers, ..record(0, "one") };
        let second = Record { value: None, timestamp_delta: -3, ..record(4, "") };
        let mut batch = Batch::new(100, codec, &[first, second]);
        batch.producer_id = 11;
        let (records, end) = read(&batch.bytes());
        let expected = [(100, 1_005, Some(b"k".to_vec()), Some(b"one".to_vec())), (104, 997, None, None)];
        assert_eq!(expected.to_vec(), rows(&records), "codec {codec}");
        assert_eq!((vec![7, 7], vec![11, 11]), (records.leader_epoch, records.producer_id));
        assert_eq!((vec![false; 2], vec![None; 2]), (records.is_transactional, records.control));
        let size = batch.bytes().len() as u64;
        assert_eq!((1, 2, Some(105), size), (end.batches, end.records, end.end_offset, end.read_bytes));
        assert_eq!((vec![], Tail::None, 0), (end.damage, end.tail, end.tail_bytes));
    }
}

#[test]
fn each_codec_gives_the_same_rows() {
    let records: Vec<Record> = (0..3_000).map(|delta| record(delta, &format!("value {}", delta % 97))).collect();
    let plain = read(&Batch::new(5, 0, &records).bytes()).0;
    assert_eq!(3_000, plain.len());
    for codec in CODECS {
        assert_eq!(plain, read(&Batch::new(5, codec, &records).bytes()).0, "codec {codec}");
    }
    let content: Vec<u8> = records.iter().flat_map(Record::bytes).collect();
    let mut batch = Batch::new(5, 2, &records);
    let block = xerial(&content, 1_000);
    // Streams that were appended to each other: snappy-java, gzip members, and zstd frames with a frame to skip between them.
    let (head, tail) = content.split_at(777);
    let skipped = [b"\x50\x2a\x4d\x18\x03\0\0\0xyz".to_vec(), compressed(4, tail)].concat();
    for (codec, data) in [
        (2, block),
        (2, [xerial(head, 1_000), xerial(tail, 50_000)].concat()),
        (1, [compressed(1, head), compressed(1, tail)].concat()),
        (4, [compressed(4, head), skipped].concat()),
    ] {
        (batch.attributes, batch.content) = (codec, data);
        assert_eq!(plain, read(&batch.bytes()).0, "codec {codec}");
    }
}

#[test]
fn the_time_of_the_append_counts_for_all_records() {
    let mut batch = Batch::new(0, 0, &[Record { timestamp_delta: 5, ..record(0, "a") }, record(1, "b")]);
    batch.attributes = 1 << 3;
    assert_eq!(vec![9_000, 9_000], read(&batch.bytes()).0.timestamp);
}

#[test]
fn timestamps_of_a_batch_with_a_delete_horizon_count_from_the_horizon() {
    let mut batch = Batch::new(0, 0, &[Record { timestamp_delta: -400, ..record(0, "a") }]);
    (batch.attributes, batch.base_timestamp) = (1 << 6, 5_000);
    assert_eq!(vec![4_600], read(&batch.bytes()).0.timestamp);
}

#[test]
fn control_records_have_their_type_and_transactional_records_are_marked() {
    let mut data = Batch::new(0, 0, &[record(0, "a")]);
    (data.attributes, data.producer_id) = (1 << 4, 4);
    let mut bytes = data.bytes();
    for (offset, control) in [(1, 0_u8), (2, 1), (3, 2)] {
        let key = Some(vec![0, 0, 0, control]);
        let mut marker = Batch::new(offset, 0, &[Record { key, ..record(0, "") }]);
        (marker.attributes, marker.producer_id) = (if control == 2 { 1 << 5 } else { 3 << 4 }, 4);
        bytes.extend(marker.bytes());
    }
    let (records, end) = read(&bytes);
    assert_eq!(vec![None, Some(0), Some(1), Some(2)], records.control);
    assert_eq!(vec![true, true, true, false], records.is_transactional);
    assert_eq!((4, 4, Some(4)), (end.batches, end.records, end.end_offset));
    let mut short = Batch::new(0, 0, &[Record { key: Some(vec![0, 0, 1]), ..record(0, "") }]);
    short.attributes = 1 << 5;
    has(&damage(&short.bytes()), "the key of a control record");
}

#[test]
fn an_empty_batch_of_a_compacted_log_advances_the_end() {
    let mut empty = Batch::new(10, 0, &[]);
    empty.last_offset_delta = 8;
    let bytes = [Batch::new(3, 0, &[record(2, "a")]).bytes(), empty.bytes()].concat();
    let (records, end) = read(&bytes);
    assert_eq!(vec![(5, "a".to_owned())], values(&records));
    assert_eq!((2, 1, Some(19)), (end.batches, end.records, end.end_offset));
    // The last record of a batch can be removed, too.
    let mut holes = Batch::new(20, 0, &[record(1, "b")]);
    holes.last_offset_delta = 5;
    assert_eq!(Some(26), read(&holes.bytes()).1.end_offset);
}

#[test]
fn a_damaged_batch_is_left_out_and_reading_goes_on_behind_it() {
    let good = |offset| Batch::new(offset, 0, &[record(0, "good")]).bytes();
    let mut wrong = good(1);
    *wrong.last_mut().unwrap() ^= 1;
    let mut bad_content = Batch::new(2, 0, &[record(0, "x")]);
    bad_content.count = 2;
    let mut bad_codec = Batch::new(3, 0, &[record(0, "x")]);
    bad_codec.attributes = 6;
    let mut bad_gzip = Batch::new(4, 1, &[record(0, "x")]);
    bad_gzip.content.truncate(12);
    let parts = [good(0), wrong, bad_content.bytes(), bad_codec.bytes(), bad_gzip.bytes(), good(5)];
    let (records, end) = read(&parts.concat());
    assert_eq!(vec![0, 5], records.offset);
    assert_eq!((2, 2, Some(6), Tail::None), (end.batches, end.records, end.end_offset, end.tail));
    assert_eq!(parts.concat().len() as u64, end.read_bytes);
    let starts: Vec<u64> = (1..5).map(|count| parts[..count].concat().len() as u64).collect();
    assert_eq!(starts, end.damage.iter().map(|damage| damage.position).collect::<Vec<_>>());
    for (damage, part) in
        end.damage.iter().zip(["checksum", "record 1 of the batch", "unknown compression 6", "gzip data"])
    {
        has(&damage.reason, part);
    }
}

#[test]
fn invalid_fields_of_a_batch_are_damage() {
    let batch = Batch::new(0, 0, &[record(0, "x")]);
    let with = |change: &dyn Fn(&mut Batch)| {
        let mut changed = batch.clone();
        change(&mut changed);
        damage(&changed.bytes())
    };
    has(&with(&|batch| batch.count = -1), "the number of records is -1");
    has(&with(&|batch| batch.base_offset = -1), "base offset -1");
    has(&with(&|batch| batch.last_offset_delta = -2), "last offset delta -2");
    has(&with(&|batch| batch.content.push(0)), "1 bytes follow the last of 1 records");
    has(&with(&|batch| batch.content = [varint(-5), vec![0; 9]].concat()), "its length is -5");
    has(&with(&|batch| batch.content[0] += 2), "length");
    // A count that no memory could hold reserves none.
    has(&with(&|batch| batch.count = i32::MAX), "record 1 of the batch");
    has(&with(&|batch| batch.content = [varint(6), vec![0, 0, 0, 1, 1, 1]].concat()), "the number of headers is -1");
    has(&with(&|batch| batch.content = [varint(7), vec![0, 0, 0, 1, 1, 0, 9]].concat()), "1 bytes follow its headers");
    has(&with(&|batch| batch.content = [varint(7), vec![0, 0, 0, 1, 1, 2, 1]].concat()), "the key of a header");
}

// ---- ends of files

#[test]
fn zeros_and_a_torn_batch_are_tails() {
    let batch = Batch::new(3, 0, &[record(0, "x")]).bytes();
    let size = batch.len() as u64;
    for zeros in [1, 16, 17, 5_000] {
        let (records, end) = read(&[batch.clone(), vec![0; zeros]].concat());
        assert_eq!((1, Tail::Zeros, zeros as u64, size), (records.len(), end.tail, end.tail_bytes, end.read_bytes));
        assert_eq!(0, end.damage.len());
    }
    for kept in [9, 17, 40, batch.len() - 1] {
        let (records, end) = read(&[&batch, &batch[..kept]].concat());
        assert_eq!((1, Tail::Torn, kept as u64, size), (records.len(), end.tail, end.tail_bytes, end.read_bytes));
        assert_eq!((0, Some(4)), (end.damage.len(), end.end_offset));
    }
    let (_, end) = read(&[]);
    assert_eq!((0, None, 0, Tail::None), (end.batches, end.end_offset, end.read_bytes, end.tail));
}

#[test]
fn a_batch_that_the_disk_lost_is_damage_before_the_zeros() {
    let batch = Batch::new(0, 0, &[record(0, &"x".repeat(100))]).bytes();
    let lost = [&batch[..70], &vec![0; batch.len() - 70 + 30]].concat();
    let (_, end) = read(&[batch.clone(), lost].concat());
    assert_eq!((1, Tail::Zeros, 30), (end.damage.len(), end.tail, end.tail_bytes));
    assert_eq!(batch.len() as u64, end.damage[0].position);
}

#[test]
fn bytes_that_are_no_batch_end_the_reading() {
    let batch = Batch::new(0, 0, &[record(0, "x")]).bytes();
    let text = b"a text file, which has no batches".to_vec();
    let mut small = batch.clone();
    small[8..12].copy_from_slice(&48_i32.to_be_bytes());
    let mut negative = batch.clone();
    negative[8..12].copy_from_slice(&(-1_i32).to_be_bytes());
    let zeros = [vec![0; 40], batch.clone()].concat();
    for (rest, part) in [
        (text, "its version is 99"),
        (small, "its size is 48, and must be at least 49"),
        (negative, "its size is -1"),
        (zeros, "zeros, then bytes that are not zero"),
    ] {
        let (records, end) = read(&[batch.clone(), rest.clone(), batch.clone()].concat());
        assert_eq!((1, 1), (records.len(), end.damage.len()), "{end:?}");
        has(&end.damage[0].reason, part);
        assert_eq!(batch.len() as u64, end.damage[0].position);
        let left = (rest.len() + batch.len()) as u64;
        assert_eq!((batch.len() as u64, Tail::None, left), (end.read_bytes, end.tail, end.tail_bytes));
    }
}

#[test]
fn damage_is_listed_up_to_a_limit() {
    let mut batch = Batch::new(0, 0, &[]).bytes();
    batch[17] ^= 1;
    let end = read(&batch.repeat(MAX_DAMAGE + 5)).1;
    assert_eq!(MAX_DAMAGE + 1, end.damage.len());
    assert_eq!("5 more damaged batches, which are not listed", end.damage[MAX_DAMAGE].reason);
}

// ---- versions 0 and 1

#[test]
fn messages_of_version_0_have_no_time() {
    let bytes = [
        message(4, (0, 0), 0, Some(b"k"), Some(b"v")),
        message(6, (0, 0), 0, None, None),
        message(9, (1, 0), 55, None, Some(b"")),
        message(10, (1, 8), 66, None, Some(b"w")),
    ]
    .concat();
    let (records, end) = read(&bytes);
    let expected = vec![
        (4, -1, Some(b"k".to_vec()), Some(b"v".to_vec())),
        (6, -1, None, None),
        (9, 55, None, Some(vec![])),
        (10, 66, None, Some(b"w".to_vec())),
    ];
    assert_eq!(expected, rows(&records));
    assert_eq!((4, 4, Some(11)), (end.batches, end.records, end.end_offset));
    assert_eq!((vec![-1; 4], vec![-1; 4]), (records.leader_epoch, records.producer_id));
}

#[test]
fn inner_offsets_are_absolute_in_version_0_and_relative_in_version_1() {
    for codec in [1, 2, 3] {
        for (version, inner) in [(0, [20, 22, 25]), (1, [0, 2, 5])] {
            let set: Vec<u8> =
                inner.iter().flat_map(|offset| message(*offset, (version, 0), 40 + offset, None, Some(b"m"))).collect();
            let wrapper = message(25, (version, codec as u8), 99, None, Some(&compressed(codec, &set)));
            let (records, end) = read(&wrapper);
            assert_eq!(vec![20, 22, 25], records.offset, "codec {codec}, version {version}");
            let times = if version == 0 { vec![-1; 3] } else { vec![40, 42, 45] };
            assert_eq!((times, Some(26)), (records.timestamp, end.end_offset));
            assert_eq!((1, 3), (end.batches, end.records));
            if version == 1 {
                let appended = message(25, (1, 8 | codec as u8), 99, None, Some(&compressed(codec, &set)));
                assert_eq!(vec![99; 3], read(&appended).0.timestamp);
            }
        }
    }
}

#[test]
fn a_wrapper_with_the_offset_0_has_absolute_inner_offsets() {
    let set = [message(0, (1, 0), 1, None, Some(b"a")), message(1, (1, 0), 1, None, Some(b"b"))].concat();
    let wrapper = message(0, (1, 1), 1, None, Some(&compressed(1, &set)));
    assert_eq!(vec![(0, "a".to_owned()), (1, "b".to_owned())], values(&read(&wrapper).0));
}

#[test]
fn the_wrong_header_checksum_of_old_lz4_clients_counts_in_version_1_only() {
    for (version, is_read) in [(0, true), (1, false)] {
        let mut frame = compressed(3, &message(0, (version, 0), 1, None, Some(b"a")));
        frame[6] ^= 0x55;
        let (records, end) = read(&message(0, (version, 3), 1, None, Some(&frame)));
        assert_eq!(usize::from(is_read), records.len());
        assert_eq!(usize::from(!is_read), end.damage.len());
    }
}

#[test]
fn invalid_wrappers_are_damage() {
    let inner = message(3, (1, 0), 1, None, Some(b"a"));
    let wrapped = |set: &[u8], attributes: u8| message(3, (1, attributes), 1, None, Some(&compressed(1, set)));
    assert_eq!(1, read(&wrapped(&inner, 1)).0.len());
    has(&damage(&wrapped(&[], 1)), "no inner messages");
    has(&damage(&wrapped(&inner[..20], 1)), "no inner messages");
    has(&damage(&wrapped(&message(3, (0, 0), 1, None, None), 1)), "another version");
    has(&damage(&wrapped(&wrapped(&inner, 1), 1)), "is compressed");
    has(&damage(&wrapped(&inner, 4)), "zstd");
    has(&damage(&message(3, (1, 1), 1, None, None)), "no value");
    has(&damage(&wrapped(&message(4, (1, 0), 1, None, None), 1)), "the last inner offset 4 exceeds");
    let mut wrong = inner.clone();
    *wrong.last_mut().unwrap() ^= 1;
    has(&damage(&wrapped(&wrong, 1)), "inner message 0: the checksum");
    has(&damage(&wrapped(&[0; 20], 1)), "an inner message has the size 0");
    has(&damage(&message(-1, (1, 0), 1, None, None)), "the offset -1 is negative");
    let mut long = message(3, (0, 0), 1, None, None);
    long[22..26].copy_from_slice(&i32::MAX.to_be_bytes()); // the length of the value
    let checksum = crc32fast::hash(&long[16..]).to_be_bytes();
    long[12..16].copy_from_slice(&checksum);
    has(&damage(&long), "2147483647 bytes are needed");
}

// ---- bounds

#[test]
fn a_batch_that_decompresses_to_more_than_the_bound_is_damage() {
    let bomb = |size: usize| {
        let mut batch = Batch::new(0, 0, &[record(0, "x")]);
        // A zstd frame without content size, whose blocks repeat one byte 128 KiB times.
        let mut frame = b"\x28\xb5\x2f\xfd\x00\x50".to_vec();
        for block in 0..size >> 17 {
            let is_last = u32::from(block + 1 == size >> 17);
            frame.extend(&(is_last | 1 << 1 | (1 << 17) << 3).to_le_bytes()[..3]);
            frame.push(0);
        }
        (batch.attributes, batch.content) = (4, frame);
        damage(&batch.bytes())
    };
    has(&bomb(MAX_DECOMPRESSED + (1 << 17)), "it has more than 268435456 bytes");
    has(&bomb(1 << 20), "record 0 of the batch");
    let mut batch = Batch::new(0, 2, &[record(0, "x")]);
    batch.content[..1].copy_from_slice(&[0xff]);
    batch.content.splice(1..1, [0xff, 0xff, 0xff, 0x07]);
    has(&damage(&batch.bytes()), "cannot have");
}

#[test]
fn full_columns_leave_the_reader_as_it_was() {
    let batches: Vec<Vec<u8>> =
        (0..4).map(|offset| Batch::new(offset, 0, &[record(0, &"v".repeat(30))]).bytes()).collect();
    let data = batches.concat();
    let expected = read(&data);
    for split in 0..data.len() {
        let (first, second) = data.split_at(split);
        let (mut reader, mut found) = (SegmentReader::default(), Vec::new());
        let mut push = |reader: &mut SegmentReader, piece: &[u8]| {
            let mut records = Records::new(60);
            let result = reader.push(piece, &mut records);
            if result.is_ok() {
                found.extend(rows(&records));
            }
            result
        };
        for piece in [first, second] {
            let before = reader.end();
            if push(&mut reader, piece).is_err() {
                assert_eq!(before, reader.end(), "{split}");
                for smaller in piece.chunks(piece.len() / 2 + 1) {
                    push(&mut reader, smaller).unwrap();
                }
            }
        }
        assert_eq!((rows(&expected.0), &expected.1), (found, &reader.end()), "{split}");
    }
}

// ---- pieces

fn drawn_record() -> impl Strategy<Value = Record> {
    let bytes = || option::of(vec(any::<u8>(), 0..20));
    (0..40_i32, any::<i32>(), bytes(), bytes(), vec((vec(any::<u8>(), 0..4), bytes()), 0..3)).prop_map(
        |(offset_delta, timestamp_delta, key, value, headers)| Record {
            offset_delta,
            timestamp_delta: timestamp_delta.into(),
            key,
            value,
            headers,
        },
    )
}

fn drawn_entry() -> impl Strategy<Value = Vec<u8>> {
    let batch = (0..1_000_i64, select(CODECS.to_vec()), vec(drawn_record(), 0..6), any::<bool>()).prop_map(
        |(offset, codec, records, is_appended)| {
            let mut batch = Batch::new(offset, codec, &records);
            batch.attributes |= i16::from(is_appended) << 3;
            batch.bytes()
        },
    );
    let old = (0..1_000_i64, 0..2_u8, option::of(vec(any::<u8>(), 0..20)))
        .prop_map(|(offset, version, value)| message(offset, (version, 0), 5, None, value.as_deref()));
    let wrapped = (0..1_000_i64, 0..2_u8, 1..4_i16).prop_map(|(offset, version, codec)| {
        let set = message(if version == 0 { offset } else { 0 }, (version, 0), 5, Some(b"k"), None);
        message(offset, (version, codec as u8), 6, None, Some(&compressed(codec, &set)))
    });
    prop_oneof![3 => batch, 1 => old, 1 => wrapped]
}

proptest! {
    #[test]
    fn any_pieces_give_the_same_rows(
        entries in vec(drawn_entry(), 0..6),
        tail in prop_oneof![vec(Just(0_u8), 0..40), vec(any::<u8>(), 0..40)],
        change in option::weighted(0.3, (any::<Index>(), any::<u8>())),
        cut in option::weighted(0.3, any::<Index>()),
        cuts in vec(any::<Index>(), 0..12),
    ) {
        let mut data = [entries.concat(), tail].concat();
        if let (Some((index, byte)), false) = (change, data.is_empty()) {
            let at = index.index(data.len());
            data[at] = byte;
        }
        if let Some(cut) = cut {
            data.truncate(cut.index(data.len() + 1));
        }
        let whole = read(&data);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.index(data.len() + 1)).collect();
        cuts.extend([0, data.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| &data[ends[0]..ends[1]]);
        prop_assert_eq!(&whole, &read_pieces(pieces));
        prop_assert_eq!(&whole, &read_pieces(data.chunks(1)));
        let end = &whole.1;
        prop_assert_eq!(end.read_bytes + end.tail_bytes, data.len() as u64);
        prop_assert_eq!(end.records, whole.0.len() as u64);
    }
}
