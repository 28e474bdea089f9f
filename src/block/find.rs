//! Finding blocks: runs of words with one entry and one exit (design section 1).

use seqjit_runtime::interp::Instruction;
use seqjit_runtime::isa::field::{UpdateMode, WaitMode};
use seqjit_runtime::isa::layouts::CTRL_ES;
use seqjit_runtime::isa::{Decoded, Family, Layout, Lowering, Operands, op};

/// Words of the longest block.
pub const MAX_WORDS: usize = 64;

/// Why a block ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BlockEnd {
    /// Its last word updates a semaphore or event, or the next word waits for one.
    Sync,
    /// Its last word may change what stops the engine, or store where others see it: surprises are polled
    /// behind it.
    Poll,
    /// Its last word branches.
    Branch,
    /// Its last word makes the engine read its words again.
    Flush,
    /// Its last word stops the engine.
    Halt,
    /// Its last word starts DMA.
    Dma,
    /// Its last word may wait for another engine or core, or end the program.
    Meeting,
    /// The next word has a breakpoint.
    Breakpoint,
    /// It has [`MAX_WORDS`] words.
    Length,
    /// The next word cannot be decoded or is refused: the interpreter raises the fault when it comes there.
    Undecodable,
    /// The stream ends behind it.
    Stream,
}

/// A run of words with one entry and one exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Slot of the first word.
    pub first: usize,
    /// Words, at least 1 unless the first one cannot be decoded.
    pub len: usize,
    /// Why it ends.
    pub end: BlockEnd,
}

/// The slots of a stream that have a breakpoint.
pub type Breakpoints<'a> = &'a dyn Fn(usize) -> bool;

/// The block that starts at a slot.
pub fn find(code: &[Instruction], first: usize, breakpoints: Breakpoints<'_>) -> Block {
    let block = |len, end| Block { first, len, end };
    for len in 0.. {
        let slot = first + len;
        let Some(instruction) = code.get(slot) else { return block(len, BlockEnd::Stream) };
        let Some(decoded) = executable(instruction) else { return block(len, BlockEnd::Undecodable) };
        if len > 0 && breakpoints(slot) {
            return block(len, BlockEnd::Breakpoint);
        }
        if len > 0 && waits(decoded) {
            return block(len, BlockEnd::Sync);
        }
        if len == MAX_WORDS {
            return block(len, BlockEnd::Length);
        }
        if let Some(end) = end_behind(decoded) {
            return block(len + 1, end);
        }
    }
    block(0, BlockEnd::Stream)
}

/// The word, if it can run without a fault of its own.
pub fn executable(instruction: &Instruction) -> Option<&Decoded> {
    instruction.body.as_ref().ok().filter(|_| instruction.handler().is_some())
}

/// Modes of the second wait and update that an EVENT_SEMAPHORE word has.
pub fn extended_events(decoded: &Decoded) -> (WaitMode, UpdateMode) {
    CTRL_ES::of(&decoded.operands).map_or((WaitMode::NONE, UpdateMode::NONE), |o| {
        (o.events_extended.wait_mode, o.events_extended.update_mode)
    })
}

pub(super) fn waits(decoded: &Decoded) -> bool {
    decoded.events.wait_mode != WaitMode::NONE || extended_events(decoded).0 != WaitMode::NONE
}

pub(super) fn updates(decoded: &Decoded) -> bool {
    decoded.events.update_mode != UpdateMode::NONE || extended_events(decoded).1 != UpdateMode::NONE
}

/// The word makes the sequencer do more than go to the next word: it stops the engine, starts transfers, or makes it
/// read its words again.
pub fn is_for_sequencer(decoded: &Decoded) -> bool {
    matches!(end_behind(decoded), Some(BlockEnd::Flush | BlockEnd::Halt | BlockEnd::Dma | BlockEnd::Meeting))
}

