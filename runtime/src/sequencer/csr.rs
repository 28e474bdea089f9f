//! The control registers of one engine (chapter 01 section 2): names, offsets, resets, and who touched
//! them.

use std::collections::BTreeMap;

use crate::isa::Generation;
use crate::save::saved;

/// Bytes of an engine's aperture.
pub const APERTURE: u32 = 0x1_0000;

/// release_run_stall: bit 0 holds the core at reset; the host clears it once.
pub const RELEASE_RUN_STALL: u32 = 0x00;
/// Resume PC, low and high half (chapter 01 section 2.2).
pub const LR_PC_LO: u32 = lr(3);
/// See [`LR_PC_LO`].
pub const LR_PC_HI: u32 = lr(4);
/// DVE performance-mode word, copied at every run entry.
pub const LR_DVE_PERF: u32 = lr(38);
/// hw_decode.control: bit 0 disables hardware decode, bit 1 is strong ordering.
pub const HW_CONTROL: u32 = 0x4000;
/// Breakpoint enables (chapter 01 section 2.5).
pub const BREAKPOINT_CTRL: u32 = 0x4004;
/// Words to run before a step stop.
pub const BREAKPOINT_STEP: u32 = 0x4008;
/// Masks and opcodes of the two opcode counters.
pub const BREAKPOINT_MATCH: u32 = 0x400C;
/// Threshold of opcode counter 0; counter 1 follows.
pub const BREAKPOINT_IC0: u32 = 0x4010;
/// Address breakpoint 0, low half; high half, then breakpoint 1 follow.
pub const BREAKPOINT_ADDR0: u32 = 0x4018;
/// intr_info.metadata: 0 idle, 1 run, else an assertion.
pub const INTR_INFO: u32 = 0x1C;

/// Offset of general local register `index`.
pub const fn lr(index: u32) -> u32 {
    0x1000 + 0x20 * index
}

/// The three registers whose offsets differ on SUNDA (chapter 01 section 17).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Moved {
    /// Doorbell.
    pub start_ctrl: u32,
    /// Published status.
    pub run_state: u32,
    /// External stop request.
    pub halt_ctrl: u32,
}

/// Offsets of the registers that moved, for a generation.
pub const fn moved(generation: Generation) -> Moved {
    match generation {
        Generation::Sunda => Moved { start_ctrl: 0x10, run_state: 0x14, halt_ctrl: 0x808 },
        _ => Moved { start_ctrl: 0x04, run_state: 0x08, halt_ctrl: 0x14 },
    }
}

/// A group of equal register blocks.
struct Bundle {
    name: &'static str,
    base: u32,
    instances: u32,
    stride: u32,
    /// Offset in the block, name, reset value.
    registers: &'static [(u32, &'static str, u32)],
    /// First generation that has it.
    since: Generation,
}

