//! Pseudo-words of a container that touch no tensor: functions, barriers, the end of a program (chapter 07
//! section 9).

use super::{Exec, FaultKind, Flow};
use crate::isa::layouts::{PSEUDO_CORE_BARRIER, PSEUDO_FUNCTION_BEGIN, PSEUDO_FUNCTION_CALL, PSEUDO_INST};
use crate::isa::{Decoded, Layout, WORD_BYTES, op};
use crate::machine::meeting::Call;
use crate::machine::{Action, Update};
use crate::races::Meeting;
use crate::sequencer::{note_change, wakes_fragile_wait};

/// Words whose EVENTS are all that happens: DMA barrier, function begin, hint, completion, and the extension
/// of the word before (section 9.2).
pub fn events_only(_: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(Flow::Next)
}

/// PSEUDO_SYNC_BARRIER: waits until every engine of the core has come as far.
pub fn sync_barrier(x: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    Ok(if meet_engines(x) { Flow::Next } else { Flow::Block })
}

/// Comes to the barrier of all engines; whether all are there.
fn meet_engines(x: &mut Exec<'_>) -> bool {
    let engine = x.engine.index();
    let ticket = match x.engine_state().ticket {
        Some(ticket) => ticket,
        None => {
            let arrivals = &mut x.core().meetings.engines[engine];
            *arrivals += 1;
            let ticket = *arrivals;
            x.engine_state().ticket = Some(ticket);
            x.machine.races_leave(Meeting::Engines(x.core, ticket));
            ticket
        }
    };
    let there = x.core().meetings.engines.iter().all(|arrivals| *arrivals >= ticket);
    if there {
        x.machine.races_take_up(Meeting::Engines(x.core, ticket));
    }
    there
}

/// PSEUDO_CORE_BARRIER: waits until the other core of the pair has come to a barrier of the same id as often.
/// A core without a partner has nobody to wait for.
pub fn core_barrier(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let id = x.operands::<PSEUDO_CORE_BARRIER>(w)?.id;
    let Some(peer) = x.machine.partner(x.core) else { return Ok(Flow::Next) };
    let ticket = match x.engine_state().ticket {
        Some(ticket) => ticket,
        None => {
            let arrivals = x.core().meetings.cores.entry(id).or_default();
            *arrivals += 1;
            let ticket = *arrivals;
            x.engine_state().ticket = Some(ticket);
            x.machine.races_leave(Meeting::Cores(x.core.min(peer), id, ticket));
            ticket
        }
    };
    let there = x.machine.cores[peer].meetings.cores.get(&id).is_some_and(|arrivals| *arrivals >= ticket);
    if there {
        x.machine.races_take_up(Meeting::Cores(x.core.min(peer), id, ticket));
    }
    Ok(if there { Flow::Next } else { Flow::Block })
}

/// PSEUDO_FUNCTION_CALL: goes on behind the PSEUDO_FUNCTION_BEGIN of the name, with the return address in the
/// registers that it names, and the argument table as address table (decision 07-17).
pub fn function_call(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<PSEUDO_FUNCTION_CALL>(w)?;
    let (slot, callee) =
        begins(x).find(|(_, begin)| begin.function_name == o.function_name).ok_or_else(|| {
            let name = o.function_name.as_str().unwrap_or("?").to_owned();
            FaultKind::illegal("function_name", name, "a function of this stream")
        })?;
    check_registers(x, &callee)?;
    let table_base = x.variable("args_table_var_id", o.args_table_var_id, 0)?;
    let return_to = x.pc.wrapping_add(WORD_BYTES as u64);
    let state = x.engine_state();
    state.calls.push(Call { return_to, table_base: state.table_base });
    state.table_base = table_base;
    for (number, value) in
        [callee.return_addr_reg_lo, callee.return_addr_reg_hi].into_iter().zip(halves(return_to))
    {
        let written = state.set_register(number, value);
        debug_assert!(written.is_some(), "the registers have been checked");
    }
    Ok(Flow::Jump(address(x, slot + 1)))
}

