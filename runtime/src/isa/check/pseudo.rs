//! Rules of the pseudo-words that touch no tensor (chapter 07 section 9.1).

use super::{Checker, rules};
use crate::isa::field::Name;
use crate::isa::layouts::{PSEUDO_FUNCTION_BEGIN, PSEUDO_FUNCTION_CALL};

/// Bytes of a name that the loader compares.
const NAME_BYTES: usize = 32;

pub(super) fn events_only(c: &mut Checker<'_>) {
    if let Some(o) = c.operands::<PSEUDO_FUNCTION_BEGIN>() {
        c.function_name(&o.function_name);
        let reset = o.return_reset_semaphores;
        c.value("return_reset_semaphores", reset, reset <= 1, "0 or 1");
        c.register_number("return_addr_reg_lo", 0, o.return_addr_reg_lo);
        c.register_number("return_addr_reg_hi", 0, o.return_addr_reg_hi);
    }
}

pub(super) fn function_call(c: &mut Checker<'_>) {
    if let Some(o) = c.operands::<PSEUDO_FUNCTION_CALL>() {
        c.function_name(&o.function_name);
    }
}

pub(super) fn function_return(_: &mut Checker<'_>) {}

pub(super) fn sync_barrier(_: &mut Checker<'_>) {}

pub(super) fn core_barrier(_: &mut Checker<'_>) {}

pub(super) fn exit(_: &mut Checker<'_>) {}

impl Checker<'_> {
    fn function_name<const N: usize>(&mut self, name: &Name<N>) {
        let legal = name.as_str().is_some_and(|n| (1..=NAME_BYTES).contains(&n.len()));
        if !legal {
            let expected = "1 to 32 printable characters, padded with zeros";
            self.report(rules::FUNCTION_NAME, "function_name", format_args!("{:?}", name.as_str()), expected);
        }
    }
}
