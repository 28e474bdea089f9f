//! The golden words: operand text against the vendor's, and text back to words (chapter 09 sections 2 and 7).

#[path = "common/data.rs"]
mod data_file;

use std::collections::BTreeMap;

use seqjit_runtime::isa::text::{Line, Names, assemble, operand_text};
use seqjit_runtime::isa::{Decoded, EngineId, Generation, Word, decode};

/// Rows of each origin (data README section 4). The first three carry the vendor's text.
const ROWS: [(&str, usize); 5] =
    [("device", 124), ("listing", 165), ("lowered", 13), ("container", 111), ("device-untraced", 41)];

struct Row {
    line: usize,
    decoded: Decoded,
    engine: EngineId,
    generation: Generation,
    opcode: String,
    text: String,
    names: Names,
    origin: String,
}

impl Row {
    fn parse(record: &csv::StringRecord) -> Row {
        let line = record.position().expect("records read from a file have a position").line() as usize;
        let generation = Generation::parse(&record[2]).expect("generation");
        let word = Word::from_hex(&record[0]).expect("128 digits");
        Row {
            line,
            decoded: decode(&word, generation).unwrap_or_else(|e| panic!("line {line}: {e}")),
            engine: EngineId::parse(&record[1]).expect("engine"),
            generation,
            opcode: record[3].to_owned(),
            text: record[4].to_owned(),
            names: record[5].parse().unwrap_or_else(|e| panic!("line {line}: {e}")),
            origin: record[6].to_owned(),
        }
    }

    /// The vendor's text is known; that of DRAIN is empty.
    fn is_known(&self) -> bool {
        matches!(self.origin.as_str(), "device" | "listing" | "lowered")
    }

    fn line_of_text(&self) -> Line {
        Line::new(&self.decoded, self.generation, &self.names)
    }
}

/// All rows, or `None`, said loudly, if the file is missing.
fn rows() -> Option<Vec<Row>> {
    let path = data_file::data("golden_words.csv")?;
    let mut reader = csv::Reader::from_path(&path).expect("readable");
    let rows: Vec<Row> = reader.records().map(|record| Row::parse(&record.expect("valid CSV"))).collect();
    for (origin, count) in ROWS {
        assert_eq!(rows.iter().filter(|row| row.origin == origin).count(), count, "rows of origin {origin}");
    }
    assert_eq!(rows.len(), 454);
    Some(rows)
}

#[test]
fn operand_text_is_the_profilers() {
    let Some(rows) = rows() else { return };
    let known: Vec<&Row> = rows.iter().filter(|row| row.is_known()).collect();
    assert_eq!(known.len(), 302);
    for row in &known {
        let text = operand_text(&row.decoded, row.generation, &row.names);
        assert_eq!(text, row.text, "line {}, {}", row.line, row.opcode);
    }
    let empty: Vec<&str> = known.iter().filter(|r| r.text.is_empty()).map(|r| r.opcode.as_str()).collect();
    assert_eq!(empty, ["DRAIN", "DRAIN"]);
}

#[test]
fn text_leads_back_to_the_word() {
    let Some(rows) = rows() else { return };
    for row in &rows {
        let text = row.line_of_text().text();
        let word = assemble(&row.opcode, &text, row.engine, row.generation, &row.names)
            .unwrap_or_else(|e| panic!("line {}, {} {text}: {e}", row.line, row.opcode));
        assert_eq!(word, row.decoded.word, "line {}, {} {text}", row.line, row.opcode);
        assert_eq!(row.decoded.encode(), row.decoded.word, "line {}", row.line);
    }
}

#[test]
fn opcodes_have_the_profilers_names() {
    let Some(rows) = rows() else { return };
    for row in &rows {
        assert_eq!(row.decoded.info.display, row.opcode, "line {}", row.line);
        assert_eq!(row.line_of_text().opcode, row.opcode);
    }
}

/// The fields that an extension names, without values.
fn extension_fields(line: &Line) -> String {
    let fields = line.extension.split_whitespace().map(|item| item.split_once('=').expect("key=value").0);
    fields.collect::<Vec<_>>().join(" ")
}

/// The vendor's text drops a few fields even of real words, so that some extensions must print. These are all.
#[test]
fn extensions_print_only_what_the_vendor_drops() {
    let Some(rows) = rows() else { return };
    let mut found: BTreeMap<(&str, bool, String), usize> = BTreeMap::new();
    for row in &rows {
        let line = row.line_of_text();
        if line.extension.is_empty() {
            continue;
        }
        *found.entry((line.opcode, row.is_known(), extension_fields(&line))).or_default() += 1;
        // The operands alone are the text of another word as well.
        let other = assemble(&row.opcode, &line.operands, row.engine, row.generation, &row.names);
        let other = decode(&other.expect("assembles"), row.generation).expect("decodes");
        assert_ne!(other.word, row.decoded.word, "{line}");
        assert_eq!(operand_text(&other, row.generation, &row.names), line.operands);
    }
    let expected = [
        // Both kinds of DMA show their datatypes only where they differ: bfloat16 to bfloat16 looks like fp32.
        (("DMA_DIRECT2D", true, "+in_dtype +out_dtype".to_owned()), 4),
        // Chapter 10 section 7.1, byte 40.
        (("DRAIN", true, "+drain_flag".to_owned()), 1),
        // Chapter 10 section 8: transposing and plain products differ in byte 34 only.
        (("MATMUL", false, "+transpose_mode".to_owned()), 1),
        (("MATMUL", true, "+transpose_mode".to_owned()), 8),
        (("PSEUDO_DMA_DIRECT2D", false, "+in_dtype +out_dtype".to_owned()), 2),
        (("PSEUDO_DMA_DIRECT2D", true, "+in_dtype +out_dtype".to_owned()), 8),
    ];
    assert_eq!(found, BTreeMap::from(expected));
}

/// Opcodes of the golden words of which chapter 09 section 2.1 knows no vendor text.
const TEXTLESS: [&str; 9] = [
    "HALT",
    "MEMSET",
    "MODIFY_POOL_CONFIG",
    "MOVE",
    "PSEUDO_BRANCH_LABEL",
    "TENSOR_REDUCE_ADD_BF16",
    "TENSOR_SCALAR_AFFINE_SELECT",
    "TENSOR_STORE",
    "TENSOR_TENSOR",
];

#[test]
fn forms_that_nobody_has_seen_are_marked() {
    let Some(rows) = rows() else { return };
    for row in &rows {
        let line = row.line_of_text();
        if row.is_known() {
            assert_eq!(line.marked_ours, !line.extension.is_empty(), "line {}, {line}", row.line);
        } else if TEXTLESS.contains(&row.opcode.as_str()) {
            assert!(line.marked_ours, "line {}, {line}", row.line);
        }
    }
}
