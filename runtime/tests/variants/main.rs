//! Datatypes, operators, sources of scalars and modes that no example of the manual shows: words on small integers,
//! which every datatype holds exactly, so that the results can be calculated by hand.

mod folds;
mod moves;
mod norm;
mod pe;
#[path = "../data/support.rs"]
#[allow(dead_code)] // shared with the data kernels
mod support;
mod sync;
mod tensors;
mod transfers;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use seqjit_runtime::isa::check::{CheckContext, check};
use seqjit_runtime::isa::field::{Imm, ImmSrc};
use seqjit_runtime::isa::layouts::CTRL_NO_A1;
use seqjit_runtime::isa::{Dtype, DtypeKind, EngineId, Generation, Layout, Word, decode};
use seqjit_runtime::machine::Machine;

use support::*;

/// Where sources lie, and second sources.
pub(crate) const A: u32 = 0x100;
pub(crate) const B: u32 = 0x200;
/// Where results lie, and second results.
pub(crate) const OUT: u32 = 0x400;
pub(crate) const OUT2: u32 = 0x500;
/// Columns of scalars.
pub(crate) const COLUMN: u32 = 0x600;
pub(crate) const COLUMN2: u32 = 0x640;
/// Registers that hold the addresses of the columns.
const POINTERS: [(u8, u32); 2] = [(5, COLUMN), (6, COLUMN2)];

pub(crate) const F: Dtype = Dtype::FP32;
const U: Dtype = Dtype::UINT32;

thread_local! {
    /// A machine of each generation: making one takes longer than running a word. No result here depends on what the
    /// words before have left.
    static MACHINES: RefCell<BTreeMap<usize, Machine>> = const { RefCell::new(BTreeMap::new()) };
}

/// The datatypes of whole bytes.
pub(crate) fn dtypes() -> impl Iterator<Item = Dtype> + Clone {
    (1..16).map(Dtype)
}

/// The bits of a number in a datatype; `None` if it does not hold it exactly.
pub(crate) fn encode(value: f64, dtype: Dtype) -> Option<Vec<u8>> {
    let info = dtype.info()?;
    let bytes = dtype.bytes();
    let bits = match info.kind {
        DtypeKind::Int | DtypeKind::Uint => {
            let (low, high) = match info.kind {
                DtypeKind::Int => {
                    (-(2f64.powi(i32::from(info.bits) - 1)), 2f64.powi(i32::from(info.bits) - 1) - 1.0)
                }
                _ => (0.0, 2f64.powi(info.bits.into()) - 1.0),
            };
            ((low..=high).contains(&value) && value.fract() == 0.0).then_some(value as i64 as u64)?
        }
        DtypeKind::Float => float_bits(value, info.float)?,
        _ => return None,
    };
    Some(bits.to_le_bytes()[..bytes].to_vec())
}

/// Sign, biased exponent and mantissa of a normal number, or zero.
fn float_bits(value: f64, (exponent_bits, mantissa_bits, bias): (u8, u8, i16)) -> Option<u64> {
    if value == 0.0 {
        return Some(0);
    }
    let mantissa_bits = if mantissa_bits == 13 { 23 } else { mantissa_bits };
    let exponent = value.abs().log2().floor() as i32;
    let mantissa = (value.abs() / 2f64.powi(exponent) - 1.0) * 2f64.powi(mantissa_bits.into());
    let biased = exponent + i32::from(bias);
    // The highest exponent is for infinities in most formats.
    let fits = (1..(1 << exponent_bits) - 1).contains(&biased) && mantissa.fract() == 0.0;
    let sign = u64::from(value < 0.0) << (exponent_bits + mantissa_bits);
    fits.then_some(sign | (biased as u64) << mantissa_bits | mantissa as u64)
}

type Row = (usize, u32, Dtype, Vec<f64>);

/// A word with what lies in memory before it and what does behind it.
pub(crate) struct Trial {
    pub(crate) generation: Generation,
    pub(crate) engine: EngineId,
    pub(crate) before: Vec<Word>,
    pub(crate) word: Word,
    before_rows: Vec<Row>,
    after_rows: Vec<Row>,
}

impl Trial {
    pub(crate) fn new<L: Layout>(generation: Generation, engine: EngineId, opcode: u8, operands: L) -> Trial {
        Trial {
            generation,
            engine,
            before: Vec::new(),
            word: word(opcode, operands),
            before_rows: Vec::new(),
            after_rows: Vec::new(),
        }
    }

    /// A word of the vector engine of CAYMAN.
    pub(crate) fn dve<L: Layout>(opcode: u8, operands: L) -> Trial {
        Trial::new(Generation::Cayman, EngineId::Dve, opcode, operands)
    }

    pub(crate) fn pool<L: Layout>(opcode: u8, operands: L) -> Trial {
        Trial::new(Generation::Cayman, EngineId::Pool, opcode, operands)
    }

    /// The same with other operands.
    pub(crate) fn with<L: Layout>(mut self, operands: L) -> Trial {
        operands.write(&mut self.word);
        self
    }

    pub(crate) fn on(mut self, generation: Generation) -> Trial {
        self.generation = generation;
        self
    }

    pub(crate) fn after(mut self, words: &[Word]) -> Trial {
        self.before = words.to_vec();
        self
    }

    /// What lies in partition 0.
    pub(crate) fn put(self, address: u32, dtype: Dtype, values: &[f64]) -> Trial {
        self.put_in(0, address, dtype, values)
    }

    pub(crate) fn put_in(mut self, partition: usize, address: u32, dtype: Dtype, values: &[f64]) -> Trial {
        self.before_rows.push((partition, address, dtype, values.to_vec()));
        self
    }

