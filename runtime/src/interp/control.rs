//! Control words that the sequencer runs by itself (chapter 02 section 8).

use std::ops::RangeInclusive;

use super::{Exec, FaultKind, Flow};
use crate::isa::field::{Addr8, BranchCmp, BranchMode, DataSrc};
use crate::isa::layouts::{
    CTRL_BR, CTRL_ER, CTRL_MS, CTRL_MV, CTRL_NO_A6, CTRL_OM, CTRL_POLL_SEM, CTRL_WR, MEM_2D, PSEUDO_MEM_2D,
};
use crate::isa::{Addr8Form, AluOp, Decoded, Dtype, Layout};
use crate::machine::bus::BusAccess;
use crate::machine::{Action, Notification, NotificationKind, Update};
use crate::sequencer::log::{LogLine, emit};
use crate::sequencer::{note_change, wakes_fragile_wait};

/// NOP, EVENT_SEMAPHORE and words without effect: EVENTS are all that happens (sections 8.1, 8.5).
pub fn nop(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Next)
}

/// DRAIN (section 8.3): a full fence, which an in-order engine always has.
pub fn drain(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Next)
}

/// ENGINE_NOP: as NOP, whatever the payload (section 8.14, 00 table B).
pub fn engine_nop(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Next)
}

/// BRANCH_PREFETCH_HINT: a hint, whatever the payload (section 8.13).
pub fn branch_hint(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Next)
}

/// The container's CC: keeps its slot, does nothing, does not count (00 A12, 07-19).
pub fn branch_label(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Skip)
}

/// INSTRUCTION_FLUSH (section 8.4): the words that follow are read again from memory.
pub fn flush(x: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    emit(&LogLine::InvalidateHints);
    let (core, engine) = (x.core, x.engine);
    x.machine.flush_instructions(core, engine);
    Ok(Flow::Jump(x.pc.wrapping_add(64)))
}

/// HALT (section 8.2): the engine stops behind this word.
pub fn halt(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    emit(&LogLine::InvalidateHints);
    Ok(Flow::Halt)
}

/// SET_ORDERING_MODE (section 8.16): an in-order engine only remembers the mode.
pub fn set_ordering_mode(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let strong = x.operands::<CTRL_OM>(w)?.mode == 1;
    x.engine_state().seq.set_ordering_mode(strong);
    Ok(Flow::Next)
}

/// Stores of the sequencer that have been checked: WRITE, TENSOR_STORE.
#[derive(Debug)]
pub struct Stores(Vec<(BusAccess, StoreValue)>);

/// What is stored.
#[derive(Clone, Copy, Debug)]
enum StoreValue {
    /// Bits of the word.
    Immediate(u64),
    /// A register, by its number.
    Register(u8),
    /// A register and the next one, low half first.
    Pair(u8),
}

impl Stores {
    /// Does them, in order. No store reaches a register.
    pub fn run(&self, x: &mut Exec<'_>) {
        for (access, value) in &self.0 {
            let register = |number| u64::from(x.register("data", number).unwrap_or_default());
            let value = match *value {
                StoreValue::Immediate(value) => value,
                StoreValue::Register(number) => register(number),
                StoreValue::Pair(number) => register(number + 1) << 32 | register(number),
            };
            store(x, access, value);
        }
    }
}

