//! Which opcodes the manual defines: `opcodes.csv`, without what table B of chapter 00 refuses.

use std::collections::BTreeSet;
use std::path::PathBuf;

use seqjit::runtime::isa::Generation;

/// Opcodes and generations.
type Pairs = BTreeSet<(u8, usize)>;

/// Refused beside table B, with generations: CA everywhere (chapter 00, row of chapters 06 section 6 and 07); 4F 5F 70 71, which
/// execute on C alone (decision 03-E24, 04-P2); 24 on V, where 9B takes its place (chapter 05 section 7.5).
const REFUSED_ELSEWHERE: &[(u8, &[usize])] = &[
    (0xCA, &[0, 1, 2, 3]),
    (0x4F, &[2, 3]),
    (0x5F, &[2, 3]),
    (0x70, &[2, 3]),
    (0x71, &[2, 3]),
    (0x24, &[3]),
];

pub struct Manual {
    present: Pairs,
    refused: Pairs,
}

impl Manual {
    /// Reads both files; `None` if one is missing.
    pub fn read(opcodes: Option<PathBuf>, decisions: Option<PathBuf>) -> Option<Manual> {
        let (opcodes, decisions) =
            (std::fs::read_to_string(opcodes?).unwrap(), std::fs::read_to_string(decisions?).unwrap());
        let mut refused = refusals(&decisions);
        let elsewhere = REFUSED_ELSEWHERE.iter();
        refused.extend(elsewhere.flat_map(|(byte, on)| on.iter().map(|generation| (*byte, *generation))));
        // The sentinel.
        refused.extend((0..4).map(|generation| (0xFF, generation)));
        Some(Manual { present: present(&opcodes), refused })
    }

    pub fn defines(&self, opcode: u8, generation: Generation) -> bool {
        let pair = (opcode, generation.index());
        self.present.contains(&pair) && !self.refused.contains(&pair)
    }
}

fn present(csv: &str) -> Pairs {
    let mut found = Pairs::new();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let byte = u8::from_str_radix(cells[0].trim_start_matches("0x"), 16).unwrap();
        found.extend((0..4).filter(|g| cells[4 + g] != "-").map(|g| (byte, g)));
    }
    found
}

/// The opcodes in the rows of table B that are about whole opcodes.
fn refusals(decisions: &str) -> Pairs {
    let table = decisions.split("## Table B").nth(1).unwrap();
    let mut found = Pairs::new();
    let mut subject = String::new();
    for row in table.lines().filter(|l| l.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        if !cells[1].is_empty() {
            subject = cells[1].to_owned();
        }
        match subject.as_str() {
            "opcodes" | "pseudo-words" => found.extend(cells[2].split(';').flat_map(clause)),
            "DVE streams (strict)" => found.extend(cells[2].split(';').flat_map(streams)),
            // Custom operators, of which the host knows nothing.
            "custom operators" => found.extend((0..4).flat_map(|g| [(0x85, g), (0x86, g)])),
            _ => {}
        }
    }
    found
}

/// Bytes at the start of a clause. What follows them may be a generation; any other words say that only some form of the
/// opcode is refused, except that B6 may be decoded and not executed.
fn clause(text: &str) -> Vec<(u8, usize)> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let bytes: Vec<u8> = words.iter().map_while(|w| byte(w)).collect();
    let on = |generation: usize| bytes.iter().map(|b| (*b, generation)).collect::<Vec<_>>();
    match &words[bytes.len()..] {
        [] | ["executed"] => (0..4).flat_map(on).collect(),
        ["on", "S", ..] => on(0),
        ["on", "V"] => on(3),
        _ => {
            // `F0 and 7B on S (strict)`
            let joined: Vec<&str> = words.iter().copied().filter(|w| *w != "and").collect();
            if joined.len() < words.len() { clause(&joined.join(" ")) } else { Vec::new() }
        }
    }
}

/// `S: 30 4F ...`: opcodes without a microprogram. Some have another engine, and a row with a condition is for a container.
fn streams(text: &str) -> Vec<(u8, usize)> {
    /// POOL runs them as well (chapter 03 section 8.3).
    const ON_POOL: [u8; 3] = [0x8A, 0x8B, 0x8F];
    let Some((generation, bytes)) = text.trim().split_once(':') else { return Vec::new() };
    let generation = match generation {
        "S" => 0,
        _ => 1,
    };
    let unconditional = bytes.split(", and").next().unwrap_or_default();
    let bytes = unconditional.split_whitespace().filter_map(byte);
    bytes.filter(|b| !ON_POOL.contains(b)).map(|b| (b, generation)).collect()
}

fn byte(word: &str) -> Option<u8> {
    (word.len() == 2).then(|| u8::from_str_radix(word, 16).ok()).flatten()
}
