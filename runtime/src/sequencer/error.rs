//! Error records of a sequencer (chapter 01 section 13).

use super::log::{LogLine, emit};
use super::state::Sequencer;
use crate::interp::FaultKind;
use crate::isa::EngineId;
use crate::machine::{Core, Notification, NotificationKind};
use crate::save::{Damaged, Reader, Saved, saved};

/// Class of an error (chapter 01 section 13.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorClass {
    /// No handler for the opcode.
    BadOpcode(u8),
    /// A known opcode with something unsupported.
    IllegalInstruction(u8),
    /// Integer division by zero of the register ALU.
    IntDivZero,
    /// A flag of the register ALU; execution continues. The code is that of section 13.4.
    FpError(u8),
    /// An internal check.
    Assertion {
        /// Function.
        function: &'static str,
        /// Source file.
        file: &'static str,
        /// Line.
        line: u32,
    },
    /// An exception of the control core: its 12-bit type.
    Trap(u16),
    /// A signal of the control core. Never raised here; kept so that the class list is complete.
    Signal(u8),
}

/// An error with the 32-bit record of section 13.3.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorRecord {
    /// Class.
    pub class: ErrorClass,
    /// code 7:0, block 11:8, extension 23:12, auxiliary 31:24.
    pub record: u32,
}

/// Misaligned address or PC (decision 01-D25).
pub const TRAP_ALIGNMENT: u16 = 2;
/// Nothing answers at an address (section 14).
pub const TRAP_EXTERNAL: u16 = 3;

/// The assertion of an engine id without block (decision 01-D22).
const NO_BLOCK: ErrorClass =
    ErrorClass::Assertion { function: "get_block_id", file: "error_notifications.cpp", line: 38 };
/// The assertion of an FP status that is not one flag (section 13.4).
const NO_FLAG: ErrorClass =
    ErrorClass::Assertion { function: "fp_error", file: "error_handler.cpp", line: 40 };

saved!(struct ErrorRecord { class, record });

/// Assertions are not stored: a machine with one is not saved.
impl Saved for ErrorClass {
    fn put(&self, out: &mut Vec<u8>) {
        let (number, value) = match *self {
            ErrorClass::BadOpcode(opcode) => (0, opcode.into()),
            ErrorClass::IllegalInstruction(opcode) => (1, opcode.into()),
            ErrorClass::IntDivZero => (2, 0),
            ErrorClass::FpError(code) => (3, code.into()),
            ErrorClass::Trap(kind) => (4, kind),
            ErrorClass::Signal(signal) => (5, signal.into()),
            ErrorClass::Assertion { .. } => (6, 0),
        };
        out.push(number);
        value.put(out);
    }

    fn load(from: &mut Reader<'_>) -> Result<Self, Damaged> {
        let (number, value) = (u8::load(from)?, u16::load(from)?);
        let byte = value as u8;
        Ok(match number {
            0 => ErrorClass::BadOpcode(byte),
            1 => ErrorClass::IllegalInstruction(byte),
            2 => ErrorClass::IntDivZero,
            3 => ErrorClass::FpError(byte),
            4 => ErrorClass::Trap(value),
            5 => ErrorClass::Signal(byte),
            _ => return Err(Damaged("unknown ErrorClass")),
        })
    }
}

impl ErrorClass {
    /// Fatal, else execution goes on.
    pub fn is_fatal(&self) -> bool {
        !matches!(self, ErrorClass::FpError(_))
    }

    /// The class of a fault that a word raised.
    pub fn of(kind: &FaultKind, opcode: u8) -> ErrorClass {
        match kind {
            FaultKind::BadOpcode { .. } | FaultKind::Decode(crate::isa::DecodeError::Opcode { .. }) => {
                ErrorClass::BadOpcode(opcode)
            }
            FaultKind::IntegerDivision => ErrorClass::IntDivZero,
            FaultKind::Assertion { function, file, line } => {
                ErrorClass::Assertion { function, file, line: *line }
            }
            FaultKind::Misaligned { .. } => ErrorClass::Trap(TRAP_ALIGNMENT),
            FaultKind::Fetch { pc, .. } if pc % 64 != 0 => ErrorClass::Trap(TRAP_ALIGNMENT),
            FaultKind::Memory { .. } | FaultKind::Uninitialised { .. } | FaultKind::Fetch { .. } => {
                ErrorClass::Trap(TRAP_EXTERNAL)
            }
            _ => ErrorClass::IllegalInstruction(opcode),
        }
    }

    /// The class of one floating-point flag in C `fenv` order: inexact 1, underflow 2, overflow 4, divide
    /// by zero 8, invalid 16; the code is the reversed order.
    pub fn fp_flag(flag: u32) -> ErrorClass {
        match flag {
            1 | 2 | 4 | 8 | 16 => ErrorClass::FpError(16 / flag as u8),
            _ => NO_FLAG,
        }
    }

    /// The fault that a failed assertion is.
    pub(super) fn assertion(&self) -> Option<FaultKind> {
        match *self {
            ErrorClass::Assertion { function, file, line } => {
                Some(FaultKind::Assertion { function, file, line })
            }
            _ => None,
        }
    }

