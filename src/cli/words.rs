//! Words in CSV files: `disasm --words` and `asm --words`.

use std::io::Read;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, WriterBuilder};
use seqjit::runtime::isa::text::{AsmError, AsmErrorKind, Names};
use seqjit::runtime::isa::{DecodeError, EngineId, Generation, Word, parse_opcode};
use serde_json::{Map, Value};

use super::exit::Code;
use super::failure::Failure;
use super::output::{Output, note};
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
const ERROR: &str = "error";

/// Lines of words that do not decode shown below the message of the text form.
const SHOWN_ROWS: usize = 20;

/// The rows of a file, by column name.
struct Table {
    /// File shown in errors.
    file: String,
    columns: Vec<String>,
    /// Line and content.
    rows: Vec<(u64, StringRecord)>,
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
            let at = error.position().map_or(0, csv::Position::byte);
            let line = line_at(&bytes, at);
            let what = match error.kind() {
                csv::ErrorKind::UnequalLengths { expected_len, len, .. } => {
                    format!("{len} fields, expected {expected_len} as in the first line")
                }
                csv::ErrorKind::Utf8 { err, .. } => format!("field {} is not UTF-8 text", err.field() + 1),
                _ => error.to_string(),
            };
            let failure = Failure::new(Code::Input, format!("`{file}` line {line}: {what}")).file(path);
            failure.with("line", line).with("byte_offset", at)
        };
        let mut reader = ReaderBuilder::new().from_reader(&bytes[..]);
        let columns: Vec<String> = reader.headers().map_err(malformed)?.iter().map(str::to_owned).collect();
        if let Some(missing) = required.iter().find(|name| !columns.iter().any(|c| c == *name)) {
            let message = format!("`{file}`: no column `{missing}` in the first line");
            let failure = Failure::new(Code::Input, message).file(path).with("line", 1);
            let needed = format!("the columns {}", required.join(","));
            return Err(failure.with("found", columns.join(",")).with("expected", needed));
        }
        let numbered = |record: StringRecord| {
            (line_at(&bytes, record.position().map_or(0, csv::Position::byte)), record)
        };
        let rows = reader.records().map(|r| r.map(numbered)).collect::<Result<_, _>>().map_err(malformed)?;
        Ok(Table { file, columns, rows })
    }

    fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|(line, record)| Row { table: self, line: *line, record })
    }
}

/// The line of a record that starts at byte `start` or behind line ends there. The reader's own numbers count
/// only the first half of a CR LF in front of a record.
fn line_at(bytes: &[u8], start: u64) -> u64 {
    let start = bytes.len().min(start as usize);
    let ends = bytes[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
    let before = &bytes[..start + ends];
    let alone = |(at, byte): &(usize, &u8)| **byte == b'\n' || before.get(at + 1) != Some(&b'\n');
    let ends = before.iter().enumerate().filter(|(_, byte)| matches!(byte, b'\r' | b'\n')).filter(alone);
    1 + ends.count() as u64
}

/// One row.
#[derive(Clone, Copy)]
struct Row<'t> {
    table: &'t Table,
    line: u64,
    record: &'t StringRecord,
}

