//! From slots of the device image to slots of the container's stream (chapter 07 section 8.4).

use seqjit_runtime::isa::WORD_BYTES;

use super::message::Patch;

const INSERT: u64 = 0;
const MODIFY: u64 = 1;
const DELETE: u64 = 2;

/// The slot in the container's stream of each of the `words` words of an image.
///
/// # Errors
/// Position of a patch that cannot be applied, and why.
pub(super) fn origins(patches: &[Patch], words: usize) -> Result<Vec<Option<usize>>, (usize, &'static str)> {
    let mut origins = Vec::with_capacity(words);
    let mut index = 0;
    for (number, patch) in patches.iter().enumerate() {
        let failed = |reason| (number, reason);
        let bytes = usize::try_from(patch.offset).map_err(|_| failed("lies beyond the image"))?;
        let slot = bytes / WORD_BYTES;
        if !bytes.is_multiple_of(WORD_BYTES) || slot > words {
            return Err(failed("lies beside the words of the image"));
        }
        if slot < origins.len() {
            return Err(failed("lies before the end of the one in front of it"));
        }
        let copied = slot - origins.len();
        origins.extend((index..index + copied).map(Some));
        index += copied;
        let count = usize::try_from(patch.count).ok().filter(|count| *count <= usize::MAX / 2 / WORD_BYTES);
        let count = count.ok_or(failed("counts more slots than there can be"))?;
        match patch.kind {
            INSERT if count <= words - slot => origins.resize(slot + count, None),
            INSERT => return Err(failed("inserts more words than the image has")),
            MODIFY => {}
            DELETE => index = index.saturating_add(count),
            _ => return Err(failed("is of an unknown kind")),
        }
    }
    let left = words - origins.len();
    origins.extend((index..index.saturating_add(left)).map(Some));
    Ok(origins)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(slot: u64, count: u64, kind: u64) -> Patch {
        Patch { offset: slot * 64, count, kind }
    }

    #[test]
    fn the_recorded_patches_of_an_engine() {
        let patches = [patch(0, 67, INSERT), patch(68, 1, DELETE), patch(190, 11, INSERT)];
        let origins = origins(&patches, 201).expect("they fit");
        assert_eq!(origins.len(), 201);
        assert!(origins[..67].iter().chain(&origins[190..]).all(Option::is_none));
        assert_eq!(origins[67..70], [Some(0), Some(2), Some(3)]);
        assert_eq!(origins[189], Some(123));
    }

    #[test]
    fn patches_that_do_not_fit() {
        assert!(origins(&[patch(0, 3, INSERT)], 2).is_err());
        assert!(origins(&[patch(3, 0, INSERT)], 2).is_err());
        assert!(origins(&[patch(0, 2, INSERT), patch(1, 1, DELETE)], 4).is_err());
        assert!(origins(&[patch(0, 1, 7)], 4).is_err());
        assert!(origins(&[Patch { offset: 1, count: 0, kind: INSERT }], 4).is_err());
        assert!(origins(&[Patch { offset: u64::MAX, count: 0, kind: INSERT }], 4).is_err());
        for kind in [INSERT, DELETE] {
            assert!(origins(&[patch(0, u64::MAX, kind)], 4).is_err());
        }
        let huge = (usize::MAX / 2 / WORD_BYTES) as u64;
        assert!(origins(&vec![patch(0, huge, DELETE); 300], 4).is_ok());
    }
}
