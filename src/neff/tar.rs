//! Reading and writing the tar (chapter 07 sections 3.1 and 3.3).
//!
//! Headers are walked here rather than by the `tar` crate's reader: every refusal needs an offset and a
//! field, and sizes must be checked before anything is allocated. Nothing is copied: members are views of
//! the tar.

use ::tar::{Builder, EntryType, Header};

use super::archive::{Archive, Member, check_path};
use super::bytes::Bytes;
use super::error::{NeffError, Result};
use super::options::ReadOptions;
use super::warning::{Warning, Warnings};

const BLOCK: usize = 512;

/// Reads every member; directories are skipped, links and everything else are refused.
pub(super) fn read(tar: &Bytes, options: &ReadOptions, warnings: &mut Warnings) -> Result<Archive> {
    let mut reader = Reader { tar, options, at: 0, pending: Pending::default() };
    let mut archive = Archive::default();
    let mut entries = 0;
    while let Some(entry) = reader.next(warnings)? {
        entries += 1;
        if entries > options.limits.members {
            return Err(NeffError::TooManyMembers { limit: options.limits.members, offset: entry.offset });
        }
        let Some(data) = entry.data else { continue };
        let path = entry.path;
        if archive.get(&path).is_some() {
            if options.strict {
                return Err(NeffError::DuplicateMember { path, offset: entry.offset });
            }
            warnings.push(Warning::DuplicateMember { path: path.clone(), offset: entry.offset });
        }
        archive.put(path, data);
    }
    Ok(archive)
}

/// A file, or a directory (no data).
struct Entry {
    offset: usize,
    path: String,
    data: Option<Bytes>,
}

/// What extension records say about the next entry.
#[derive(Default)]
struct Pending {
    /// Offset of the first record.
    offset: Option<usize>,
    /// GNU long name.
    long_name: Option<Vec<u8>>,
    /// pax `path`.
    path: Option<Vec<u8>>,
    /// pax `size`.
    size: Option<u64>,
}

struct Reader<'a> {
    tar: &'a Bytes,
    options: &'a ReadOptions,
    at: usize,
    pending: Pending,
}

impl<'a> Reader<'a> {
    /// The next file or directory, `None` at the end.
    fn next(&mut self, warnings: &mut Warnings) -> Result<Option<Entry>> {
        loop {
            let offset = self.at;
            let Some(header) = self.header(warnings)? else {
                return match self.pending.offset {
                    Some(offset) => Err(field(offset, "extension record", "last", "a member behind it")),
                    None => Ok(None),
                };
            };
            let kind = header.entry_type();
            match kind.as_byte() {
                b'x' | b'g' | b'L' | b'K' => self.extension(header, kind.as_byte(), offset)?,
                b'0' | 0 | b'7' | b'5' => return self.entry(header, kind, offset).map(Some),
                other => {
                    let path = String::from_utf8_lossy(&header.path_bytes()).into_owned();
                    return Err(NeffError::TarEntryType { offset, path, kind: char::from(other) });
                }
            }
        }
    }

