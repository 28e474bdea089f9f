//! Statements: walking over lines and blocks, loops unrolled and macros filled in.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use seqjit_runtime::isa::{EngineId, Generation};

use super::build::{CoreBuild, STATE_BUFFER};
use super::error::{Position, Result, at};
use super::expr::{expression, integer, integer_in};
use super::scan::Cursor;
use super::source::{Block, Line, Node};
use super::value::{Scope, Value};
use super::view::{Memory, View};
use crate::neff::HostTensor;

/// Statements and passes of loops that may be carried out, so that a text cannot take forever.
const MAX_STEPS: usize = 1 << 22;

/// Macros and blocks inside each other while they are carried out.
const MAX_DEPTH: usize = 128;

/// What the first statement says.
#[derive(Clone, Debug)]
pub(super) struct Header {
    pub name: String,
    pub generation: Generation,
    pub position: Position,
}

/// Where in the text a statement stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    /// Outside of streams and queues.
    Outside,
    Stream(EngineId),
    /// In the block of a queue's declaration.
    Queue(usize),
    /// In a DMA block of a queue.
    Block(usize),
}

/// Reads the statements of one core; those outside of `core` blocks belong to every core.
pub(super) struct Assembler<'s> {
    /// Where files are looked for.
    pub directory: &'s Path,
    pub header: Option<Header>,
    /// Every stream starts with the words that the compiler puts there.
    pub prologue: bool,
    pub inputs: Vec<HostTensor>,
    pub outputs: Vec<HostTensor>,
    pub core: CoreBuild,
    pub scope: Scope,
    pub place: Place,
    macros: HashMap<&'s str, &'s Block>,
    /// Number of the core that is read, and of `core` blocks passed.
    number: usize,
    passed: usize,
    pub inside_core: bool,
    context: Vec<String>,
    steps: usize,
    depth: usize,
}

/// A statement that starts with a word of its own.
type Statement<'s> = fn(&mut Assembler<'s>, &mut Cursor<'s>) -> Result<()>;

impl<'s> Assembler<'s> {
    pub fn new(directory: &'s Path, number: usize) -> Self {
        let mut scope = Scope::default();
        let memory = Memory::Variable(STATE_BUFFER);
        let dims = Vec::new();
        let state_buffer = View { memory, offset: 0, dtype: seqjit_runtime::isa::Dtype::UINT8, dims };
        scope.define("SB", Value::View(state_buffer));
        Assembler {
            directory,
            header: None,
            prologue: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            core: CoreBuild::new(number),
            scope,
            place: Place::Outside,
            macros: HashMap::new(),
            number,
            passed: 0,
            inside_core: false,
            context: Vec::new(),
            steps: 0,
            depth: 0,
        }
    }

    /// Carries out statements in order.
    pub fn run(&mut self, nodes: &'s [Node]) -> Result<()> {
        for node in nodes {
            let (Node::Line(line) | Node::Block(Block { head: line, .. })) = node;
            self.step(line)?;
            let result = match node {
                Node::Line(line) => self.line(line),
                Node::Block(block) => self.block(block),
            };
            result.map_err(|mut error| {
                if error.context.is_empty() {
                    error.context = self.context();
                }
                error
            })?;
        }
        Ok(())
    }