/// Every bundle of chapter 01 sections 2 to 2.6.
const BUNDLES: &[Bundle] = &[
    Bundle {
        name: "nx",
        base: 0,
        instances: 1,
        stride: 0x1000,
        registers: &[
            (0x00, "release_run_stall", 1),
            (0x04, "start_ctrl", 0),
            (0x08, "run_state", 0),
            (0x0C, "dma_rx_base", 0),
            (0x10, "dma_tx_base", 0),
            (0x14, "instr_halt_ctrl", 0),
            (0x18, "intr_ctrl", 0),
            (0x1C, "intr_info", 0),
        ],
        since: Generation::Sunda,
    },
    Bundle {
        name: "lr",
        base: 0x1000,
        instances: 60,
        stride: 0x20,
        registers: &[(0, "value", 0)],
        since: Generation::Sunda,
    },
    Bundle {
        name: "window",
        base: 0x2000,
        instances: 40,
        stride: 0x1C,
        registers: &[
            (0x00, "control", 0),
            (0x04, "mask_lo", 0),
            (0x08, "mask_hi", 0),
            (0x0C, "match_lo", 0),
            (0x10, "match_hi", 0),
            (0x14, "replace_lo", 0),
            (0x18, "replace_hi", 0),
        ],
        since: Generation::Sunda,
    },
    Bundle {
        name: "q7",
        base: 0x3000,
        instances: 1,
        stride: 0x1000,
        registers: &[
            (0x00, "release_run_stall", 0xFF),
            (0x04, "start_ctrl", 0),
            (0x08, "run_state_0", 0),
            (0x0C, "run_state_1", 0),
            (0x10, "run_state_2", 0),
            (0x14, "run_state_3", 0),
            (0x18, "run_state_4", 0),
            (0x1C, "run_state_5", 0),
            (0x20, "run_state_6", 0),
            (0x24, "run_state_7", 0),
            (0x28, "intr_ctrl", 0),
            (0x2C, "intr_info_0", 0),
            (0x30, "intr_info_1", 0),
            (0x34, "intr_info_2", 0),
            (0x38, "intr_info_3", 0),
            (0x3C, "intr_info_4", 0),
            (0x40, "intr_info_5", 0),
            (0x44, "intr_info_6", 0),
            (0x48, "intr_info_7", 0),
        ],
        since: Generation::Sunda,
    },
    Bundle {
        name: "hw_decode",
        base: 0x4000,
        instances: 1,
        stride: 0x1000,
        registers: &[
            (0x00, "control", 0x1FFF << 2),
            (0x04, "breakpoint_ctrl", 7),
            (0x08, "breakpoint_step", 0),
            (0x0C, "breakpoint_match", 0),
            (0x10, "breakpoint_ic0", 0),
            (0x14, "breakpoint_ic1", 0),
            (0x18, "breakpoint_addr0_lo", 0),
            (0x1C, "breakpoint_addr0_hi", 0),
            (0x20, "breakpoint_addr1_lo", 0),
            (0x24, "breakpoint_addr1_hi", 0),
            (0x28, "profile_cam_search_vector", 0x0302_0100),
            (0x2C, "hw_decode_flush_cntr", 0x10),
            (0x30, "spare0", 0),
            (0x34, "spare1", 0),
        ],
        since: Generation::Sunda,
    },
    Bundle {
        name: "tensor_replace",
        base: 0x5000,
        instances: 32,
        stride: 0x20,
        registers: &[
            (0x0, "step_size_xy", 0),
            (0x4, "step_size_zw", 0),
            (0x8, "num_elem_xy", 0),
            (0xC, "num_elem_zw", 0),
        ],
        since: Generation::Sunda,
    },
    Bundle {
        name: "notific",
        base: 0x6000,
        instances: 1,
        stride: 0x100,
        registers: &[(0x0, "sw_queue_num0", 0), (0x4, "cfg_timestamp_inc", 0xB2924)],
        since: Generation::Sunda,
    },
    Bundle {
        name: "atomic_rdwr",
        base: 0x8000,
        instances: 64,
        stride: 0x10,
        registers: &[(0, "value", 0)],
        since: Generation::Mariana,
    },
    Bundle {
        name: "atomic_inc",
        base: 0x8400,
        instances: 64,
        stride: 0x10,
        registers: &[(0, "value", 0)],
        since: Generation::Mariana,
    },
    Bundle {
        name: "atomic_dec",
        base: 0x8800,
        instances: 64,
        stride: 0x10,
        registers: &[(0, "value", 0)],
        since: Generation::Mariana,
    },
    Bundle {
        name: "atomic_addiff0",
        base: 0x8C00,
        instances: 64,
        stride: 0x10,
        registers: &[(0, "value", 0)],
        since: Generation::Mariana,
    },
];

/// What is known about a register.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// `bundle.name`, with the instance where there are several.
    pub name: String,
    /// Byte offset in the aperture.
    pub offset: u32,
    /// Value at reset.
    pub reset: u32,
}

/// The registers that moved, with their names.
fn moved_names(generation: Generation) -> [(u32, &'static str); 3] {
    let m = moved(generation);
    [(m.start_ctrl, "start_ctrl"), (m.run_state, "run_state"), (m.halt_ctrl, "instr_halt_ctrl")]
}

/// The bundle of a register, which instance, its name in the bundle and its reset value.
type Place = (&'static Bundle, u32, &'static str, u32);

/// Finds the register at a byte offset. Every access goes through here, so it allocates nothing.
fn place(offset: u32, generation: Generation) -> Option<Place> {
    if let Some((_, name)) = moved_names(generation).into_iter().find(|(at, _)| *at == offset) {
        return Some((&BUNDLES[0], 0, name, 0));
    }
    BUNDLES.iter().filter(|b| generation >= b.since).find_map(|b| {
        let relative = offset.checked_sub(b.base)?;
        let instance = relative / b.stride;
        let (_, name, reset) = b.registers.iter().find(|r| r.0 == relative % b.stride)?;
        // The places that these registers have on other generations are empty.
        let gone = moved_names(generation).iter().any(|(_, moved)| moved == name) && b.base == 0;
        (instance < b.instances && !gone).then_some((b, instance, *name, *reset))
    })
}

/// The register at a byte offset; `None` if there is none on this generation.
pub fn register(offset: u32, generation: Generation) -> Option<Register> {
    let (bundle, instance, name, reset) = place(offset, generation)?;
    let index = if bundle.instances > 1 { format!("[{instance}]") } else { String::new() };
    Some(Register { name: format!("{}{index}.{name}", bundle.name), offset, reset })
}

/// The offset of a register by the name that [`register`] gives; `lr[3]` and names without their bundle
/// are understood too.
pub fn find(name: &str, generation: Generation) -> Option<u32> {
    (0..APERTURE).step_by(4).find(|offset| {
        register(*offset, generation).is_some_and(|r| {
            let short = r.name.split_once('.').map_or("", |(_, n)| n);
            r.name == name || short == name || r.name.strip_suffix(".value") == Some(name)
        })
    })
}

/// Who touched a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Accessor {
    /// The sequencer's own loop.
    Sequencer,
    /// A microcode word, of any engine.
    Word,
    /// The host.
    Host,
}

