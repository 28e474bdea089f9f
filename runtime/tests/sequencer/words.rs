//! Words by the byte offsets of chapter 02 section 8.

use seqjit_runtime::isa::Word;

/// Datatype codes (chapter 02 section 5).
pub const UINT64: u8 = 1;
pub const INT8: u8 = 2;
pub const UINT8: u8 = 3;
pub const INT16: u8 = 4;
pub const INT32: u8 = 8;
pub const UINT32: u8 = 9;
pub const FP32: u8 = 0xA;

/// Wait and update modes (chapter 02 sections 3.2 and 3.3).
pub const WAIT_EQ: u8 = 0x01;
pub const WAIT_GE: u8 = 0x05;
pub const WAIT_SET_THEN_CLEAR: u8 = 0x07;
pub const WAIT_CLEAR_THEN_SET: u8 = 0x0F;
pub const EVENT_SET: u8 = 0x11;
pub const SEM_INC: u8 = 0x13;
pub const SEM_WRITE: u8 = 0x19;

/// A word with bytes put at offsets.
pub fn word(opcode: u8, parts: &[(usize, &[u8])]) -> Word {
    let mut word = Word::new(opcode);
    for (at, bytes) in parts {
        word.0[*at..*at + bytes.len()].copy_from_slice(bytes);
    }
    word
}

/// The word with other bytes from `at` on.
pub fn patch(mut word: Word, at: usize, bytes: &[u8]) -> Word {
    word.0[at..at + bytes.len()].copy_from_slice(bytes);
    word
}

/// The word with a wait (mode, index) and an update (mode, index) that share an operand.
pub fn events(word: Word, wait: (u8, u8), update: (u8, u8), value: u32) -> Word {
    patch(patch(word, 4, &[wait.0, wait.1, update.0, update.1]), 8, &value.to_le_bytes())
}

pub fn nop() -> Word {
    Word::new(0xA4)
}

pub fn halt() -> Word {
    Word::new(0xA1)
}

pub fn flush() -> Word {
    Word::new(0xA3)
}

/// EVENT_SEMAPHORE with its second block: wait, its operand, update, its operand.
pub fn event_semaphore(wait: (u8, u8), wait_value: u32, update: (u8, u8), update_value: u32) -> Word {
    let block = [wait.0, wait.1, update.0, update.1];
    word(0xA0, &[(32, &block), (36, &wait_value.to_le_bytes()), (40, &update_value.to_le_bytes())])
}

/// SET_ORDERING_MODE: 0 relaxed, 1 strong.
pub fn ordering(mode: u8) -> Word {
    word(0xB1, &[(12, &[mode])])
}

/// WRITE of one 32-bit value.
pub fn write(address: u64, value: u32) -> Word {
    word(0xA5, &[(12, &[4, 0]), (16, &address.to_le_bytes()), (32, &value.to_le_bytes())])
}

/// NOTIFY with a 16-bit hint.
pub fn notify(hint: u16) -> Word {
    word(0xA6, &[(2, &[9]), (36, &hint.to_le_bytes()), (39, &[1])])
}

/// MOVE of immediates into registers.
pub fn move_immediate(moves: &[(u8, u32)]) -> Word {
    let mut w = word(0xA7, &[(12, &[moves.len() as u8, UINT32, 1])]);
    for (k, (register, value)) in moves.iter().enumerate() {
        w.0[24 + k] = *register;
        w = patch(w, 32 + 4 * k, &value.to_le_bytes());
    }
    w
}

/// MOVE of registers into registers: (source, destination).
pub fn move_registers(moves: &[(u8, u8)]) -> Word {
    let mut w = word(0xA7, &[(12, &[moves.len() as u8, UINT32, 0])]);
    for (k, (source, destination)) in moves.iter().enumerate() {
        w.0[16 + k] = *source;
        w.0[24 + k] = *destination;
    }
    w
}

/// ALU_OP with an immediate second operand.
pub fn alu_immediate(op: u8, dtype: u8, source: u8, immediate: u32, destination: u8) -> Word {
    let registers = [source, 0, 0, 0, destination, 0];
    word(0xA8, &[(12, &[op, dtype, 1, 0]), (16, &registers), (24, &immediate.to_le_bytes())])
}

/// ALU_OP on two registers.
pub fn alu_registers(op: u8, dtype: u8, sources: [u8; 2], destination: u8) -> Word {
    word(0xA8, &[(12, &[op, dtype, 0, 0]), (16, &[sources[0], 0, sources[1], 0, destination, 0])])
}

/// COMPARE_BRANCH: compare code, dtype, register, immediate; not yet with a target.
pub fn compare(code: u8, dtype: u8, register: u8, immediate: u32) -> Word {
    word(0xA9, &[(12, &[code, dtype]), (16, &immediate.to_le_bytes()), (32, &[register])])
}

/// Gives a branch a relative target: mode 3, bytes from the branch itself.
pub fn relative(branch: Word, bytes: i32) -> Word {
    patch(patch(branch, 14, &[3]), 48, &u64::from(bytes as u32).to_le_bytes())
}

/// Gives a branch an absolute target: mode 0.
pub fn absolute(branch: Word, target: u64) -> Word {
    patch(patch(branch, 14, &[0]), 48, &target.to_le_bytes())
}

/// Gives a branch a target in registers: mode 1 absolute, mode 4 relative.
pub fn in_registers(branch: Word, mode: u8, low: u8, high: u8) -> Word {
    patch(patch(branch, 14, &[mode]), 34, &[low, high])
}

/// A branch that is always taken.
pub fn always() -> Word {
    compare(0, 0, 0, 0)
}

/// TENSOR_LOAD (0xAA) or TENSOR_STORE (0xAB) of n0 x n1 elements with steps in elements; `data` names the
/// registers.
pub fn transfer(opcode: u8, dtype: u8, count: [u8; 2], step: [i32; 2], address: u64, data: &[u8]) -> Word {
    word(
        opcode,
        &[
            (12, &[dtype, 0, count[0], count[1]]),
            (16, &address.to_le_bytes()),
            (24, &step[0].to_le_bytes()),
            (28, &step[1].to_le_bytes()),
            (32, data),
        ],
    )
}

/// TENSOR_LOAD of consecutive elements.
pub fn load(dtype: u8, address: u64, registers: &[u8]) -> Word {
    transfer(0xAA, dtype, [registers.len() as u8, 1], [1, 0], address, registers)
}

/// TENSOR_STORE of consecutive elements from registers.
pub fn store(dtype: u8, address: u64, registers: &[u8]) -> Word {
    transfer(0xAB, dtype, [registers.len() as u8, 1], [1, 0], address, registers)
}

/// EVENT_SEMAPHORE_RANGE_CLEAR.
pub fn range_clear(first: u8, last: u8) -> Word {
    word(0xB0, &[(12, &[1, first, last])])
}

/// POLL_SEM: reads `count` words, folds them, writes the result back as often.
pub fn poll(count: u8, result: u8, op: u8, address: u64, write_back: u64) -> Word {
    let addresses = [address.to_le_bytes(), write_back.to_le_bytes()].concat();
    word(0xB3, &[(12, &[count, result, op]), (16, &addresses)])
}
