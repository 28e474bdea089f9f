//! Custom-operator libraries (chapter 07 section 5.5). Their code runs on the vendor's own processors;
//! here they are read, checked and listed.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::definition::check_default_library;
use super::error::{Result, Rule};
use super::json::{Document, Node};

/// Functions in all libraries of a graph.
const MAX_FUNCTIONS: usize = 97;
/// Functions per core.
const MAX_FUNCTIONS_PER_CORE: usize = 28;
/// Bytes of a function's name.
const MAX_NAME: usize = 63;

/// The libraries of a graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UcodeLibraries {
    /// The member that lists them, if `ucode_lib` names one.
    pub member: Option<String>,
    /// The libraries, from `def.json` or from that member.
    pub libraries: Vec<UcodeLibrary>,
}

/// One library.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UcodeLibrary {
    /// Member with the device code.
    pub library: String,
    /// Interface version; the major part is 1.
    pub version: String,
    /// Opcode of its instructions: -123 or 0x85 for built-in operators, else a user's.
    pub opcode: i64,
    /// Always 0.
    pub cpu_id: u64,
    /// 0, 1 or 8.
    pub total_cpus: u64,
    /// Its functions.
    pub functions: Vec<UcodeFunction>,
}

/// One function; words reach it by opcode and sub-opcode.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UcodeFunction {
    /// Name.
    pub name: String,
    /// Opcode.
    pub opcode: i64,
    /// Sub-opcode.
    pub sub_opcode: i64,
}

impl UcodeLibraries {
    /// Reads `ucode_lib` and checks `ext_isa_ucode_lib_def` of a `def.json`.
    pub(super) fn read(root: Node<'_, '_>) -> Result<UcodeLibraries> {
        if let Some(node) = root.get("ext_isa_ucode_lib_def") {
            check_default_library(node)?;
        }
        let Some(node) = root.get("ucode_lib") else { return Ok(UcodeLibraries::default()) };
        if let Some(member) = node.value().as_str() {
            return Ok(UcodeLibraries { member: Some(member.to_owned()), libraries: Vec::new() });
        }
        Ok(UcodeLibraries { member: None, libraries: read_list(node)? })
    }

    /// Reads the libraries from the member that `ucode_lib` names: an array, or one library.
    pub(super) fn read_member(&mut self, document: &Document) -> Result<()> {
        let root = document.root();
        self.libraries =
            if root.value().is_array() { read_list(root)? } else { vec![UcodeLibrary::read(root)?] };
        Ok(())
    }

    /// Adds the key to a `def.json`.
    pub(super) fn to_json(&self, map: &mut Map<String, Value>) {
        let value = match &self.member {
            Some(member) => json!(member),
            None if self.libraries.is_empty() => return,
            None => self.libraries.iter().map(UcodeLibrary::to_json).collect(),
        };
        map.insert("ucode_lib".to_owned(), value);
    }
}

fn read_list(node: Node<'_, '_>) -> Result<Vec<UcodeLibrary>> {
    let mut libraries: Vec<UcodeLibrary> = Vec::new();
    let mut names = HashSet::new();
    let mut functions = 0;
    for element in node.elements()? {
        let library = UcodeLibrary::read(element)?;
        if !names.insert(library.library.clone()) {
            return Err(element.broken(Rule::CustomLibrary, "a library that is named once"));
        }
        functions += library.functions.len();
        if functions > MAX_FUNCTIONS {
            return Err(
                element.broken(Rule::CustomLibrary, format!("at most {MAX_FUNCTIONS} functions in all"))
            );
        }
        libraries.push(library);
    }
    Ok(libraries)
}

impl UcodeLibrary {
    fn read(node: Node<'_, '_>) -> Result<UcodeLibrary> {
        let version = node.require("ulib_to_ucode_version", "a version of major part 1")?;
        let version_text = match (version.value().as_str(), version.value().as_u64()) {
            (Some(text), _) => text.to_owned(),
            (None, Some(number)) => number.to_string(),
            _ => return Err(version.wrong_type("a version")),
        };
        if version_text.split('.').next() != Some("1") {
            return Err(version.broken(Rule::CustomLibrary, "major version 1"));
        }
        let bounded = |key: &str, allowed: &[u64]| -> Result<u64> {
            let Some(number) = node.get(key) else { return Ok(0) };
            let value = number.uint()?;
            if allowed.contains(&value) {
                return Ok(value);
            }
            Err(number.broken(Rule::CustomLibrary, format!("one of {allowed:?}")))
        };
        let functions = node.optional_list("functions", UcodeFunction::read)?;
        if functions.len() > MAX_FUNCTIONS_PER_CORE {
            let expected = format!("at most {MAX_FUNCTIONS_PER_CORE} functions");
            return Err(node.require("functions", "")?.broken(Rule::CustomLibrary, expected));
        }
        Ok(UcodeLibrary {
            library: node.require("library", "the name of a member")?.string()?.to_owned(),
            version: version_text,
            opcode: node.require("opcode", "an integer")?.int()?,
            cpu_id: bounded("cpu_id", &[0])?,
            total_cpus: bounded("total_cpus", &[0, 1, 8])?,
            functions,
        })
    }

    fn to_json(&self) -> Value {
        json!({
            "cpu_id": self.cpu_id,
            "functions": self.functions.iter().map(UcodeFunction::to_json).collect::<Vec<_>>(),
            "library": self.library,
            "opcode": self.opcode,
            "total_cpus": self.total_cpus,
            "ulib_to_ucode_version": self.version,
        })
    }
}

impl UcodeFunction {
    fn read(node: Node<'_, '_>) -> Result<UcodeFunction> {
        let name = node.require("name", "a string")?;
        if name.string()?.len() > MAX_NAME {
            return Err(name.broken(Rule::CustomLibrary, format!("a name of at most {MAX_NAME} bytes")));
        }
        Ok(UcodeFunction {
            name: name.string()?.to_owned(),
            opcode: node.require("opcode", "an integer")?.int()?,
            sub_opcode: node.require("sub_opcode", "an integer")?.int()?,
        })
    }

    fn to_json(&self) -> Value {
        json!({"name": self.name, "opcode": self.opcode, "sub_opcode": self.sub_opcode})
    }
}