    /// What must lie in partition 0 afterwards.
    pub(crate) fn gives(self, address: u32, dtype: Dtype, values: &[f64]) -> Trial {
        self.gives_in(0, address, dtype, values)
    }

    pub(crate) fn gives_in(mut self, partition: usize, address: u32, dtype: Dtype, values: &[f64]) -> Trial {
        self.after_rows.push((partition, address, dtype, values.to_vec()));
        self
    }

    /// The word breaks no rule, and its datatypes hold all numbers.
    fn is_legal(&self) -> bool {
        let holds = |(_, _, dtype, values): &Row| values.iter().all(|v| encode(*v, *dtype).is_some());
        let context = CheckContext::new(self.generation, self.engine);
        let clean = decode(&self.word, self.generation).is_ok_and(|w| check(&w, &context).is_empty());
        clean && self.before_rows.iter().chain(&self.after_rows).all(holds)
    }

    /// Runs the word, and looks.
    pub(crate) fn check(&self) {
        let findings = decode(&self.word, self.generation)
            .map(|w| check(&w, &CheckContext::new(self.generation, self.engine)));
        assert!(self.is_legal(), "{}: {findings:?}", self.told());
        MACHINES.with_borrow_mut(|machines| {
            let machine = machines.entry(self.generation.index()).or_insert_with(|| strict(self.generation));
            self.check_on(machine);
        });
    }

    fn check_on(&self, machine: &mut Machine) {
        for (partition, address, dtype, values) in &self.before_rows {
            let bytes: Vec<u8> = values.iter().flat_map(|v| encode(*v, *dtype).unwrap()).collect();
            put_bytes(machine, *partition, *address as usize, &bytes);
        }
        let set = POINTERS.map(|(register, value)| set_register(register, value));
        let words: Vec<Word> =
            set.into_iter().chain(self.before.iter().copied()).chain([self.word]).collect();
        run(machine, self.engine, &words).unwrap_or_else(|fault| panic!("{}: {fault}", self.told()));
        for (partition, address, dtype, values) in &self.after_rows {
            let expected: Vec<u8> = values.iter().flat_map(|v| encode(*v, *dtype).unwrap()).collect();
            let found = bytes(machine, *partition, *address as usize, expected.len());
            assert_eq!(
                found,
                expected,
                "{}: partition {partition}, {values:?} as {}",
                self.told(),
                dtype.text()
            );
        }
    }

    fn told(&self) -> String {
        let decoded = decode(&self.word, self.generation);
        decoded.map_or_else(|e| e.to_string(), |w| format!("{} {:?}", self.generation, w.operands))
    }
}

fn set_register(register: u8, value: u32) -> Word {
    use seqjit_runtime::isa::field::{DataSrc, Regs};
    use seqjit_runtime::isa::layouts::CTRL_MV;
    let mut dst_registers = Regs([0; 8]);
    dst_registers.0[0] = register;
    let mut immediate = [0; 8];
    immediate[0] = value;
    let operands = CTRL_MV {
        num_mov: 1,
        dtype: Dtype::UINT32,
        move_source: DataSrc::IMMEDIATE,
        src_registers: Regs([0; 8]),
        dst_registers,
        immediate,
    };
    word(seqjit_runtime::isa::op::MOVE, operands)
}

/// Tries all datatypes, one operand at a time and together, as far as the word may have them.
pub(crate) fn sweep(make: impl Fn([Dtype; 3]) -> Trial) {
    assert!(tried(make) > 0, "no legal word");
}

/// The same on both engines of every generation, as far as they have the word.
pub(crate) fn sweep_everywhere(opcode: u8, make: impl Fn(Trial, [Dtype; 3]) -> Trial) {
    let mut all = 0;
    for generation in Generation::ALL {
        for engine in [EngineId::Dve, EngineId::Pool] {
            all += tried(|d| {
                let mut empty = Trial::dve(opcode, CTRL_NO_A1 {}).on(generation);
                empty.engine = engine;
                make(empty, d)
            });
        }
    }
    if all == 0 {
        // Why not the likeliest.
        let mut likely = Trial::pool(opcode, CTRL_NO_A1 {}).on(Generation::Sunda);
        likely = make(likely, [Dtype::INT32; 3]);
        likely.check();
    }
}

fn tried(make: impl Fn([Dtype; 3]) -> Trial) -> usize {
    let mut tried = BTreeSet::new();
    for d in dtypes() {
        for combination in [[d, F, F], [F, d, F], [F, F, d], [d, d, F], [d, d, d], [F, d, d], [d, U, U]] {
            let trial = make(combination);
            if trial.is_legal() && tried.insert(trial.word.0) {
                trial.check();
            }
        }
    }
    tried.len()
}

/// Tries the same with other datatypes than FP32 for the rest.
pub(crate) fn sweep_one(make: impl Fn(Dtype) -> Trial) {
    sweep(|d| make(d[0]));
}

/// The ways in which a scalar may be given: in the word, in a column, in a column that a register points to. Column 0 and 1
/// hold the numbers as FP32.
pub(crate) fn sources(column: usize, bits: u32) -> [(ImmSrc, Imm); 3] {
    let (register, address) = POINTERS[column];
    [(ImmSrc::INSTRUCTION, Imm(bits)), (ImmSrc::PTR, Imm(address)), (ImmSrc::REG_PTR, Imm(register.into()))]
}

/// The bits of a number in a datatype, as a word holds them.
pub(crate) fn bits_of(value: f64, dtype: Dtype) -> u32 {
    let mut bytes = encode(value, dtype).unwrap();
    bytes.resize(4, 0);
    u32::from_le_bytes(bytes.try_into().unwrap())
}
