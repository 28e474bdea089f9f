//! Finds the byte offset of a value in JSON text that is known to be valid. Parsed values carry no
//! offsets, and errors are rare, so the text is scanned again only when an error is reported.

use super::json::Step;

/// The offset of the value at `steps`, or of its nearest existing parent.
pub(super) fn locate(text: &[u8], steps: &[Step<'_>]) -> usize {
    let mut scan = Scan { text, at: 0 };
    scan.blanks();
    let mut found = scan.at;
    for step in steps {
        let hit = match step {
            Step::Key(key) => scan.enter_key(key),
            Step::Index(index) => scan.enter_index(*index),
        };
        if hit.is_none() {
            return found;
        }
        found = scan.at;
    }
    found
}

struct Scan<'a> {
    text: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    /// Moves over `byte` and the blanks behind it.
    fn take(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)?;
        self.blanks();
        Some(())
    }

    /// Moves over a string; its text with quotes.
    fn string(&mut self) -> Option<&[u8]> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek()? {
                b'\\' => self.at += 2,
                b'"' => {
                    self.at += 1;
                    return self.text.get(start..self.at);
                }
                _ => self.at += 1,
            }
        }
    }

    /// Moves over a value and the blanks behind it.
    fn value(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                }
                b'[' | b'{' => {
                    depth += 1;
                    self.at += 1;
                }
                b']' | b'}' => {
                    depth -= 1;
                    self.at += 1;
                }
                b',' | b':' | b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                _ => {
                    while !matches!(
                        self.peek(),
                        None | Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')
                    ) {
                        self.at += 1;
                    }
                }
            }
            if depth == 0 {
                self.blanks();
                return Some(());
            }
        }
    }

    /// Moves to the value of the first `key` of the object here.
    fn enter_key(&mut self, key: &str) -> Option<()> {
        self.take(b'{')?;
        loop {
            let name: String = serde_json::from_slice(self.string()?).ok()?;
            self.blanks();
            self.take(b':')?;
            if name == key {
                return Some(());
            }
            self.value()?;
            self.take(b',')?;
        }
    }

    /// Moves to element `index` of the array here.
    fn enter_index(&mut self, index: usize) -> Option<()> {
        self.take(b'[')?;
        for _ in 0..index {
            self.value()?;
            self.take(b',')?;
        }
        (self.peek()? != b']').then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_values_behind_strings_that_hold_brackets() {
        let text = br#" {"a": "]}\"", "b\u0063": [1, {"d": -2.5e3 , "e":[]}], "f": null}"#;
        let at = |steps: &[Step<'_>]| locate(text, steps);
        let of = |part: &str| String::from_utf8_lossy(text).find(part).unwrap();
        assert_eq!(at(&[]), 1);
        assert_eq!(at(&[Step::Key("bc"), Step::Index(1), Step::Key("d")]), of("-2.5"));
        assert_eq!(at(&[Step::Key("bc"), Step::Index(1), Step::Key("e")]), of("[]"));
        assert_eq!(at(&[Step::Key("f")]), of("null"));
    }

    #[test]
    fn stops_at_the_nearest_parent() {
        let text = br#"{"a": [10, 20]}"#;
        assert_eq!(locate(text, &[Step::Key("a"), Step::Index(2)]), 6);
        assert_eq!(locate(text, &[Step::Key("x"), Step::Key("y")]), 0);
        assert_eq!(locate(b"{}", &[Step::Key("x")]), 0);
        assert_eq!(locate(b"[]", &[Step::Index(0)]), 0);
    }
}
