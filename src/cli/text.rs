//! Words as text: the one place where the command asks for it.

use seqjit::neff::Graph;
use seqjit::runtime::isa::text::{AsmError, Line, Names, assemble};
use seqjit::runtime::isa::{DecodeError, EngineId, Generation, Word, decode, opcode_info};

/// The names of a core's semaphores: those of the engines, then the members of every queue's set (chapter 09
/// section 2.1). A semaphore that two queues share keeps its first name.
pub fn names_of(graph: &Graph) -> Names {
    let mut names = Names::engines();
    for queue in &graph.def.queues {
        for semaphore in &queue.semaphore_set {
            // A name with blanks or brackets cannot be shown; the semaphore then has none.
            let _ = names.insert_queue(*semaphore, &queue.name);
        }
    }
    names
}

/// The line of a word.
pub fn line(word: &Word, generation: Generation, names: &Names) -> Result<Line, DecodeError> {
    Ok(Line::new(&decode(word, generation)?, generation, names))
}

/// The word of a line: operand text and extension may stand in one string.
pub fn word(
    opcode: &str,
    text: &str,
    engine: EngineId,
    generation: Generation,
    names: &Names,
) -> Result<Word, AsmError> {
    assemble(opcode, text, engine, generation, names)
}

/// The name in operand text of an opcode byte, or the byte.
pub fn opcode_name(byte: u8) -> String {
    opcode_info(byte).map_or_else(|| format!("0x{byte:02X}"), |info| info.display.to_owned())
}
