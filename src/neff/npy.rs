//! Arrays in numpy's `.npy` format: constants of a container, inputs and outputs of a run (chapter 07
//! section 6). Formats 1 to 3, little-endian, C order; the two-byte void type is bfloat16.
//!
//! The header is parsed here: `npyz` allocates what the header's length says and multiplies dimensions
//! unchecked, and its errors have no offsets.

use std::path::{Path, PathBuf};

use seqjit_runtime::isa::Dtype;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Numpy aligns the data to this.
const ALIGN: usize = 64;

/// Numpy leaves room for the outermost dimension to grow to this many digits.
const GROWTH_DIGITS: usize = 21;

/// Dimensions that a shape may have; numpy's own limit.
const MAX_DIMENSIONS: usize = 64;

/// Array type strings and the datatypes they mean. The first of a datatype is the one written.
const TYPES: &[(&str, Dtype)] = &[
    ("<f4", Dtype::FP32),
    ("<f2", Dtype::FP16),
    ("<V2", Dtype::BFLOAT16),
    ("|i1", Dtype::INT8),
    ("|u1", Dtype::UINT8),
    ("<i2", Dtype::INT16),
    ("<u2", Dtype::UINT16),
    ("<i4", Dtype::INT32),
    ("<u4", Dtype::UINT32),
    ("<i8", Dtype::INT64),
    ("<u8", Dtype::UINT64),
    ("|V2", Dtype::BFLOAT16),
    ("<i1", Dtype::INT8),
    ("<u1", Dtype::UINT8),
];

/// An array in host memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tensor {
    /// Datatype of an element.
    pub dtype: Dtype,
    /// Elements in each dimension, outermost first; empty for a scalar.
    pub shape: Vec<usize>,
    /// The elements, little-endian, innermost dimension fastest.
    pub data: Vec<u8>,
}

/// Why an array cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// The file cannot be read or written.
    #[error("cannot access `{}`: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// The file does not start like a numpy array.
    #[error("byte 0: no numpy array, expected 93 4e 55 4d 50 59")]
    Magic,
    /// An unknown format version.
    #[error("byte 6: numpy format {major}.{minor}, expected 1.0, 2.0 or 3.0")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The header reaches beyond the file.
    #[error("byte 8: the header ends at byte {end}, expected at most {size}: the bytes there are")]
    Truncated {
        /// Where the header would end.
        end: u64,
        /// Bytes there are.
        size: usize,
    },
    /// The header is no dictionary of the three known keys.
    #[error("byte {offset}: malformed numpy header, expected {expected}")]
    Header {
        /// Offset in the file.
        offset: usize,
        /// What should stand there.
        expected: &'static str,
    },
    /// A datatype without counterpart here.
    #[error("numpy header: `descr` is {descr}, expected one of <f4 <f2 <V2 |i1 |u1 <i2 <u2 <i4 <u4 <i8 <u8")]
    Descr {
        /// The type string, or what stands in its place.
        descr: String,
    },
    /// The array is in column order.
    #[error("numpy header: `fortran_order` is True, expected False")]
    FortranOrder,
    /// The array's size does not fit its shape.
    #[error("byte {offset}: {found} bytes of data, expected {expected} for shape {shape:?}")]
    Size {
        /// Where the data starts.
        offset: usize,
        /// Bytes of data.
        found: usize,
        /// Bytes that the shape and datatype need.
        expected: u128,
        /// The shape.
        shape: Vec<usize>,
    },
    /// A datatype that numpy cannot name.
    #[error("numpy has no type for dtype {}", dtype.text())]
    Dtype {
        /// The datatype.
        dtype: Dtype,
    },
}

