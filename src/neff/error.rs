//! Why a container is refused. Every error says where, which field, what it holds and what was expected.

use std::fmt;
use std::path::PathBuf;

use seqjit_runtime::isa::Generation;

use super::npy::NpyError;

/// A result of reading or writing a container.
pub type Result<T> = std::result::Result<T, NeffError>;

/// Why a container is refused.
///
/// Header errors stand in the order of the tests (chapter 07 section 2.1). Offsets are file offsets for
/// the header and the stored payload, offsets in the tar for archive errors, and offsets in the member
/// for JSON and numpy errors.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NeffError {
    /// The file cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// An error in a named file.
    #[error("`{}`: {source}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The error.
        source: Box<NeffError>,
    },

    /// Test 1: the file is shorter than the header.
    #[error("the file has {size} bytes, expected at least 1024 for the header")]
    TooShort {
        /// Bytes of the file.
        size: u64,
    },
    /// Test 2: `header_size` is not less than the file size.
    #[error(
        "header field `header_size` at offset 0x8 is {value}, expected less than the file size {file_size}"
    )]
    HeaderSizeBeyondFile {
        /// The field.
        value: u64,
        /// Bytes of the file.
        file_size: u64,
    },
    /// `header_size` is not 1024 (C7-2).
    #[error("header field `header_size` at offset 0x8 is {value}, expected 1024")]
    HeaderSize {
        /// The field.
        value: u64,
    },
    /// Test 3: an unknown major version.
    #[error("header field `neff_version_major` at offset 0x18 is {value}, expected 0, 1 or 2")]
    MajorVersion {
        /// The field.
        value: u64,
    },
    /// Test 4: unsupported feature bits.
    #[error(
        "header field `feature_bits` at offset 0x220 is {value:#x}, expected no bit outside {supported:#x}; offending bits {offending:#x}"
    )]
    FeatureBits {
        /// The field.
        value: u64,
        /// The unsupported bits that are set.
        offending: u64,
        /// The supported bits.
        supported: u64,
    },
    /// Test 5: the file ends before the payload does.
    #[error(
        "header field `data_size` at offset 0x10 is {value}, expected at most {available}: the bytes behind the header"
    )]
    DataSize {
        /// The field.
        value: u64,
        /// Bytes of the file after the header.
        available: u64,
    },
    /// Test 6: an unknown package version.
    #[error("header field `pkg_version` at offset 0x0 is {value}, expected 1 (raw tar) or 2 (gzip)")]
    PackageVersion {
        /// The field.
        value: u64,
    },
    /// `vnc_size` is above 2 (C7-2).
    #[error("header field `vnc_size` at offset 0x228 is {value}, expected 0, 1 or 2")]
    VncSize {
        /// The field.
        value: u32,
    },
    /// Test 7: there is no payload to verify.
    #[error("header field `data_size` at offset 0x10 is 0, expected a payload to verify")]
    EmptyPayload,
    /// Test 7: the payload is damaged.
    #[error(
        "header field `hash` at offset 0xac is {stored}, expected the payload's {algorithm} {computed}: the payload is damaged"
    )]
    Digest {
        /// `MD5` or `SHA-256`.
        algorithm: &'static str,
        /// The field, as hexadecimal digits.
        stored: String,
        /// The digest of the payload, as hexadecimal digits.
        computed: String,
    },

    /// A package of version 1 holds gzip data.
    #[error("the payload at offset 0x400 starts with 1f 8b, expected a bare tar for pkg_version 1")]
    GzipInRawPackage,
    /// The gzip member is damaged or cut short.
    #[error("the gzip member at offset 0x400 is damaged near offset {offset:#x}: {message}")]
    Gzip {
        /// File offset reached.
        offset: u64,
        /// What is wrong.
        message: String,
    },
    /// The payload inflates to more than it may.
    #[error("the payload inflates to more than {limit} bytes, the limit for {stored} stored bytes")]
    Inflated {
        /// The limit in bytes.
        limit: u64,
        /// Bytes stored.
        stored: u64,
    },
    /// Something other than zeros follows the gzip member.
    #[error("byte {value:#04x} at offset {offset:#x} follows the gzip member, expected zero padding")]
    PayloadTail {
        /// File offset of the first nonzero byte.
        offset: u64,
        /// The byte.
        value: u8,
    },

    /// The tar ends inside a header or a member.
    #[error("tar {what} at offset {offset:#x} needs {needed} bytes, the tar has {available} left")]
    TarTruncated {
        /// What is cut short.
        what: String,
        /// Offset in the tar.
        offset: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes left.
        available: u64,
    },
    /// A tar header's checksum is wrong.
    #[error("tar header at offset {offset:#x}: checksum is {stored}, expected {computed}")]
    TarChecksum {
        /// Offset of the header.
        offset: usize,
        /// The stored sum.
        stored: u64,
        /// The sum of the header, bytes taken as unsigned.
        computed: u64,
    },
    /// A field of a tar header or extension record is malformed.
    #[error("tar header at offset {offset:#x}: {field} is `{value}`, expected {expected}")]
    TarField {
        /// Offset of the header.
        offset: usize,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: String,
    },
    /// A link, device, sparse file or other entry that is neither a file nor a directory.
    #[error(
        "tar member `{path}` at offset {offset:#x} has type {kind:?}, expected a regular file or a directory"
    )]
    TarEntryType {
        /// Offset of the header.
        offset: usize,
        /// The member's path.
        path: String,
        /// The type character.
        kind: char,
    },
    /// A path that does not stay inside the archive.
    #[error("tar member at offset {offset:#x} has the path `{path}`, expected {expected}")]
    MemberPath {
        /// Offset of the header.
        offset: usize,
        /// The path.
        path: String,
        /// The broken rule.
        expected: String,
    },
    /// Two members have one path.
    #[error("tar member `{path}` at offset {offset:#x} occurs twice, expected unique paths")]
    DuplicateMember {
        /// The path.
        path: String,
        /// Offset of the second header.
        offset: usize,
    },
    /// The tar has too many members.
    #[error("the tar has more than {limit} members, at offset {offset:#x}")]
    TooManyMembers {
        /// The limit.
        limit: usize,
        /// Offset of the first header beyond it.
        offset: usize,
    },

    /// A member is needed but not there.
    #[error("member `{member}` is missing, needed by {needed_by}")]
    MissingMember {
        /// The path.
        member: String,
        /// What names it.
        needed_by: String,
    },
    /// A JSON member is not UTF-8.
    #[error("`{member}`: byte {offset} is not UTF-8")]
    JsonUtf8 {
        /// The member.
        member: String,
        /// Offset in it.
        offset: usize,
    },
    /// A JSON member is not JSON (RFC 8259).
    #[error("`{member}`: byte {offset}: {message}, expected JSON")]
    JsonSyntax {
        /// The member.
        member: String,
        /// Offset in it.
        offset: usize,
        /// What is wrong.
        message: String,
    },
    /// A JSON member is too long, too deep or has too many values.
    #[error("`{member}`: byte {offset}: more than {limit} {what}")]
    JsonLimit {
        /// The member.
        member: String,
        /// Offset in it.
        offset: usize,
        /// What there is too much of.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
    /// A required key is absent.
    #[error("{at}: key `{key}` is missing, expected {expected}")]
    JsonMissing {
        /// The object.
        at: Box<Place>,
        /// The key.
        key: String,
        /// What it should hold.
        expected: String,
    },
    /// A value has the wrong JSON type.
    #[error("{at} is {value}, expected {expected}")]
    JsonType {
        /// The value's place.
        at: Box<Place>,
        /// The value, shortened.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A value breaks a rule (chapter 07 section 15).
    #[error("{rule}: {at} is {value}, expected {expected}")]
    Rule {
        /// The rule.
        rule: Rule,
        /// The value's place.
        at: Box<Place>,
        /// The value, shortened.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A form that the format may have but whose meaning is not known (chapter 00 table B).
    #[error("{at} is {value}: {what} is not supported")]
    Unsupported {
        /// The value's place.
        at: Box<Place>,
        /// The value, shortened.
        value: String,
        /// What it is.
        what: &'static str,
    },
    /// The program is for another generation.
    #[error("{at} is `{target}`, expected {expected}: the generation that runs it")]
    WrongGeneration {
        /// Place of `target`.
        at: Box<Place>,
        /// The target as written.
        target: String,
        /// The generation asked for.
        expected: Generation,
    },

    /// A numpy member is malformed.
    #[error("`{member}`: {source}")]
    Npy {
        /// The member.
        member: String,
        /// What is wrong.
        source: NpyError,
    },
    /// A member's size does not fit its role.
    #[error("`{member}` has {size} bytes, expected {expected}")]
    MemberSize {
        /// The member.
        member: String,
        /// Its bytes.
        size: u64,
        /// What they should be.
        expected: String,
    },
    /// Several findings of one stage.
    #[error("{} findings:{}", findings.len(), list(findings))]
    Many {
        /// The findings in order of discovery.
        findings: Vec<NeffError>,
    },
}

fn list(findings: &[NeffError]) -> String {
    findings.iter().map(|f| format!("\n  {f}")).collect()
}

impl NeffError {
    /// The status code of the vendor's loader for this refusal (chapter 07 section 2.1): 10 for an
    /// unsupported version or feature, else 2.
    pub fn status(&self) -> u32 {
        match self {
            NeffError::InFile { source, .. } => source.status(),
            NeffError::MajorVersion { .. }
            | NeffError::FeatureBits { .. }
            | NeffError::PackageVersion { .. } => 10,
            _ => 2,
        }
    }
}

macro_rules! rules {
    ($($name:ident $text:literal;)*) => {
        /// The rules that typed content is held to (chapter 07 sections 4 to 7 and 15).
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        #[non_exhaustive]
        pub enum Rule {
            $(#[doc = concat!("About: ", $text, ".")] $name,)*
        }

        impl fmt::Display for Rule {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Rule::$name => $text,)* })
            }
        }
    };
}

