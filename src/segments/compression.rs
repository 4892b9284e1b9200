//! Decompression of the records of a batch, with a bound for their size.

use std::io::Read;

use flate2::bufread::MultiGzDecoder;
use lz4_flex::frame::FrameDecoder;
use ruzstd::decoding::StreamingDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use twox_hash::XxHash32;

/// Largest size in bytes of the decompressed records of a batch. A batch with more is damaged.
pub const MAX_DECOMPRESSED: usize = 256 << 20;

/// Largest window in bytes that a zstd frame may declare, as in zstd's own command line.
const MAX_ZSTD_WINDOW: u64 = 128 << 20;

/// Largest ratio of the size of a snappy block after and before decompression: three bytes copy at most 64.
const MAX_SNAPPY_RATIO: usize = 22;

/// First bytes of the framing of snappy-java.
const XERIAL: [u8; 8] = *b"\x82SNAPPY\0";

/// Size in bytes of the header of snappy-java: the first bytes and two versions.
const XERIAL_HEADER: usize = 16;

/// Compression of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Gzip,
    Snappy,
    Lz4,
    Zstd,
}

impl Codec {
    /// Return the codec that the attributes of a batch name; None if the batch is not compressed.
    pub(super) fn of(attributes: i16) -> Result<Option<Self>, String> {
        match attributes & 7 {
            0 => Ok(None),
            1 => Ok(Some(Self::Gzip)),
            2 => Ok(Some(Self::Snappy)),
            3 => Ok(Some(Self::Lz4)),
            4 => Ok(Some(Self::Zstd)),
            other => Err(format!("unknown compression {other}")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Snappy => "snappy",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

/// Replace the contents of `out` by the decompressed data.
///
/// # Errors
/// The data is invalid, or is larger than [`MAX_DECOMPRESSED`] after decompression.
pub(super) fn decompress(codec: Codec, data: &[u8], has_old_lz4: bool, out: &mut Vec<u8>) -> Result<(), String> {
    out.clear();
    let result = match codec {
        Codec::Gzip => read_all(MultiGzDecoder::new(data), out),
        Codec::Snappy => snappy(data, out),
        Codec::Lz4 => lz4(data, has_old_lz4, out),
        Codec::Zstd => zstd(data, out),
    };
    result.map_err(|reason| format!("{} data cannot be decompressed: {reason}", codec.name()))
}

/// Append everything that a decoder returns.
fn read_all(decoder: impl Read, out: &mut Vec<u8>) -> Result<(), String> {
    let left = (MAX_DECOMPRESSED - out.len()) as u64;
    let read = decoder.take(left + 1).read_to_end(out).map_err(|error| error.to_string())?;
    if read as u64 > left { Err(too_large()) } else { Ok(()) }
}

#[cold]
fn too_large() -> String {
    format!("it has more than {MAX_DECOMPRESSED} bytes")
}

/// Decompress an lz4 frame.
///
/// Old clients write a wrong checksum of the header into message sets of version 0, which Kafka does not compare.
fn lz4(data: &[u8], has_old_header: bool, out: &mut Vec<u8>) -> Result<(), String> {
    const MAGIC: usize = 4;
    let Some(flags) = data.get(MAGIC).filter(|_| has_old_header) else {
        return read_all(FrameDecoder::new(data), out);
    };
    let size = 2 + if flags & 8 == 0 { 0 } else { 8 } + if flags & 1 == 0 { 0 } else { 4 };
    let (Some(descriptor), Some(blocks)) = (data.get(MAGIC..MAGIC + size), data.get(MAGIC + size + 1..)) else {
        return Err("its header is incomplete".to_owned());
    };
    let mut header = data[..MAGIC + size].to_vec();
    header.push((XxHash32::oneshot(0, descriptor) >> 8) as u8);
    read_all(FrameDecoder::new(header.chain(blocks)), out)
}

/// Decompress zstd frames.
fn zstd(mut data: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    while !data.is_empty() {
        // A new decoder for each frame: one that is used again reserves the window that the header of the frame declares.
        match StreamingDecoder::new_with_max_window_size(&mut data, MAX_ZSTD_WINDOW) {
            Ok(frame) => read_all(frame, out)?,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame { length, .. })) => {
                data = data.get(length as usize..).ok_or("a skippable frame is incomplete")?;
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

/// Decompress a snappy block, or blocks in the framing of snappy-java.
fn snappy(data: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    if !data.starts_with(&XERIAL) {
        return snappy_block(data, out);
    }
    let mut rest = data;
    while !rest.is_empty() {
        if rest.starts_with(&XERIAL) {
            rest = rest.get(XERIAL_HEADER..).ok_or("the header of snappy-java is incomplete")?;
            continue;
        }
        let incomplete = "a block of snappy-java is incomplete";
        let (size, behind) = rest.split_first_chunk().ok_or(incomplete)?;
        let (block, behind) = behind.split_at_checked(u32::from_be_bytes(*size) as usize).ok_or(incomplete)?;
        snappy_block(block, out)?;
        rest = behind;
    }
    Ok(())
}

fn snappy_block(data: &[u8], out: &mut Vec<u8>) -> Result<(), String> {
    let size = snap::raw::decompress_len(data).map_err(|error| error.to_string())?;
    if size > data.len().saturating_mul(MAX_SNAPPY_RATIO) {
        return Err(format!("a block of {} bytes cannot have {size} bytes", data.len()));
    }
    if size > MAX_DECOMPRESSED - out.len() {
        return Err(too_large());
    }
    let start = out.len();
    out.resize(start + size, 0);
    snap::raw::Decoder::new().decompress(data, &mut out[start..]).map(drop).map_err(|error| error.to_string())
}
