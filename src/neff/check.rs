//! What must hold between the parts of a graph (chapter 07 section 15, items 5 to 7 and 9).

use std::collections::{HashMap, HashSet};

use seqjit_runtime::isa::{EngineId, Generation, op};

use super::block::{Access, Descriptor, DescriptorOp, DmaBlock};
use super::definition::Reservation;
use super::error::{Findings, NeffError, Result, Rule};
use super::graph::{Graph, Source};
use super::json::{Document, Step};
use super::queue::QueueKind;
use super::variable::{Variable, VariableKind};
use super::warning::Warning;

/// Checks variables, queues and reservations against each other; `document` is `def.json`.
pub(super) fn definition(graph: &Graph, document: &Document, source: &mut Source<'_>) -> Result<()> {
    let mut findings = Findings::default();
    let variables = Variables::new(graph, document);
    variables.ids(&mut findings);
    variables.outputs(&mut findings);
    variables.references(&mut findings);
    variables.backing(source.generation, &mut findings);
    variables.memory(source.options.limits.device_memory, &mut findings);
    queues(graph, document, source.generation, &mut findings);
    findings.keep(reservations(graph, document, source));
    findings.finish()
}

/// The variables of a graph by name.
struct Variables<'a> {
    list: &'a [Variable],
    by_name: HashMap<&'a str, &'a Variable>,
    document: &'a Document,
}

impl<'a> Variables<'a> {
    fn new(graph: &'a Graph, document: &'a Document) -> Self {
        let list = &graph.def.variables[..];
        Variables { list, by_name: list.iter().map(|v| (v.name.as_str(), v)).collect(), document }
    }

    /// A broken rule about a key of a variable.
    fn broken(
        &self,
        rule: Rule,
        variable: &Variable,
        key: &str,
        value: impl ToString,
        expected: impl ToString,
    ) -> NeffError {
        self.document.broken(
            rule,
            &[Step::Key("var"), Step::Key(&variable.name), Step::Key(key)],
            value,
            expected,
        )
    }

    /// Ids are unique and dense.
    fn ids(&self, findings: &mut Findings) {
        let mut seen = HashSet::new();
        let count = self.list.len();
        for variable in self.list {
            if findings.full() {
                return;
            }
            if variable.id as usize >= count || !seen.insert(variable.id) {
                let expected = format!("an id below {count}, the number of variables, and used once");
                findings.push(self.broken(Rule::VariableId, variable, "var_id", variable.id, expected));
            }
        }
    }

    fn outputs(&self, findings: &mut Findings) {
        if !self.list.iter().any(|v| v.kind == VariableKind::Output) {
            let expected = "at least one variable of type output";
            findings.push(self.document.broken(
                Rule::NoOutput,
                &[Step::Key("var")],
                "without output",
                expected,
            ));
        }
    }

    /// Pointers and tables name variables that exist.
    fn references(&self, findings: &mut Findings) {
        let ids: HashSet<u32> = self.list.iter().map(|v| v.id).collect();
        for variable in self.list {
            if findings.full() {
                return;
            }
            let (key, named) = match &variable.kind {
                VariableKind::Pointer { referenced } => {
                    ("referenced_var_id", std::slice::from_ref(referenced))
                }
                VariableKind::DgeTable { list } | VariableKind::List { list } => ("list", &list[..]),
                _ => continue,
            };
            if let Some(missing) = named.iter().find(|id| !ids.contains(id)) {
                let expected = "the id of a variable";
                findings.push(self.broken(Rule::VariableReference, variable, key, missing, expected));
            }
        }
    }

