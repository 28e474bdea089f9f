//! The `S:` lines of a debug build as `tracing` events of target `seqjit::sequencer`, level trace
//! (chapter 01 section 15). Identifiers are stable, texts verbatim, order is no contract (01-D26).

use std::fmt;

use super::dispatch::handler_label;

/// Target of the events.
pub const TARGET: &str = "seqjit::sequencer";

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum LogLine {
    Begin(&'static str),
    SundaMode,
    HwDecodeMode,
    PendingStartCtrl,
    EnterRunStart,
    DvePerf(bool),
    EnterRunDone,
    SundaLoop,
    Loop(u32),
    Dispatch(u8),
    PcCheckDelta(u64),
    Redirecting(u64),
    SundaRedirecting(u64),
    SundaPendingRedirect(bool),
    Redirect,
    EnterPause,
    SetupHalt,
    EnteringHalt,
    Halt,
    InvalidateHints,
    CheckSurprises(bool, u16),
    StrongOrder,
    InsBreak,
    ExtBreak,
    StepCountZero,
    StepCount(u32),
    UnhandledSurprise(u16),
    SetOrderingMode,
    InstructionFlush,
    BreakCtrl(u32, u32),
    BadOpcode(u8),
    IllegalInstruction(u8),
    IntDivZero,
    FpError(u8),
    Assertion(&'static str, &'static str, u32),
    /// The same text once more, through the host's logger: without the prefix of the others.
    HostAssertion(&'static str, &'static str, u32),
    Notify,
    SendingNotification,
    PcInBounds(u64, u64, u64),
    Label(&'static str),
}

impl fmt::Display for LogLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use LogLine::*;
        if !matches!(self, HostAssertion(..)) {
            f.write_str("S: ")?;
        }
        match *self {
            Begin(generation) => write!(f, "BEGIN on {generation}"),
            SundaMode => f.write_str("NX in Sunda mode: HW decode disabled"),
            HwDecodeMode => f.write_str("NX in HW Decode mode"),
            PendingStartCtrl => f.write_str("Pending StartCtrl"),
            EnterRunStart => f.write_str("enter_run: start"),
            DvePerf(on) => write!(f, "DVE perf mode support = {}", u8::from(on)),
            EnterRunDone => f.write_str("enter_run: done"),
            SundaLoop => f.write_str("Sunda seq Loop"),
            Loop(n) => write!(f, "Seq Loop, iter=0x{n:x}"),
            Dispatch(opcode) => write!(f, "Dispatch opcode=0x{opcode:x}"),
            PcCheckDelta(pc) => {
                write!(f, "RTL_PC_check_delta: curr_dma_idx_vld=0x1, tgt_cache_idx=0x0, curr_pc=0x{pc:x}")
            }
            Redirecting(pc) => write!(f, "Redirecting to pc=0x{pc:x}"),
            SundaRedirecting(pc) => write!(f, "sunda_fetch: redirecting to pc=0x{pc:x}"),
            SundaPendingRedirect(on) => write!(f, "sunda_fetch pending_redirect={}", u8::from(on)),
            Redirect => f.write_str("Redirect"),
            EnterPause => f.write_str("Enter Pause"),
            SetupHalt => f.write_str("Setup Halt"),
            EnteringHalt => f.write_str("Entering HALT"),
            Halt => f.write_str("Halt"),
            InvalidateHints => f.write_str("PrefetchHelper : Invalidating all hints"),
            CheckSurprises(any, word) => {
                write!(f, "sunda_check_surprises: any={}, surprises=0x{word:x}", u8::from(any))
            }
            StrongOrder => f.write_str("STRONG_ORDER"),
            InsBreak => f.write_str("INS_BREAK"),
            ExtBreak => f.write_str("EXT_BREAK"),
            StepCountZero => f.write_str("STEP_CNT=0"),
            StepCount(n) => write!(f, "STEP_CNT=>{n}"),
            UnhandledSurprise(word) => write!(f, "Unhandled surprise: surprises=0x{word:x}"),
            SetOrderingMode => f.write_str("SET_OM"),
            InstructionFlush => f.write_str("INS_FL"),
            BreakCtrl(old, new) => write!(f, "BREAK_CTRL=0x{old:x} -> 0x{new:x}"),
            BadOpcode(op) => write!(f, "ErrorHandler : Bad Opcode(0x{op:x})"),
            IllegalInstruction(op) => write!(f, "ErrorHandler : Illegal Instruction(0x{op:x})"),
            IntDivZero => f.write_str("ErrorHandler : Int Div Zero Error"),
            FpError(code) => write!(f, "ErrorHandler : FP Error({code})"),
            Assertion(function, file, line) | HostAssertion(function, file, line) => {
                write!(f, "Assertion failure! {function}({file}:{line})")
            }
            Notify => f.write_str("NOTIFY"),
            SendingNotification => f.write_str("sending notification"),
            PcInBounds(pc, low, high) => {
                write!(f, "is_pc_in_bounds: pc=0x{pc:x} bound=[0x{low:x}, 0x{high:x}]")
            }
            Label(label) => f.write_str(label),
        }
    }
}

/// Sends a line to whoever listens.
#[inline(always)]
pub(crate) fn emit(line: &LogLine) {
    if is_heard() {
        send(line);
    }
}

/// Sends the label of a word's handler, if it has one.
#[inline(always)]
pub(super) fn emit_label(opcode: u8) {
    if is_heard()
        && let Some(label) = handler_label(opcode)
    {
        send(&LogLine::Label(label));
    }
}

/// Whether anybody listens: one load, unless a subscriber has asked for this much detail.
#[inline(always)]
pub(super) fn is_heard() -> bool {
    tracing::enabled!(target: TARGET, tracing::Level::TRACE)
}

#[cold]
fn send(line: &LogLine) {
    tracing::trace!(target: TARGET, "{line}");
}
