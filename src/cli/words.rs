//! Words in CSV files: `disasm --words` and `asm --words`.

use std::io::Read;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use seqjit::runtime::isa::text::Names;
use seqjit::runtime::isa::{DecodeError, EngineId, Generation, Word};
use serde_json::{Map, Value};

use super::exit::Code;
use super::failure::Failure;
use super::output::Output;
use super::text;

/// Columns that both directions know, in the order of output.
const WORD: &str = "word_hex";
const ENGINE: &str = "engine";
const GENERATION: &str = "gen";
const OPCODE: &str = "opcode";
const OPERANDS: &str = "operand_text";
const NAMES: &str = "sem_names";
const EXTENSION: &str = "extension";
const OURS: &str = "ours";

/// The rows of a file, by column name.
struct Table {
    /// File shown in errors.
    file: String,
    columns: Vec<String>,
    rows: Vec<StringRecord>,
}

impl Table {
    /// Reads a file, or standard input for `-`.
    fn read(path: &Path, required: &[&str]) -> Result<Table, Failure> {
        let mut bytes = Vec::new();
        let read = if path == Path::new("-") {
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| ())
        } else {
            std::fs::read(path).map(|content| bytes = content)
        };
        read.map_err(|error| Failure::io("read", path, &error))?;
        let file = path.display().to_string();
        let malformed = |error: csv::Error| {
            let failure = Failure::new(Code::Input, format!("`{file}`: {error}")).file(path);
            match error.position() {
                Some(at) => failure.with("line", at.line()).with("byte_offset", at.byte()),
                None => failure,
            }
        };
        let mut reader = ReaderBuilder::new().from_reader(&bytes[..]);
        let columns: Vec<String> = reader.headers().map_err(malformed)?.iter().map(str::to_owned).collect();
        if let Some(missing) = required.iter().find(|name| !columns.iter().any(|c| c == *name)) {
            let message = format!("`{file}`: no column `{missing}` in the first line");
            let failure = Failure::new(Code::Input, message).file(path).with("line", 1);
            let needed = format!("the columns {}", required.join(","));
            return Err(failure.with("found", columns.join(",")).with("expected", needed));
        }
        let rows = reader.records().collect::<Result<_, _>>().map_err(malformed)?;
        Ok(Table { file, columns, rows })
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|record| Row { table: self, record })
    }
}

/// One row.
#[derive(Clone, Copy)]
struct Row<'t> {
    table: &'t Table,
    record: &'t StringRecord,
}

impl<'t> Row<'t> {
    /// The text in a column; empty if there is no such column.
    fn get(&self, column: &str) -> &'t str {
        let position = self.table.columns.iter().position(|c| c == column);
        position.and_then(|p| self.record.get(p)).unwrap_or_default()
    }

    fn failure(&self, code: Code, column: &str, found: &str, expected: &str) -> Failure {
        let (file, line) = (&self.table.file, self.record.position().map_or(0, csv::Position::line));
        let message = format!("`{file}` line {line}: {column} is `{found}`, expected {expected}");
        Failure::new(code, message)
            .with("file", file.as_str())
            .with("line", line)
            .with("field", column)
            .with("found", found)
            .with("expected", expected)
    }

    fn parse<T>(
        &self,
        column: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let found = self.get(column);
        parse(found).ok_or_else(|| self.failure(Code::Input, column, found, expected))
    }

    fn engine(&self) -> Result<EngineId, Failure> {
        self.parse(ENGINE, "PE, ACT, POOL, DVE or SP", EngineId::parse)
    }

    fn generation(&self) -> Result<Generation, Failure> {
        self.parse(GENERATION, "v2, v3, v4 or v5", Generation::parse)
    }

    fn names(&self) -> Result<Names, Failure> {
        self.parse(NAMES, "index=name items separated by |", |text| text.parse().ok())
    }

    /// The row with computed columns: they replace columns of the same name, else they go to the end.
    fn with(&self, computed: &[(&'static str, String)]) -> Vec<(&'t str, String)> {
        let computed_here = |column: &str| computed.iter().any(|(name, _)| *name == column);
        let kept = self.table.columns.iter().map(String::as_str).filter(|c| !computed_here(c));
        let mut row: Vec<(&str, String)> = kept.map(|c| (c, self.get(c).to_owned())).collect();
        row.extend(computed.iter().cloned());
        row
    }
}

/// `disasm --words`: adds opcode and operand text.
pub fn disassemble(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let table = Table::read(path, &[WORD, ENGINE, GENERATION])?;
    let rows = table.rows().map(|row| {
        let word = row.parse(WORD, "128 hexadecimal digits", Word::from_hex)?;
        row.engine()?;
        let line = text::line(&word, row.generation()?, &row.names()?).map_err(|error| {
            let (found, expected) = match error {
                DecodeError::Opcode { opcode, generation } => {
                    (format!("opcode 0x{opcode:02x}"), format!("an opcode of {generation}"))
                }
                DecodeError::Length { found } => {
                    (format!("length 0x{found:02x}"), "0x10 in byte 1".to_owned())
                }
            };
            row.failure(Code::Illegal, WORD, &found, &expected)
        })?;
        let ours = if line.marked_ours { "1" } else { "" };
        let computed = [
            (OPCODE, line.opcode.to_owned()),
            (OPERANDS, line.operands),
            (EXTENSION, line.extension),
            (OURS, ours.to_owned()),
        ];
        Ok(row.with(&computed))
    });
    write(&table, rows.collect::<Result<Vec<_>, Failure>>()?, out)
}

/// `asm --words`: adds the words.
pub fn assemble(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let table = Table::read(path, &[ENGINE, GENERATION, OPCODE, OPERANDS])?;
    let rows = table.rows().map(|row| {
        let (engine, generation, names) = (row.engine()?, row.generation()?, row.names()?);
        let operands = format!("{} {}", row.get(OPERANDS), row.get(EXTENSION));
        let word = text::word(row.get(OPCODE), &operands, engine, generation, &names).map_err(|error| {
            let (found, expected) = (&error.seen, &error.expected);
            let at_opcode = error.at == 0 && found == row.get(OPCODE);
            let column = if at_opcode { OPCODE } else { OPERANDS };
            let failure = row.failure(Code::Input, column, found, expected);
            if at_opcode { failure } else { failure.with("byte_offset", error.at) }
        })?;
        Ok(row.with(&[(WORD, word.to_hex())]))
    });
    write(&table, rows.collect::<Result<Vec<_>, Failure>>()?, out)
}

fn write(table: &Table, rows: Vec<Vec<(&str, String)>>, out: &mut Output) -> Result<(), Failure> {
    if out.json {
        let object = |row: Vec<(&str, String)>| -> Value {
            row.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect::<Map<_, _>>().into()
        };
        let words: Vec<Value> = rows.into_iter().map(object).collect();
        return out.document(&serde_json::json!({ "file": table.file, "words": words }));
    }
    let failed = |error: csv::Error| Failure::from(std::io::Error::from(error));
    let mut writer = WriterBuilder::new().from_writer(&mut *out);
    if let Some(first) = rows.first() {
        writer.write_record(first.iter().map(|(name, _)| *name)).map_err(failed)?;
    }
    for row in &rows {
        writer.write_record(row.iter().map(|(_, text)| text)).map_err(failed)?;
    }
    Ok(writer.flush()?)
}