    /// A virtual variable lies inside what it aliases, and no chain of aliases comes back to itself.
    fn backing(&self, generation: Generation, findings: &mut Findings) {
        for variable in self.list {
            if findings.full() {
                return;
            }
            let VariableKind::Virtual { backing: Some(name), offset } = &variable.kind else { continue };
            let Some(target) = self.by_name.get(name.as_str()) else {
                let expected = "the name of a variable";
                findings.push(self.broken(Rule::BackingBuffer, variable, "backing_buf", name, expected));
                continue;
            };
            let end = offset.checked_add(variable.size.unwrap_or(0));
            if let Some(size) = target.extent(generation)
                && end.is_none_or(|end| end > size)
            {
                let expected = format!("a range inside the {size} bytes of `{name}`");
                findings.push(self.broken(
                    Rule::BackingBuffer,
                    variable,
                    "backing_variable_off",
                    offset,
                    expected,
                ));
            }
        }
        if let Some(variable) = self.circle() {
            let expected = "no chain of aliases that comes back";
            findings.push(self.broken(
                Rule::BackingBuffer,
                variable,
                "backing_buf",
                &variable.name,
                expected,
            ));
        }
    }

    /// A variable whose aliases run in a circle, if there is one. Every variable is walked over once.
    fn circle(&self) -> Option<&'a Variable> {
        let mut finished: HashSet<&str> = HashSet::new();
        for start in self.list {
            let mut walk = HashSet::new();
            let mut at = start;
            while let VariableKind::Virtual { backing: Some(name), .. } = &at.kind {
                if finished.contains(at.name.as_str()) {
                    break;
                }
                if !walk.insert(at.name.as_str()) {
                    return Some(at);
                }
                let Some(next) = self.by_name.get(name.as_str()) else { break };
                at = next;
            }
            finished.extend(walk);
        }
        None
    }

    /// All variables together fit device memory; the scratchpad counts once.
    fn memory(&self, limit: u64, findings: &mut Findings) {
        let (mut total, mut scratchpad) = (0_u64, 0_u64);
        for variable in self.list {
            let size = variable.size.unwrap_or(0);
            match &variable.kind {
                VariableKind::Virtual { backing: Some(_), .. } => {}
                VariableKind::Virtual { backing: None, offset } => {
                    scratchpad = scratchpad.max(offset.saturating_add(size));
                }
                _ => total = total.saturating_add(size),
            }
        }
        total = total.saturating_add(scratchpad);
        if total >= limit {
            let expected = format!("variables of less than {limit} bytes in all");
            let value = format!("{total} bytes");
            findings.push(self.document.broken(Rule::DeviceMemory, &[Step::Key("var")], value, expected));
        }
    }
}

/// Queues of hardware descriptor generators that a generation has (chapter 07 section 5.2); v5 is taken
/// like v4.
fn dge_queues(generation: Generation) -> usize {
    if generation == Generation::Sunda { 0 } else { 2 }
}

fn queues(graph: &Graph, document: &Document, generation: Generation, findings: &mut Findings) {
    let queues = &graph.def.queues;
    let here = [Step::Key("dma_queue")];
    let all = |kind| queues.iter().filter(move |q| q.kind == kind);
    if let Some(second) = all(QueueKind::ActLoad).nth(1) {
        let steps = [here[0], Step::Key(&second.name), Step::Key("type")];
        findings.push(document.broken(Rule::QueueType, &steps, "act_load", "one act_load queue in a graph"));
    }
    let (count, limit) = (queues.iter().filter(|q| q.dge).count(), dge_queues(generation));
    if count > limit {
        let expected = format!("at most {limit} on {generation}");
        findings.push(document.broken(
            Rule::DgeQueues,
            &here,
            format!("{count} queues with `dge`"),
            expected,
        ));
    }
    for engine in EngineId::ALL {
        // A device word B8 uses the engine's dynamic queue like the D4 it is lowered from (chapter 00 A14).
        let generates = |opcode| matches!(opcode, op::PSEUDO_DMA_DIRECT2D | op::DMAMEMCPY);
        let dynamic = all(QueueKind::Dynamic).filter(|q| q.owner == engine).count();
        if dynamic != 1 && graph.words(engine).any(|word| generates(word.opcode())) {
            let expected = format!("one queue of type dynamic for {engine}, whose stream generates DMA");
            let value = format!("{dynamic} such queues");
            findings.push(document.broken(Rule::DynamicQueue, &here, value, expected));
        }
    }
}