/// PSEUDO_FUNCTION_RETURN: meets the other engines, then goes on where the registers of the enclosing function
/// say; the semaphores are cleared once, by the engine that comes last.
pub fn function_return(x: &mut Exec<'_>, _: &Decoded) -> Result<Flow, FaultKind> {
    let here = x.pc;
    let enclosing = begins(x).take_while(|(slot, _)| address(x, *slot) < here).last();
    let Some((_, function)) = enclosing else {
        return Err(FaultKind::illegal(
            "opcode",
            "a return outside every function",
            "a function begin before it",
        ));
    };
    check_registers(x, &function)?;
    let low = x.register("return_addr_reg_lo", function.return_addr_reg_lo)?;
    let high = x.register("return_addr_reg_hi", function.return_addr_reg_hi)?;
    let target = u64::from(high) << 32 | u64::from(low);
    let call = x.engine_state().calls.last().copied();
    if x.machine.options.strict && call.map(|c| c.return_to) != Some(target) {
        let expected =
            call.map_or("a call before it".to_owned(), |c| format!("0x{:x} of the call", c.return_to));
        return Err(FaultKind::illegal("return_addr_reg_lo", format!("0x{target:x}"), expected));
    }
    let first_look = x.engine_state().ticket.is_none();
    if !meet_engines(x) {
        return Ok(Flow::Block);
    }
    if first_look && function.return_reset_semaphores == 1 {
        clear_semaphores(x);
    }
    let state = x.engine_state();
    if let Some(call) = state.calls.pop() {
        state.table_base = call.table_base;
    }
    Ok(Flow::Jump(target))
}

fn clear_semaphores(x: &mut Exec<'_>) {
    let (core, engine, pc) = (x.core, x.engine, x.pc);
    for index in 0..=u8::MAX {
        let change = x.core().sync.apply(&Update { action: Action::Write, index, value: 0 });
        note_change(x.machine, core, Some(engine), pc, &change);
        x.ends_turn |= wakes_fragile_wait(&x.machine.cores[core], engine, &change);
    }
}

/// PSEUDO_INST of kind 1: the engine's program ends.
pub fn exit(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    match x.operands::<PSEUDO_INST>(w)?.pseudo_opcode {
        1 => Ok(Flow::Jump(address(x, x.machine.cores[x.core].engines[x.engine.index()].code.len()))),
        other => Err(FaultKind::unsupported("pseudo_opcode", format!("kind {other}"))),
    }
}

/// The functions of the engine's stream: slot and operands of their begin.
fn begins<'x>(x: &'x Exec<'_>) -> impl Iterator<Item = (usize, PSEUDO_FUNCTION_BEGIN)> + use<'x> {
    let words = x.machine.cores[x.core].engines[x.engine.index()].code.iter().enumerate();
    words.filter(|(_, i)| i.word().opcode() == op::PSEUDO_FUNCTION_BEGIN).filter_map(|(slot, i)| {
        let operands = &i.body.as_ref().ok()?.operands;
        Some((slot, *PSEUDO_FUNCTION_BEGIN::of(operands)?))
    })
}

/// The address of a slot of the engine's stream.
fn address(x: &Exec<'_>, slot: usize) -> u64 {
    let base = x.machine.cores[x.core].spec.streams[x.engine.index()].base;
    base.wrapping_add((WORD_BYTES * slot) as u64)
}

fn halves(address: u64) -> [u32; 2] {
    [address as u32, (address >> 32) as u32]
}

fn check_registers(x: &Exec<'_>, function: &PSEUDO_FUNCTION_BEGIN) -> Result<(), FaultKind> {
    x.register("return_addr_reg_lo", function.return_addr_reg_lo)?;
    x.register("return_addr_reg_hi", function.return_addr_reg_hi).map(|_| ())
}
