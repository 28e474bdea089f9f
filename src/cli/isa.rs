//! `seqjit isa`: the instruction set, from the tables that the decoder and the interpreter use.

use std::io::Write;

use seqjit::runtime::isa::field::Kind;
use seqjit::runtime::isa::text::Names;
use seqjit::runtime::isa::{
    AluOp, Dtype, Execution, FieldDef, Generation, LayoutDef, LayoutId, OPCODES, OpcodeInfo, Presence, Word,
    parse_opcode,
};
use serde_json::{Value, json};

use super::exit::Code;
use super::failure::Failure;
use super::output::Output;
use super::{coverage, parse_generation, text};

const EXAMPLES: &str = "\
Examples:
  seqjit isa
  seqjit isa MATMUL --generation v3
  seqjit isa 0x41 --json
  seqjit isa --coverage";

/// Shows the instruction set: all opcodes, or everything about one.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A name such as MATMUL, or the byte in hexadecimal, such as 0x02.
    opcode: Option<String>,
    /// Only what exists on this generation: v2 (sunda), v3 (cayman), v4 (mariana) or v5 (maverick).
    #[arg(long, value_name = "G", value_parser = parse_generation)]
    generation: Option<Generation>,
    /// Show what is there of each opcode: defined by the manual, in the interpreter, translated, tests.
    #[arg(long, conflicts_with = "opcode")]
    coverage: bool,
    /// Write one JSON document instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args, out: &mut Output) -> Result<(), Failure> {
    if args.coverage {
        return coverage::list(args.generation, out);
    }
    let Some(name) = &args.opcode else { return list(args.generation, out) };
    let unknown = |message: String| {
        let failure = Failure::new(Code::Usage, message).with("field", "OPCODE").with("found", name.as_str());
        Err(failure.hint("`seqjit isa` lists all opcodes"))
    };
    let Some(info) = parse_opcode(name) else { return unknown(format!("no opcode `{name}`")) };
    if let Some(generation) = args.generation.filter(|g| !info.exists_on(*g)) {
        return unknown(format!("{} (0x{:02X}) does not exist on {generation}", info.name, info.byte));
    }
    let forms = forms(info, args.generation);
    if out.json {
        let mut object = opcode_json(info);
        object["forms"] = forms.iter().map(|form| form.to_json(info)).collect();
        return out.document(&object);
    }
    opcode_text(info, &forms, out)
}

fn list(only: Option<Generation>, out: &mut Output) -> Result<(), Failure> {
    let opcodes = OPCODES.iter().filter(|info| only.is_none_or(|g| info.exists_on(g)));
    if out.json {
        let opcodes: Vec<Value> = opcodes.map(opcode_json).collect();
        return out.document(&json!({ "opcodes": opcodes }));
    }
    writeln!(
        out,
        "byte  name                                presence  engines              family              runs     native"
    )?;
    for info in opcodes {
        let family = format!("{:?}", info.family);
        writeln!(
            out,
            "0x{:02X}  {:<34}  {:<8}  {:<19}  {family:<18}  {:<7}  {}",
            info.byte,
            info.name,
            presence_text(info),
            engine_names(info).join(" "),
            execution(info).0,
            info.lowering.text(),
        )?;
    }
    writeln!(out, "\npresence on v2 v3 v4 v5: Y yes, d dormant, u not maintained, - absent")?;
    Ok(())
}

fn presence_text(info: &OpcodeInfo) -> String {
    let letter = |presence| match presence {
        Presence::Present => "Y",
        Presence::Dormant => "d",
        Presence::Unflagged => "u",
        Presence::Absent => "-",
    };
    info.presence.map(letter).join(" ")
}

fn presence_name(presence: Presence) -> &'static str {
    match presence {
        Presence::Present => "present",
        Presence::Dormant => "dormant",
        Presence::Unflagged => "unmaintained",
        Presence::Absent => "absent",
    }
}

fn engine_names(info: &OpcodeInfo) -> Vec<&'static str> {
    info.engines.iter().map(|engine| engine.name()).collect()
}

/// What running a word does, and why it cannot run.
fn execution(info: &OpcodeInfo) -> (&'static str, Option<&'static str>) {
    match info.execution {
        Execution::Run => ("yes", None),
        Execution::Later => ("not yet", None),
        Execution::Refuse(why) => ("no", Some(why)),
    }
}

