//! Names of semaphores: context that operand text shows and words do not hold (chapter 09 section 2.1).

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// The names of a core's semaphores, by index. A semaphore without a name prints as `$S[n]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names(BTreeMap<u8, String>);

/// Why names cannot be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NamesError {
    /// An item is not `index=name`.
    #[error("`{0}` is not `index=name` with an index from 0 to 255")]
    Item(String),
    /// The name would make text ambiguous.
    #[error("semaphore name `{0}` is empty or holds a character other than visible ASCII without `()=|;`")]
    Name(String),
    /// The index already has another name.
    #[error("semaphore {0} has two names")]
    Twice(u8),
}

impl Names {
    /// No names.
    pub fn new() -> Self {
        Names::default()
    }

    /// The semaphores that the compiler gives to the engines themselves.
    pub fn engines() -> Self {
        let names = [(3, "GpSimd"), (4, "Scalar"), (5, "Tensor"), (6, "Vector")];
        Names(names.into_iter().map(|(index, name)| (index, name.to_owned())).collect())
    }

    /// Names a semaphore.
    pub fn insert(&mut self, index: u8, name: &str) -> Result<(), NamesError> {
        let usable = |c: char| c.is_ascii_graphic() && !"()=|;".contains(c);
        if name.is_empty() || !name.chars().all(usable) {
            return Err(NamesError::Name(name.to_owned()));
        }
        if self.get(index).is_some_and(|old| old != name) {
            return Err(NamesError::Twice(index));
        }
        self.0.insert(index, name.to_owned());
        Ok(())
    }

    /// Names a semaphore of a queue's set by the queue, the engine in it spelled as the profiler does:
    /// `qPoolDynamic` becomes `qGpSimdDynamic`.
    pub fn insert_queue(&mut self, index: u8, queue: &str) -> Result<(), NamesError> {
        const RENAMED: [(&str, &str); 3] = [("qPool", "qGpSimd"), ("qSP", "qSync"), ("qAct", "qScalar")];
        let renamed = RENAMED.iter().find_map(|(stream, public)| {
            queue.strip_prefix(stream).map(|suffix| format!("{public}{suffix}"))
        });
        self.insert(index, renamed.as_deref().unwrap_or(queue))
    }

    /// The name of a semaphore.
    pub fn get(&self, index: u8) -> Option<&str> {
        self.0.get(&index).map(String::as_str)
    }

    /// The first semaphore with this name.
    pub fn find(&self, name: &str) -> Option<u8> {
        self.0.iter().find(|(_, n)| *n == name).map(|(i, _)| *i)
    }

    /// `S[8] (qSyncDynamicHW)` or `$S[8]`.
    pub(super) fn label(&self, index: u8) -> String {
        self.get(index).map_or_else(|| format!("$S[{index}]"), |name| format!("S[{index}] ({name})"))
    }
}

/// The form of the column `sem_names` of the golden words: `5=Tensor|8=qSyncDynamicHW` (chapter 09 section 7).
impl FromStr for Names {
    type Err = NamesError;

    fn from_str(text: &str) -> Result<Self, NamesError> {
        let mut names = Names::new();
        for item in text.split('|').filter(|item| !item.is_empty()) {
            let parts = item.split_once('=').and_then(|(i, name)| Some((i.parse().ok()?, name)));
            let (index, name) = parts.ok_or_else(|| NamesError::Item(item.to_owned()))?;
            names.insert(index, name)?;
        }
        Ok(names)
    }
}

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, (index, name)) in self.0.iter().enumerate() {
            let separator = if position == 0 { "" } else { "|" };
            write!(f, "{separator}{index}={name}")?;
        }
        Ok(())
    }
}
