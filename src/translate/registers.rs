//! Runs of words on the register file as one function: loops stay in it.
//!
//! Registers are values of the function, stored where it is left. It is left in front of a word: behind the run, where
//! a branch leaves the run, where the budget does not reach to the next branch, on a loop's way back when a pause is wanted, and where the
//! result of an operation wants a record or a fault, which the interpreter makes.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F32, I8, I32, I64};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, SigRef, Value};
use cranelift_codegen::isa::TargetFrontendConfig;
use cranelift_frontend::{FunctionBuilder, Variable};
use seqjit_runtime::isa::field::{BranchCmp, BranchMode, DataSrc};
use seqjit_runtime::isa::layouts::{CTRL_AL, CTRL_BR, CTRL_MV};
use seqjit_runtime::isa::{Dtype, WORD_BYTES};
use seqjit_runtime::machine::{REG_PC_HI, REG_PC_LO, REG_TABLE_HI, REG_TABLE_LO, REGISTERS};

use super::emit::memory;
use super::{Refusal, register_alu};
use crate::block::{RegisterKey, RegisterOp, compares_immediate};

/// [`RegisterContext::committed`] where no redirect was.
pub const NOWHERE: u64 = 1;

/// What native code of a run of register words sees of its engine, and tells where it has left.
#[repr(C)]
pub struct RegisterContext {
    /// R0 to R63.
    pub registers: *mut u32,
    /// Nonzero: another thread wants a pause.
    pub pause: *const u8,
    /// Evaluates what has no code of its own.
    pub evaluate: register_alu::Evaluate,
    /// R131:R130.
    pub table_base: u64,
    /// Words that may still retire.
    pub left: u64,
    /// Words done.
    pub done: u64,
    /// Flags of which the engine makes error records.
    pub reported: u64,
    /// Result of [`Self::evaluate`].
    pub result: u64,
    /// Out: address of the next word.
    pub next: u64,
    /// Out: one more than the index in the run of the branch that goes there, if the last word did.
    pub branch: u64,
    /// Out: target of the last branch whose target has run, else [`NOWHERE`].
    pub committed: u64,
}

/// The function under construction.
pub(super) struct Registers<'f> {
    pub(super) b: FunctionBuilder<'f>,
    pub(super) context: Value,
    pub(super) evaluate: SigRef,
    table: Value,
    /// Numbers of the table that have been used.
    used: i32,
    first: Value,
    registers: Vec<Option<Variable>>,
    table_base: Variable,
    state: State,
    exit: ir::Block,
    /// Flip the lowest bit of what words of this opcode write.
    defect: bool,
}

/// What is passed from word to word beside registers.
struct State {
    left: Variable,
    done: Variable,
    branch: Variable,
    committed: Variable,
    next: Variable,
}

/// Where a word stands.
#[derive(Clone, Copy)]
pub(super) struct At {
    index: usize,
    /// Words from this one on that the block has been charged for, and how many of them count as retired.
    charged: (i64, i64),
}

/// Emits the function of a run into a builder whose entry block has been begun.
pub fn emit(
    mut b: FunctionBuilder<'_>,
    frontend: TargetFrontendConfig,
    key: &RegisterKey,
    (context, table): (Value, Value),
    defect: Option<u8>,
) -> Result<(), Refusal> {
    let ops = key.ops().ok_or(Refusal::Compiler)?;
    let call_conv = b.func.signature.call_conv;
    let mut signature = ir::Signature::new(call_conv);
    signature.params = vec![AbiParam::new(I64); 4];
    signature.returns = vec![AbiParam::new(I64)];
    let evaluate = b.import_signature(signature);
    let first = b.ins().load(I64, memory(), table, 0);
    let exit = b.create_block();
    let mut variable = || b.declare_var(I64);
    let state = State {
        left: variable(),
        done: variable(),
        branch: variable(),
        committed: variable(),
        next: variable(),
    };
    let table_base = variable();
    let mut run = Registers {
        b,
        context,
        evaluate,
        table,
        used: 1,
        first,
        registers: vec![None; REGISTERS],
        table_base,
        state,
        exit,
        defect: false,
    };
    run.enter(&ops);
    run.words(key, &ops, defect);
    run.leave(frontend);
    Ok(())
}

