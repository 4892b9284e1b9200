//! Reader of a segment in pieces: it finds the batches, keeps the incomplete rest of a piece, and describes the end of the file.

use super::message_set::{ENTRY_HEADER, SMALLEST};
use super::records::{ColumnsFull, Records};
use super::{Unread, batch, message_set};

/// Largest number of damaged places that are listed one by one. A last entry counts the others.
pub const MAX_DAMAGE: usize = 10_000;

/// Bytes of a batch up to and including its version.
const PREFIX: usize = 17;

/// Largest size in bytes of a buffer that is kept for the next batch.
const KEPT_BUFFER: usize = 16 << 20;

/// Damaged place of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Position in the file.
    pub position: u64,
    /// The reason.
    pub reason: String,
}

/// Kind of the bytes behind the last batch of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tail {
    /// There are none, or the last damage describes them.
    None,
    /// Zeros, as in a preallocated file or after a crash.
    Zeros,
    /// The beginning of a batch.
    Torn,
}

impl Tail {
    /// Return the name, which is empty for a file without a tail.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Zeros => "zeros",
            Self::Torn => "torn",
        }
    }
}

/// Summary of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentEnd {
    /// Number of batches that were read; a message of versions 0 and 1 counts as a batch.
    pub batches: u64,
    /// Number of records, those of control batches included.
    pub records: u64,
    /// Offset after the last batch that was read; None if there is no such batch.
    pub end_offset: Option<i64>,
    /// Size in bytes of all complete batches, damaged ones included.
    pub read_bytes: u64,
    /// Damaged places, in the order of the file.
    pub damage: Vec<Damage>,
    /// Kind of the bytes that follow.
    pub tail: Tail,
    /// Number of the bytes that follow.
    pub tail_bytes: u64,
}

/// What the next bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Batch,
    /// Zeros up to the end of the file.
    Zeros,
    /// Bytes that cannot be divided into batches.
    Unreadable,
}

/// Place in the file, and counts.
#[derive(Debug, Clone, Copy)]
struct Progress {
    next: Next,
    /// Position of the next batch, or of the tail.
    position: u64,
    batches: u64,
    records: u64,
    end_offset: Option<i64>,
    /// Damaged places that are not listed.
    unlisted: u64,
    tail_bytes: u64,
}

/// Reader of one segment.
#[derive(Debug)]
pub struct SegmentReader {
    progress: Progress,
    damage: Vec<Damage>,
    /// The incomplete batch at the end of the last piece.
    rest: Vec<u8>,
    decompressed: Vec<u8>,
}

impl Default for SegmentReader {
    fn default() -> Self {
        let progress = Progress {
            next: Next::Batch,
            position: 0,
            batches: 0,
            records: 0,
            end_offset: None,
            unlisted: 0,
            tail_bytes: 0,
        };
        Self { progress, damage: Vec::new(), rest: Vec::new(), decompressed: Vec::new() }
    }
}

impl SegmentReader {
    /// Read the next piece of the file, and add the records of all batches that are complete.
    ///
    /// # Errors
    /// The columns are full. The reader is then as before the call, and `records` has some of the records; push the piece again in
    /// smaller pieces to new columns.
    pub fn push(&mut self, piece: &[u8], records: &mut Records) -> Result<(), ColumnsFull> {
        let (progress, listed) = (self.progress, self.damage.len());
        let mut first = std::mem::take(&mut self.rest);
        let kept = first.len();
        let result = self.read_pieces(&mut first, piece, records);
        if result.is_err() {
            self.progress = progress;
            self.damage.truncate(listed);
            first.truncate(kept);
            self.rest = first;
        }
        if self.decompressed.capacity() > KEPT_BUFFER {
            self.decompressed = Vec::new();
        }
        result
    }

    /// Read the batch that began in `first`, then those of `piece`; keep the rest.
    fn read_pieces(&mut self, first: &mut Vec<u8>, mut piece: &[u8], records: &mut Records) -> Result<(), ColumnsFull> {
        let mut is_complete = first.is_empty();
        while !is_complete && !piece.is_empty() {
            let missing = needed(first) - first.len();
            let (more, behind) = piece.split_at(missing.min(piece.len()));
            first.extend_from_slice(more);
            piece = behind;
            is_complete = self.read_batches(first, records)? > 0;
        }
        let read = self.read_batches(piece, records)?;
        if is_complete {
            first.clear();
            first.shrink_to(KEPT_BUFFER);
        }
        first.extend_from_slice(&piece[read..]);
        self.rest = std::mem::take(first);
        Ok(())
    }

