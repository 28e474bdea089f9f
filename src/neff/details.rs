//! The parts of an error, for reports that programs read.

use std::path::PathBuf;

use super::error::{NeffError, Place};
use super::npy::NpyError;

/// Where an error is and what is wrong there, as far as that is known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Details {
    /// The file.
    pub file: Option<PathBuf>,
    /// The archive member.
    pub member: Option<String>,
    /// Header field, JSON path or key.
    pub field: Option<String>,
    /// Byte offset: in the member if there is one; of a tar header in the tar; else in the file.
    pub byte_offset: Option<u64>,
    /// What stands there.
    pub found: Option<String>,
    /// What should stand there.
    pub expected: Option<String>,
}

impl Details {
    fn field(mut self, field: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self
    }

    fn member(mut self, member: &str) -> Self {
        self.member = Some(member.to_owned());
        self
    }

    fn at(mut self, offset: u64) -> Self {
        self.byte_offset = Some(offset);
        self
    }

    fn found(mut self, found: impl ToString) -> Self {
        self.found = Some(found.to_string());
        self
    }

    fn expected(mut self, expected: impl ToString) -> Self {
        self.expected = Some(expected.to_string());
        self
    }

    fn place(self, place: &Place) -> Self {
        let place_only = self.member(&place.member).at(place.offset as u64);
        if place.path.is_empty() { place_only } else { place_only.field(&place.path) }
    }
}

impl NeffError {
    /// The parts of the error. Of several findings, those of the first.
    pub fn details(&self) -> Details {
        match self {
            NeffError::Io { path, .. } => Details { file: Some(path.clone()), ..Details::default() },
            NeffError::InFile { path, source } => Details { file: Some(path.clone()), ..source.details() },
            NeffError::Many { findings } => findings.first().map(NeffError::details).unwrap_or_default(),
            _ => self
                .header()
                .or_else(|| self.payload())
                .or_else(|| self.archive())
                .unwrap_or_else(|| self.content()),
        }
    }

    /// Offsets of the fields: chapter 07 section 2.
    fn header(&self) -> Option<Details> {
        let at = |field: &str, offset: u64| Details::default().field(field).at(offset);
        Some(match self {
            NeffError::TooShort { size } => Details::default().found(size).expected(1024),
            NeffError::HeaderSizeBeyondFile { value, file_size } => {
                at("header_size", 0x8).found(value).expected(format!("less than the file size {file_size}"))
            }
            NeffError::HeaderSize { value } => at("header_size", 0x8).found(value).expected(1024),
            NeffError::MajorVersion { value } => {
                at("neff_version_major", 0x18).found(value).expected("0, 1 or 2")
            }
            NeffError::FeatureBits { value, supported, .. } => at("feature_bits", 0x220)
                .found(format!("{value:#x}"))
                .expected(format!("no bit outside {supported:#x}")),
            NeffError::DataSize { value, available } => {
                at("data_size", 0x10).found(value).expected(format!("at most {available}"))
            }
            NeffError::PackageVersion { value } => at("pkg_version", 0x0).found(value).expected("1 or 2"),
            NeffError::VncSize { value } => at("vnc_size", 0x228).found(value).expected("0, 1 or 2"),
            NeffError::EmptyPayload => at("data_size", 0x10).found(0).expected("a payload"),
            NeffError::Digest { stored, computed, .. } => at("hash", 0xac).found(stored).expected(computed),
            _ => return None,
        })
    }

    fn payload(&self) -> Option<Details> {
        Some(match self {
            NeffError::GzipInRawPackage => Details::default().at(0x400).found("1f 8b").expected("a bare tar"),
            NeffError::Gzip { offset, message } => Details::default().at(*offset).found(message),
            NeffError::Inflated { limit, .. } => {
                Details::default().at(0x400).expected(format!("at most {limit} inflated bytes"))
            }
            NeffError::PayloadTail { offset, value } => {
                Details::default().at(*offset).found(format!("{value:#04x}")).expected("zero padding")
            }
            _ => return None,
        })
    }

    fn archive(&self) -> Option<Details> {
        let at = |offset: &usize| Details::default().at(*offset as u64);
        Some(match self {
            NeffError::TarTruncated { what, offset, needed, available } => {
                at(offset).field(what).found(format!("{available} bytes")).expected(format!("{needed} bytes"))
            }
            NeffError::TarChecksum { offset, stored, computed } => {
                at(offset).field("checksum").found(stored).expected(computed)
            }
            NeffError::TarField { offset, field, value, expected } => {
                at(offset).field(*field).found(value).expected(expected)
            }
            NeffError::TarEntryType { offset, path, kind } => {
                at(offset).member(path).field("type").found(kind).expected("a regular file or a directory")
            }
            NeffError::MemberPath { offset, path, expected } => {
                at(offset).field("path").found(path).expected(expected)
            }
            NeffError::DuplicateMember { path, offset } => at(offset).member(path).expected("unique paths"),
            NeffError::TooManyMembers { limit, offset } => {
                at(offset).expected(format!("at most {limit} members"))
            }
            _ => return None,
        })
    }

    fn content(&self) -> Details {
        let of = |member: &str| Details::default().member(member);
        match self {
            NeffError::MissingMember { member, .. } => of(member).found("no such member"),
            NeffError::JsonUtf8 { member, offset } => of(member).at(*offset as u64).expected("UTF-8"),
            NeffError::JsonSyntax { member, offset, message } => {
                of(member).at(*offset as u64).found(message).expected("JSON")
            }
            NeffError::JsonLimit { member, offset, what, limit } => {
                of(member).at(*offset as u64).expected(format!("at most {limit} {what}"))
            }
            NeffError::JsonMissing { at, key, expected } => {
                let path = if at.path.is_empty() { key.clone() } else { format!("{}.{key}", at.path) };
                Details::default().place(at).field(path).expected(expected)
            }
            NeffError::JsonType { at, value, expected } | NeffError::Rule { at, value, expected, .. } => {
                Details::default().place(at).found(value).expected(expected)
            }
            NeffError::Unsupported { at, value, .. } => Details::default().place(at).found(value),
            NeffError::WrongGeneration { at, target, expected } => {
                Details::default().place(at).found(target).expected(expected)
            }
            NeffError::Npy { member, source } => source.details().member(member),
            NeffError::MemberSize { member, size, expected } => of(member).found(size).expected(expected),
            _ => Details::default(),
        }
    }
}

impl NpyError {
    /// The parts of the error.
    pub fn details(&self) -> Details {
        let at = |offset: &usize| Details::default().at(*offset as u64);
        let header = |field: &str| Details::default().field(field);
        match self {
            NpyError::Io { path, .. } => Details { file: Some(path.clone()), ..Details::default() },
            NpyError::Magic => at(&0).expected("93 4e 55 4d 50 59"),
            NpyError::Version { major, minor } => {
                at(&6).found(format!("{major}.{minor}")).expected("1.0, 2.0 or 3.0")
            }
            NpyError::Truncated { end, size } => {
                at(&8).found(format!("a header up to byte {end}")).expected(format!("at most {size}"))
            }
            NpyError::Header { offset, expected } => at(offset).expected(expected),
            NpyError::Descr { descr } => header("descr")
                .found(descr)
                .expected("<f4, <f2, <V2, |i1, |u1, <i2, <u2, <i4, <u4, <i8 or <u8"),
            NpyError::FortranOrder => header("fortran_order").found("True").expected("False"),
            NpyError::Size { offset, found, expected, .. } => at(offset).found(found).expected(expected),
            NpyError::Dtype { dtype } => header("descr").found(dtype.text()),
        }
    }
}
