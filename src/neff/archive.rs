//! The members of a container in order (chapter 07 section 3).

use std::collections::HashMap;

use super::bytes::Bytes;
use super::error::{NeffError, Result};
use super::options::Limits;
use super::tar;

/// One file of the archive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Member {
    /// Path, `/`-separated, relative, without `.` and `..`.
    pub path: String,
    /// Contents.
    pub bytes: Bytes,
}

/// Members in file order, each path once.
#[derive(Clone, Default, Debug)]
pub struct Archive {
    members: Vec<Member>,
    index: HashMap<String, usize>,
}

impl Archive {
    /// The members in order.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// The contents of a member.
    pub fn get(&self, path: &str) -> Option<&Bytes> {
        self.index.get(path).map(|i| &self.members[*i].bytes)
    }

    /// The contents of a member that something needs.
    ///
    /// # Errors
    /// [`NeffError::MissingMember`] naming both.
    pub fn require(&self, path: &str, needed_by: impl FnOnce() -> String) -> Result<&Bytes> {
        self.get(path)
            .ok_or_else(|| NeffError::MissingMember { member: path.to_owned(), needed_by: needed_by() })
    }

    /// Adds a member at the end, or replaces the contents of the one with this path; `true` if it
    /// replaced.
    ///
    /// # Errors
    /// [`NeffError::MemberPath`] if the path breaks the rules of chapter 07 section 3.3; its offset is 0.
    pub fn insert(&mut self, path: &str, bytes: impl Into<Bytes>) -> Result<bool> {
        if let Err(expected) = check_path(path, Limits::default().path) {
            return Err(NeffError::MemberPath { offset: 0, path: path.to_owned(), expected });
        }
        Ok(self.put(path.to_owned(), bytes.into()))
    }

    /// [`Self::insert`] for a path that has been checked.
    pub(super) fn put(&mut self, path: String, bytes: Bytes) -> bool {
        if let Some(at) = self.index.get(&path) {
            self.members[*at].bytes = bytes;
            return true;
        }
        self.index.insert(path.clone(), self.members.len());
        self.members.push(Member { path, bytes });
        false
    }

    /// The archive as a ustar file in the form of the vendor's compiler: regular files only, no times, no
    /// owner (chapter 07 section 3.1). The same members give the same bytes.
    pub fn to_tar(&self) -> Vec<u8> {
        tar::write(&self.members)
    }
}

impl PartialEq for Archive {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

/// The path rules of chapter 07 section 3.3; `Err` holds the broken one.
pub(super) fn check_path(path: &str, limit: usize) -> std::result::Result<(), String> {
    let rule = |text: &str| Err(text.to_owned());
    let bytes = path.as_bytes();
    if path.len() > limit {
        return Err(format!("at most {limit} bytes"));
    }
    if path.contains(['\0', '\\']) {
        return rule("no NUL and no backslash");
    }
    if path.starts_with('/') {
        return rule("a relative path");
    }
    if bytes.len() >= 2 && bytes[0].is_ascii_alphabetic() && bytes[1] == b':' {
        return rule("no drive letter");
    }
    for component in path.split('/') {
        match component {
            "" => return rule("no empty component"),
            "." | ".." => return rule("no `.` and no `..` component"),
            _ => {}
        }
    }
    Ok(())
}