    /// Read all complete batches; return the number of bytes that were read.
    fn read_batches(&mut self, data: &[u8], records: &mut Records) -> Result<usize, ColumnsFull> {
        let mut rest = data;
        loop {
            match self.progress.next {
                Next::Unreadable => {
                    self.progress.tail_bytes += rest.len() as u64;
                    return Ok(data.len());
                }
                Next::Zeros => {
                    let zeros = leading_zeros(rest);
                    self.progress.tail_bytes += zeros as u64;
                    rest = &rest[zeros..];
                    if rest.is_empty() {
                        return Ok(data.len());
                    }
                    self.stop(format!("{} zeros, then bytes that are not zero", self.progress.tail_bytes));
                }
                Next::Batch => {
                    let Some(prefix) = rest.first_chunk::<PREFIX>() else { break };
                    if *prefix == [0; PREFIX] {
                        self.progress.next = Next::Zeros;
                        continue;
                    }
                    let (size, version) = match size_and_version(prefix) {
                        Ok(found) => found,
                        Err(reason) => {
                            self.stop(reason);
                            continue;
                        }
                    };
                    let Some((batch, behind)) = rest.split_at_checked(size) else { break };
                    self.read_batch(batch, version, records)?;
                    rest = behind;
                }
            }
        }
        Ok(data.len() - rest.len())
    }

    fn read_batch(&mut self, data: &[u8], version: u8, records: &mut Records) -> Result<(), ColumnsFull> {
        let before = records.len();
        let read = if version == 2 { batch::read } else { message_set::read };
        match read(data, &mut self.decompressed, records) {
            Ok(last_offset) => {
                self.progress.batches += 1;
                self.progress.records += (records.len() - before) as u64;
                self.progress.end_offset = Some(last_offset.saturating_add(1));
            }
            Err(Unread::Damaged(reason)) => {
                records.truncate(before);
                self.add_damage(reason);
            }
            Err(Unread::Full(full)) => return Err(full),
        }
        self.progress.position += data.len() as u64;
        Ok(())
    }

    fn add_damage(&mut self, reason: String) {
        if self.damage.len() < MAX_DAMAGE {
            self.damage.push(Damage { position: self.progress.position, reason });
        } else {
            self.progress.unlisted += 1;
        }
    }

    /// Read no more batches: the bytes at the position are not one, so the position of the next is not known.
    #[cold]
    fn stop(&mut self, reason: String) {
        self.add_damage(reason);
        self.progress.next = Next::Unreadable;
    }

    /// Return the summary of the pieces so far, as if the file ended here.
    #[must_use]
    pub fn end(&self) -> SegmentEnd {
        let progress = self.progress;
        let rest = self.rest.len() as u64;
        let (tail, tail_bytes) = match progress.next {
            Next::Unreadable => (Tail::None, progress.tail_bytes),
            Next::Zeros => (Tail::Zeros, progress.tail_bytes),
            Next::Batch if rest == 0 => (Tail::None, 0),
            Next::Batch if self.rest.iter().all(|byte| *byte == 0) => (Tail::Zeros, rest),
            Next::Batch => (Tail::Torn, rest),
        };
        let mut damage = self.damage.clone();
        if progress.unlisted > 0 {
            let reason = format!("{} more damaged batches, which are not listed", progress.unlisted);
            damage.push(Damage { position: progress.position, reason });
        }
        SegmentEnd {
            batches: progress.batches,
            records: progress.records,
            end_offset: progress.end_offset,
            read_bytes: progress.position,
            damage,
            tail,
            tail_bytes,
        }
    }
}

/// Return the number of zeros at the start. A preallocated file can have a gigabyte of them.
fn leading_zeros(data: &[u8]) -> usize {
    let blocks = data.as_chunks::<64>().0;
    let zeros = blocks.iter().take_while(|block| block.iter().fold(0, |found, byte| found | byte) == 0).count() * 64;
    zeros + data[zeros..].iter().take_while(|byte| **byte == 0).count()
}

/// Return the size of the batch that begins with these bytes, or that of the bytes that show it.
fn needed(start: &[u8]) -> usize {
    start.first_chunk::<PREFIX>().and_then(|prefix| size_and_version(prefix).ok()).map_or(PREFIX, |(size, _)| size)
}

/// Return the size of a batch with its offset and size, and its version.
fn size_and_version(prefix: &[u8; PREFIX]) -> Result<(usize, u8), String> {
    let [.., a, b, c, d, _, _, _, _, version] = *prefix;
    let size = i32::from_be_bytes([a, b, c, d]);
    let smallest = match version {
        0 | 1 => SMALLEST,
        2 => batch::HEADER - ENTRY_HEADER,
        _ => return Err(format!("not a record batch: its version is {version}, and the versions are 0, 1 and 2")),
    };
    match usize::try_from(size) {
        Ok(size) if size >= smallest => Ok((ENTRY_HEADER + size, version)),
        _ => Err(format!("not a record batch: its size is {size}, and must be at least {smallest}")),
    }
}