/// An operand struct and the generations that have it.
struct Form {
    layout: LayoutId,
    generations: Vec<Generation>,
    /// Byte 12 that chooses it, where several structs share the opcode.
    selector: Option<u8>,
}

fn forms(info: &OpcodeInfo, only: Option<Generation>) -> Vec<Form> {
    let mut forms: Vec<Form> = Vec::new();
    let wanted = |g: &Generation| info.exists_on(*g) && only.is_none_or(|only| only == *g);
    for generation in Generation::ALL.into_iter().filter(wanted) {
        let usual = info.layouts[generation.index()];
        for selector in 0..=u8::MAX {
            let layout = info.layout(&word(info, Some(selector)), generation);
            match forms.iter_mut().find(|form| form.layout == layout) {
                Some(form) if form.generations.contains(&generation) => {}
                Some(form) => form.generations.push(generation),
                None => {
                    let selector = (layout != usual).then_some(selector);
                    forms.push(Form { layout, generations: vec![generation], selector });
                }
            }
        }
    }
    forms
}

/// The word whose fields are all zero, except for the one that chooses the struct.
fn word(info: &OpcodeInfo, selector: Option<u8>) -> Word {
    let mut word = Word::new(info.byte);
    word.0[12] = selector.unwrap_or(0);
    word
}

impl Form {
    fn generations(&self) -> Vec<&'static str> {
        self.generations.iter().map(|g| g.short_name()).collect()
    }

    /// The text of a word with fp32 operands and zeros: it shows the keys and their order.
    fn text(&self, info: &OpcodeInfo) -> Option<(String, bool)> {
        let mut word = word(info, self.selector);
        for field in self.layout.def().fields {
            match field.kind {
                Kind::Dtype => word.0[field.offset] = Dtype::FP32.0,
                Kind::DtypePair => word.0[field.offset] = Dtype::FP32.0 * 0x11,
                _ => {}
            }
        }
        let line = text::line(&word, *self.generations.first()?, &Names::new()).ok()?;
        Some((line.operands, line.marked_ours))
    }

    fn to_json(&self, info: &OpcodeInfo) -> Value {
        let def = self.layout.def();
        let mut object = json!({
            "struct": def.name,
            "generations": self.generations(),
            "events": def.events,
            "fields": def.fields.iter().map(field_json).collect::<Vec<_>>(),
            "reserved": ranges(def),
        });
        if let Some(selector) = self.selector {
            object["byte_12"] = selector.into();
        }
        if let Some((text, ours)) = self.text(info) {
            object["text_form"] = text.into();
            object["text_form_ours"] = ours.into();
        }
        object
    }
}

fn opcode_json(info: &OpcodeInfo) -> Value {
    let presence =
        Generation::ALL.map(|g| (g.short_name().to_owned(), presence_name(info.presence_on(g)).into()));
    let (runs, why) = execution(info);
    let mut object = json!({
        "byte": info.byte,
        "name": info.name,
        "display": info.display,
        "family": format!("{:?}", info.family),
        "engines": engine_names(info),
        "presence": serde_json::Map::from_iter(presence),
        "pseudo": info.is_pseudo(),
        "runs": runs,
        "native": info.lowering.text(),
    });
    if let Some(why) = why {
        object["reason"] = why.into();
    }
    object
}

fn opcode_text(info: &OpcodeInfo, forms: &[Form], out: &mut Output) -> Result<(), Failure> {
    writeln!(out, "{} (0x{:02X})", info.name, info.byte)?;
    if info.display != info.name {
        writeln!(out, "  shown as   {}", info.display)?;
    }
    writeln!(out, "  family     {:?}", info.family)?;
    writeln!(out, "  engines    {}", engine_names(info).join(" "))?;
    let present =
        Generation::ALL.map(|g| format!("{} {}", g.short_name(), presence_name(info.presence_on(g))));
    writeln!(out, "  presence   {}", present.join(", "))?;
    let (runs, why) = execution(info);
    writeln!(out, "  runs       {runs}{}", why.map(|why| format!(": {why}")).unwrap_or_default())?;
    writeln!(out, "  native     {}", info.lowering.text())?;
    for form in forms {
        let def = form.layout.def();
        let selector = form.selector.map(|byte| format!(", byte 12 is {byte}")).unwrap_or_default();
        writeln!(out, "\nstruct {} ({}){selector}", def.name, form.generations().join(" "))?;
        if let Some((text, ours)) = form.text(info).filter(|(text, _)| !text.is_empty()) {
            writeln!(out, "  text{} {text}", if ours { "*" } else { " " })?;
        }
        writeln!(out, "  offset size field                     kind")?;
        writeln!(out, "  {:>6} {:>4} {:<25} opcode byte, length 0x10, debug bytes", 0, 4, "header")?;
        if def.events {
            writeln!(out, "  {:>6} {:>4} {:<25} wait, update and value", 4, 8, "events")?;
        }
        for field in def.fields {
            let (offset, size, name) = (field.offset, field.size, field.name);
            writeln!(out, "  {offset:>6} {size:>4} {name:<25} {}", kind_text(&field.kind))?;
        }
        let reserved = ranges(def);
        if !reserved.is_empty() {
            writeln!(out, "  reserved, zero: {}", reserved.join(" "))?;
        }
    }
    Ok(())
}