impl Tensor {
    /// An array of `data`.
    ///
    /// # Errors
    /// [`NpyError::Size`] if `data` is not as long as shape and datatype need.
    pub fn new(dtype: Dtype, shape: Vec<usize>, data: Vec<u8>) -> Result<Tensor, NpyError> {
        let expected = total_bytes(dtype, &shape);
        if expected != data.len() as u128 {
            return Err(NpyError::Size { offset: 0, found: data.len(), expected, shape });
        }
        Ok(Tensor { dtype, shape, data })
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reads a whole `.npy` file.
    ///
    /// # Errors
    /// Any [`NpyError`] except [`NpyError::Dtype`].
    pub fn from_npy(file: &[u8]) -> Result<Tensor, NpyError> {
        let header = Header::parse(file)?;
        Ok(Tensor { dtype: header.dtype, shape: header.shape, data: file[header.payload..].to_vec() })
    }

    /// The array as a `.npy` file, byte for byte what `numpy.save` writes.
    ///
    /// # Errors
    /// [`NpyError::Dtype`].
    pub fn to_npy(&self) -> Result<Vec<u8>, NpyError> {
        let mut file = Header::bytes(self.dtype, &self.shape)?;
        file.extend_from_slice(&self.data);
        Ok(file)
    }

    /// Reads a `.npy` file.
    ///
    /// # Errors
    /// [`NpyError::Io`] and those of [`Self::from_npy`].
    pub fn open(path: &Path) -> Result<Tensor, NpyError> {
        let file = std::fs::read(path).map_err(|source| NpyError::Io { path: path.to_owned(), source })?;
        Self::from_npy(&file)
    }

    /// Writes a `.npy` file.
    ///
    /// # Errors
    /// [`NpyError::Io`] and those of [`Self::to_npy`].
    pub fn save(&self, path: &Path) -> Result<(), NpyError> {
        let file = self.to_npy()?;
        std::fs::write(path, file).map_err(|source| NpyError::Io { path: path.to_owned(), source })
    }
}

/// Bytes of an array; cannot overflow for shapes that [`Header::parse`] accepts, and saturates otherwise.
fn total_bytes(dtype: Dtype, shape: &[usize]) -> u128 {
    shape.iter().fold(dtype.bytes() as u128, |bytes, n| bytes.saturating_mul(*n as u128))
}

/// The header of a `.npy` file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    /// Datatype of an element.
    pub dtype: Dtype,
    /// Elements in each dimension, outermost first.
    pub shape: Vec<usize>,
    /// Offset of the data in the file; it reaches to the end.
    pub payload: usize,
}

impl Header {
    /// Reads the header of a whole file and checks that the data has the right size.
    ///
    /// # Errors
    /// As [`Tensor::from_npy`].
    pub fn parse(file: &[u8]) -> Result<Header, NpyError> {
        if !file.starts_with(MAGIC) {
            return Err(NpyError::Magic);
        }
        let truncated = |end: u64| NpyError::Truncated { end, size: file.len() };
        let prefix = |bytes: usize| file.get(8..8 + bytes).ok_or_else(|| truncated(8 + bytes as u64));
        let [.., major, minor] = file.first_chunk::<8>().ok_or_else(|| truncated(8))?;
        let (start, length) = match (*major, *minor) {
            (1, 0) => {
                let p = prefix(2)?;
                (10, u64::from(u16::from_le_bytes([p[0], p[1]])))
            }
            (2 | 3, 0) => {
                let p = prefix(4)?;
                (12, u64::from(u32::from_le_bytes([p[0], p[1], p[2], p[3]])))
            }
            (major, minor) => return Err(NpyError::Version { major, minor }),
        };
        let end = start as u64 + length;
        let Some(payload) = usize::try_from(end).ok().filter(|end| *end <= file.len()) else {
            return Err(truncated(end));
        };
        let (dtype, shape) = Dictionary { text: &file[..payload], at: start }.read()?;
        let (found, expected) = (file.len() - payload, total_bytes(dtype, &shape));
        if found as u128 != expected {
            return Err(NpyError::Size { offset: payload, found, expected, shape });
        }
        Ok(Header { dtype, shape, payload })
    }

