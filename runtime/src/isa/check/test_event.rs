//! Rules of TEST_EVENT_SEM (chapter 02 section 8.19).

use super::{Checker, rules};
use crate::interp::test_event::{READ_EVENTS, UPDATE_IF_REACHED, action};
use crate::isa::layouts::CTRL_TEST_ES;

pub(super) fn test_event_sem(c: &mut Checker<'_>) {
    let Some(o) = c.operands::<CTRL_TEST_ES>() else { return };
    c.value("mode", o.mode, o.mode <= UPDATE_IF_REACHED, "0 to 4");
    let n = o.num_evt_sem;
    c.value("num_evt_sem", n, (1..=16).contains(&n), "1 to 16");
    let (used, unused) = o.evt_sem_ids.split_at(usize::from(n).min(16));
    for (k, id) in used.iter().enumerate().filter(|(k, id)| used[..*k].contains(id)) {
        c.report_in(rules::FIELD_VALUE, "evt_sem_ids", k, id, "an id that is not in the list yet");
    }
    for (k, id) in unused.iter().enumerate().filter(|(_, id)| **id != 0) {
        c.report_in(rules::FIELD_VALUE, "evt_sem_ids", used.len() + k, id, "0 behind the last id");
    }
    for (k, number) in o.value_registers.0.iter().enumerate().take(used.len()) {
        c.register_number("value_registers", k, *number);
    }
    let updates = o.mode > READ_EVENTS && o.mode <= UPDATE_IF_REACHED;
    if updates && crate::isa::field::UpdateMode::TABLE.name_of(o.update_type.0).is_some() {
        let found = format_args!("0x{:02x}", o.update_type.0);
        if action(o).is_err() {
            let expected = "an update of the mode's cells without an immediate";
            c.report(rules::FIELD_VALUE, "update_type", found, expected);
        }
    }
}