    /// Counts a statement, or a pass of a loop, which takes its time even if it holds no statement.
    fn step(&mut self, line: &Line) -> Result<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            let expected = format!("at most {MAX_STEPS} statements and passes of loops, loops unrolled");
            return Err(at(line.position(0), "one more statement", expected));
        }
        Ok(())
    }

    /// The loops and macros around the current statement, innermost first.
    pub fn context(&self) -> Vec<String> {
        self.context.iter().rev().cloned().collect()
    }

    /// As [`Self::context`], shared.
    pub fn shared_context(&self) -> Rc<[String]> {
        self.context().into()
    }

    /// The generation, once the program statement has been read.
    pub fn generation(&self, c: &Cursor) -> Result<Generation> {
        let header = self.header.as_ref();
        header
            .map(|h| h.generation)
            .ok_or_else(|| c.error("`program NAME for GENERATION` as the first statement"))
    }

    /// Gives a name its value.
    pub fn define(&mut self, name: &str, start: &Cursor, value: Value) -> Result<()> {
        match self.scope.define(name, value) {
            true => Ok(()),
            false => Err(start.error("a name that this block has not given before")),
        }
    }

    fn line(&mut self, line: &'s Line) -> Result<()> {
        let mut c = Cursor::new(line);
        let start = c;
        let word = c.word().unwrap_or_default();
        if c.rest().starts_with('(') {
            return self.call(word, c, &start);
        }
        let statement: Option<Statement<'s>> = match word {
            "program" => Some(Self::program),
            "prologue" => Some(Self::prologue),
            "let" => Some(Self::bind),
            "input" => Some(|a, c| a.tensor(c, true)),
            "output" => Some(|a, c| a.tensor(c, false)),
            "const" => Some(Self::constant),
            "scratch" => Some(Self::scratch),
            "virtual" => Some(Self::alias),
            "table" => Some(Self::table),
            "sbuf" => Some(|a, c| a.tile(c, Memory::Sbuf)),
            "psum" => Some(|a, c| a.tile(c, Memory::Psum)),
            "semaphore" => Some(Self::semaphore),
            "activation" => Some(Self::activation),
            "queue" => Some(|a, c| a.queue(c).map(|_| ())),
            _ => None,
        };
        if let Some(statement) = statement {
            if word != "program" {
                self.generation(&start)?;
            }
            statement(self, &mut c)?;
            return c.end();
        }
        match (self.place, EngineId::parse(word)) {
            (Place::Stream(engine), _) => self.instruction(start, engine),
            (Place::Block(queue), _) => self.descriptor(start, queue),
            (Place::Outside, Some(engine)) => self.instruction(c, engine),
            _ => Err(start.error("a statement")),
        }
    }

    fn block(&mut self, block: &'s Block) -> Result<()> {
        let mut c = Cursor::new(&block.head);
        let start = c;
        let word = c.word().unwrap_or_default();
        if block.otherwise.is_some() && word != "if" {
            return Err(start.error("`if` in front of a block with `else`"));
        }
        match word {
            "repeat" => self.repeat(c, block),
            "if" => {
                let condition = integer(&mut c, &self.scope)?;
                c.end()?;
                let body = if condition != 0 { Some(&block.body) } else { block.otherwise.as_ref() };
                body.map_or(Ok(()), |body| self.nested(self.place, body, Vec::new()))
            }
            "macro" => self.macro_definition(c, block),
            "core" => self.core_block(c, block),
            "queue" => {
                let queue = self.queue(&mut c)?;
                c.end()?;
                self.nested(Place::Queue(queue), &block.body, Vec::new())
            }
            "block" => {
                let Place::Queue(queue) = self.place else {
                    return Err(start.error("`block` inside of a queue only"));
                };
                self.dma_block(&mut c, queue)?;
                c.end()?;
                self.nested(Place::Block(queue), &block.body, Vec::new())
            }
            _ => match (self.place, EngineId::parse(word)) {
                (Place::Outside, Some(engine)) => {
                    c.end()?;
                    self.generation(&start)?;
                    self.nested(Place::Stream(engine), &block.body, Vec::new())
                }
                _ => Err(start.error("a statement that has a block")),
            },
        }
    }

    /// Carries out the body of a block at `place`, with names of its own, the first of them given.
    fn nested(&mut self, place: Place, body: &'s [Node], names: Vec<(&str, Value)>) -> Result<()> {
        if self.depth == MAX_DEPTH {
            let (Some(Node::Line(line)) | Some(Node::Block(Block { head: line, .. }))) = body.first() else {
                return Ok(());
            };
            let expected = format!("at most {MAX_DEPTH} blocks and macros in each other");
            return Err(at(line.position(0), "one more block", expected));
        }
        let outer = std::mem::replace(&mut self.place, place);
        self.scope.open();
        for (name, value) in names {
            self.scope.define(name, value);
        }
        self.depth += 1;
        let result = self.run(body);
        self.depth -= 1;
        self.scope.close();
        self.place = outer;
        result
    }

    /// `program NAME for GENERATION`
    fn program(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        c.skip_blanks();
        let start = *c;
        if self.header.is_some() {
            return Err(start.error("one program statement"));
        }
        let name = c.name("the name of the program")?.to_owned();
        c.expect_word("for")?;
        let place = *c;
        let generation = c.word().and_then(Generation::parse);
        let generation = generation.ok_or_else(|| place.error("sunda, cayman, mariana or maverick"))?;
        self.header = Some(Header { name, generation, position: start.position() });
        Ok(())
    }

    fn prologue(&mut self, _: &mut Cursor<'s>) -> Result<()> {
        self.prologue = true;
        Ok(())
    }

    /// `let NAME = EXPRESSION`
    fn bind(&mut self, c: &mut Cursor<'s>) -> Result<()> {
        c.skip_blanks();
        let start = *c;
        let name = c.name("a name")?;
        c.expect("=")?;
        let value = expression(c, &self.scope)?;
        self.define(name, &start, value)
    }

    /// `repeat NAME in FROM..TO [by STEP]`
    fn repeat(&mut self, mut c: Cursor<'s>, block: &'s Block) -> Result<()> {
        let name = c.name("the name of the loop's variable")?;
        c.expect_word("in")?;
        let from = integer(&mut c, &self.scope)?;
        c.expect("..")?;
        let to = integer(&mut c, &self.scope)?;
        let step = match c.eat_word("by") {
            true => integer_in(&mut c, &self.scope, -i64::from(u32::MAX), i64::from(u32::MAX))?,
            false => 1,
        };
        if step == 0 {
            return Err(c.error("a step other than 0"));
        }
        c.end()?;
        let mut value = from;
        while (step > 0 && value < to) || (step < 0 && value > to) {
            self.step(&block.head)?;
            self.context.push(format!("in repeat {name} = {value} (line {})", block.head.number()));
            self.nested(self.place, &block.body, vec![(name, Value::Int(value))])?;
            self.context.pop();
            let Some(next) = value.checked_add(step) else { break };
            value = next;
        }
        Ok(())
    }

    /// `macro NAME(PARAMETER, ...)`
    fn macro_definition(&mut self, mut c: Cursor<'s>, block: &'s Block) -> Result<()> {
        c.skip_blanks();
        let start = c;
        let name = c.name("the name of the macro")?;
        parameters(&mut c)?;
        match self.macros.insert(name, block) {
            None => Ok(()),
            Some(_) => Err(start.error("a macro name that has not been given before")),
        }
    }

    /// `NAME(ARGUMENT, ...)`
    fn call(&mut self, name: &str, mut c: Cursor<'s>, start: &Cursor) -> Result<()> {
        let block = *self.macros.get(name).ok_or_else(|| start.error("the name of a macro"))?;
        let place = c;
        c.expect("(")?;
        let mut arguments = Vec::new();
        while !c.eat(")") {
            if !arguments.is_empty() {
                c.expect(",")?;
            }
            arguments.push(expression(&mut c, &self.scope)?);
        }
        c.end()?;
        let mut head = Cursor::new(&block.head);
        head.expect_word("macro")?;
        head.name("a name")?;
        let parameters = parameters(&mut head)?;
        if parameters.len() != arguments.len() {
            let expected = format!("{} arguments, not {}", parameters.len(), arguments.len());
            return Err(place.error(expected));
        }
        self.context.push(format!("in macro {name}, used in line {}", start.position().line));
        let names = parameters.into_iter().zip(arguments).collect();
        self.nested(self.place, &block.body, names)?;
        self.context.pop();
        Ok(())
    }

    /// `core [NAME]`
    fn core_block(&mut self, mut c: Cursor<'s>, block: &'s Block) -> Result<()> {
        let name = c.word();
        c.end()?;
        if self.place != Place::Outside || self.inside_core || self.depth > 0 {
            return Err(Cursor::new(&block.head).error("`core` outside of every block"));
        }
        self.passed += 1;
        if self.passed != self.number + 1 {
            return Ok(());
        }
        if let Some(name) = name {
            self.core.name = name.to_owned();
        }
        self.inside_core = true;
        let result = self.nested(Place::Outside, &block.body, Vec::new());
        self.inside_core = false;
        result
    }
}

/// `(NAME, ...)`
fn parameters<'l>(c: &mut Cursor<'l>) -> Result<Vec<&'l str>> {
    let mut names = Vec::new();
    c.expect("(")?;
    while !c.eat(")") {
        if !names.is_empty() {
            c.expect(",")?;
        }
        let start = *c;
        let name = c.name("the name of a parameter")?;
        if names.contains(&name) {
            return Err(start.error("a parameter name that is new"));
        }
        names.push(name);
    }
    c.end()?;
    Ok(names)
}

/// How many cores the text describes.
pub(super) fn count_cores(nodes: &[Node]) -> usize {
    let is_core = |node: &&Node| matches!(node, Node::Block(b) if Cursor::new(&b.head).eat_word("core"));
    nodes.iter().filter(is_core).count().max(1)
}