impl<'t> Row<'t> {
    /// The text in a column; empty if there is no such column.
    fn get(&self, column: &str) -> &'t str {
        let position = self.table.columns.iter().position(|c| c == column);
        position.and_then(|p| self.record.get(p)).unwrap_or_default()
    }

    fn message(&self, column: &str, found: &str, expected: &str) -> String {
        format!("`{}` line {}: {column} is `{found}`, expected {expected}", self.table.file, self.line)
    }

    /// Bad input in a column of this row.
    fn failure(&self, column: &str, found: &str, expected: &str) -> Failure {
        let failure = Failure::new(Code::Input, self.message(column, found, expected));
        self.located(failure, column, found, expected)
    }

    fn located(&self, failure: Failure, column: &str, found: &str, expected: &str) -> Failure {
        failure
            .with("file", self.table.file.as_str())
            .with("line", self.line)
            .with("field", column)
            .with("found", found)
            .with("expected", expected)
    }

    /// The word of this row, its opcode written as `opcode`.
    fn assemble(&self, opcode: &str) -> Result<Result<Word, AsmError>, Failure> {
        let (engine, generation, names) = (self.engine()?, self.generation()?, self.names()?);
        let operands = format!("{} {}", self.get(OPERANDS), self.get(EXTENSION));
        Ok(text::word(opcode, &operands, engine, generation, &names))
    }

    fn refused(&self, error: &AsmError) -> Failure {
        let of_opcode = matches!(error.kind, AsmErrorKind::Opcode | AsmErrorKind::Generation(_));
        let failure = |column| self.failure(column, &error.seen, &error.expected);
        if of_opcode { failure(OPCODE) } else { failure(OPERANDS).with("byte_offset", error.at) }
    }

    fn parse<T>(
        &self,
        column: &str,
        expected: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let found = self.get(column);
        parse(found).ok_or_else(|| self.failure(column, found, expected))
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

/// `disasm --words`: adds opcode and operand text, or why there is none.
pub fn disassemble(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let table = Table::read(path, &[WORD, ENGINE, GENERATION])?;
    let mut refused = Vec::new();
    let mut rows = Vec::new();
    for row in table.rows() {
        let word = row.parse(WORD, "128 hexadecimal digits", Word::from_hex)?;
        row.engine()?;
        let line = text::line(&word, row.generation()?, &row.names()?);
        let shown = match &line {
            Ok(line) => {
                [line.opcode, &line.operands, &line.extension, if line.marked_ours { "1" } else { "" }]
            }
            Err(_) => [""; 4],
        };
        let error = line.as_ref().err().map(DecodeError::to_string).unwrap_or_default();
        let columns = [OPCODE, OPERANDS, EXTENSION, OURS].into_iter().zip(shown.map(str::to_owned));
        rows.push(row.with(&columns.chain([(ERROR, error)]).collect::<Vec<_>>()));
        if let Err(error) = line {
            refused.push((row, error));
        }
    }
    let Some(failure) = undecoded(&refused, rows.len()) else { return write(&table, rows, &[], out) };
    if out.json {
        return Err(failure.beside(document(&table, rows)));
    }
    write(&table, rows, &[], out)?;
    Err(failure)
}

/// The failure for words that do not decode, which their rows say too: the first one in full.
fn undecoded(refused: &[(Row<'_>, DecodeError)], rows: usize) -> Option<Failure> {
    let (first, error) = refused.first()?;
    let (found, expected) = match error {
        DecodeError::Opcode { opcode, generation } => {
            (format!("opcode 0x{opcode:02x}"), format!("an opcode of {generation}"))
        }
        DecodeError::Length { found } => (format!("length 0x{found:02x}"), "0x10 in byte 1".to_owned()),
    };
    let file = &first.table.file;
    let message = format!("`{file}`: {} of {rows} words do not decode", refused.len());
    let mut failure = first.located(Failure::new(Code::Illegal, message), WORD, &found, &expected);
    for (row, error) in refused.iter().take(SHOWN_ROWS) {
        failure = failure.line(format!("line {}: {error}", row.line));
    }
    if refused.len() > SHOWN_ROWS {
        failure = failure.line(format!("and {} more", refused.len() - SHOWN_ROWS));
    }
    Some(failure)
}

/// `asm --words`: adds the words. Which engine may run a word is no matter of its text, so that this is only
/// warned about: what `disasm --words` lists can be assembled.
pub fn assemble(path: &Path, out: &mut Output) -> Result<(), Failure> {
    let table = Table::read(path, &[ENGINE, GENERATION, OPCODE, OPERANDS])?;
    let mut warnings = Vec::new();
    let rows = table.rows().map(|row| {
        let opcode = row.get(OPCODE);
        let mut word = row.assemble(opcode)?;
        if let (Err(AsmError { kind: AsmErrorKind::Engine(_), expected, .. }), Some(info)) =
            (&word, parse_opcode(opcode))
        {
            warnings.push(row.message(OPCODE, opcode, expected));
            // By its byte every engine may hold an opcode.
            word = row.assemble(&format!("0x{:02X}", info.byte))?;
        }
        let word = word.map_err(|error| row.refused(&error))?;
        Ok(row.with(&[(WORD, word.to_hex())]))
    });
    let rows = rows.collect::<Result<Vec<_>, Failure>>()?;
    write(&table, rows, &warnings, out)
}

/// The JSON document's rows.
fn document(table: &Table, rows: Vec<Vec<(&str, String)>>) -> Map<String, Value> {
    let object = |row: Vec<(&str, String)>| -> Value {
        row.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect::<Map<_, _>>().into()
    };
    let words: Vec<Value> = rows.into_iter().map(object).collect();
    Map::from_iter([("file".to_owned(), table.file.as_str().into()), ("words".to_owned(), words.into())])
}

fn write(
    table: &Table,
    rows: Vec<Vec<(&str, String)>>,
    warnings: &[String],
    out: &mut Output,
) -> Result<(), Failure> {
    if out.json {
        let mut document = document(table, rows);
        document.insert("warnings".to_owned(), warnings.into());
        return out.document(&document.into());
    }
    for warning in warnings {
        note(format_args!("warning: {warning}"));
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