/// State Buffer carve-outs (chapter 07 section 5.4); only CAYMAN is checked.
fn reservations(graph: &Graph, document: &Document, source: &mut Source<'_>) -> Result<()> {
    const KEY: &str = "runtime_statebuffer_reservation";
    if source.generation != Generation::Cayman {
        return Ok(());
    }
    let Some(list) = &graph.def.reservations else {
        if source.options.allow_legacy {
            source.warnings.push(Warning::NoReservation { graph: graph.name.clone() });
            return Ok(());
        }
        return Err(NeffError::JsonMissing {
            at: document.place(&[]),
            key: KEY.to_owned(),
            expected: "an array, which may be empty".to_owned(),
        });
    };
    match list.iter().position(|r| *r != Reservation::CAYMAN) {
        None => Ok(()),
        Some(i) => {
            let expected = format!("{:?}", Reservation::CAYMAN);
            let steps = [Step::Key(KEY), Step::Index(i)];
            Err(document.broken(Rule::Reservation, &steps, format!("{:?}", list[i]), expected))
        }
    }
}

/// Checks every block against queues and variables; `definition` is `def.json`, `engines` are the
/// documents of the engines.
pub(super) fn blocks(
    graph: &Graph,
    definition: &Document,
    engines: &[(EngineId, Document)],
    generation: Generation,
) -> Result<()> {
    let mut checker = Blocks {
        queues: graph.def.queues.iter().map(|q| q.name.as_str()).collect(),
        variables: Variables::new(graph, definition),
        seen: HashSet::new(),
        generation,
        findings: Findings::default(),
    };
    checker.list(&graph.def.blocks, definition);
    for (engine, document) in engines {
        checker.list(&graph.engine(*engine).desc.blocks, document);
    }
    checker.findings.finish()
}

struct Blocks<'a> {
    queues: HashSet<&'a str>,
    variables: Variables<'a>,
    seen: HashSet<(&'a str, u32)>,
    generation: Generation,
    findings: Findings,
}

impl<'a> Blocks<'a> {
    /// Checks the blocks of one document.
    fn list(&mut self, blocks: &'a [DmaBlock], document: &Document) {
        for (i, block) in blocks.iter().enumerate() {
            if self.findings.full() {
                return;
            }
            let at = [Step::Key("dma"), Step::Index(i)];
            let broken = |rule, key, value: String, expected: &str| {
                document.broken(rule, &[at[0], at[1], Step::Key(key)], value, expected)
            };
            if !self.queues.contains(block.queue.as_str()) {
                let expected = "a queue of `dma_queue`";
                self.findings.push(broken(Rule::BlockQueue, "queue", block.queue.clone(), expected));
            }
            if !self.seen.insert((block.queue.as_str(), block.id)) {
                let expected = "an id used once in its queue";
                self.findings.push(broken(Rule::BlockId, "id", block.id.to_string(), expected));
            }
            for (j, descriptor) in block.descriptors.iter().enumerate() {
                let at = [at[0], at[1], Step::Key("desc"), Step::Index(j)];
                let result = self.descriptor(descriptor, document, &at);
                self.findings.keep(result);
            }
        }
    }