    /// The header at the current position, which moves behind it; `None` at the end of the archive.
    fn header(&mut self, warnings: &mut Warnings) -> Result<Option<&'a Header>> {
        let offset = self.at;
        let tar: &'a Bytes = self.tar;
        let left = &tar[offset..];
        let Some(block) = left.get(..BLOCK) else {
            if left.iter().all(|b| *b == 0) {
                warnings.push(Warning::TarEnd { offset });
                return Ok(None);
            }
            return Err(truncated("header", offset, BLOCK as u64, left.len()));
        };
        if block.iter().all(|b| *b == 0) {
            let second = left.get(BLOCK..2 * BLOCK);
            if !second.is_some_and(|block| block.iter().all(|b| *b == 0)) {
                warnings.push(Warning::TarEnd { offset });
            }
            return Ok(None);
        }
        check_sum(block, offset)?;
        self.at += BLOCK;
        Ok(Some(Header::from_byte_slice(block)))
    }

    /// The contents behind a header; the position moves to the next header.
    fn contents(&mut self, what: &str, offset: usize, size: u64) -> Result<Bytes> {
        let available = self.tar.len() - self.at;
        let Some(length) = usize::try_from(size).ok().filter(|length| *length <= available) else {
            return Err(truncated(what, offset, size, available));
        };
        let data = self.tar.slice(self.at..self.at + length);
        // The last member's padding may be cut off: that only costs the end mark.
        self.at = (self.at + length.next_multiple_of(BLOCK)).min(self.tar.len());
        Ok(data)
    }

    /// A pax record, or a GNU long name.
    fn extension(&mut self, header: &Header, kind: u8, offset: usize) -> Result<()> {
        let size = number(&header.as_old().size, offset, "size")?;
        let limit = self.options.limits.tar_extension;
        if size > limit {
            return Err(field(offset, "extension record size", size, format!("at most {limit} bytes")));
        }
        let data = self.contents("extension record", offset, size)?;
        self.pending.offset.get_or_insert(offset);
        match kind {
            b'L' => {
                let end = data.iter().position(|b| *b == 0).unwrap_or(data.len());
                if self.pending.long_name.replace(data[..end].to_vec()).is_some() {
                    return Err(field(offset, "long name", "second one", "one for a member"));
                }
            }
            b'x' => self.pax(&data, offset, false)?,
            b'g' => {
                self.pax(&data, offset, true)?;
                // A global record belongs to no member, so it may be the last.
                if self.pending.long_name.is_none()
                    && self.pending.path.is_none()
                    && self.pending.size.is_none()
                {
                    self.pending.offset = None;
                }
            }
            // Long link names concern links only, and those are refused.
            _ => {}
        }
        Ok(())
    }

    /// pax records: `<length> <key>=<value>\n`, the length counting all of it.
    fn pax(&mut self, mut data: &[u8], offset: usize, global: bool) -> Result<()> {
        while !data.is_empty() {
            let (key, value, rest) = pax_record(data).ok_or_else(|| {
                let seen = String::from_utf8_lossy(&data[..data.len().min(32)]).into_owned();
                field(offset, "pax record", seen, "`<length> <key>=<value>` and a line end")
            })?;
            data = rest;
            let shown = || String::from_utf8_lossy(key).into_owned();
            match key {
                b"path" | b"size" | b"linkpath" if global => {
                    return Err(field(offset, "global pax key", shown(), "no key that renames or resizes"));
                }
                b"path" => self.pending.path = Some(value.to_vec()).filter(|v| !v.is_empty()),
                b"size" => {
                    let text = String::from_utf8_lossy(value);
                    let all_digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                    let size = text.parse().ok().filter(|_| all_digits);
                    self.pending.size =
                        Some(size.ok_or_else(|| field(offset, "pax size", &text, "a decimal number"))?);
                }
                _ if key.starts_with(b"GNU.sparse.") => {
                    return Err(field(offset, "pax key", shown(), "no sparse file"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A file or directory with its contents.
    fn entry(&mut self, header: &Header, kind: EntryType, offset: usize) -> Result<Entry> {
        let pending = std::mem::take(&mut self.pending);
        let raw = pending.path.or(pending.long_name).unwrap_or_else(|| header.path_bytes().into_owned());
        let is_directory = kind == EntryType::Directory;
        let size = match pending.size {
            Some(size) => size,
            None => number(&header.as_old().size, offset, "size")?,
        };
        if is_directory && size != 0 {
            return Err(field(offset, "size of a directory", size, "0"));
        }
        let path = self.path(&raw, is_directory, offset)?;
        let data = self.contents(&format!("member `{path}`"), offset, size)?;
        Ok(Entry { offset, path, data: (!is_directory).then_some(data) })
    }

    /// Strips one leading `./` and checks the path. The archive's root directory gives an empty path.
    fn path(&self, raw: &[u8], is_directory: bool, offset: usize) -> Result<String> {
        let refuse = |expected: String| NeffError::MemberPath {
            offset,
            path: String::from_utf8_lossy(&raw[..raw.len().min(256)]).into_owned(),
            expected,
        };
        let path = std::str::from_utf8(raw).map_err(|_| refuse("UTF-8".to_owned()))?;
        let mut path = path.strip_prefix("./").unwrap_or(path);
        if is_directory {
            path = path.strip_suffix('/').unwrap_or(path);
            if path.is_empty() || path == "." {
                return Ok(String::new());
            }
        }
        check_path(path, self.options.limits.path).map_err(refuse)?;
        Ok(path.to_owned())
    }
}

/// Splits off the first record; `None` if it is malformed.
fn pax_record(data: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = data.iter().take(8).position(|b| *b == b' ')?;
    let length: usize = std::str::from_utf8(&data[..space]).ok()?.parse().ok()?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|b| *b == b'=')?;
    Some((&body[..equals], &body[equals + 1..], &data[length..]))
}

/// The header's checksum: the sum of its bytes, taken as unsigned or as signed, with the checksum field
/// itself as blanks.
fn check_sum(block: &[u8], offset: usize) -> Result<()> {
    const FIELD: std::ops::Range<usize> = 148..156;
    let stored = number(&block[FIELD], offset, "checksum")?;
    let counted = || block.iter().enumerate().map(|(i, b)| if FIELD.contains(&i) { b' ' } else { *b });
    let unsigned: u64 = counted().map(u64::from).sum();
    let signed: i64 = counted().map(|b| i64::from(b as i8)).sum();
    if stored == unsigned || i64::try_from(stored) == Ok(signed) {
        return Ok(());
    }
    Err(NeffError::TarChecksum { offset, stored, computed: unsigned })
}

/// A numeric field: octal digits between blanks, or base 256 behind 0x80.
fn number(bytes: &[u8], offset: usize, name: &'static str) -> Result<u64> {
    let refuse = |expected: &str| {
        let seen = bytes.escape_ascii().to_string();
        Err(field(offset, name, seen, expected))
    };
    if bytes[0] & 0x80 != 0 {
        let (high, low) = bytes.split_at(bytes.len() - 7);
        if bytes[0] != 0x80 || high[1..].iter().any(|b| *b != 0) {
            return refuse("a base-256 number from 0 to 2^56 - 1");
        }
        return Ok(low.iter().fold(0, |value, b| value << 8 | u64::from(*b)));
    }
    let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
    let digits = bytes[..end].trim_ascii();
    if digits.is_empty() || !digits.iter().all(|b| matches!(b, b'0'..=b'7')) {
        return refuse("octal digits");
    }
    Ok(digits.iter().fold(0, |value, b| value << 3 | u64::from(b - b'0')))
}

fn field(offset: usize, field: &'static str, value: impl ToString, expected: impl ToString) -> NeffError {
    NeffError::TarField { offset, field, value: value.to_string(), expected: expected.to_string() }
}

fn truncated(what: &str, offset: usize, needed: u64, available: usize) -> NeffError {
    NeffError::TarTruncated { what: what.to_owned(), offset, needed, available: available as u64 }
}

/// Writes members as ustar, regular files only, all times and owners zero. A path that ustar cannot hold
/// gets a GNU long name.
pub(super) fn write(members: &[Member]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for member in members {
        let mut header = Header::new_ustar();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o664);
        header.set_size(member.bytes.len() as u64);
        header.set_mtime(0);
        header.set_uid(0);
        header.set_gid(0);
        builder
            .append_data(&mut header, &member.path, &member.bytes[..])
            .expect("writing a checked path to a vector cannot fail");
    }
    builder.into_inner().expect("writing to a vector cannot fail")
}
