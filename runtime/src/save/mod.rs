//! Machine state as bytes, and back.
//!
//! Every type that is state says next to its declaration, with `saved!`, which fields it has; a field that is
//! missing there does not compile. The form is little-endian and has no gaps; who stores it adds a version and
//! a check sum. Memories are stored as the pieces that differ from what a fresh machine holds.

mod machine;
mod pieces;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

pub use machine::Unsavable;
pub(crate) use pieces::{Fresh, put_pieces, take_pieces};

/// Bytes that are no saved state, or not that of such a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("saved state: {0}")]
pub struct Damaged(pub &'static str);

/// Takes values from the front of saved bytes.
#[derive(Debug)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// At the start of the bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader(bytes)
    }

    /// The next `len` bytes.
    pub fn bytes(&mut self, len: usize) -> Result<&'a [u8], Damaged> {
        let (front, rest) = self.0.split_at_checked(len).ok_or(Damaged("it ends too early"))?;
        self.0 = rest;
        Ok(front)
    }

    /// Bytes that are left.
    pub fn left(&self) -> usize {
        self.0.len()
    }

    /// Nothing is left.
    pub fn end(&self) -> Result<(), Damaged> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged("there is more than expected")) }
    }
}

/// A value that can be stored.
pub trait Saved: Sized {
    /// Appends the value.
    fn put(&self, out: &mut Vec<u8>);

    /// Reads what [`Saved::put`] has appended.
    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged>;
}

macro_rules! saved_numbers {
    ($($type:ty),*) => {
        $(impl Saved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                let mut raw = [0; size_of::<$type>()];
                raw.copy_from_slice(from.bytes(size_of::<$type>())?);
                Ok(<$type>::from_le_bytes(raw))
            }
        })*
    };
}
saved_numbers!(u8, u16, u32, u64, u128, i64);

/// Bit for bit, NaN payloads included.
impl Saved for f32 {
    fn put(&self, out: &mut Vec<u8>) {
        self.to_bits().put(out);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        u32::load(from).map(f32::from_bits)
    }
}

impl Saved for usize {
    fn put(&self, out: &mut Vec<u8>) {
        (*self as u64).put(out);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        usize::try_from(u64::load(from)?).map_err(|_| Damaged("a number is too large for this host"))
    }
}

impl Saved for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        match u8::load(from)? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Damaged("a flag is neither 0 nor 1")),
        }
    }
}

impl<T: Saved> Saved for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        if bool::load(from)? { T::load(from).map(Some) } else { Ok(None) }
    }
}

impl<T: Saved, const N: usize> Saved for [T; N] {
    fn put(&self, out: &mut Vec<u8>) {
        self.iter().for_each(|value| value.put(out));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let values = (0..N).map(|_| T::load(from)).collect::<Result<Vec<T>, Damaged>>()?;
        values.try_into().map_err(|_| Damaged("an array has another length"))
    }
}

impl<T: Saved> Saved for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        self.iter().for_each(|value| value.put(out));
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let len = usize::load(from)?;
        // Every value takes a byte at least: no length asks for more memory than there are bytes.
        if len > from.left() {
            return Err(Damaged("a list is longer than what is left"));
        }
        (0..len).map(|_| T::load(from)).collect()
    }
}

/// Types that are stored as a list of their elements.
macro_rules! saved_lists {
    ($($type:ty, $element:ty, [$($bounds:tt)*];)*) => {
        $(impl<$($bounds)*> Saved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.len().put(out);
                self.iter().for_each(|value| value.put(out));
            }

            fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
                Ok(Vec::<$element>::load(from)?.into_iter().collect())
            }
        })*
    };
}
saved_lists! {
    VecDeque<T>, T, [T: Saved];
    Arc<[T]>, T, [T: Saved];
}

impl<K: Saved + Ord, V: Saved> Saved for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok(Vec::<(K, V)>::load(from)?.into_iter().collect())
    }
}

impl<A: Saved, B: Saved> Saved for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok((A::load(from)?, B::load(from)?))
    }
}

impl<A: Saved, B: Saved, C: Saved> Saved for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        Ok((A::load(from)?, B::load(from)?, C::load(from)?))
    }
}

