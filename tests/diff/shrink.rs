//! From a failing sequence of words to the least that still fails.

use seqjit::runtime::isa::field::{Addr4, Field, Kind, WaitMode};
use seqjit::runtime::isa::layouts::FieldDef;
use seqjit::runtime::isa::text::{Line, Names};
use seqjit::runtime::isa::{AluOp, Dtype, Word, decode};

use crate::words::Case;

/// Steps towards a simpler word, in case two of them undo each other.
const MAX_STEPS: usize = 100;

/// Removes items one by one, large runs first, as long as `fails` holds of the rest.
pub fn fewer<T: Clone>(mut items: Vec<T>, fails: &dyn Fn(&[T]) -> bool) -> Vec<T> {
    let mut run = items.len() / 2;
    while run > 0 {
        let mut at = 0;
        while at + run <= items.len() {
            let mut rest = items.clone();
            rest.drain(at..at + run);
            if fails(&rest) { items = rest } else { at += run }
        }
        run /= 2;
    }
    items
}

/// The least cases of which `fails` still holds: without those that do not matter, each as simple as can be.
pub fn cases(failing: Vec<Case>, fails: &dyn Fn(&[Case]) -> bool) -> Vec<Case> {
    // Mostly the last one alone is enough.
    let last = &failing[failing.len() - 1..];
    let mut cases = if fails(last) { last.to_vec() } else { fewer(failing, fails) };
    for at in 0..cases.len() {
        for _ in 0..MAX_STEPS {
            let Some(simpler) = simpler(&cases, at, fails) else { break };
            cases[at] = simpler;
        }
    }
    cases
}

/// A simpler form of one of the cases that is legal and still fails.
fn simpler(cases: &[Case], at: usize, fails: &dyn Fn(&[Case]) -> bool) -> Option<Case> {
    let mut tried = cases.to_vec();
    candidates(&cases[at]).into_iter().find(|candidate| {
        tried[at] = candidate.clone();
        candidate.is_legal() && fails(&tried)
    })
}

/// Forms of a case that have less to them, the greatest steps first.
fn candidates(of: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Case)| {
        let mut case = of.clone();
        change(&mut case);
        let same = case.word == of.word
            && (case.before.len(), case.after.len(), case.limit, case.registers)
                == (of.before.len(), of.after.len(), of.limit, of.registers);
        if !same {
            found.push(case);
        }
    };
    add(&|case| case.before.clear());
    add(&|case| case.after.clear());
    for at in 0..of.before.len() {
        add(&|case| _ = case.before.remove(at));
    }
    add(&|case| case.limit = 256);
    for register in 0..of.registers.len() {
        add(&|case| case.registers[register] = 0);
    }
    let Ok(decoded) = decode(&of.word, of.generation) else { return found };
    let def = decoded.operands.layout().def();
    if def.events {
        add(&|case| case.word.0[4..12].fill(0));
        add(&|case| case.word.0[4] = WaitMode::NONE.0);
    }
    add(&|case| case.word.0[2..4].fill(0));
    // Patterns hang together, by the count of their elements.
    for total in [1, 2, 3, 4, 5, 8, 16] {
        let mut word = of.word;
        def.fields.iter().for_each(|f| flatten(&mut word, f, total));
        if word == of.word {
            break;
        }
        add(&|case| case.word = word);
    }
    for field in def.fields {
        let bytes = field.offset..field.offset + field.size;
        for value in simple_values(field.kind) {
            // Only towards the front of the list, so that this comes to an end.
            let now = &of.word.0[bytes.clone()];
            if now.starts_with(&value) {
                break;
            }
            add(&|case| case.word.0[bytes.start..bytes.start + value.len()].copy_from_slice(&value));
        }
        if let Kind::Tensor(dims) = field.kind {
            add(&|case| contiguous(&mut case.word.0[bytes.clone()], dims));
        }
    }
    found
}

/// Values of a field, the simplest first.
fn simple_values(kind: Kind) -> Vec<Vec<u8>> {
    let bytes = |values: &[u8]| values.iter().map(|v| vec![*v]).collect();
    match kind {
        Kind::Uint | Kind::Enum(_) | Kind::Bits => bytes(&[0, 1]),
        Kind::Dtype => bytes(&[Dtype::FP32.0, Dtype::BFLOAT16.0, Dtype::UINT32.0, Dtype::UINT8.0]),
        Kind::DtypePair => bytes(&[Dtype::FP32.0 * 17, Dtype::BFLOAT16.0 * 17, Dtype::UINT32.0 * 17]),
        Kind::Alu => bytes(&[AluOp::BYPASS.0, AluOp::ADD.0, AluOp::ADD_INT.0]),
        Kind::Imm | Kind::Float | Kind::Ptr => [0, 1.0f32.to_bits()].map(|v| v.to_le_bytes().to_vec()).into(),
        Kind::Tensor(_) => vec![vec![0; 4]],
        _ => Vec::new(),
    }
}

/// Makes a pattern one run of `total` elements.
fn flatten(word: &mut Word, field: &FieldDef, total: u16) {
    let bytes = &mut word.0[field.offset..field.offset + field.size];
    match field.kind {
        Kind::Tensor(dims) => {
            for d in 0..dims {
                let (step, count) = if d == 0 { (1, total) } else { (total, 1) };
                bytes[4 + 2 * d..6 + 2 * d].copy_from_slice(&step.to_le_bytes());
                bytes[4 + 2 * (dims + d)..6 + 2 * (dims + d)].copy_from_slice(&count.to_le_bytes());
            }
        }
        _ if field.name == "dst_element_count" => bytes.copy_from_slice(&u32::from(total).to_le_bytes()),
        _ => {}
    }
}

/// Makes the steps of a pattern those of contiguous elements, and its start an address.
fn contiguous(bytes: &mut [u8], dims: usize) {
    let mut step: i16 = 1;
    for d in 0..dims {
        let at = 4 + 2 * (dims + d);
        let count = i16::from_le_bytes([bytes[at], bytes[at + 1]]);
        bytes[4 + 2 * d..6 + 2 * d].copy_from_slice(&step.to_le_bytes());
        step = step.wrapping_mul(count);
    }
    if Addr4::read(&bytes[..4]).0 >> 29 != 0 {
        bytes[..4].fill(0);
    }
}

/// A word as text and in hexadecimal.
pub fn describe(case: &Case) -> String {
    let text = |word: &Word| match decode(word, case.generation) {
        Ok(decoded) => {
            format!("{}\n    {}", Line::new(&decoded, case.generation, &Names::default()), word.to_hex())
        }
        Err(error) => format!("{error}\n    {}", word.to_hex()),
    };
    let mut lines =
        format!("{} {}, R0.. {:x?}, turns of {}:", case.generation, case.engine, case.registers, case.limit);
    for (at, word) in case.words().enumerate() {
        let mark = if at == case.before.len() { "->" } else { "  " };
        lines += &format!("\n {mark} {}", text(&word));
    }
    lines
}
