//! What an interpreter function sees: the machine, which engine runs, and how to resolve operands.

use std::ops::Range;

use super::fault::{Address, FaultKind};
use super::walk::Walk;
use crate::isa::field::{Addr4, Imm, ImmSrc};
use crate::isa::{Addr4Form, Decoded, Dtype, EngineId, Layout, Location, Tensor};
use crate::machine::{Core, Engine, Machine};

/// Direction of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// Read: check mode wants every byte written before.
    Read,
    /// Written.
    Write,
}

/// The word being executed, and the machine it acts on.
pub struct Exec<'m> {
    /// The machine.
    pub machine: &'m mut Machine,
    /// Which core.
    pub core: usize,
    /// Which engine.
    pub engine: EngineId,
    /// Address of the word.
    pub pc: u64,
    /// Set by words after which the engine's turn ends (design section 3 rule 8).
    pub ends_turn: bool,
}

impl Exec<'_> {
    /// The core that runs the word.
    pub fn core(&mut self) -> &mut Core {
        &mut self.machine.cores[self.core]
    }

    /// The engine that runs the word.
    pub fn engine_state(&mut self) -> &mut Engine {
        &mut self.machine.cores[self.core].engines[self.engine.index()]
    }

    /// The typed operands of a word.
    pub fn operands<'w, L: Layout>(&self, word: &'w Decoded) -> Result<&'w L, FaultKind> {
        L::of(&word.operands).ok_or_else(|| {
            FaultKind::Internal(format!("{} does not carry operands {}", word.info.name, L::DEF.name))
        })
    }

    /// Reads a register specifier; numbers that name no register are illegal.
    pub fn register(&self, field: &'static str, number: u8) -> Result<u32, FaultKind> {
        let engine = &self.machine.cores[self.core].engines[self.engine.index()];
        engine
            .register(number, self.pc)
            .ok_or_else(|| FaultKind::illegal(field, format!("register {number}"), "0 to 63 or 128 to 131"))
    }

    /// The address of an operand: immediate, or from a register (decision 03-E6).
    pub fn start_address(&self, field: &'static str, start: Addr4) -> Result<u32, FaultKind> {
        match start.form() {
            Addr4Form::Immediate(address) => Ok(address),
            Addr4Form::Register(number, true) => {
                let value = self.register(field, number)?;
                if value >> 29 != 0 {
                    return Err(FaultKind::Memory {
                        field,
                        address: Address::OnChip(value),
                        reason: format!("bits 31:29 of register {number} are set"),
                    });
                }
                Ok(value)
            }
            Addr4Form::Register(_, false) => {
                Err(FaultKind::illegal(field, format!("0x{:08x}", start.0), "zero bytes beside the register"))
            }
            Addr4Form::ShapeRegister => Err(FaultKind::unsupported(field, "shape from a shape register")),
            Addr4Form::Indirect(_) | Addr4Form::IndirectRegister(_) => {
                Err(FaultKind::unsupported(field, "indirect operand"))
            }
            Addr4Form::Invalid => {
                Err(FaultKind::illegal(field, format!("0x{:08x}", start.0), "a known marker"))
            }
        }
    }

    /// The SoC address of a byte of a variable of the graph (chapter 03 section 3.4).
    pub fn variable(&self, field: &'static str, id: u32, offset: u32) -> Result<u64, FaultKind> {
        let spec = &self.machine.cores[self.core].spec;
        let base = spec.variables.get(id as usize).copied().flatten().ok_or_else(|| {
            FaultKind::illegal(
                field,
                format!("variable {id}"),
                "a variable of this graph that has an address",
            )
        })?;
        Ok(base + u64::from(offset))
    }

    /// Resolves a tensor operand and applies every rule that needs its address; in check mode also that
    /// everything read has been written.
    pub fn tensor<const N: usize>(
        &self,
        field: &'static str,
        tensor: &Tensor<N>,
        dtype: Dtype,
        lanes: u8,
        access: Access,
    ) -> Result<Walk, FaultKind> {
        let address = self.start_address(field, tensor.start)?;
        let geometry = self.machine.generation.geometry();
        let walk = Walk::new(&geometry, field, address, tensor, dtype, lanes.into())?;
        self.check_initialised(field, &walk, lanes.into(), access)?;
        Ok(walk)
    }

    fn check_initialised(
        &self,
        field: &'static str,
        walk: &Walk,
        lanes: usize,
        access: Access,
    ) -> Result<(), FaultKind> {
        if access == Access::Write {
            return Ok(());
        }
        match walk.note_read(self.machine.cores[self.core].memory(walk.space), lanes) {
            Some(byte) => Err(FaultKind::Uninitialised { field, address: Address::Byte(byte) }),
            None => Ok(()),
        }
    }

    /// Some elements of a contiguous walk are about to be read in one lane; in check mode, they have been written.
    pub fn expect_written(
        &self,
        field: &'static str,
        walk: &Walk,
        lane: usize,
        elements: Range<usize>,
    ) -> Result<(), FaultKind> {
        let memory = self.machine.cores[self.core].memory(walk.space);
        let (partition, first) = (walk.partition + lane, walk.offset + elements.start * walk.size);
        memory.note_read(partition, first, elements.len() * walk.size);
        match memory.first_unwritten(partition, first, elements.len() * walk.size) {
            Some(offset) => {
                let byte = Location { space: walk.space, partition: partition as u8, offset: offset as u32 };
                Err(FaultKind::Uninitialised { field, address: Address::Byte(byte) })
            }
            None => Ok(()),
        }
    }

    /// Resolves a scalar operand: one value for all lanes, or one a lane (chapter 04 section 2.5).
    pub fn scalar(
        &self,
        field: &'static str,
        source: ImmSrc,
        value: Imm,
        dtype: Dtype,
        lanes: u8,
    ) -> Result<LaneScalar, FaultKind> {
        if dtype.is_64bit() {
            return Err(FaultKind::illegal(field, dtype.text(), "a scalar of at most 32 bits"));
        }
        let address = match source {
            ImmSrc::INSTRUCTION => return Ok(LaneScalar::Value(value.0)),
            ImmSrc::PTR => value.0,
            ImmSrc::REG_PTR => self.register(field, value.0 as u8)?,
            _ => return Err(FaultKind::illegal(field, source.0, "source 0, 1 or 2")),
        };
        let cell = Tensor { start: Addr4(address), step: [1], num: [1] };
        if address >> 29 != 0 {
            return Err(FaultKind::Memory {
                field,
                address: Address::OnChip(address),
                reason: "bits 31:29 of a pointer are set".into(),
            });
        }
        let geometry = self.machine.generation.geometry();
        let walk = Walk::new(&geometry, field, address, &cell, dtype, lanes.into())?;
        self.check_initialised(field, &walk, lanes.into(), Access::Read)?;
        Ok(LaneScalar::PerLane(walk))
    }
}

/// A scalar operand of a lane-local word.
#[derive(Clone, Copy, Debug)]
pub enum LaneScalar {
    /// The same bits in every lane.
    Value(u32),
    /// One cell a lane.
    PerLane(Walk),
}

impl LaneScalar {
    /// The bits of one lane, zero-extended. Scalars are read before the word writes anything.
    pub fn bits(&self, core: &Core, lane: usize) -> u32 {
        match self {
            LaneScalar::Value(bits) => *bits,
            LaneScalar::PerLane(walk) => {
                let mut bytes = [0; 4];
                walk.gather(&mut walk.start(), core.memory(walk.space), lane, &mut bytes[..walk.size]);
                u32::from_le_bytes(bytes)
            }
        }
    }
}
