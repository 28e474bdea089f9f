//! Runs of words that touch nothing but the register file and the PC: what one function is made for.

use seqjit_runtime::interp::{FaultKind, Flow, Instruction, register_alu};
use seqjit_runtime::isa::field::{BranchCmp, BranchMode, DataSrc};
use seqjit_runtime::isa::layouts::{CTRL_AL, CTRL_BR, CTRL_MV};
use seqjit_runtime::isa::{Decoded, Dtype, Generation, Layout, WORD_BYTES, Word, decode};
use seqjit_runtime::machine::{REG_PC_LO, REG_TABLE_HI, REGISTERS};

use super::find::{executable, updates, waits};
use crate::translate::{self, Control};

/// Words of the longest run.
const MAX_WORDS: usize = 64;

/// The key of the code of a run: everything but addresses and immediates, which its code finds in its table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct RegisterKey {
    /// The words, masked.
    pub words: Vec<Word>,
    /// For each word, to which word of the run its branch goes.
    pub targets: Vec<Option<u8>>,
    /// Generation: how words are decoded.
    pub generation: Generation,
}

/// A run in a stream.
pub struct RegisterRun {
    /// What decides its code.
    pub key: RegisterKey,
    /// The address of its first word, then in the order of the words what the key leaves open: see [`RegisterOp::table`].
    pub table: Vec<u64>,
}

/// What one word of a run does.
#[derive(Clone, Copy, Debug)]
pub enum RegisterOp {
    /// Nothing; the flag tells whether it counts as retired.
    Nothing(bool),
    /// MOVE.
    Move(CTRL_MV),
    /// ALU_OP.
    Alu(CTRL_AL),
    /// COMPARE_BRANCH.
    Branch(CTRL_BR),
}

impl RegisterOp {
    /// Of a word that may stand in a run.
    pub fn of(w: &Decoded) -> Option<RegisterOp> {
        match translate::control(w)? {
            Control::Nothing(flow) => Some(RegisterOp::Nothing(flow != Flow::Skip)),
            Control::Registers => {
                let moves = CTRL_MV::of(&w.operands).map(|o| RegisterOp::Move(*o));
                let alu = || CTRL_AL::of(&w.operands).map(|o| RegisterOp::Alu(*o));
                let branch = || CTRL_BR::of(&w.operands).map(|o| RegisterOp::Branch(*o));
                moves.or_else(alu).or_else(branch)
            }
            Control::Sequencer => None,
        }
    }

    /// Whether it cannot fault but for the values in registers. The rules are those of its interpreter function.
    fn is_sound(&self, strict: bool) -> bool {
        match self {
            RegisterOp::Nothing(_) => true,
            RegisterOp::Move(o) => {
                let moves = usize::from(o.num_mov);
                let sources = if o.move_source == DataSrc::IMMEDIATE { &[] } else { &o.src_registers.0[..] };
                (1..=8).contains(&moves)
                    && sources.iter().take(moves).chain(&o.dst_registers.0[..moves]).all(is_register)
            }
            RegisterOp::Alu(o) => {
                let wide = o.dtype.is_64bit();
                let narrowed = wide && o.dst_dtype != Dtype::INVALID && !o.dst_dtype.is_64bit();
                let same = wide || o.dst_dtype == Dtype::INVALID || o.dst_dtype == o.dtype;
                let immediate = o.src1_datasrc == DataSrc::IMMEDIATE;
                let low = is_register(&o.src0_lo)
                    && is_register(&o.dst_lo)
                    && (immediate || is_register(&o.src1_lo));
                let high = is_register(&o.src0_hi)
                    && (narrowed || is_register(&o.dst_hi))
                    && (immediate || is_register(&o.src1_hi));
                let known = !matches!(
                    register_alu::evaluate(o.op, o.dtype, 1, 1, strict),
                    Err(fault) if fault != FaultKind::IntegerDivision
                );
                same && low && (!wide || high) && known
            }
            RegisterOp::Branch(o) => sound_target(o, strict) && sound_condition(o, strict),
        }
    }

    /// How often a word of the run takes a number from the table, where its branch does not stay in it: immediates of MOVE,
    /// that of ALU_OP, that of the compare, the target.
    pub fn table(&self, at: u64, inside: bool) -> Vec<u64> {
        match self {
            RegisterOp::Nothing(_) => Vec::new(),
            RegisterOp::Move(o) if o.move_source == DataSrc::IMMEDIATE => {
                o.immediate[..usize::from(o.num_mov)].iter().map(|bits| u64::from(*bits)).collect()
            }
            RegisterOp::Move(_) => Vec::new(),
            RegisterOp::Alu(o) if o.src1_datasrc == DataSrc::IMMEDIATE => vec![o.immediate],
            RegisterOp::Alu(_) => Vec::new(),
            RegisterOp::Branch(o) => {
                let compared = compares_immediate(o).then_some(u64::from(o.cmp_immediate));
                let target = target_of(o, at).filter(|_| !inside);
                compared.into_iter().chain(target).collect()
            }
        }
    }
}