impl Saved for String {
    fn put(&self, out: &mut Vec<u8>) {
        self.len().put(out);
        out.extend(self.as_bytes());
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let len = usize::load(from)?;
        String::from_utf8(from.bytes(len)?.to_vec()).map_err(|_| Damaged("a text is not UTF-8"))
    }
}

/// Makes a type storable: all fields of a struct in order, `new` those that a restored machine makes anew; or the
/// variants of an enum, each with its number.
macro_rules! saved {
    (struct $type:ty { $($field:ident),* $(,)? } $(new { $($skipped:ident),* })?) => {
        impl $crate::save::Saved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                let Self { $($field),* $(, $($skipped: _),*)? } = self;
                $($crate::save::Saved::put($field, out);)*
            }

            fn load(from: &mut $crate::save::Reader<'_>) -> Result<Self, $crate::save::Damaged> {
                $(let $field = $crate::save::Saved::load(from)?;)*
                Ok(Self { $($field),* $(, $($skipped: Default::default()),*)? })
            }
        }
    };
    (wrapper $($type:ident),*) => {
        $(impl $crate::save::Saved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            fn load(from: &mut $crate::save::Reader<'_>) -> Result<Self, $crate::save::Damaged> {
                $crate::save::Saved::load(from).map($type)
            }
        })*
    };
    (enum $type:ty { $($number:literal $variant:ident $(($($position:ident),*))? $({$($field:ident),*})?),* $(,)? }) => {
        impl $crate::save::Saved for $type {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$variant $(($($position),*))? $({$($field),*})? => {
                        out.push($number);
                        $($($crate::save::Saved::put($position, out);)*)?
                        $($($crate::save::Saved::put($field, out);)*)?
                    })*
                }
            }

            fn load(from: &mut $crate::save::Reader<'_>) -> Result<Self, $crate::save::Damaged> {
                match <u8 as $crate::save::Saved>::load(from)? {
                    $($number => {
                        $($(let $position = $crate::save::Saved::load(from)?;)*)?
                        $($(let $field = $crate::save::Saved::load(from)?;)*)?
                        Ok(Self::$variant $(($($position),*))? $({$($field),*})?)
                    })*
                    _ => Err($crate::save::Damaged(concat!("unknown ", stringify!($type)))),
                }
            }
        }
    };
}
pub(crate) use saved;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(PartialEq, Debug)]
    enum Choice {
        None,
        Pair(u8, u32),
        Named { text: String, list: Vec<bool> },
    }
    saved!(enum Choice { 0 None, 3 Pair(a, b), 7 Named { text, list } });

    fn bytes(value: &impl Saved) -> Vec<u8> {
        let mut out = Vec::new();
        value.put(&mut out);
        out
    }

    #[test]
    fn values_are_little_endian_without_gaps() {
        assert_eq!(bytes(&Choice::None), [0]);
        assert_eq!(bytes(&Choice::Pair(1, 0x0203)), [3, 1, 3, 2, 0, 0]);
        let named = Choice::Named { text: "ab".into(), list: vec![true, false] };
        let expected = [7, 2, 0, 0, 0, 0, 0, 0, 0, b'a', b'b', 2, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(bytes(&named), expected);
        let mut from = Reader::new(&expected);
        assert_eq!(Choice::load(&mut from), Ok(named));
        assert_eq!(from.end(), Ok(()));
    }

    #[test]
    fn nan_payloads_stay() {
        let value = f32::from_bits(0x7F80_1234);
        let back = f32::load(&mut Reader::new(&bytes(&value))).map(f32::to_bits);
        assert_eq!(back, Ok(0x7F80_1234));
    }

    #[test]
    fn damage_is_an_error() {
        let take = |raw: &[u8]| Choice::load(&mut Reader::new(raw));
        assert_eq!(take(&[]), Err(Damaged("it ends too early")));
        assert_eq!(take(&[1]), Err(Damaged("unknown Choice")));
        assert_eq!(take(&[3, 1, 0]), Err(Damaged("it ends too early")));
        // A list of 2^56 flags.
        let list = Vec::<bool>::load(&mut Reader::new(&[0, 0, 0, 0, 0, 0, 0, 1, 1]));
        assert_eq!(list, Err(Damaged("a list is longer than what is left")));
        assert!(Option::<u8>::load(&mut Reader::new(&[2, 0])).is_err());
        assert!(Reader::new(&[0]).end().is_err());
    }
}
