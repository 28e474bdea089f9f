//! The 1024-byte header (chapter 07 section 2): read and written by explicit offset.

use std::borrow::Cow;

use super::error::{NeffError, Result};
use super::warning::{Warning, Warnings};

/// Bytes of the header; the payload starts here (chapter 07 section 2).
pub const HEADER_BYTES: usize = 0x400;

/// Feature bits 0..=26 are accepted; bits 27..=62 the vendor's loader refuses, bit 63 we refuse as well
/// (chapter 07 section 2.1, C7-2).
pub const SUPPORTED_FEATURES: u64 = 0x7FF_FFFF;

/// Field offsets (chapter 07 section 2).
mod at {
    pub const PKG_VERSION: usize = 0x000;
    pub const HEADER_SIZE: usize = 0x008;
    pub const DATA_SIZE: usize = 0x010;
    pub const MAJOR: usize = 0x018;
    pub const MINOR: usize = 0x020;
    pub const BUILD_VERSION: usize = 0x028;
    pub const GZIP_FLAG: usize = 0x0A8;
    pub const HASH: usize = 0x0AC;
    pub const UUID: usize = 0x0CC;
    pub const NAME: usize = 0x0DC;
    pub const TPB_COUNT: usize = 0x1DC;
    pub const TPB_PER_NODE: usize = 0x1E0;
    pub const FEATURE_BITS: usize = 0x220;
    pub const VNC_SIZE: usize = 0x228;
    pub const PAD: usize = 0x22C;
}

/// How the payload is packed (`pkg_version`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Package {
    /// 1: a bare tar, SHA-256.
    RawTar = 1,
    /// 2: one gzip member over a tar and zero padding, MD5.
    GzipTar = 2,
}

/// The header's fields. Texts are kept as stored, so that writing gives the same bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// How the payload is packed.
    pub package: Package,
    /// Bytes of the payload as stored, padding included.
    pub data_size: u64,
    /// 0, 1 or 2.
    pub version_major: u64,
    /// Any value.
    pub version_minor: u64,
    /// Free text, NUL padded.
    pub build_version: [u8; 128],
    /// The producer's "is gzip" flag; readers ignore it.
    pub gzip_flag: u32,
    /// Digest of the payload: 32 bytes of SHA-256, or 16 of MD5 and filler.
    pub hash: [u8; 32],
    /// RFC 4122 bytes in order.
    pub uuid: [u8; 16],
    /// Model name, NUL padded.
    pub name: [u8; 256],
    /// NeuronCores asked for; compared with nothing.
    pub requested_tpb_count: u32,
    /// Counts per NUMA node.
    pub tpb_per_node: [u8; 64],
    /// Forward-compatibility mask.
    pub feature_bits: u64,
    /// Cores fused into one virtual core, as stored: 0, 1 or 2.
    pub vnc_size: u32,
    /// The unused rest.
    pub pad: [u8; 468],
}

impl Default for Header {
    /// The form that the vendor's compiler writes (chapter 07 section 2.2), without payload and uuid.
    fn default() -> Self {
        let mut tpb_per_node = [0; 64];
        tpb_per_node[0] = 1;
        Header {
            package: Package::GzipTar,
            data_size: 0,
            version_major: 2,
            version_minor: 0,
            build_version: [0; 128],
            gzip_flag: 1,
            hash: [0; 32],
            uuid: [0; 16],
            name: [0; 256],
            requested_tpb_count: 1,
            tpb_per_node,
            feature_bits: 0,
            vnc_size: 1,
            pad: [0; 468],
        }
    }
}

