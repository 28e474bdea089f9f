//! What a reader checks and how much it may use.

use seqjit_runtime::isa::Generation;

/// How to read a container.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// Refuse duplicate members, streams that are no whole number of words and constants shorter than
    /// their variable; otherwise these are warnings (chapter 00 A12, chapter 07 section 3.3).
    pub strict: bool,
    /// Check the header's digest (chapter 07 section 2.1, test 7).
    pub verify_digest: bool,
    /// The generation that will run the program; `None` takes it from the container (chapter 07
    /// section 4.2).
    pub generation: Option<Generation>,
    /// Accept a container of another generation, and CAYMAN graphs without State Buffer reservation, with
    /// a warning.
    pub allow_legacy: bool,
    /// Map the file into memory instead of reading it. The members of a container that is not compressed stay
    /// mapped as long as they are in use; turn this off where somebody may write to the file meanwhile.
    pub map_file: bool,
    /// Bounds on memory and time.
    pub limits: Limits,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            strict: true,
            verify_digest: true,
            generation: None,
            allow_legacy: false,
            map_file: true,
            limits: Limits::default(),
        }
    }
}

/// Bounds that keep a hostile container from using up memory or time (chapter 07 section 3.3).
#[derive(Clone, Debug)]
pub struct Limits {
    /// Bytes of the inflated tar.
    pub inflated: u64,
    /// Inflated bytes for each stored byte, above a base of 64 KiB; DEFLATE itself stays below 1032.
    pub inflate_ratio: u64,
    /// Files and directories in the tar.
    pub members: usize,
    /// Bytes of one pax or long-name record.
    pub tar_extension: u64,
    /// Bytes of a member's path.
    pub path: usize,
    /// Bytes of a JSON member.
    pub json_bytes: usize,
    /// Nesting of arrays and objects in a JSON member.
    pub json_depth: usize,
    /// Values in a JSON member. Not a rule of the manual: a value in memory takes many times its text.
    pub json_values: usize,
    /// Graphs. Not a rule of the manual, which names no more than two.
    pub graphs: usize,
    /// Bytes of device memory for the variables of a graph; the default is what lies between the HBM
    /// base and the State Buffer in the address map (chapter 07 section 10).
    pub device_memory: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            inflated: 16 << 30,
            inflate_ratio: 1100,
            members: 65_536,
            tar_extension: 64 << 10,
            path: 1024,
            json_bytes: 256 << 20,
            json_depth: 64,
            json_values: 16 << 20,
            graphs: 256,
            device_memory: 64 << 30,
        }
    }
}