/// WRITE (section 8.6): one or two stores of four bytes, both checked before the first.
pub fn write(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_write(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The checks of WRITE.
pub fn check_write(x: &Exec<'_>, w: &Decoded) -> Result<Stores, FaultKind> {
    let o = x.operands::<CTRL_WR>(w)?;
    let mut stores =
        vec![(plain_address(x, "addr0", o.addr0, o.wr_size0, &[4])?, StoreValue::Immediate(o.data0))];
    if o.wr_size1 != 0 {
        let second = plain_address(x, "addr1", o.addr1, o.wr_size1, &[0, 4])?;
        stores.push((second, StoreValue::Immediate(o.data1)));
    }
    Ok(Stores(stores))
}

fn plain_address(
    x: &Exec<'_>,
    field: &'static str,
    address: u64,
    size: u8,
    sizes: &[u8],
) -> Result<BusAccess, FaultKind> {
    if !sizes.contains(&size) {
        let name = if field == "addr0" { "wr_size0" } else { "wr_size1" };
        return Err(FaultKind::unsupported(name, format!("a write of {size} bytes")));
    }
    match Addr8(address).form() {
        Addr8Form::Immediate(address) => x.machine.bus_access(field, address, size.into()),
        _ => Err(FaultKind::unsupported(field, "an address form other than immediate")),
    }
}

/// One store of the sequencer. A store to a memory-mapped register ends the turn.
fn store(x: &mut Exec<'_>, access: &BusAccess, value: u64) {
    x.ends_turn |= access.is_register();
    if let Some((core, change)) = x.machine.bus_write(access, value) {
        note_change(x.machine, core, None, x.pc, &change);
    }
}

/// NOTIFY (section 8.7): one record in the core's log.
pub fn notify(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_notify(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The checks of NOTIFY.
pub fn check_notify(x: &Exec<'_>, w: &Decoded) -> Result<Notify, FaultKind> {
    let o = x.operands::<CTRL_NO_A6>(w)?;
    if o.kind != 1 {
        return Err(FaultKind::unsupported("kind", format!("notification kind {}", o.kind)));
    }
    Ok(Notify { hint: w.word.0[3] & 0xF, kind: NotificationKind::Explicit(o.hint) })
}

/// A record to be made.
#[derive(Debug)]
pub struct Notify {
    hint: u8,
    kind: NotificationKind,
}

impl Notify {
    /// Makes it.
    pub fn run(&self, x: &mut Exec<'_>) {
        let (engine, pc) = (Some(x.engine), x.pc);
        let time = x.engine_state().retired * 1000;
        emit(&LogLine::SendingNotification);
        let record = Notification { engine, pc, hint: self.hint, time, kind: self.kind };
        x.core().notifications.push(record);
    }
}

/// MOVE (section 8.8): copies 32-bit patterns into registers.
pub fn mov(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_MV>(w)?;
    let moves = usize::from(o.num_mov);
    if !(1..=8).contains(&moves) {
        return Err(FaultKind::illegal("num_mov", moves, "1 to 8"));
    }
    let mut values = [0; 8];
    for (k, value) in values[..moves].iter_mut().enumerate() {
        *value = match o.move_source {
            DataSrc::IMMEDIATE => o.immediate[k],
            _ => x.register("src_registers", o.src_registers.0[k])?,
        };
        x.register("dst_registers", o.dst_registers.0[k])?;
    }
    for (destination, value) in o.dst_registers.0.into_iter().zip(values).take(moves) {
        set_register(x, destination, value);
    }
    Ok(Flow::Next)
}

/// Writes a register whose number has been checked.
fn set_register(x: &mut Exec<'_>, number: u8, value: u32) {
    let written = x.engine_state().set_register(number, value);
    debug_assert!(written.is_some(), "the caller checked the register number");
}

/// COMPARE_BRANCH (section 8.10).
pub fn compare_branch(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<CTRL_BR>(w)?;
    // A target that cannot be known is refused even where the branch would not be taken.
    let target = branch_target(x, &o)?;
    Ok(if condition(x, &o)? { Flow::Jump(target) } else { Flow::Next })
}

/// Where a branch goes if it is taken (decisions 02-8.10b to 02-8.10d).
fn branch_target(x: &Exec<'_>, o: &CTRL_BR) -> Result<u64, FaultKind> {
    let pair = || -> Result<u64, FaultKind> {
        let low = x.register("target_reg_lo", o.target_reg_lo)?;
        Ok(u64::from(x.register("target_reg_hi", o.target_reg_hi)?) << 32 | u64::from(low))
    };
    match o.target_mode {
        BranchMode::ABSOLUTE => Ok(o.br_immediate),
        BranchMode::REGISTER => pair(),
        BranchMode::RELATIVE => Ok(x.pc.wrapping_add_signed(i64::from(o.br_immediate as u32 as i32))),
        BranchMode::RELATIVE_REGISTER if !x.machine.options.strict => Ok(x.pc.wrapping_add(pair()?)),
        BranchMode::RELATIVE_REGISTER => {
            Err(FaultKind::unsupported("target_mode", "mode 4 is not proved; lenient mode executes it"))
        }
        mode => Err(FaultKind::unsupported("target_mode", format!("mode {}", mode.0))),
    }
}

/// Evaluates the compare (decisions 02-8.10a, 02-8.10e).
fn condition(x: &Exec<'_>, o: &CTRL_BR) -> Result<bool, FaultKind> {
    if o.cmp_op == BranchCmp::ALWAYS {
        return Ok(true);
    }
    let pinned = [BranchCmp::EQ, BranchCmp::GT].contains(&o.cmp_op);
    if BranchCmp::TABLE.name_of(o.cmp_op.0).is_none() || (x.machine.options.strict && !pinned) {
        return Err(FaultKind::unsupported(
            "cmp_op",
            format!("compare code 0x{:02x} is not pinned", o.cmp_op.0),
        ));
    }
    let a = x.register("cmp_reg0", o.cmp_reg0)?;
    let b = if o.cmp_op.0 & 0x80 != 0 { x.register("cmp_reg1", o.cmp_reg1)? } else { o.cmp_immediate };
    let ordering = match o.dtype {
        Dtype::INT32 => Some((a as i32).cmp(&(b as i32))),
        Dtype::UINT32 => Some(a.cmp(&b)),
        Dtype::FP32 => f32::from_bits(a).partial_cmp(&f32::from_bits(b)),
        other => return Err(FaultKind::illegal("dtype", other.text(), "int32, uint32 or fp32")),
    };
    // Unordered operands satisfy NE only.
    Ok(match BranchCmp(o.cmp_op.0 & 0x7F) {
        BranchCmp::LT => ordering.is_some_and(|c| c.is_lt()),
        BranchCmp::LE => ordering.is_some_and(|c| c.is_le()),
        BranchCmp::EQ => ordering.is_some_and(|c| c.is_eq()),
        BranchCmp::NE => !ordering.is_some_and(|c| c.is_eq()),
        BranchCmp::GE => ordering.is_some_and(|c| c.is_ge()),
        _ => ordering.is_some_and(|c| c.is_gt()),
    })
}

/// Addresses of the elements of a MEM_2D word that starts at `start`, in the order of its data slots:
/// dimension 0 is the faster one and steps count elements (section 8.11).
pub fn element_addresses(o: &MEM_2D, start: u64) -> impl Iterator<Item = u64> {
    let (size, step) = (o.dtype.bytes() as i64, o.step_elem.map(i64::from));
    let [n0, n1] = o.num_elem.map(i64::from);
    (0..n1)
        .flat_map(move |j| (0..n0).map(move |i| (i, j)))
        .map(move |(i, j)| start.wrapping_add_signed((i * step[0] + j * step[1]) * size))
}

/// Where a register transfer starts, and the field that says so.
type TransferStart = (&'static str, u64);

/// The start of TENSOR_LOAD and TENSOR_STORE; the variable form by 00 A14.
fn transfer_start(x: &Exec<'_>, o: &MEM_2D) -> Result<TransferStart, FaultKind> {
    const FIELD: &str = "start_addr";
    let start = match o.start_addr.form() {
        Addr8Form::Immediate(address) => address,
        Addr8Form::Registers { lo, hi } => {
            let low = x.register(FIELD, lo)?;
            u64::from(x.register(FIELD, hi)?) << 32 | u64::from(low)
        }
        Addr8Form::Variable { id, offset } => x.variable(FIELD, id.into(), offset)?,
        Addr8Form::Table { .. } => {
            return Err(FaultKind::unsupported(FIELD, "a table address in this word"));
        }
        Addr8Form::Unsupported(why) => return Err(FaultKind::unsupported(FIELD, why)),
    };
    Ok((FIELD, start))
}

/// The transfer that a pseudo-word becomes (section 8.12), and its start: a byte of a variable.
fn pseudo_transfer(x: &Exec<'_>, w: &Decoded) -> Result<(MEM_2D, TransferStart), FaultKind> {
    let o = *x.operands::<PSEUDO_MEM_2D>(w)?;
    if o.dtype == Dtype::UINT64 {
        return Err(FaultKind::illegal("dtype", o.dtype.text(), "an integer up to 32 bits or fp32"));
    }
    let start = x.variable("var_id", o.var_id, o.var_offset)?;
    Ok((o.at(start), ("var_offset", start)))
}

/// The elements of a register transfer: address and access, all checked, in the order of its data slots
/// (section 8.11).
fn elements(
    x: &Exec<'_>,
    o: &MEM_2D,
    (field, start): TransferStart,
) -> Result<Vec<(u64, BusAccess)>, FaultKind> {
    let size = match o.dtype {
        Dtype::UINT8 | Dtype::INT8 | Dtype::UINT16 | Dtype::INT16 => o.dtype.bytes(),
        Dtype::UINT32 | Dtype::INT32 | Dtype::FP32 | Dtype::UINT64 => o.dtype.bytes(),
        other => {
            return Err(FaultKind::illegal(
                "dtype",
                other.text(),
                "an integer up to 32 bits, fp32 or uint64",
            ));
        }
    };
    let [n0, n1] = o.num_elem;
    if !(1..=32).contains(&n0) || !(1..=32).contains(&n1) || u32::from(n0) * u32::from(n1) > 32 {
        return Err(FaultKind::illegal("num_elem", format!("{n0}x{n1}"), "1 to 32 elements in all"));
    }
    let addresses: Vec<u64> = element_addresses(o, start).collect();
    let region = |a: u64| a >> 24;
    if x.machine.options.strict && addresses.iter().any(|a| region(*a) != region(addresses[0])) {
        return Err(FaultKind::illegal("step_elem", "a span across 16 MiB", "one aligned 16 MiB region"));
    }
    addresses.into_iter().map(|a| Ok((a, x.machine.bus_access(field, a, size)?))).collect()
}

/// Reads the registers of a data slot: one, or with UINT64 the pair that starts at an even number.
fn data_register(x: &Exec<'_>, o: &MEM_2D, number: u8) -> Result<u64, FaultKind> {
    let low = u64::from(x.register("data", number)?);
    if o.dtype != Dtype::UINT64 {
        return Ok(low);
    }
    if !number.is_multiple_of(2) {
        return Err(FaultKind::illegal("data", format!("register {number}"), "an even register"));
    }
    Ok(u64::from(x.register("data", number + 1)?) << 32 | low)
}

/// Checks that a read of the sequencer finds written bytes, in check mode.
fn check_written(
    x: &Exec<'_>,
    field: &'static str,
    address: u64,
    access: &BusAccess,
) -> Result<(), FaultKind> {
    if x.machine.bus_unwritten(access) {
        return Err(FaultKind::Uninitialised { field, address: super::Address::Soc(address) });
    }
    Ok(())
}

/// TENSOR_LOAD (section 8.11): memory to registers, extended by the dtype's sign.
pub fn tensor_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_load(x, w)?.run(x);
    Ok(Flow::Next)
}

/// PSEUDO_TENSOR_LOAD: a TENSOR_LOAD from a variable (section 8.12, decision 07-18).
pub fn pseudo_tensor_load(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_load(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The transfer of a word and its start, whether a pseudo-word or not.
fn transfer(x: &Exec<'_>, w: &Decoded) -> Result<(MEM_2D, TransferStart), FaultKind> {
    if PSEUDO_MEM_2D::of(&w.operands).is_some() {
        return pseudo_transfer(x, w);
    }
    let o = *x.operands::<MEM_2D>(w)?;
    let start = transfer_start(x, &o)?;
    Ok((o, start))
}

/// Loads of registers that have been checked.
#[derive(Debug)]
pub struct Loads {
    dtype: Dtype,
    from: Vec<(BusAccess, u8)>,
}

/// The checks of TENSOR_LOAD and PSEUDO_TENSOR_LOAD.
pub fn check_load(x: &Exec<'_>, w: &Decoded) -> Result<Loads, FaultKind> {
    let (o, start) = transfer(x, w)?;
    let accesses = elements(x, &o, start)?;
    for ((address, access), register) in accesses.iter().zip(o.data) {
        data_register(x, &o, register)?;
        check_written(x, start.0, *address, access)?;
    }
    let from = accesses.into_iter().map(|(_, access)| access).zip(o.data).collect();
    Ok(Loads { dtype: o.dtype, from })
}

impl Loads {
    /// Does them.
    pub fn run(&self, x: &mut Exec<'_>) {
        let mut values = [0; 32];
        for (value, (access, _)) in values.iter_mut().zip(&self.from) {
            *value = x.machine.bus_read(access);
            x.machine.note_bus_read(access, *value);
        }
        for (value, (_, register)) in values.into_iter().zip(&self.from) {
            let low = match self.dtype {
                Dtype::INT8 => i32::from(value as i8) as u32,
                Dtype::INT16 => i32::from(value as i16) as u32,
                _ => value as u32,
            };
            set_register(x, *register, low);
            if self.dtype == Dtype::UINT64 {
                set_register(x, register + 1, (value >> 32) as u32);
            }
        }
    }
}

/// TENSOR_STORE (section 8.12): registers or packed immediates to memory, truncated to the dtype.
pub fn tensor_store(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_store(x, w)?.run(x);
    Ok(Flow::Next)
}

/// PSEUDO_TENSOR_STORE: a TENSOR_STORE to a variable (section 8.12, decision 07-18).
pub fn pseudo_tensor_store(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_store(x, w)?.run(x);
    Ok(Flow::Next)
}

/// The checks of TENSOR_STORE and PSEUDO_TENSOR_STORE.
pub fn check_store(x: &Exec<'_>, w: &Decoded) -> Result<Stores, FaultKind> {
    let (o, start) = transfer(x, w)?;
    let accesses = elements(x, &o, start)?;
    let (size, count) = (o.dtype.bytes(), accesses.len());
    let value = |k: usize| match o.src_datasrc {
        DataSrc::IMMEDIATE => {
            let slot = o
                .data
                .get(k * size..(k + 1) * size)
                .ok_or_else(|| FaultKind::illegal("num_elem", count, format!("at most {}", 32 / size)))?;
            Ok(StoreValue::Immediate(slot.iter().rev().fold(0, |v, b| v << 8 | u64::from(*b))))
        }
        _ => {
            data_register(x, &o, o.data[k])?;
            let pair = o.dtype == Dtype::UINT64;
            Ok(if pair { StoreValue::Pair(o.data[k]) } else { StoreValue::Register(o.data[k]) })
        }
    };
    let values = (0..count).map(value).collect::<Result<Vec<_>, FaultKind>>()?;
    Ok(Stores(accesses.into_iter().map(|(_, access)| access).zip(values).collect()))
}

/// EVENT_SEMAPHORE_RANGE_CLEAR (section 8.15): each semaphore := 0, ascending.
pub fn range_clear(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let range = check_range_clear(x, w)?;
    clear(x, range);
    Ok(Flow::Next)
}

/// The checks of EVENT_SEMAPHORE_RANGE_CLEAR; its semaphores.
pub fn check_range_clear(x: &Exec<'_>, w: &Decoded) -> Result<RangeInclusive<u8>, FaultKind> {
    let o = x.operands::<CTRL_ER>(w)?;
    if o.mode != 1 {
        return Err(FaultKind::unsupported("mode", format!("range clear mode {}", o.mode)));
    }
    if o.first > o.last {
        return Err(FaultKind::illegal("first", o.first, format!("at most last = {}", o.last)));
    }
    Ok(o.first..=o.last)
}

/// Clears semaphores.
pub fn clear(x: &mut Exec<'_>, semaphores: RangeInclusive<u8>) {
    for index in semaphores {
        let change = x.core().sync.apply(&Update { action: Action::Write, index, value: 0 });
        let (core, engine, pc) = (x.core, x.engine, x.pc);
        note_change(x.machine, core, Some(engine), pc, &change);
        x.ends_turn |= wakes_fragile_wait(&x.machine.cores[core], engine, &change);
    }
}

/// MOVE_SHAPE (section 8.17): immediates to shape registers, or between them and registers.
pub fn move_shape(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = check_move_shape(x, w)?;
    run_move_shape(x, &o);
    Ok(Flow::Next)
}

/// The checks of MOVE_SHAPE; its operands.
pub fn check_move_shape(x: &Exec<'_>, w: &Decoded) -> Result<CTRL_MS, FaultKind> {
    let o = *x.operands::<CTRL_MS>(w)?;
    if o.shape_reg_type != 0 {
        return Err(FaultKind::unsupported("shape_reg_type", format!("type {}", o.shape_reg_type)));
    }
    let moves = usize::from(o.num_move);
    let shapes = o.shape_registers.get(..moves).filter(|s| !s.is_empty() && s.iter().all(|n| *n < 4));
    shapes.ok_or_else(|| FaultKind::illegal("num_move", moves, "1 to 4, shape registers 0 to 3"))?;
    if o.move_type > 2 {
        return Err(FaultKind::illegal("move_type", o.move_type, "0 to 2"));
    }
    for k in (0..4 * moves).filter(|_| o.move_type != 0) {
        x.register("data", o.data[k])?;
    }
    Ok(o)
}

/// MOVE_SHAPE with operands that have been checked.
pub fn run_move_shape(x: &mut Exec<'_>, o: &CTRL_MS) {
    let data = |k: usize, j: usize| o.data[4 * k + j];
    let shapes = &o.shape_registers[..usize::from(o.num_move)];
    match o.move_type {
        1 => emit(&LogLine::Label("MoveShape(RegToShape)")),
        2 => emit(&LogLine::Label("MoveShape(ShapeToReg)")),
        _ => {}
    }
    for (k, shape) in shapes.iter().map(|s| usize::from(*s)).enumerate() {
        for j in 0..4 {
            match o.move_type {
                0 => {
                    let at = 8 * k + 2 * j;
                    x.engine_state().shapes[shape][j] = u16::from_le_bytes([o.data[at], o.data[at + 1]]);
                }
                1 => {
                    let value = x.register("data", data(k, j)).unwrap_or_default();
                    x.engine_state().shapes[shape][j] = value as u16;
                }
                _ => {
                    let value = x.engine_state().shapes[shape][j];
                    set_register(x, data(k, j), value.into());
                }
            }
        }
    }
}

/// POLL_SEM (section 8.18): folds consecutive cells into a register; a result other than zero is written
/// back as often.
pub fn poll_sem(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    check_poll(x, w)?.run(x)?;
    Ok(Flow::Next)
}

/// A POLL_SEM whose reads have been checked.
#[derive(Debug)]
pub struct Poll {
    fold: fn(u32, u32) -> u32,
    reads: Vec<BusAccess>,
    /// Where the result goes unless it is zero. Only then does a bad address matter.
    writes: Result<Vec<BusAccess>, FaultKind>,
    register: u8,
}

/// The checks of POLL_SEM, but for what depends on the cells.
pub fn check_poll(x: &Exec<'_>, w: &Decoded) -> Result<Poll, FaultKind> {
    let o = x.operands::<CTRL_POLL_SEM>(w)?;
    if !(1..=16).contains(&o.n_read) {
        return Err(FaultKind::illegal("n_read", o.n_read, "1 to 16"));
    }
    let fold: fn(u32, u32) -> u32 = match o.op {
        AluOp::ADD => u32::wrapping_add,
        AluOp::MAX => u32::max,
        AluOp::MIN => u32::min,
        AluOp::BITWISE_AND => |a, b| a & b,
        AluOp::BITWISE_OR => |a, b| a | b,
        AluOp::BITWISE_XOR => |a, b| a ^ b,
        other => return Err(FaultKind::illegal("op", other.text(), "ADD, MAX, MIN, AND, OR or XOR")),
    };
    let address = |start: u64, k: u8| start.wrapping_add(4 * u64::from(k));
    let cells = |field, start: u64| -> Result<Vec<BusAccess>, FaultKind> {
        (0..o.n_read).map(|k| x.machine.bus_access(field, address(start, k), 4)).collect()
    };
    let reads = cells("addr", o.addr)?;
    for (k, access) in (0..).zip(&reads) {
        check_written(x, "addr", address(o.addr, k), access)?;
    }
    x.register("result", o.result)?;
    Ok(Poll { fold, reads, writes: cells("res_writeback_addr", o.res_writeback_addr), register: o.result })
}

impl Poll {
    /// Does it.
    ///
    /// # Errors
    /// The result is to be written to a bad address; nothing has been done.
    pub fn run(&self, x: &mut Exec<'_>) -> Result<(), FaultKind> {
        let read = |access| {
            let value = x.machine.bus_read(access);
            x.machine.note_bus_read(access, value);
            value as u32
        };
        let result = self.reads.iter().map(read).reduce(self.fold).unwrap_or_default();
        let writes = match &self.writes {
            _ if result == 0 => &[],
            Ok(writes) => writes.as_slice(),
            Err(fault) => return Err(fault.clone()),
        };
        set_register(x, self.register, result);
        for access in writes {
            store(x, access, result.into());
        }
        Ok(())
    }
}
