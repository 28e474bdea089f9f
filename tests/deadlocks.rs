//! A deadlock names the words that would still change what an engine waits for.

use seqjit::runtime::isa::EngineId;
use seqjit::{Changer, Deadlock, Engine, Options, Program, RunError, Session, asm};

/// ACT waits for semaphore 99; POOL has a word that it does not come to.
fn deadlock(word: &str) -> Deadlock {
    let text = format!(
        "program p for maverick
         output y fp32[1]
         ACT NOP S[99]>=1
         POOL NOP S[98]>=1
         POOL {word}"
    );
    let bytes = asm::assemble_program(&text, "p.s").unwrap_or_else(|e| panic!("{word}: {e}"));
    let program = Program::from_bytes(&bytes, &Default::default()).unwrap();
    let mut options = Options::default();
    // The words are never reached: what they address does not matter.
    options.validate = false;
    let mut session = Session::new(&Engine::new(), &program, options).unwrap();
    match session.run() {
        Err(RunError::Deadlock(found)) => found,
        other => panic!("{word}: {other:?}"),
    }
}

/// What is said to change semaphore 99.
fn changers(word: &str) -> Vec<Changer> {
    let found = deadlock(word);
    let act = found.waiting.iter().find(|w| w.engine == EngineId::Act).unwrap();
    assert_eq!(act.wait.index, 99);
    act.could_change.clone()
}

#[test]
fn transfers_that_words_describe_post_their_semaphores() {
    let expected = [Changer { engine: EngineId::Pool, slot: 1, by_dma: true }];
    for word in [
        "DMA_INDIRECT",
        "DMA_TRANSPOSE +in_dtype=fp32 +out_dtype=fp32 +tile_src_rows=16 +tile_src_cols=1",
        "DMA_GATHER_TRANSPOSE +dtype=fp16,fp16 +flags=1 +elem_size=2",
    ] {
        assert_eq!(changers(&format!("{word} +semaphore=99")), expected, "{word}");
        assert_eq!(changers(&format!("{word} +semaphore=97")), [], "{word}");
    }
    for (field, mode, other) in
        [("rd_done_sema_update_idx", "0x01", "0x10"), ("wr_done_sema_update_idx", "0x10", "0x01")]
    {
        let word = |mode| format!("DMA_MEMCPY2 +{field}=99 +sema_update_mode={mode}");
        assert_eq!(changers(&word(mode)), expected, "{field}");
        assert_eq!(changers(&word(other)), [], "{field}");
    }
}

#[test]
fn collectives_count_on_the_semaphore_of_their_update() {
    let expected = [Changer { engine: EngineId::Pool, slot: 1, by_dma: false }];
    let exchange =
        "num_active_channels=1 in_dtype=fp32 out_dtype=fp32 src=0x0[1,1,1][1,1,1] dst=0x0[1,1,1][1,1,1]";
    for (opcode, rest) in [("PSEUDO_TRIGGER_COLLECTIVE", "+dtype=fp32"), ("SB2SB_COLLECTIVE", exchange)] {
        assert_eq!(changers(&format!("{opcode} S[99]++ {rest}")), expected, "{opcode}");
        assert_eq!(changers(&format!("{opcode} S[97]++ {rest}")), [], "{opcode}");
    }
}
