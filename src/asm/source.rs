//! Lines and blocks of a source text: comments and continuations removed, braces matched.

use super::error::{Position, Result, at};

/// Blocks inside blocks, so that walking over them cannot use up the stack.
const MAX_NESTING: usize = 64;

/// A line of the program, which a trailing `\` may spread over several lines of the text.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub text: String,
    pieces: Vec<Piece>,
}

/// Where a part of a line stands in the text.
#[derive(Clone, Debug)]
struct Piece {
    /// First byte in the line.
    at: usize,
    line: u32,
    /// Characters in front of it.
    skipped: u32,
}

impl Line {
    /// The place of a byte of the line.
    pub fn position(&self, byte: usize) -> Position {
        let Some(piece) = self.pieces.iter().rev().find(|p| p.at <= byte) else { return Position::default() };
        let before = self.text.get(piece.at..byte).map_or(0, |text| text.chars().count());
        Position { line: piece.line, column: piece.skipped + before as u32 + 1 }
    }

    /// The first line of the text that it stands on.
    pub fn number(&self) -> u32 {
        self.pieces.first().map_or(0, |p| p.line)
    }

    fn append(&mut self, number: u32, text: &str) {
        let skipped = text.len() - text.trim_start().len();
        self.pieces.push(Piece { at: self.text.len(), line: number, skipped: skipped as u32 });
        self.text.push_str(text.trim());
    }
}

/// A line, or a line that opens a block.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Line(Line),
    Block(Block),
}

/// `HEAD {` ... `}`, for `if` also `} else {` ... `}`.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Without the brace.
    pub head: Line,
    pub body: Vec<Node>,
    pub otherwise: Option<Vec<Node>>,
}

impl Block {
    /// The list that lines go to now.
    fn list(&mut self) -> &mut Vec<Node> {
        self.otherwise.as_mut().unwrap_or(&mut self.body)
    }
}

/// Splits a text into lines and blocks.
pub(super) fn parse(text: &str) -> Result<Vec<Node>> {
    let mut outer = Block::default();
    let mut open: Vec<Block> = Vec::new();
    for mut line in lines(text) {
        let start = line.position(0);
        if line.text.starts_with('}') {
            let rest: String = line.text[1..].split_whitespace().collect();
            let mut block = open.pop().ok_or_else(|| at(start, "`}`", "no `}`: no block is open"))?;
            match rest.as_str() {
                "" => open.last_mut().unwrap_or(&mut outer).list().push(Node::Block(block)),
                "else{" if block.otherwise.is_none() => {
                    block.otherwise = Some(Vec::new());
                    open.push(block);
                }
                _ => return Err(at(start, format!("`{}`", line.text), "`}` or, once, `} else {`")),
            }
        } else if line.text.ends_with('{') {
            if open.len() == MAX_NESTING {
                return Err(at(
                    start,
                    "one more block",
                    format!("at most {MAX_NESTING} blocks in each other"),
                ));
            }
            let head = line.text[..line.text.len() - 1].trim_end().len();
            line.text.truncate(head);
            open.push(Block { head: line, ..Block::default() });
        } else {
            open.last_mut().unwrap_or(&mut outer).list().push(Node::Line(line));
        }
    }
    match open.pop() {
        None => Ok(outer.body),
        Some(block) => {
            let seen = format!("the end of the text inside `{}`", block.head.text);
            Err(at(block.head.position(0), seen, "a `}` that closes this block"))
        }
    }
}

/// The lines that are not empty.
fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    for (number, physical) in text.lines().enumerate() {
        let kept = without_comment(physical);
        let (kept, continued) = match kept.trim_end().strip_suffix('\\') {
            Some(kept) => (kept, true),
            None => (kept, false),
        };
        if !line.text.is_empty() {
            line.text.push(' ');
        }
        if !kept.trim().is_empty() {
            line.append(number as u32 + 1, kept);
        }
        if !continued {
            let whole = std::mem::take(&mut line);
            if !whole.text.is_empty() {
                lines.push(whole);
            }
        }
    }
    if !line.text.is_empty() {
        lines.push(line);
    }
    lines
}

/// A comment starts at a semicolon outside of double quotes.
fn without_comment(line: &str) -> &str {
    let mut quoted = false;
    let end = line.find(|c| {
        quoted ^= c == '"';
        c == ';' && !quoted
    });
    &line[..end.unwrap_or(line.len())]
}