    fn descriptor(&self, descriptor: &Descriptor, document: &Document, at: &[Step<'_>; 4]) -> Result<()> {
        let broken = |rule, key, value: String, expected: String| {
            let steps: Vec<Step<'_>> = at.iter().copied().chain([Step::Key(key)]).collect();
            document.broken(rule, &steps, value, expected)
        };
        let limit = source_limit(&descriptor.op, self.generation);
        if descriptor.sources.is_empty() || descriptor.sources.len() > limit {
            let expected = format!("1 to {limit} sources for {}", descriptor.op.name());
            return Err(broken(Rule::SourceCount, "from", descriptor.sources.len().to_string(), expected));
        }
        let sides = descriptor.sources.iter().map(|s| (s, "from")).chain([(&descriptor.destination, "to")]);
        for (access, side) in sides {
            let keys = [side, if side == "from" { "from_sizes" } else { "to_sizes" }];
            self.inside(access)
                .map_err(|(rule, key, value, expected)| broken(rule, keys[key], value, expected))?;
        }
        for source in &descriptor.sources {
            transfer(&descriptor.op, source, &descriptor.destination)
                .map_err(|(rule, value, expected)| broken(rule, "from_sizes", value, expected))?;
        }
        Ok(())
    }

    /// The access lies in its variable. An error says which of two keys is wrong: the variable, the sizes.
    fn inside(&self, access: &Access) -> std::result::Result<(), (Rule, usize, String, String)> {
        let Some(variable) = self.variables.by_name.get(access.variable.as_str()) else {
            let expected = "the name of a variable".to_owned();
            return Err((Rule::VariableReference, 0, access.variable.clone(), expected));
        };
        // Memory of another core may be named but not sized; touching it fails when it runs.
        let Some(extent) = variable.extent(self.generation) else { return Ok(()) };
        match access.span() {
            Some((low, high)) if low >= 0 && high <= i128::from(extent) => Ok(()),
            span => {
                let (low, high) = span.unwrap_or((i128::MIN, i128::MAX));
                let expected = format!("bytes inside `{}`, which has {extent}", variable.name);
                Err((Rule::OutsideVariable, 1, format!("bytes {low} to {}", high - 1), expected))
            }
        }
    }
}

/// Sources that an operation takes (chapter 07 section 5.3).
fn source_limit(op: &DescriptorOp, generation: Generation) -> usize {
    match op {
        DescriptorOp::Copy | DescriptorOp::Cast | DescriptorOp::Transpose(_) => 1,
        DescriptorOp::Fma { .. } if generation <= Generation::Cayman => 16,
        _ => 32,
    }
}

/// Source and destination carry the same: bytes, elements of each side's dtype, or whole tiles.
fn transfer(
    op: &DescriptorOp,
    from: &Access,
    to: &Access,
) -> std::result::Result<(), (Rule, String, String)> {
    let (source, destination) = (from.bytes().unwrap_or(0), to.bytes().unwrap_or(0));
    let size_error = |expected: String| Err((Rule::TransferSize, format!("{source} bytes"), expected));
    if op.computes() {
        let (Some(from_dtype), Some(to_dtype)) = (from.dtype, to.dtype) else {
            let expected = format!("`from_dtype` and `to_dtype` for {}", op.name());
            return Err((Rule::DescriptorDtype, "absent".to_owned(), expected));
        };
        let elements = |bytes: u64, size: usize| {
            let size = size as u64;
            (size != 0 && bytes.is_multiple_of(size)).then(|| bytes / size)
        };
        let pair = (elements(source, from_dtype.bytes()), elements(destination, to_dtype.bytes()));
        return match pair {
            (Some(a), Some(b)) if a == b => Ok(()),
            _ => size_error(format!(
                "as many {} elements as the {destination} destination bytes hold {} elements",
                from_dtype.text(),
                to_dtype.text()
            )),
        };
    }
    if source != destination {
        return size_error(format!("{destination}, the bytes of the destination"));
    }
    if let DescriptorOp::Transpose(tile) = op {
        let bytes = tile.rows.checked_mul(tile.columns).and_then(|n| n.checked_mul(tile.element_size));
        let inner = |access: &Access| {
            let inner = access.sizes.len().checked_sub(tile.tiling_dimensions)?;
            access.sizes[..inner].iter().try_fold(1_u64, |total, n| total.checked_mul(*n))
        };
        if bytes.is_none() || inner(from) != bytes || inner(to) != bytes {
            let expected =
                format!("tiles of {} x {} elements of {} bytes", tile.rows, tile.columns, tile.element_size);
            return Err((Rule::Transpose, format!("{:?}", from.sizes), expected));
        }
    }
    Ok(())
}
