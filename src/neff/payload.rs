//! The payload behind the header: digest, gzip member and padding (chapter 07 sections 2.1, 2.2, 3.1).

use std::io::{Read, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use md5::{Digest, Md5};
use sha2::Sha256;

use super::bytes::Bytes;
use super::error::{NeffError, Result};
use super::header::{HEADER_BYTES, Header, Package};
use super::options::Limits;

/// The stored payload is padded with zeros to a multiple of this (chapter 07 section 2.2).
pub const PADDING: usize = 10_240;

/// What the inflate limit allows above the ratio, for tiny payloads (chapter 07 section 3.3).
const INFLATE_BASE: u64 = 64 << 10;

/// The operating-system byte of a gzip header that the vendor's compiler writes: Unix.
const GZIP_OS: u8 = 3;

/// How an MD5 stands in the header (chapter 10 section 2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DigestForm {
    /// SHA-256, in order.
    Sha256,
    /// MD5, in order.
    Plain,
    /// MD5 with each of its four 32-bit words byte-reversed.
    WordReversed,
}

/// Test 7 (chapter 07 section 2.1): compares the digest with the stored bytes, padding included.
pub(super) fn verify(header: &Header, stored: &[u8]) -> Result<DigestForm> {
    if stored.is_empty() {
        return Err(NeffError::EmptyPayload);
    }
    let (algorithm, computed, field) = match header.package {
        Package::RawTar => ("SHA-256", Sha256::digest(stored).to_vec(), &header.hash[..]),
        Package::GzipTar => ("MD5", Md5::digest(stored).to_vec(), &header.hash[..16]),
    };
    if computed == field {
        let plain = if header.package == Package::RawTar { DigestForm::Sha256 } else { DigestForm::Plain };
        return Ok(plain);
    }
    if header.package == Package::GzipTar && reverse_words(&computed) == field {
        return Ok(DigestForm::WordReversed);
    }
    Err(NeffError::Digest { algorithm, stored: hex(field), computed: hex(&computed) })
}

/// Reverses the bytes of each 32-bit word.
fn reverse_words(digest: &[u8]) -> Vec<u8> {
    digest.chunks(4).flat_map(|word| word.iter().rev().copied()).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

/// The tar inside the payload, which `keep` gives where it is stored as it is.
pub(super) fn unpack(
    package: Package,
    stored: &[u8],
    limits: &Limits,
    keep: impl FnOnce() -> Bytes,
) -> Result<Bytes> {
    match package {
        Package::GzipTar => inflate(stored, limits).map(Bytes::from),
        Package::RawTar if stored.starts_with(&[0x1F, 0x8B]) => Err(NeffError::GzipInRawPackage),
        Package::RawTar => {
            let (stored_bytes, limit) = (stored.len() as u64, limits.inflated);
            if stored_bytes > limit {
                return Err(NeffError::Inflated { limit, stored: stored_bytes });
            }
            Ok(keep())
        }
    }
}

/// Inflates the one gzip member and checks that only zeros follow. The decoder checks CRC32 and ISIZE
/// when the member ends; the limit stops it while it inflates.
fn inflate(stored: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let ratio = (stored.len() as u64).saturating_mul(limits.inflate_ratio).saturating_add(INFLATE_BASE);
    let limit = limits.inflated.min(ratio);
    let mut decoder = GzDecoder::new(stored);
    let mut tar = Vec::new();
    let offset = |left: &[u8]| (HEADER_BYTES + stored.len() - left.len()) as u64;
    if let Err(error) = decoder.by_ref().take(limit.saturating_add(1)).read_to_end(&mut tar) {
        return Err(NeffError::Gzip { offset: offset(decoder.get_ref()), message: error.to_string() });
    }
    if tar.len() as u64 > limit {
        return Err(NeffError::Inflated { limit, stored: stored.len() as u64 });
    }
    let rest = decoder.into_inner();
    match rest.iter().position(|byte| *byte != 0) {
        Some(at) => Err(NeffError::PayloadTail { offset: offset(rest) + at as u64, value: rest[at] }),
        None => Ok(tar),
    }
}

/// Packs a tar and completes the header: `data_size` and `hash`. The same tar gives the same bytes.
pub(super) fn pack(header: &mut Header, tar: Vec<u8>) -> Vec<u8> {
    let stored = match header.package {
        Package::RawTar => tar,
        Package::GzipTar => deflate(&tar),
    };
    header.data_size = stored.len() as u64;
    header.hash = [0; 32];
    match header.package {
        Package::RawTar => header.hash.copy_from_slice(&Sha256::digest(&stored)),
        Package::GzipTar => header.hash[..16].copy_from_slice(&reverse_words(&Md5::digest(&stored))),
    }
    stored
}

/// One gzip member without time, zero padded.
fn deflate(tar: &[u8]) -> Vec<u8> {
    let mut encoder =
        flate2::GzBuilder::new().mtime(0).operating_system(GZIP_OS).write(Vec::new(), Compression::default());
    let written = encoder.write_all(tar).and_then(|()| encoder.finish());
    let mut stored = written.expect("writing to a vector cannot fail");
    stored.resize(stored.len().next_multiple_of(PADDING), 0);
    stored
}