fn is_register(number: &u8) -> bool {
    usize::from(*number) < REGISTERS || (REG_PC_LO..=REG_TABLE_HI).contains(number)
}

fn sound_target(o: &CTRL_BR, strict: bool) -> bool {
    let pair = is_register(&o.target_reg_lo) && is_register(&o.target_reg_hi);
    match o.target_mode {
        BranchMode::ABSOLUTE | BranchMode::RELATIVE => true,
        BranchMode::REGISTER => pair,
        BranchMode::RELATIVE_REGISTER => pair && !strict,
        _ => false,
    }
}

fn sound_condition(o: &CTRL_BR, strict: bool) -> bool {
    if o.cmp_op == BranchCmp::ALWAYS {
        return true;
    }
    let pinned = [BranchCmp::EQ, BranchCmp::GT].contains(&o.cmp_op);
    let known = BranchCmp::TABLE.name_of(o.cmp_op.0).is_some() && (pinned || !strict);
    let registers = is_register(&o.cmp_reg0) && (compares_immediate(o) || is_register(&o.cmp_reg1));
    known && registers && matches!(o.dtype, Dtype::INT32 | Dtype::UINT32 | Dtype::FP32)
}

/// Whether the second operand of the compare is in the word.
pub fn compares_immediate(o: &CTRL_BR) -> bool {
    o.cmp_op != BranchCmp::ALWAYS && o.cmp_op.0 & 0x80 == 0
}

/// Where a branch at an address goes, if the word alone says so.
fn target_of(o: &CTRL_BR, at: u64) -> Option<u64> {
    match o.target_mode {
        BranchMode::ABSOLUTE => Some(o.br_immediate),
        BranchMode::RELATIVE => Some(at.wrapping_add_signed(i64::from(o.br_immediate as u32 as i32))),
        _ => None,
    }
}

/// The run that starts at a slot: words without waits and updates, up to one that does more than move registers or that may
/// fault whatever they hold, or up to a branch that is always taken. A word that waits or updates makes a run of its own, which
/// knows nothing of that. `None`: the first word is no such word.
pub fn find(
    code: &[Instruction],
    legal: &[bool; 256],
    first: usize,
    base: u64,
    generation: Generation,
    strict: bool,
) -> Option<RegisterRun> {
    let address = |index: usize| base + ((first + index) * WORD_BYTES) as u64;
    let mut ops: Vec<(RegisterOp, Word)> = Vec::new();
    let mut alone = false;
    for instruction in code[first..].iter().take(MAX_WORDS) {
        let Some(w) = executable(instruction).filter(|w| legal[usize::from(w.info.byte)]) else { break };
        let Some(op) = RegisterOp::of(w).filter(|op| op.is_sound(strict)) else { break };
        alone = waits(w) || updates(w);
        if alone && !ops.is_empty() {
            break;
        }
        ops.push((op, masked(w)));
        if alone || matches!(op, RegisterOp::Branch(o) if o.cmp_op == BranchCmp::ALWAYS) {
            break;
        }
    }
    let alone = alone && ops.len() == 1;
    if ops.is_empty() {
        return None;
    }
    let inside = |(index, (op, _)): (usize, &(RegisterOp, Word))| {
        let RegisterOp::Branch(o) = op else { return None };
        let bytes = target_of(o, address(index))?.wrapping_sub(address(0));
        let target = bytes / WORD_BYTES as u64;
        let there = bytes.is_multiple_of(WORD_BYTES as u64) && target < ops.len() as u64;
        (there && !alone).then_some(target as u8)
    };
    let targets: Vec<Option<u8>> = ops.iter().enumerate().map(inside).collect();
    let mut table = vec![address(0)];
    for (index, ((op, _), target)) in ops.iter().zip(&targets).enumerate() {
        table.extend(op.table(address(index), target.is_some()));
    }
    let words = ops.into_iter().map(|(_, word)| word).collect();
    Some(RegisterRun { key: RegisterKey { words, targets, generation }, table })
}

/// The word without what its table holds, and without what does not matter.
fn masked(w: &Decoded) -> Word {
    let mut word = w.word;
    word.0[2..12].fill(0);
    match RegisterOp::of(w) {
        Some(RegisterOp::Move(_)) => word.0[32..].fill(0),
        Some(RegisterOp::Alu(_)) => word.0[24..].fill(0),
        // The bytes that are left name the compare, the registers and the mode.
        Some(RegisterOp::Branch(_)) => {
            [15..32, 36..WORD_BYTES].into_iter().for_each(|bytes| word.0[bytes].fill(0));
        }
        _ => word.0[12..].fill(0),
    }
    word
}

impl RegisterKey {
    /// What its words do.
    pub fn ops(&self) -> Option<Vec<RegisterOp>> {
        self.words.iter().map(|word| RegisterOp::of(&decode(word, self.generation).ok()?)).collect()
    }
}