impl Registers<'_> {
    /// Loads what the words use.
    fn enter(&mut self, ops: &[RegisterOp]) {
        let registers = self.field(offset_of!(RegisterContext, registers));
        for number in ops.iter().flat_map(registers_of).filter(|n| usize::from(*n) < REGISTERS) {
            if self.registers[usize::from(number)].is_none() {
                let variable = self.b.declare_var(I32);
                let value = self.b.ins().load(I32, memory(), registers, 4 * i32::from(number));
                self.b.def_var(variable, value);
                self.registers[usize::from(number)] = Some(variable);
            }
        }
        for (variable, offset) in [
            (self.table_base, offset_of!(RegisterContext, table_base)),
            (self.state.left, offset_of!(RegisterContext, left)),
        ] {
            let value = self.field(offset);
            self.b.def_var(variable, value);
        }
        for (variable, value) in [(self.state.done, 0), (self.state.branch, 0), (self.state.next, 0)] {
            self.set(variable, value);
        }
        self.set(self.state.committed, NOWHERE as i64);
    }

    fn words(&mut self, key: &RegisterKey, ops: &[RegisterOp], defect: Option<u8>) {
        let is_target = |index: usize| key.targets.contains(&Some(index as u8));
        let starts =
            |index: usize| index == 0 || is_target(index) || matches!(ops[index - 1], RegisterOp::Branch(_));
        let blocks: Vec<Option<ir::Block>> =
            (0..ops.len()).map(|index| starts(index).then(|| self.b.create_block())).collect();
        let mut charged = (0, 0);
        for (index, op) in ops.iter().enumerate() {
            if let Some(block) = blocks[index] {
                if index == 0 || !matches!(ops[index - 1], RegisterOp::Branch(_)) {
                    self.b.ins().jump(block, &[]);
                }
                self.b.switch_to_block(block);
                let end = (index + 1..ops.len()).find(|i| starts(*i)).unwrap_or(ops.len());
                let retired = ops[index..end].iter().filter(|op| !matches!(op, RegisterOp::Nothing(false)));
                charged = ((end - index) as i64, retired.count() as i64);
                // A word that does not count runs only while there is budget, too.
                let idle = matches!(ops[end - 1], RegisterOp::Nothing(false));
                self.charge(index, charged, idle, is_target(index));
            }
            self.defect = defect == Some(key.words[index].opcode());
            let at = At { index, charged };
            match op {
                RegisterOp::Nothing(_) => {}
                RegisterOp::Move(o) => self.moves(at, o),
                RegisterOp::Alu(o) => register_alu::emit(self, at, o),
                RegisterOp::Branch(o) => {
                    let inside = key.targets[index].and_then(|t| Some((t, blocks[usize::from(t)]?)));
                    let behind = blocks.get(index + 1).copied().flatten();
                    self.branch(at, o, inside, behind);
                }
            }
            charged = (charged.0 - 1, charged.1 - i64::from(!matches!(op, RegisterOp::Nothing(false))));
        }
        if !matches!(ops.last(), Some(RegisterOp::Branch(_))) {
            let next = self.address(ops.len());
            self.leave_for(next);
        }
    }

    /// The start of a block: leaves if the budget does not cover it, else takes its words from the budget.
    fn charge(&mut self, index: usize, (words, retired): (i64, i64), idle: bool, is_target: bool) {
        let left = self.b.use_var(self.state.left);
        let needed = retired + i64::from(idle);
        let enough = self.b.ins().icmp_imm_u(IntCC::UnsignedGreaterThanOrEqual, left, needed);
        let (body, short) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(enough, body, &[], short, &[]);
        self.b.switch_to_block(short);
        let here = self.address(index);
        self.leave_for(here);
        self.b.switch_to_block(body);
        self.add(self.state.left, -retired);
        self.add(self.state.done, words);
        if is_target {
            let branch = self.b.use_var(self.state.branch);
            let (here, before) = (self.address(index), self.b.use_var(self.state.committed));
            let committed = self.b.ins().select(branch, here, before);
            self.b.def_var(self.state.committed, committed);
            self.set(self.state.branch, 0);
        }
    }

    fn moves(&mut self, at: At, o: &CTRL_MV) {
        let count = usize::from(o.num_mov);
        let values: Vec<Value> = (0..count)
            .map(|k| match o.move_source {
                DataSrc::IMMEDIATE => self.immediate(I32),
                _ => self.register(at, o.src_registers.0[k]),
            })
            .collect();
        for (number, value) in o.dst_registers.0.into_iter().zip(values) {
            self.set_register(number, value);
        }
    }

    /// `inside`: index and block of the target in the run; `behind`: the block of the next word.
    fn branch(&mut self, at: At, o: &CTRL_BR, inside: Option<(u8, ir::Block)>, behind: Option<ir::Block>) {
        // Register targets are read before the compare; its immediate comes first in the table.
        let condition = (o.cmp_op != BranchCmp::ALWAYS).then(|| self.condition(at, o));
        if let Some(condition) = condition {
            let (taken, not) = (self.b.create_block(), self.b.create_block());
            self.b.ins().brif(condition, taken, &[], not, &[]);
            self.b.switch_to_block(not);
            match behind {
                Some(block) => {
                    self.b.ins().jump(block, &[]);
                }
                None => {
                    let next = self.address(at.index + 1);
                    self.leave_for(next);
                }
            }
            self.b.switch_to_block(taken);
        }
        self.set(self.state.branch, at.index as i64 + 1);
        match inside {
            Some((target, block)) if usize::from(target) <= at.index => {
                let pause = self.field(offset_of!(RegisterContext, pause));
                let wanted = self.b.ins().load(I8, memory(), pause, 0);
                let paused = self.b.create_block();
                self.b.ins().brif(wanted, paused, &[], block, &[]);
                self.b.switch_to_block(paused);
                let next = self.address(target.into());
                self.leave_for(next);
            }
            Some((_, block)) => {
                self.b.ins().jump(block, &[]);
            }
            None => {
                let next = self.target(at, o);
                self.leave_for(next);
            }
        }
    }

    /// The address that a branch out of the run goes to.
    fn target(&mut self, at: At, o: &CTRL_BR) -> Value {
        if !matches!(o.target_mode, BranchMode::REGISTER | BranchMode::RELATIVE_REGISTER) {
            return self.immediate(I64);
        }
        let pair = self.pair(at, o.target_reg_lo, o.target_reg_hi);
        if o.target_mode == BranchMode::REGISTER {
            return pair;
        }
        let here = self.address(at.index);
        self.b.ins().iadd(here, pair)
    }

    /// Whether the compare holds (chapter 02 section 8.10); unordered operands satisfy NE only.
    fn condition(&mut self, at: At, o: &CTRL_BR) -> Value {
        let a = self.register(at, o.cmp_reg0);
        let b = if compares_immediate(o) { self.immediate(I32) } else { self.register(at, o.cmp_reg1) };
        let compare = BranchCmp(o.cmp_op.0 & 0x7F);
        if o.dtype == Dtype::FP32 {
            let (a, b) = (self.b.ins().bitcast(F32, memory(), a), self.b.ins().bitcast(F32, memory(), b));
            let code = match compare {
                BranchCmp::LT => FloatCC::LessThan,
                BranchCmp::LE => FloatCC::LessThanOrEqual,
                BranchCmp::EQ => FloatCC::Equal,
                BranchCmp::NE => FloatCC::NotEqual,
                BranchCmp::GE => FloatCC::GreaterThanOrEqual,
                _ => FloatCC::GreaterThan,
            };
            return self.b.ins().fcmp(code, a, b);
        }
        let code = match compare {
            BranchCmp::LT => IntCC::SignedLessThan,
            BranchCmp::LE => IntCC::SignedLessThanOrEqual,
            BranchCmp::EQ => IntCC::Equal,
            BranchCmp::NE => IntCC::NotEqual,
            BranchCmp::GE => IntCC::SignedGreaterThanOrEqual,
            _ => IntCC::SignedGreaterThan,
        };
        let code = if o.dtype == Dtype::UINT32 { code.unsigned() } else { code };
        self.b.ins().icmp(code, a, b)
    }

    /// Stores what the words may have changed, and returns.
    fn leave(mut self, frontend: TargetFrontendConfig) {
        let exit = self.exit;
        self.b.switch_to_block(exit);
        let registers = self.field(offset_of!(RegisterContext, registers));
        let used = std::mem::take(&mut self.registers);
        for (number, variable) in used.iter().enumerate() {
            if let Some(variable) = variable {
                let value = self.b.use_var(*variable);
                self.b.ins().store(memory(), value, registers, 4 * number as i32);
            }
        }
        for (variable, offset) in [
            (self.table_base, offset_of!(RegisterContext, table_base)),
            (self.state.left, offset_of!(RegisterContext, left)),
            (self.state.done, offset_of!(RegisterContext, done)),
            (self.state.next, offset_of!(RegisterContext, next)),
            (self.state.branch, offset_of!(RegisterContext, branch)),
            (self.state.committed, offset_of!(RegisterContext, committed)),
        ] {
            let value = self.b.use_var(variable);
            self.b.ins().store(memory(), value, self.context, offset as i32);
        }
        self.b.ins().return_(&[]);
        self.b.seal_all_blocks();
        self.b.finalize(frontend);
    }

    /// Goes to the exit, with the address of the next word.
    fn leave_for(&mut self, next: Value) {
        self.b.def_var(self.state.next, next);
        let exit = self.exit;
        self.b.ins().jump(exit, &[]);
    }

    /// Leaves in front of a word where `bad` is not zero: the interpreter runs it.
    pub(super) fn leave_if(&mut self, bad: Value, at: At) {
        let (leave, stay) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(bad, leave, &[], stay, &[]);
        self.b.switch_to_block(leave);
        let (words, retired) = at.charged;
        self.add(self.state.left, retired);
        self.add(self.state.done, -words);
        let here = self.address(at.index);
        self.leave_for(here);
        self.b.switch_to_block(stay);
    }

    /// A field of the context.
    pub(super) fn field(&mut self, offset: usize) -> Value {
        self.b.ins().load(I64, memory(), self.context, offset as i32)
    }

    fn address(&mut self, index: usize) -> Value {
        self.b.ins().iadd_imm_s(self.first, (index * WORD_BYTES) as i64)
    }

    fn set(&mut self, variable: Variable, value: i64) {
        let value = self.b.ins().iconst(I64, value);
        self.b.def_var(variable, value);
    }

    fn add(&mut self, variable: Variable, amount: i64) {
        let value = self.b.use_var(variable);
        let value = self.b.ins().iadd_imm_s(value, amount);
        self.b.def_var(variable, value);
    }

    /// The next number of the table.
    pub(super) fn immediate(&mut self, kind: ir::Type) -> Value {
        let offset = 8 * self.used;
        self.used += 1;
        self.b.ins().load(kind, memory(), self.table, offset)
    }

    /// Reads a register specifier.
    pub(super) fn register(&mut self, at: At, number: u8) -> Value {
        let (wide, high) = match number {
            REG_PC_LO => (self.address(at.index), false),
            REG_PC_HI => (self.address(at.index), true),
            REG_TABLE_LO => (self.b.use_var(self.table_base), false),
            REG_TABLE_HI => (self.b.use_var(self.table_base), true),
            _ => {
                return match self.registers.get(usize::from(number)).copied().flatten() {
                    Some(variable) => self.b.use_var(variable),
                    None => self.b.ins().iconst(I32, 0),
                };
            }
        };
        let half = if high { self.b.ins().ushr_imm_u(wide, 32) } else { wide };
        self.b.ins().ireduce(I32, half)
    }

    /// Reads two register specifiers as 64 bits.
    pub(super) fn pair(&mut self, at: At, low: u8, high: u8) -> Value {
        let (low, high) = (self.register(at, low), self.register(at, high));
        let (low, high) = (self.b.ins().uextend(I64, low), self.b.ins().uextend(I64, high));
        let high = self.b.ins().ishl_imm_u(high, 32);
        self.b.ins().bor(high, low)
    }

    /// Writes a register specifier; the PC ignores it.
    pub(super) fn set_register(&mut self, number: u8, value: Value) {
        let value = if self.defect { self.b.ins().bxor_imm_u(value, 1) } else { value };
        match number {
            REG_PC_LO | REG_PC_HI => {}
            REG_TABLE_LO | REG_TABLE_HI => {
                let old = self.b.use_var(self.table_base);
                let value = self.b.ins().uextend(I64, value);
                let (kept, new) = if number == REG_TABLE_LO {
                    (self.b.ins().band_imm_s(old, !0xFFFF_FFFF), value)
                } else {
                    (self.b.ins().band_imm_s(old, 0xFFFF_FFFF), self.b.ins().ishl_imm_u(value, 32))
                };
                let both = self.b.ins().bor(kept, new);
                self.b.def_var(self.table_base, both);
            }
            _ => {
                if let Some(variable) = self.registers.get(usize::from(number)).copied().flatten() {
                    self.b.def_var(variable, value);
                }
            }
        }
    }
}

/// The register specifiers of a word.
fn registers_of(op: &RegisterOp) -> Vec<u8> {
    match op {
        RegisterOp::Nothing(_) => Vec::new(),
        RegisterOp::Move(o) => {
            let used = |numbers: [u8; 8]| numbers.into_iter().take(o.num_mov.into());
            used(o.src_registers.0).chain(used(o.dst_registers.0)).collect()
        }
        RegisterOp::Alu(o) => register_alu::registers(o).to_vec(),
        RegisterOp::Branch(o) => vec![o.cmp_reg0, o.cmp_reg1, o.target_reg_lo, o.target_reg_hi],
    }
}

/// Operands of ALU_OP in 64 bits.
pub(super) fn is_wide(o: &CTRL_AL) -> bool {
    o.dtype.is_64bit()
}