/// Why no block goes on behind this word, if so. What a word does to the sequencer comes first: a branch that
/// also updates a semaphore is a branch.
pub fn end_behind(decoded: &Decoded) -> Option<BlockEnd> {
    let by_opcode = match decoded.info.byte {
        op::COMPARE_BRANCH => Some(BlockEnd::Branch),
        op::INSTRUCTION_FLUSH => Some(BlockEnd::Flush),
        op::HALT => Some(BlockEnd::Halt),
        op::WRITE | op::TENSOR_STORE | op::SET_ORDERING_MODE | op::NOTIFY | op::POLL_SEM => {
            Some(BlockEnd::Poll)
        }
        op::PSEUDO_SYNC_BARRIER | op::PSEUDO_CORE_BARRIER | op::PSEUDO_INST => Some(BlockEnd::Meeting),
        op::PSEUDO_FUNCTION_CALL | op::PSEUDO_FUNCTION_RETURN => Some(BlockEnd::Meeting),
        op::EXTENDED_INST if matches!(decoded.operands, Operands::EXTENDED_RDMA_DESC_START(_)) => {
            Some(BlockEnd::Meeting)
        }
        op::EVENT_SEMAPHORE_RANGE_CLEAR | op::TEST_EVENT_SEM => Some(BlockEnd::Sync),
        _ if decoded.info.lowering == Lowering::Call => match decoded.info.family {
            Family::Dma => Some(BlockEnd::Dma),
            Family::Collective => Some(BlockEnd::Meeting),
            _ => None,
        },
        _ => None,
    };
    by_opcode.or(updates(decoded).then_some(BlockEnd::Sync))
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqjit_runtime::isa::{Generation, WORD_LEN_CODE, Word};

    /// A word with header bytes, and EVENTS if asked for.
    fn word(opcode: u8, wait: WaitMode, update: UpdateMode) -> Instruction {
        let mut word = Word::new(opcode);
        word.0[1] = WORD_LEN_CODE;
        word.0[4] = wait.0;
        word.0[6] = update.0;
        Instruction::new(word, Generation::Cayman)
    }

    fn plain(opcode: u8) -> Instruction {
        word(opcode, WaitMode::NONE, UpdateMode::NONE)
    }

    fn blocks(code: &[Instruction], breakpoints: Breakpoints<'_>) -> Vec<(usize, usize, BlockEnd)> {
        let mut found = Vec::new();
        let mut first = 0;
        while first < code.len() {
            let block = find(code, first, breakpoints);
            found.push((block.first, block.len, block.end));
            first += block.len.max(1);
        }
        found
    }

    #[test]
    fn waits_start_blocks_and_updates_end_them() {
        let code = [
            plain(op::COPY),
            plain(op::MEMSET),
            word(op::COPY, WaitMode::SEM_GE_IMM, UpdateMode::NONE),
            word(op::CAST, WaitMode::NONE, UpdateMode::SEM_INC_COMPLETE),
            word(op::COPY, WaitMode::SEM_GE_IMM, UpdateMode::SEM_INC_COMPLETE),
            plain(op::NOP),
        ];
        let expected = [
            (0, 2, BlockEnd::Sync),
            (2, 2, BlockEnd::Sync),
            (4, 1, BlockEnd::Sync),
            (5, 1, BlockEnd::Stream),
        ];
        assert_eq!(blocks(&code, &|_| false), expected);
    }

    #[test]
    fn words_for_the_sequencer_end_blocks() {
        let ends = [
            (op::COMPARE_BRANCH, BlockEnd::Branch),
            (op::INSTRUCTION_FLUSH, BlockEnd::Flush),
            (op::HALT, BlockEnd::Halt),
            (op::WRITE, BlockEnd::Poll),
            (op::DMAMEMCPY, BlockEnd::Dma),
            (op::PSEUDO_DMATRIGGER, BlockEnd::Dma),
        ];
        for (opcode, end) in ends {
            let code = [plain(op::NOP), plain(opcode), plain(op::NOP)];
            assert_eq!(blocks(&code, &|_| false), [(0, 2, end), (2, 1, BlockEnd::Stream)], "0x{opcode:02x}");
        }
    }

    #[test]
    fn breakpoints_cut_before_their_word() {
        let code = vec![plain(op::NOP); 4];
        let expected = [(0, 2, BlockEnd::Breakpoint), (2, 2, BlockEnd::Stream)];
        assert_eq!(blocks(&code, &|slot| slot == 2), expected);
        assert_eq!(blocks(&code, &|slot| slot == 0), [(0, 4, BlockEnd::Stream)]);
    }

    #[test]
    fn blocks_have_a_longest_length() {
        let code = vec![plain(op::NOP); MAX_WORDS + 3];
        let expected = [(0, MAX_WORDS, BlockEnd::Length), (MAX_WORDS, 3, BlockEnd::Stream)];
        assert_eq!(blocks(&code, &|_| false), expected);
    }

    #[test]
    fn a_word_that_cannot_run_stands_alone() {
        let code = [plain(op::NOP), plain(0x40), plain(op::NOP)];
        let expected =
            [(0, 1, BlockEnd::Undecodable), (1, 0, BlockEnd::Undecodable), (2, 1, BlockEnd::Stream)];
        assert_eq!(blocks(&code, &|_| false), expected);
    }
}
