//! Variables in device memory by name.

use std::ops::Range;

use seqjit::Session;
use seqjit::runtime::machine::BufferId;
use seqjit::runtime::machine::soc::Target;

/// Where a variable of a core's graph lies, or a buffer of device memory by its whole name.
pub fn find(session: &Session, core: usize, name: &str) -> Option<(BufferId, Range<usize>)> {
    let machine = session.machine();
    if let Some(id) = machine.dram.buffers().iter().position(|b| b.spec.name == name) {
        return Some((id, 0..machine.dram.buffer(id).bytes().len()));
    }
    let variable = session.program().neff().graphs.get(core)?.def.variable(name)?;
    let address = machine.cores[core].spec.variables.get(variable.id as usize).copied().flatten()?;
    let Some(Target::Dram { buffer, offset }) = machine.route(address) else { return None };
    let rest = machine.dram.buffer(buffer).bytes().len().checked_sub(offset)?;
    // Tables carry no size in the container.
    let size = variable.size.and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= rest);
    Some((buffer, offset..offset + size.unwrap_or(rest)))
}

/// What to say if there is none.
pub fn unknown(core: usize, name: &str) -> String {
    format!("core {core} has no variable `{name}` in device memory (`seqjit info` lists them)")
}
