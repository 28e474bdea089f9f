//! Rules of sequencer words (chapter 02 section 8).

use super::address::walk_extent;
use super::gates::DtypeSet;
use super::{Checker, gates, rules};
use crate::isa::field::{Addr8, BranchCmp, BranchMode, DataSrc};
use crate::isa::layouts::{
    CTRL_BR, CTRL_ER, CTRL_MS, CTRL_MV, CTRL_OM, CTRL_POLL_SEM, CTRL_WR, MEM_2D, MODIFY_POOL_CONFIG,
    PSEUDO_MEM_2D,
};
use crate::isa::operand::Addr8Form;
use crate::isa::{AluOp, Dtype};

/// Words without effect; the payload of MODIFY_POOL_CONFIG is checked (chapter 05 section 6.9).
pub(super) fn nop(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<MODIFY_POOL_CONFIG>() else { return };
    c.value("modify_op", o.modify_op, matches!(o.modify_op, 1 | 2), "1 (load) or 2 (unload)");
    c.value("library_size", o.library_size, o.library_size <= 65536, "at most 65536");
}

/// HALT, DRAIN and NOTIFY have nothing beyond what the generic rules refuse.
pub(super) fn halt(_: &mut Checker<'_>) {}

/// See [`halt`].
pub(super) fn flush(_: &mut Checker<'_>) {}

/// Accepted whatever the payload (00 table B).
pub(super) fn engine_nop(_: &mut Checker<'_>) {}

/// Accepted whatever the payload (00 table B).
pub(super) fn branch_hint(_: &mut Checker<'_>) {}

pub(super) fn move_shape(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_MS>() else { return };
    c.value("move_type", o.move_type, o.move_type <= 2, "0..2");
    c.value("num_move", o.num_move, (1..=4).contains(&o.num_move), "1..4");
    let moves = usize::from(o.num_move).min(4);
    for k in (0..moves).filter(|k| o.shape_registers[*k] > 3) {
        c.report_in(rules::FIELD_VALUE, "shape_registers", k, o.shape_registers[k], "0..3");
    }
    for k in (0..4 * moves).filter(|_| o.move_type != 0) {
        c.register_number("data", k, o.data[k]);
    }
}

pub(super) fn poll_sem(c: &mut Checker<'_>) {
    const FOLDS: [AluOp; 6] =
        [AluOp::ADD, AluOp::MAX, AluOp::MIN, AluOp::BITWISE_AND, AluOp::BITWISE_OR, AluOp::BITWISE_XOR];
    let Some(o) = c.operands::<CTRL_POLL_SEM>() else { return };
    c.value("n_read", o.n_read, (1..=16).contains(&o.n_read), "1..16");
    c.register_number("result", 0, o.result);
    if !FOLDS.contains(&o.op) {
        c.report(rules::ALU_OP, "op", o.op.text(), "ADD, MAX, MIN, AND, OR or XOR");
    }
}

/// See [`halt`].
pub(super) fn drain(_: &mut Checker<'_>) {}

/// See [`halt`].
pub(super) fn notify(_: &mut Checker<'_>) {}

pub(super) fn write(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_WR>() else { return };
    c.write_address("addr0", o.addr0);
    if o.wr_size1 == 0 {
        for (field, value) in [("addr1", o.addr1), ("data1", o.data1)].into_iter().filter(|(_, v)| *v != 0) {
            let expected = "0, as there is no second write";
            c.report(rules::PAYLOAD_UNKNOWN, field, format_args!("{value:#x}"), expected);
        }
    } else {
        c.write_address("addr1", o.addr1);
    }
    for (field, value) in [("data0", o.data0), ("data1", o.data1)].into_iter().filter(|(_, v)| v >> 32 != 0) {
        c.report(rules::PAYLOAD_UNKNOWN, field, format_args!("{value:#x}"), "32 bits");
    }
}

pub(super) fn mov(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_MV>() else { return };
    let moves = usize::from(o.num_mov).min(8);
    c.value("num_mov", o.num_mov, (1..=8).contains(&o.num_mov), "1..8");
    c.dtype("dtype", o.dtype, gates::REGISTER);
    let (sources, destinations) = (&o.src_registers.0, &o.dst_registers.0);
    for k in 0..moves {
        c.register_number("src_registers", k, sources[k]);
        c.register_number("dst_registers", k, destinations[k]);
        let repeated = destinations[..k].contains(&destinations[k]);
        let is_source = o.move_source == DataSrc::REGISTER && sources[..moves].contains(&destinations[k]);
        if repeated || is_source {
            let expected = "a register that is no source and no earlier destination";
            c.report_in(rules::MOVE_DESTINATION, "dst_registers", k, destinations[k], expected);
        }
    }
    for k in (moves..8).filter(|k| sources[*k] != 0) {
        c.report_in(rules::FIELD_VALUE, "src_registers", k, sources[k], "0 in an unused slot");
    }
}

pub(super) fn compare_branch(c: &mut Checker<'_>) {
    const REGISTER_FORM: u8 = 0x80;
    let Some(o) = c.operands::<CTRL_BR>() else { return };
    if o.cmp_op != BranchCmp::ALWAYS {
        if o.dtype == Dtype::INVALID
            || (o.dtype.exists_on(c.cx.generation) && !gates::REGISTER.contains(o.dtype))
        {
            c.report(rules::BRANCH_DTYPE, "dtype", o.dtype.text(), gates::REGISTER);
        }
        c.register_number("cmp_reg0", 0, o.cmp_reg0);
        if o.cmp_op.0 & REGISTER_FORM != 0 {
            c.register_number("cmp_reg1", 0, o.cmp_reg1);
        }
    }
    if matches!(o.target_mode, BranchMode::REGISTER | BranchMode::RELATIVE_REGISTER) {
        c.register_number("target_reg_lo", 0, o.target_reg_lo);
        c.register_number("target_reg_hi", 0, o.target_reg_hi);
    }
}

pub(super) fn tensor_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<MEM_2D>() else { return };
    c.load(o, gates::TRANSFER);
    c.transfer_address(o);
}

pub(super) fn tensor_store(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<MEM_2D>() else { return };
    c.store(o, gates::TRANSFER);
    c.transfer_address(o);
}

/// As [`tensor_load`]; where the variable lies is known when the word runs.
pub(super) fn pseudo_tensor_load(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_MEM_2D>() else { return };
    c.load(&o.at(0), gates::PSEUDO_TRANSFER);
}

/// As [`tensor_store`]; where the variable lies is known when the word runs.
pub(super) fn pseudo_tensor_store(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<PSEUDO_MEM_2D>() else { return };
    c.store(&o.at(0), gates::PSEUDO_TRANSFER);
}

pub(super) fn range_clear(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_ER>() else { return };
    if o.first > o.last {
        let expected = format_args!("at most {}, the last", o.last);
        c.report(rules::CLEAR_RANGE, "first", o.first, expected);
    }
}

pub(super) fn set_ordering_mode(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_OM>() else { return };
    c.value("mode", o.mode, o.mode <= 1, "0 (relaxed) or 1 (strict)");
}

impl Checker<'_> {
    /// The address of a four-byte register write: a plain immediate.
    fn write_address(&mut self, field: &'static str, address: u64) {
        let found = format_args!("{address:#x}");
        if !matches!(Addr8(address).form(), Addr8Form::Immediate(_)) {
            self.report(rules::ADDRESS_REFUSED, field, found, "a plain address");
        } else if !address.is_multiple_of(4) {
            self.report(rules::ALIGNMENT, field, found, "a multiple of 4");
        }
    }

    /// A transfer to registers, apart from its address.
    fn load(&mut self, o: &MEM_2D, dtypes: DtypeSet) {
        let is_register = o.src_datasrc == DataSrc::REGISTER;
        self.value("src_datasrc", o.src_datasrc.0, is_register, "0 (register)");
        self.transfer(o, dtypes, 32);
        self.transfer_registers(o);
    }

    /// A transfer from registers or immediates, apart from its address.
    fn store(&mut self, o: &MEM_2D, dtypes: DtypeSet) {
        if o.src_datasrc == DataSrc::IMMEDIATE {
            // 32 bytes of packed immediates
            self.transfer(o, dtypes, 32 / o.dtype.bytes().max(1));
        } else {
            self.transfer(o, dtypes, 32);
            self.transfer_registers(o);
        }
    }

    /// Dtype and counts of a register transfer; `capacity`: elements that the data can hold.
    fn transfer(&mut self, o: &MEM_2D, dtypes: DtypeSet, capacity: usize) {
        self.dtype("dtype", o.dtype, dtypes);
        let [n0, n1] = o.num_elem.map(usize::from);
        if !(1..=32).contains(&n0) || !(1..=32).contains(&n1) || n0 * n1 > capacity {
            let found = format_args!("{n0} x {n1}");
            let expected = format_args!("1..32 each, {capacity} elements at most");
            self.report(rules::TRANSFER_COUNT, "num_elem", found, expected);
        }
    }

    /// The start of a register transfer.
    fn transfer_address(&mut self, o: &MEM_2D) {
        match o.start_addr.form() {
            Addr8Form::Immediate(start) => self.transfer_span(o, start),
            Addr8Form::Table { .. } => {
                let expected = "a form other than an address table";
                self.report(
                    rules::ADDRESS_REFUSED,
                    "start_addr",
                    format_args!("{:#018x}", o.start_addr.0),
                    expected,
                );
            }
            _ => {}
        }
    }

    /// Alignment of an immediate start, and the 16 MiB region of the walk.
    fn transfer_span(&mut self, o: &MEM_2D, start: u64) {
        let size = o.dtype.bytes().max(1) as i64;
        if !start.is_multiple_of(size as u64) {
            let expected = format_args!("a multiple of {size}");
            self.report(rules::ALIGNMENT, "start_addr", format_args!("{start:#x}"), expected);
        }
        let steps = o.step_elem.iter().map(|s| i64::from(*s));
        let counts = o.num_elem.iter().map(|n| i64::from(*n));
        let (low, high) = walk_extent(steps, counts, size);
        let (first, last) = (start as i64 + low, start as i64 + high - 1);
        if first >> 24 != last >> 24 {
            let found = format_args!("bytes {first:#x}..{last:#x}");
            self.report(rules::SPAN_16MIB, "start_addr", found, "one aligned region of 16 MiB");
        }
    }

    /// Register numbers of a transfer: the used slots, and with UINT64 the parity of all.
    fn transfer_registers(&mut self, o: &MEM_2D) {
        let [n0, n1] = o.num_elem.map(usize::from);
        let used = (n0 * n1).min(o.data.len());
        for (k, number) in o.data.iter().enumerate() {
            if o.dtype == Dtype::UINT64 && number % 2 != 0 {
                self.report_in(rules::REGISTER_PAIR, "data", k, number, "an even register");
            } else if k < used {
                self.register_number("data", k, *number);
            }
        }
    }
}

/// Whatever the payload: it has no effect (00 table B).
pub(super) fn branch_label(_: &mut Checker<'_>) {}
