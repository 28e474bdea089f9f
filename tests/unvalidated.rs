//! Load-time validation turned off: illegal words fault when they are reached, and not before.

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