    /// The header that `numpy.save` writes.
    fn bytes(dtype: Dtype, shape: &[usize]) -> Result<Vec<u8>, NpyError> {
        let descr = TYPES.iter().find(|(_, d)| *d == dtype).map(|(descr, _)| *descr);
        let descr = descr.ok_or(NpyError::Dtype { dtype })?;
        let dimensions = match shape {
            [one] => format!("({one},)"),
            all => format!("({})", all.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
        let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {dimensions}, }}");
        let growth = shape.first().map_or(0, |n| GROWTH_DIGITS.saturating_sub(n.to_string().len()));
        text.push_str(&" ".repeat(growth));
        let used = MAGIC.len() + 4 + text.len() + 1;
        text.push_str(&" ".repeat(ALIGN - used % ALIGN));
        text.push('\n');
        let mut file = MAGIC.to_vec();
        // A shape of 64 dimensions stays far below the 64 KiB of format 1.
        file.extend([1, 0]);
        file.extend((text.len() as u16).to_le_bytes());
        file.extend(text.as_bytes());
        Ok(file)
    }
}

/// Parses the header's Python dictionary, which holds exactly three keys.
struct Dictionary<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Dictionary<'a> {
    fn read(mut self) -> Result<(Dtype, Vec<usize>), NpyError> {
        let (mut dtype, mut order, mut shape) = (None, None, None);
        self.expect(b'{', "{")?;
        while !self.take(b'}') {
            let key = self.string()?;
            self.expect(b':', "`:`")?;
            match key {
                b"descr" if dtype.is_none() => dtype = Some(self.dtype()?),
                b"fortran_order" if order.is_none() => order = Some(self.boolean()?),
                b"shape" if shape.is_none() => shape = Some(self.shape()?),
                _ => return Err(self.error("`descr`, `fortran_order` and `shape`, each once")),
            }
            if !self.take(b',') {
                self.expect(b'}', "`,` or `}`")?;
                break;
            }
        }
        if self.peek().is_some() {
            return Err(self.error("nothing but blanks behind the dictionary"));
        }
        match (dtype, order, shape) {
            (Some(_), Some(true), Some(_)) => Err(NpyError::FortranOrder),
            (Some(dtype), Some(false), Some(shape)) => Ok((dtype, shape)),
            _ => Err(self.error("`descr`, `fortran_order` and `shape`")),
        }
    }

    fn error(&self, expected: &'static str) -> NpyError {
        NpyError::Header { offset: self.at, expected }
    }

    /// The next byte that is no blank.
    fn peek(&mut self) -> Option<u8> {
        while matches!(self.text.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), NpyError> {
        if self.take(byte) { Ok(()) } else { Err(self.error(expected)) }
    }

    /// A string in single or double quotes, without escapes.
    fn string(&mut self) -> Result<&'a [u8], NpyError> {
        let quote = self.peek().filter(|b| matches!(b, b'\'' | b'"'));
        let quote = quote.ok_or_else(|| self.error("a string"))?;
        let rest = &self.text[self.at + 1..];
        let length = rest.iter().position(|b| *b == quote).ok_or_else(|| self.error("a closed string"))?;
        self.at += length + 2;
        Ok(&rest[..length])
    }

    fn dtype(&mut self) -> Result<Dtype, NpyError> {
        if self.peek() == Some(b'[') {
            return Err(NpyError::Descr { descr: "a structure".to_owned() });
        }
        let text = self.string()?;
        let found = TYPES.iter().find(|(descr, _)| descr.as_bytes() == text).map(|(_, dtype)| *dtype);
        found.ok_or_else(|| NpyError::Descr { descr: format!("'{}'", text.escape_ascii()) })
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        self.peek();
        for (word, value) in [(&b"True"[..], true), (b"False", false)] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("True or False"))
    }

    /// A tuple of dimensions.
    fn shape(&mut self) -> Result<Vec<usize>, NpyError> {
        self.expect(b'(', "a tuple")?;
        let mut shape = Vec::new();
        while !self.take(b')') {
            if shape.len() == MAX_DIMENSIONS {
                return Err(self.error("at most 64 dimensions"));
            }
            shape.push(self.dimension()?);
            if !self.take(b',') {
                self.expect(b')', "`,` or `)`")?;
                break;
            }
        }
        Ok(shape)
    }

    fn dimension(&mut self) -> Result<usize, NpyError> {
        self.peek();
        let digits = self.text[self.at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = std::str::from_utf8(&self.text[self.at..self.at + digits]).unwrap_or_default();
        let value = text.parse().map_err(|_| self.error("a dimension that fits 64 bits"))?;
        self.at += digits;
        Ok(value)
    }
}