/// One access, for the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// Who.
    pub by: Accessor,
    /// Written, else read.
    pub write: bool,
    /// Byte offset.
    pub offset: u32,
    /// Value read or written.
    pub value: u32,
}

/// A 64-bit value from its halves.
pub(super) fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The registers of one engine.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsrFile {
    generation: Generation,
    /// Registers that do not hold their reset value.
    values: BTreeMap<u32, u32>,
    /// All accesses, where somebody asked for them.
    pub log: Option<Vec<Access>>,
}

impl CsrFile {
    /// All registers at reset.
    pub fn new(generation: Generation) -> Self {
        CsrFile { generation, values: BTreeMap::new(), log: None }
    }

    /// Whose registers these are.
    pub fn generation(&self) -> Generation {
        self.generation
    }

    /// Offsets of the registers that moved between generations.
    pub fn moved(&self) -> Moved {
        moved(self.generation)
    }

    /// Value without an entry in the log; 0 where no register is.
    pub fn peek(&self, offset: u32) -> u32 {
        let reset = || place(offset, self.generation).map_or(0, |(_, _, _, reset)| reset);
        self.values.get(&offset).copied().unwrap_or_else(reset)
    }

    /// Reads a register; `None` if there is none at this offset.
    pub fn read(&mut self, by: Accessor, offset: u32) -> Option<u32> {
        place(offset, self.generation)?;
        let value = self.peek(offset);
        self.note(Access { by, write: false, offset, value });
        Some(value)
    }

    /// Writes a register; `None` if there is none at this offset. What follows from a write is the
    /// sequencer's business: others write through [`Sequencer::write_csr`](super::Sequencer::write_csr).
    pub(crate) fn write(&mut self, by: Accessor, offset: u32, value: u32) -> Option<()> {
        place(offset, self.generation)?;
        self.values.insert(offset, value);
        self.note(Access { by, write: true, offset, value });
        Some(())
    }

    fn note(&mut self, access: Access) {
        if let Some(log) = &mut self.log {
            log.push(access);
        }
    }

    /// The resume PC in the local registers (chapter 01 section 2.2).
    pub fn resume_pc(&self) -> u64 {
        wide(self.peek(LR_PC_HI), self.peek(LR_PC_LO))
    }

    /// Writes the resume PC, low half first.
    pub fn set_resume_pc(&mut self, by: Accessor, pc: u64) {
        self.write(by, LR_PC_LO, pc as u32);
        self.write(by, LR_PC_HI, (pc >> 32) as u32);
    }
}

saved!(enum Accessor { 0 Sequencer, 1 Word, 2 Host });
saved!(struct Access { by, write, offset, value });
saved!(struct CsrFile { generation, values, log });

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_offsets_and_resets_are_those_of_the_manual() {
        let at = |offset| register(offset, Generation::Cayman).unwrap();
        for (offset, name, reset) in [
            (0x00, "nx.release_run_stall", 1),
            (0x04, "nx.start_ctrl", 0),
            (0x08, "nx.run_state", 0),
            (0x14, "nx.instr_halt_ctrl", 0),
            (0x1C, "nx.intr_info", 0),
            (0x1060, "lr[3].value", 0),
            (0x14C0, "lr[38].value", 0),
            (0x3000, "q7.release_run_stall", 0xFF),
            (0x4000, "hw_decode.control", 0x7FFC),
            (0x4004, "hw_decode.breakpoint_ctrl", 7),
            (0x6004, "notific.cfg_timestamp_inc", 0xB2924),
        ] {
            assert_eq!((at(offset).name.as_str(), at(offset).reset), (name, reset));
        }
        assert_eq!(register(0x8000, Generation::Cayman), None);
        assert!(register(0x8000, Generation::Mariana).is_some());
        assert_eq!(register(0x1004, Generation::Cayman), None);
        assert_eq!(find("lr[4]", Generation::Cayman), Some(LR_PC_HI));
        assert_eq!(find("run_state", Generation::Cayman), Some(0x08));
    }

    #[test]
    fn sunda_has_three_registers_elsewhere() {
        let name = |offset| register(offset, Generation::Sunda).map(|r| r.name);
        assert_eq!(name(0x10).as_deref(), Some("nx.start_ctrl"));
        assert_eq!(name(0x14).as_deref(), Some("nx.run_state"));
        assert_eq!(name(0x808).as_deref(), Some("nx.instr_halt_ctrl"));
        assert_eq!(name(0x04), None);
    }
}
