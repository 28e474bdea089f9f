//! Activation table sets and DVE microprogram tables: their members (chapter 07 section 3.2, chapter 10
//! sections 9.1 and 10). What the activation tables mean is not decided here.

use std::collections::HashMap;

use seqjit_runtime::isa::Generation;

use super::bytes::Bytes;
use super::engine::{DveControl, DveTableNames, EngineDesc};
use super::error::{NeffError, Result, Rule};
use super::graph::Source;
use super::json::{Document, Node, Step};

/// Opcodes, and so entries of an opcode table.
const OPCODES: usize = 256;

/// One set of activation tables that a graph uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ActivationSet {
    /// Name in `activation_function_sets`.
    pub name: String,
    /// The functions of the set with the number of their table's form, in order (`exp` 400).
    pub functions: Vec<(String, i64)>,
    /// The profile, JSON.
    pub profile: Bytes,
    /// Bucket entries.
    pub buckets: Bytes,
    /// Control entries.
    pub control: Bytes,
}

impl ActivationSet {
    /// Reads the sets that an ACT description uses; `description` is its document.
    pub(super) fn read_all(
        desc: &EngineDesc,
        description: &Document,
        source: &mut Source<'_>,
    ) -> Result<Vec<ActivationSet>> {
        if desc.activation_function_sets.is_empty() {
            return Ok(Vec::new());
        }
        let Some(info) = &desc.act_info else {
            return Err(NeffError::JsonMissing {
                at: description.place(&[]),
                key: "act_info".to_owned(),
                expected: "the member that lists the sets of `activation_function_sets`".to_owned(),
            });
        };
        let info = source.document(info, || format!("`{}`", description.member()))?;
        let root = info.root();
        let listed = root.require("act_func_sets", "an array of sets")?;
        let mut by_name = HashMap::new();
        for set in listed.elements()? {
            by_name.entry(set.require("name", "a string")?.string()?).or_insert(set);
        }
        let mut sets = Vec::new();
        for (i, name) in desc.activation_function_sets.iter().enumerate() {
            let steps = [Step::Key("activation_function_sets"), Step::Index(i)];
            // Removed once used: a set that occurs twice would have two indices.
            let Some(set) = by_name.remove(name.as_str()) else {
                let expected = format!("a set that `{}` lists, named once", info.member());
                return Err(description.broken(Rule::ActivationSet, &steps, name, expected));
            };
            sets.push(ActivationSet::read(name, set, source)?);
        }
        Ok(sets)
    }

    fn read(name: &str, node: Node<'_, '_>, source: &Source<'_>) -> Result<ActivationSet> {
        let member = |key: &str| {
            let file = node.require(key, "the name of a member")?.string()?;
            source.member(file, || format!("activation set `{name}`")).map(|(_, bytes)| bytes)
        };
        let functions = match node.get("act") {
            None => Vec::new(),
            Some(map) => map
                .entries()?
                .map(|(function, n)| Ok((function.to_owned(), n.int()?)))
                .collect::<Result<_>>()?,
        };
        Ok(ActivationSet {
            name: name.to_owned(),
            functions,
            profile: member("profile_json")?,
            buckets: member("bkt_bin")?,
            control: member("ctrl_bin")?,
        })
    }
}

/// The microprogram tables of a DVE. Only the opcode table's meaning is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DveTables {
    /// One entry per opcode: 8 bytes on v2, 4 from v3 on.
    pub opcode: Bytes,
    /// Datapath table.
    pub datapath: Bytes,
    /// Control table or tables.
    pub control: DveControl<Bytes>,
}

impl DveTables {
    pub(super) fn read(names: &DveTableNames, source: &Source<'_>) -> Result<DveTables> {
        let member = |file: &str| source.member(file, || "`dve_tables` of the DVE".to_owned());
        let (path, opcode) = member(&names.opcode)?;
        let expected = OPCODES * Self::entry_bytes(source.generation);
        if opcode.len() != expected {
            return Err(NeffError::MemberSize {
                member: path,
                size: opcode.len() as u64,
                expected: format!("{expected}: {OPCODES} entries on {}", source.generation),
            });
        }
        Ok(DveTables {
            opcode,
            datapath: member(&names.datapath)?.1,
            control: match &names.control {
                DveControl::Single(table) => DveControl::Single(member(table)?.1),
                DveControl::FastSlow { fast, slow } => {
                    DveControl::FastSlow { fast: member(fast)?.1, slow: member(slow)?.1 }
                }
            },
        })
    }

    /// Bytes of an entry of the opcode table (chapter 10 section 10).
    pub fn entry_bytes(generation: Generation) -> usize {
        if generation == Generation::Sunda { 8 } else { 4 }
    }

    /// Which opcodes have a microprogram: those whose entry is not zero. Entry 0 is not zero in real tables
    /// although no opcode has byte 0, so it says nothing.
    pub fn programs(&self) -> [bool; OPCODES] {
        let entry = self.opcode.len() / OPCODES;
        let used = |opcode: usize| self.opcode[opcode * entry..][..entry].iter().any(|b| *b != 0);
        std::array::from_fn(|opcode| opcode != 0 && used(opcode))
    }
}