    /// Code, auxiliary byte and extension (decisions 01-D20, 01-D21).
    fn parts(&self) -> (u32, u32, u32) {
        match *self {
            ErrorClass::BadOpcode(opcode) | ErrorClass::IllegalInstruction(opcode) => (0, opcode.into(), 0),
            ErrorClass::IntDivZero => (2, 0, 0),
            ErrorClass::FpError(code) => (code.into(), 0, 0),
            ErrorClass::Assertion { .. } => (0, 0, 0),
            ErrorClass::Signal(number) => (0x41, number.into(), 0),
            ErrorClass::Trap(cause) => (0x42, 0, u32::from(cause) & 0xFFF),
        }
    }

    /// What the handler logs.
    fn log_line(&self) -> Option<LogLine> {
        Some(match *self {
            ErrorClass::BadOpcode(op) => LogLine::BadOpcode(op),
            ErrorClass::IllegalInstruction(op) => LogLine::IllegalInstruction(op),
            ErrorClass::IntDivZero => LogLine::IntDivZero,
            ErrorClass::FpError(code) => LogLine::FpError(code),
            ErrorClass::Assertion { function, file, line } => LogLine::Assertion(function, file, line),
            ErrorClass::Trap(_) | ErrorClass::Signal(_) => return None,
        })
    }
}

/// The block of an engine id; `None` fails an assertion (section 13.3).
fn block_id(engine_id: u32) -> Option<u32> {
    [Some(2), Some(1), Some(3), None, Some(4), Some(5)].get(engine_id as usize).copied().flatten()
}

impl ErrorRecord {
    /// Packs the record of an error on an engine. An engine id without block replaces the error by an
    /// assertion (section 13.2).
    pub fn new(class: ErrorClass, engine_id: u32) -> ErrorRecord {
        if matches!(class, ErrorClass::Assertion { .. }) {
            return ErrorRecord { class, record: 0 };
        }
        let Some(block) = block_id(engine_id) else { return ErrorRecord { class: NO_BLOCK, record: 0 } };
        let (code, aux, extension) = class.parts();
        ErrorRecord { class, record: code | block << 8 | extension << 12 | aux << 24 }
    }
}

impl Sequencer {
    /// Logs an error, packs its record and latches it (section 13.2, steps 1 to 3).
    fn raise(&mut self, class: ErrorClass) -> ErrorRecord {
        log_class(&class);
        let error = ErrorRecord::new(class, self.engine_id);
        if error.class != class {
            log_class(&error.class);
        }
        self.error_record = error.record;
        self.last_error = Some(error);
        error
    }

    /// What reporting any error on this engine comes to if its id has no block.
    pub(crate) fn block_assertion(&self) -> Option<FaultKind> {
        if block_id(self.engine_id).is_some() { None } else { NO_BLOCK.assertion() }
    }
}

fn log_class(class: &ErrorClass) {
    if let Some(line) = class.log_line() {
        emit(&line);
    }
    if let ErrorClass::Assertion { function, file, line } = *class {
        emit(&LogLine::HostAssertion(function, file, line));
    }
}

/// Raises an error of the word at `pc` and puts its record on the error notification queue (section 13.2,
/// steps 1 to 4). Stopping is the caller's part.
pub(crate) fn report(core: &mut Core, engine: EngineId, pc: u64, hint: u8, class: ErrorClass) -> ErrorRecord {
    let state = &mut core.engines[engine.index()];
    let error = state.seq.raise(class);
    emit(&LogLine::Notify);
    emit(&LogLine::SendingNotification);
    let time = state.retired * 1000;
    let kind = NotificationKind::Error { record: error.record, fatal: error.class.is_fatal() };
    core.notifications.push(Notification { engine: Some(engine), pc, hint, time, kind });
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The worked examples of chapter 01 section 13.3 and trace T9.
    #[test]
    fn records_pack_as_printed() {
        assert_eq!(ErrorRecord::new(ErrorClass::BadOpcode(0x42), 2).record, 0x4200_0300);
        assert_eq!(ErrorRecord::new(ErrorClass::Trap(0x011), 1).record, 0x0001_1142);
        assert_eq!(ErrorRecord::new(ErrorClass::IntDivZero, 2).record, 0x0000_0302);
    }

    #[test]
    fn engine_ids_without_block_turn_any_error_into_an_assertion() {
        for id in [3, 6, 100] {
            assert_eq!(
                ErrorRecord::new(ErrorClass::IntDivZero, id),
                ErrorRecord { class: NO_BLOCK, record: 0 }
            );
        }
    }

    #[test]
    fn fp_codes_are_the_reversed_flags() {
        let codes: Vec<_> = [1, 2, 4, 8, 16].map(ErrorClass::fp_flag).to_vec();
        assert_eq!(codes, [16, 8, 4, 2, 1].map(ErrorClass::FpError));
        for flags in [0, 3, 5, 17, 32] {
            assert_eq!(ErrorClass::fp_flag(flags), NO_FLAG);
        }
    }
}
