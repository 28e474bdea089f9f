//! Words that cannot run are found when a session is made; with that turned off they fault when they are
//! reached, and not before.

use std::path::Path;

use seqjit::runtime::isa::EngineId;
use seqjit::{Engine, Options, Program, RunError, Session, SessionError, asm};

/// The shipped vector add with another text for the channels of its DVE word.
fn vector_add(channels: &str) -> Program {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/vector_add.s"))
        .unwrap()
        .replace("channels=128", channels);
    Program::from_bytes(&asm::assemble_program(&text, "bad.s").unwrap(), &Default::default()).unwrap()
}

fn options(validate: bool) -> Options {
    let mut options = Options::default();
    options.validate = validate;
    options
}

/// DVE: SET_ORDERING_MODE, BRANCH_LABEL, EVENT_SEMAPHORE (the word waits for two loads), then the sum.
const SUM: u64 = 3;

#[test]
fn an_illegal_word_is_refused_at_load_or_faults_where_it_stands() {
    for channels in ["channels=0", "channels=129", "channels=200"] {
        let program = vector_add(channels);
        let refused = match Session::new(&Engine::new(), &program, options(true)) {
            Err(SessionError::Illegal(findings)) => findings,
            other => panic!("{channels}: {:?}", other.map(|_| "a session")),
        };
        assert!(
            refused.iter().all(|f| (f.core, f.engine, f.slot as u64) == (0, EngineId::Dve, SUM)),
            "{refused:?}"
        );

        let mut session = Session::new(&Engine::new(), &program, options(false)).unwrap();
        session.set_random_inputs(1);
        let fault = match session.run() {
            Err(RunError::Fault(fault)) => fault,
            other => panic!("{channels}: {other:?}"),
        };
        assert_eq!((fault.core, fault.engine, fault.slot), (0, EngineId::Dve, SUM), "{channels}");
        assert!(fault.to_string().contains("num_active_channels"), "{fault}");
        // What came before has happened, and the machine can be looked at.
        let core = &session.machine().cores[0];
        let dve = &core.engines[EngineId::Dve.index()];
        assert_eq!(dve.retired, SUM - 1, "a BRANCH_LABEL does not count");
        assert!(!dve.is_active());
        assert!(session.output("out").is_err(), "nothing has written it");
    }
}

/// A program of one word besides the transfer that fills its output.
fn one_word(generation: &str, word: &str) -> Program {
    let text = format!(
        "program p for {generation}
         input x fp32[128, 4]
         output y fp32[128, 4]
         sbuf t fp32[4]
         queue q dynamic SP
         SP load: DMA x -> t
         SP store: DMA t -> y   after load
         {word}
         SP NOP   after store"
    );
    Program::from_bytes(&asm::assemble_program(&text, "one.s").unwrap(), &Default::default()).unwrap()
}

#[test]
fn words_that_cannot_run_are_found_before_running() {
    let reciprocal = "POOL RECIPROCAL src=t dst=t channels=128";
    let no_variable = "SP PSEUDO_DMA_DIRECT2D src_elem_size=4 dst_elem_size=4 src_var_id=77 dst_var_id=0";
    let cases = [
        ("cayman", "PE 0x06", EngineId::Pe, "dtype"),
        ("cayman", "POOL 0x79", EngineId::Pool, "opcode-refused"),
        ("cayman", no_variable, EngineId::Sp, "variable-exists"),
        ("cayman", reciprocal, EngineId::Pool, "handler"),
        (
            "cayman",
            "ACT COMPARE_BRANCH cmp_op=ALWAYS target_mode=ABSOLUTE +br_immediate=0x100000",
            EngineId::Act,
            "branch-target",
        ),
        (
            "cayman",
            "ACT COMPARE_BRANCH cmp_op=ALWAYS target_mode=RELATIVE +br_immediate=0x20",
            EngineId::Act,
            "branch-target",
        ),
    ];
    for (generation, word, engine, rule) in cases {
        let program = one_word(generation, word);
        let found: Vec<_> = program.check(true).into_iter().filter(|f| f.is_fatal()).collect();
        let of_rule = found.iter().any(|f| f.engine == engine && f.finding.rule == rule);
        assert!(of_rule, "{word}: {found:?}");
        assert!(matches!(
            Session::new(&Engine::new(), &program, options(true)),
            Err(SessionError::Illegal(_))
        ));
    }
}
