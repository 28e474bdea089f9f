//! Exit codes: one table for the program, `--help` and the documentation.

/// Declares the codes with the kind that JSON errors carry and what they mean.
macro_rules! exit_codes {
    ($($name:ident = $code:literal $kind:literal $meaning:literal;)*) => {
        /// How the command ended.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Code { $($name = $code),* }

        /// Every code with its kind and meaning.
        pub const CODES: &[(Code, &str, &str)] = &[$((Code::$name, $kind, $meaning)),*];
    };
}

exit_codes! {
    Success = 0 "success" "everything that was asked for was done";
    Internal = 1 "internal" "a defect of seqjit: please report it";
    Usage = 2 "usage" "the command line is wrong or does not fit the program: options, names, missing inputs";
    Input = 3 "bad_input" "a file is damaged, malformed or of the wrong form: container, .npy, .csv, assembler text, debugger script, saved run";
    Illegal = 4 "illegal_program" "words of the program are illegal or unsupported";
    Fault = 5 "fault" "a word faulted while the program ran";
    Deadlock = 6 "deadlock" "no engine could go on and no transfer was pending";
    Mismatch = 7 "mismatch" "an output differs from its --expect file";
    Incomplete = 8 "incomplete_output" "the program ended without writing all of an output";
    Limit = 9 "limit" "--max-words or --max-memory was reached";
    Io = 10 "io" "a file could not be opened, read or written";
    NotReached = 11 "dump_not_reached" "the program ended before a --dump or --until point";
    Differ = 12 "difference" "diff found that native code does something else than the interpreter";
    Race = 13 "race" "--check races found words that touch the same bytes without order";
}

impl Code {
    /// The kind of a JSON error.
    pub fn kind(self) -> &'static str {
        CODES[self as usize].1
    }
}

/// The table as a section of `--help`.
pub fn help() -> String {
    let rows = CODES.iter().map(|(code, _, meaning)| format!("  {:<3} {meaning}", *code as u8));
    let intro = "With --json the one document on standard output is the result, or {\"error\": {\"kind\", \"message\", ...}}.";
    format!("Exit codes:\n{}\n\n{intro}", rows.collect::<Vec<_>>().join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_their_positions() {
        for (position, (code, kind, _)) in CODES.iter().enumerate() {
            assert_eq!(*code as usize, position);
            assert_eq!(code.kind(), *kind);
        }
    }

    #[test]
    fn the_documentation_lists_every_code() {
        let page = include_str!("../../docs/command.md");
        for (code, kind, meaning) in CODES {
            let row = format!("| {} | `{kind}` | {meaning} |", *code as u8);
            assert!(page.contains(&row), "docs/command.md lacks: {row}");
        }
    }
}