fn field_json(field: &FieldDef) -> Value {
    let mut object = json!({
        "name": field.name,
        "offset": field.offset,
        "size": field.size,
        "kind": kind_name(&field.kind),
    });
    let members = members(&field.kind);
    if !members.is_empty() {
        let members = members.into_iter().map(|(value, name)| (name, Value::from(value)));
        object["members"] = members.collect::<serde_json::Map<_, _>>().into();
    }
    object
}

/// The bytes that must be zero, as ranges `first..end`.
fn ranges(def: &LayoutDef) -> Vec<String> {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for at in def.reserved() {
        match ranges.last_mut() {
            Some((_, end)) if *end == at => *end += 1,
            _ => ranges.push((at, at + 1)),
        }
    }
    ranges.into_iter().map(|(first, end)| format!("{first}..{end}")).collect()
}

fn kind_name(kind: &Kind) -> String {
    let name = match kind {
        Kind::Enum(table) => return format!("enum {}", table.name),
        Kind::Tensor(n) => return format!("tensor of {n} dimensions"),
        Kind::UintArray(bytes) => return format!("unsigned integers of {bytes} bytes"),
        Kind::IntArray(bytes) => return format!("signed integers of {bytes} bytes"),
        Kind::Uint => "unsigned integer",
        Kind::Int => "signed integer",
        Kind::Float => "fp32 number",
        Kind::Bits => "packed bits",
        Kind::Dtype => "datatype",
        Kind::DtypePair => "two datatypes, low nibble first",
        Kind::Alu => "ALU operator",
        Kind::WaitMode => "wait mode",
        Kind::UpdateMode => "update mode",
        Kind::Imm => "immediate: number, pointer or register",
        Kind::Ptr => "on-chip address of one scalar a lane",
        Kind::Addr4 => "on-chip address",
        Kind::Addr8 => "DMA address",
        Kind::Generator => "generated pattern",
        Kind::Indirect => "gather operand",
        Kind::MxPattern => "MX operand",
        Kind::EventsExt => "second wait and update",
        Kind::Regs => "register numbers",
        Kind::Name => "name, zero-padded",
    };
    name.to_owned()
}

/// Values and names of a field that has a closed set of them.
fn members(kind: &Kind) -> Vec<(u8, String)> {
    let named = |table: &[(u8, &'static str)]| table.iter().map(|(v, n)| (*v, (*n).to_owned())).collect();
    match kind {
        Kind::Enum(table) => named(table.members),
        Kind::WaitMode => named(seqjit::runtime::isa::field::WaitMode::TABLE.members),
        Kind::UpdateMode => named(seqjit::runtime::isa::field::UpdateMode::TABLE.members),
        Kind::Dtype | Kind::DtypePair => {
            Dtype::TABLE.iter().map(|info| (info.code.0, info.text.to_owned())).collect()
        }
        Kind::Alu => AluOp::TABLE.iter().map(|info| (info.code.0, info.name.to_owned())).collect(),
        _ => Vec::new(),
    }
}

fn kind_text(kind: &Kind) -> String {
    let name = kind_name(kind);
    match kind {
        // These sets are long and the same everywhere.
        Kind::Dtype | Kind::DtypePair | Kind::Alu => name,
        _ => {
            let members: Vec<String> =
                members(kind).into_iter().map(|(v, name)| format!("{v}={name}")).collect();
            if members.is_empty() { name } else { format!("{name}: {}", members.join(" ")) }
        }
    }
}