impl Header {
    /// Reads the header of a whole file through tests 1 to 6 in the loader's order (chapter 07 section
    /// 2.1) and the stricter ones of C7-2.
    ///
    /// # Errors
    /// The variant of the first test that fails.
    pub fn read(file: &[u8], warnings: &mut Warnings) -> Result<Header> {
        let file_size = file.len() as u64;
        if file.len() < HEADER_BYTES {
            return Err(NeffError::TooShort { size: file_size });
        }
        let header_size = u64_at(file, at::HEADER_SIZE);
        if header_size >= file_size {
            return Err(NeffError::HeaderSizeBeyondFile { value: header_size, file_size });
        }
        if header_size != HEADER_BYTES as u64 {
            return Err(NeffError::HeaderSize { value: header_size });
        }
        let version_major = u64_at(file, at::MAJOR);
        if version_major > 2 {
            return Err(NeffError::MajorVersion { value: version_major });
        }
        let feature_bits = u64_at(file, at::FEATURE_BITS);
        check_features(version_major, feature_bits, warnings)?;
        let data_size = u64_at(file, at::DATA_SIZE);
        let available = file_size - HEADER_BYTES as u64;
        if data_size > available {
            return Err(NeffError::DataSize { value: data_size, available });
        }
        let package = match u64_at(file, at::PKG_VERSION) {
            1 => Package::RawTar,
            2 => Package::GzipTar,
            value => return Err(NeffError::PackageVersion { value }),
        };
        let vnc_size = u32_at(file, at::VNC_SIZE);
        if vnc_size > 2 {
            return Err(NeffError::VncSize { value: vnc_size });
        }
        if data_size < available {
            let offset = HEADER_BYTES as u64 + data_size;
            warnings.push(Warning::TrailingBytes { offset, count: available - data_size });
        }
        Ok(Header {
            package,
            data_size,
            version_major,
            version_minor: u64_at(file, at::MINOR),
            build_version: bytes_at(file, at::BUILD_VERSION),
            gzip_flag: u32_at(file, at::GZIP_FLAG),
            hash: bytes_at(file, at::HASH),
            uuid: bytes_at(file, at::UUID),
            name: bytes_at(file, at::NAME),
            requested_tpb_count: u32_at(file, at::TPB_COUNT),
            tpb_per_node: bytes_at(file, at::TPB_PER_NODE),
            feature_bits,
            vnc_size,
            pad: bytes_at(file, at::PAD),
        })
    }

    /// The header as it stands in a file.
    pub fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let mut out = [0; HEADER_BYTES];
        let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
        put(at::PKG_VERSION, &(self.package as u64).to_le_bytes());
        put(at::HEADER_SIZE, &(HEADER_BYTES as u64).to_le_bytes());
        put(at::DATA_SIZE, &self.data_size.to_le_bytes());
        put(at::MAJOR, &self.version_major.to_le_bytes());
        put(at::MINOR, &self.version_minor.to_le_bytes());
        put(at::BUILD_VERSION, &self.build_version);
        put(at::GZIP_FLAG, &self.gzip_flag.to_le_bytes());
        put(at::HASH, &self.hash);
        put(at::UUID, &self.uuid);
        put(at::NAME, &self.name);
        put(at::TPB_COUNT, &self.requested_tpb_count.to_le_bytes());
        put(at::TPB_PER_NODE, &self.tpb_per_node);
        put(at::FEATURE_BITS, &self.feature_bits.to_le_bytes());
        put(at::VNC_SIZE, &self.vnc_size.to_le_bytes());
        put(at::PAD, &self.pad);
        out
    }

    /// The model name.
    pub fn name(&self) -> Cow<'_, str> {
        text(&self.name)
    }

    /// Sets the model name, cut to the 256 bytes of the field at a character boundary.
    pub fn set_name(&mut self, name: &str) {
        let end = name.floor_char_boundary(self.name.len());
        self.name = [0; 256];
        self.name[..end].copy_from_slice(&name.as_bytes()[..end]);
    }

    /// The compiler's version text; empty in containers of the real compiler.
    pub fn build_version(&self) -> Cow<'_, str> {
        text(&self.build_version)
    }

    /// Cores fused into one virtual core: 1 or 2; a stored 0 means 1 (C7-2).
    pub fn virtual_core_size(&self) -> u32 {
        self.vnc_size.max(1)
    }

    /// The uuid in its text form.
    pub fn uuid_text(&self) -> String {
        let hex: Vec<String> = self.uuid.iter().map(|b| format!("{b:02x}")).collect();
        [&hex[..4], &hex[4..6], &hex[6..8], &hex[8..10], &hex[10..]].map(|part| part.concat()).join("-")
    }
}

/// Test 4; only containers of major version 2 are held to the mask.
fn check_features(major: u64, value: u64, warnings: &mut Warnings) -> Result<()> {
    let offending = value & !SUPPORTED_FEATURES;
    if major == 2 && offending != 0 {
        return Err(NeffError::FeatureBits { value, offending, supported: SUPPORTED_FEATURES });
    }
    if value != 0 {
        let bits = (0..64).filter(|bit| value >> bit & 1 != 0).collect();
        warnings.push(Warning::FeatureBits { value, bits });
    }
    Ok(())
}

/// Text up to the first NUL.
fn text(field: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(field.split(|b| *b == 0).next().unwrap_or_default())
}

/// A field of `N` bytes. The caller has checked that the header is there.
fn bytes_at<const N: usize>(file: &[u8], at: usize) -> [u8; N] {
    let mut out = [0; N];
    out.copy_from_slice(&file[at..at + N]);
    out
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes_at(file, at))
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes_at(file, at))
}