rules! {
    KernelNode "kernel node";
    EntryId "entry id";
    TensorShape "tensor shape";
    TensorName "tensor name";
    KelfVersion "kelf version";
    Target "target";
    GraphName "graph name";
    VariableType "variable type";
    VariableId "variable id";
    VariableSize "variable size";
    NoOutput "outputs";
    Alignment "alignment";
    DtypeName "dtype";
    Dimensions "dimensions";
    BackingBuffer "backing buffer";
    VariableReference "variable reference";
    DeviceMemory "device memory";
    QueueOwner "queue owner";
    QueueType "queue type";
    QueueRings "queue rings";
    QueueInstances "queue instances";
    DynamicQueue "dynamic queue";
    DgeQueues "descriptor generator queues";
    Semaphore "semaphore";
    SemaphoreSet "semaphore set";
    BlockQueue "block queue";
    BlockId "block id";
    PriorityClass "priority class";
    NameLength "name length";
    Pattern "access pattern";
    OutsideVariable "access outside its variable";
    TransferSize "transfer size";
    SourceCount "source count";
    DescriptorDtype "descriptor dtype";
    Scale "scale";
    Transpose "transpose";
    Reservation "State Buffer reservation";
    CustomLibrary "custom-operator library";
    ActivationSet "activation set";
    HostBinding "host binding";
}

/// Where a value stands in a JSON member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// The member.
    pub member: String,
    /// Keys and indices from the root, for example `var.out.size`; empty for the root.
    pub path: String,
    /// Byte offset of the value in the member.
    pub offset: usize,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` byte {}", self.member, self.offset)?;
        if self.path.is_empty() { Ok(()) } else { write!(f, " `{}`", self.path) }
    }
}

/// Collects the findings of one stage, so that a user sees all of them at once.
#[derive(Default)]
pub(super) struct Findings(Vec<NeffError>);

impl Findings {
    /// Findings kept; a hostile file must not fill memory with them.
    const MAX: usize = 32;

    pub(super) fn push(&mut self, error: NeffError) {
        if self.0.len() < Self::MAX {
            self.0.push(error);
        }
    }

    /// No more are kept, so looking further is pointless.
    pub(super) fn full(&self) -> bool {
        self.0.len() >= Self::MAX
    }

    /// Keeps the error and gives the value, if there is one.
    pub(super) fn keep<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// The findings as one error.
    pub(super) fn finish(mut self) -> Result<()> {
        match self.0.len() {
            0 => Ok(()),
            1 => Err(self.0.remove(0)),
            _ => Err(NeffError::Many { findings: self.0 }),
        }
    }
}
