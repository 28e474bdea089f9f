//! Every opcode byte on every engine and generation: which ones the sequencer dispatches (chapter 01 section
//! 11, decision D16), and that all others are Bad Opcode.

use seqjit_runtime::interp::FaultKind;
use seqjit_runtime::isa::{EngineId, Generation, Word};
use seqjit_runtime::machine::{Machine, NotificationKind};
use seqjit_runtime::sequencer::dispatch::{HandlerFamily, pool_handler, slot};
use seqjit_runtime::sequencer::{Phase, legal_opcodes, step};

use crate::support::*;

/// The catalogue: opcodes, who owns them, presence on S C M V (Y present, n dormant, u present without flag).
/// SEQ: every engine's sequencer. HOST: pseudo-words.
const CATALOGUE: &str = "
    01-03 PE YYYY
    04-05 PE nnnn
    06-07 PE -YYY
    08-0A PE --YY
    21-24 ACT YYYY
    25 ACT --YY
    26 ACT ---Y
    30 DVE uuuu
    41-42 POOL/DVE YYYY
    43 POOL/DVE/ACT YYYY
    44 POOL/DVE nnnn
    45 POOL/DVE YYYY
    46-47 POOL/DVE/ACT YYYY
    48-49 POOL/DVE YYYY
    4A-4C POOL nnnn
    4D POOL/DVE YYYY
    4E DVE YYYY
    4F DVE nnnn
    51-52 POOL/DVE YYYY
    53 DVE YYYY
    54 DVE nnnn
    58 POOL/DVE YYYY
    5E DVE YYYY
    5F-60 DVE nnnn
    61-62 DVE YYYY
    63-64 DVE nnnn
    65-66 DVE YYYY
    67-68 POOL YYYY
    69-6F DVE YYYY
    70-71 DVE nnnn
    72 DVE YYYY
    73 POOL nnnn
    74 POOL YYYY
    76 DVE nnnn
    77-78 POOL/DVE/ACT YYYY
    79-7E POOL YYYY
    7F DVE YYYY
    81 POOL -nnn
    82-84 DVE YYYY
    85-86 POOL YYYY
    87-88 DVE n---
    8A-8D POOL/DVE Y---
    8E DVE YYYY
    8F POOL/DVE Y---
    92 POOL YYYY
    93-94 DVE YYYY
    95-96 POOL YYYY
    98-9B DVE YYYY
    9C POOL/DVE nnnn
    9D-9E DVE YYYY
    9F-AB SEQ YYYY
    B0-B3 SEQ YYYY
    B4 SEQ --YY
    B5 SEQ YYYY
    B6 SEQ ---Y
    B8 SEQ YYYY
    B9-BA SEQ ---Y
    BB SEQ YYYY
    BC DVE -YYY
    BD SEQ -YYY
    BE-BF POOL -YYY
    C1-D6 HOST YYYY
    D7 HOST -YYY
    D8-DF HOST YYYY
    E0-E3 DVE --YY
    E4 PE/POOL -YYY
    E5-E6 DVE YYYY
    E7 POOL YYYY
    E8 DVE YYYY
    E9 DVE -YYY
    EA DVE YYYY
    F0 POOL YYYY
    F1 SEQ -YYY
    F2 POOL -YYY
    F3 POOL ---Y
    F4 DVE ---Y
    FF NONE YYYY
";

/// The control spine of decision D16 by the generation that has it first.
const SPINE: [(Generation, &str); 4] = [
    (Generation::Sunda, "9F A0-AB B0-B3 B5 B8 BB"),
    (Generation::Cayman, "BD F1"),
    (Generation::Mariana, "B4"),
    (Generation::Maverick, "B6 B9 BA"),
];

/// The handlers of the CAYMAN POOL table (section 11.2), and its default slots (section 11.4).
const COMPUTE: &str = "41 43-47 49 4D 51-54 58 67 68 74 79-7E 92 95 96 9F BE BF E4 E7 F0 F2";
const CONTROL: &str = "A2-AB B0-B3 B5";
const INLINE: &str = "A0 A1";
const FLIX: &str = "77 78 B8 BB BD F1";
const DEFAULT: &str = "42 48 4A-4C 4E-50 55-57 59-66 69-73 75-76 7F-91 93-94 97-9E AC-AF B4 B6-B7 B9-BA BC C0-E3 \
                       E5-E6 E8-EF";

/// What the DVE opcode tables of known compilers hold programs for (chapter 10 section 10): CAYMAN as of 2.23,
/// what 2.21 had in addition, SUNDA.
const DVE_CAYMAN: &str =
    "41-49 4D 4E 51-54 58 5E 60-66 69-6F 72 7F 82-84 8E 93 98-9B 9D 9E BC E5 E6 E8 E9 EA F0";
const DVE_CAYMAN_OLD: &str = "4F 5F 70 71";
const DVE_SUNDA: &str = "41-49 4D 4E 51-54 58 5E 61-66 69-6F 72 7F 82-84 8C-8E 93 94 99 9D-9F E5 E8 EA F0-F2";

fn range(text: &str) -> std::ops::RangeInclusive<u8> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    u8::from_str_radix(first, 16).unwrap()..=u8::from_str_radix(last, 16).unwrap()
}

fn listed(list: &str, opcode: u8) -> bool {
    list.split_whitespace().any(|part| range(part).contains(&opcode))
}

/// Owners and presence letter of an opcode that a generation's enum has.
fn catalogued(opcode: u8, generation: Generation) -> Option<Vec<&'static str>> {
    CATALOGUE.lines().filter(|l| !l.is_empty()).find_map(|line| {
        let [opcodes, owners, presence] = line.split_whitespace().collect::<Vec<_>>().try_into().unwrap();
        let present = presence.as_bytes()[generation as usize - 2] != b'-';
        (range(opcodes).contains(&opcode) && present).then(|| owners.split('/').collect())
    })
}

fn in_spine(opcode: u8, generation: Generation) -> bool {
    SPINE.iter().any(|(first, list)| generation >= *first && listed(list, opcode))
}

/// Decision D16 in its own words.
fn legal(opcode: u8, engine: EngineId, generation: Generation, strict: bool, container: bool) -> bool {
    let Some(owners) = catalogued(opcode, generation) else { return false };
    if owners == ["NONE"] {
        return false;
    }
    if owners == ["HOST"] {
        return container;
    }
    if !strict || in_spine(opcode, generation) {
        return true;
    }
    match (engine, generation) {
        (EngineId::Pool, Generation::Cayman) => {
            [COMPUTE, CONTROL, INLINE, FLIX].iter().any(|l| listed(l, opcode))
        }
        _ if !owners.contains(&engine.name()) => false,
        _ if matches!(opcode, 0x77 | 0x78) => true,
        (EngineId::Dve, Generation::Cayman) => listed(DVE_CAYMAN, opcode) || listed(DVE_CAYMAN_OLD, opcode),
        (EngineId::Dve, Generation::Sunda) => listed(DVE_SUNDA, opcode),
        _ => true,
    }
}

/// Every engine, generation and mode.
fn places() -> impl Iterator<Item = (EngineId, Generation, bool)> {
    EngineId::ALL.into_iter().flat_map(|engine| {
        Generation::ALL.into_iter().flat_map(move |generation| {
            [true, false].into_iter().map(move |strict| (engine, generation, strict))
        })
    })
}

/// A machine whose stream holds one word of every opcode, in order.
fn all_opcodes(engine: EngineId, generation: Generation, strict: bool) -> Machine {
    let words: Vec<Word> = (0..=255).map(Word::new).collect();
    let setup = setup().generation(generation).program(engine, &words);
    if strict { setup.build() } else { setup.lenient().build() }
}

#[test]
fn the_pool_table_has_the_families_of_the_manual() {
    let family = |opcode| match () {
        () if listed(COMPUTE, opcode) => Some(HandlerFamily::Compute),
        () if listed(CONTROL, opcode) => Some(HandlerFamily::Control),
        () if listed(INLINE, opcode) => Some(HandlerFamily::Inline),
        () if listed(FLIX, opcode) => Some(HandlerFamily::Flix),
        () => None,
    };
    for opcode in 0..=255u8 {
        assert_eq!(pool_handler(opcode), family(opcode), "0x{opcode:02x}");
        assert_eq!(slot(opcode).is_some(), (0x41..=0xF2).contains(&opcode), "0x{opcode:02x}");
        assert_eq!(
            slot(opcode).is_some() && family(opcode).is_none(),
            listed(DEFAULT, opcode),
            "0x{opcode:02x}"
        );
    }
    let count = |f| (0..=255u8).filter(|o| pool_handler(*o) == Some(f)).count();
    let families =
        [HandlerFamily::Compute, HandlerFamily::Control, HandlerFamily::Inline, HandlerFamily::Flix];
    assert_eq!(families.map(count), [32, 15, 2, 6]);
}

#[test]
fn the_legal_set_is_that_of_decision_16() {
    for (engine, generation, strict) in places() {
        for container in [false, true] {
            let table = legal_opcodes(engine, generation, strict, None, container);
            for opcode in 0..=255u8 {
                let expected = legal(opcode, engine, generation, strict, container);
                let place = format!("0x{opcode:02x} on {engine} {generation} strict {strict} {container}");
                assert_eq!(table[usize::from(opcode)], expected, "{place}");
            }
        }
    }
}

#[test]
fn a_containers_own_table_decides_for_dve() {
    let newest: [bool; 256] = std::array::from_fn(|o| listed(DVE_CAYMAN, o as u8));
    let table = legal_opcodes(EngineId::Dve, Generation::Cayman, true, Some(&newest), true);
    for opcode in range("41-72") {
        let expected = listed(DVE_CAYMAN, opcode);
        assert_eq!(table[usize::from(opcode)], expected, "0x{opcode:02x}");
    }
    // the table says nothing about other engines, nor about the sequencer's own words
    let none = [false; 256];
    assert!(legal_opcodes(EngineId::Act, Generation::Cayman, true, Some(&none), true)[0x21]);
    let table = legal_opcodes(EngineId::Dve, Generation::Cayman, true, Some(&none), true);
    let left: Vec<u8> = (0..=255).filter(|o| table[usize::from(*o)]).collect();
    let expected: Vec<u8> = (0..=255)
        .filter(|o| in_spine(*o, Generation::Cayman) || [0x77, 0x78].contains(o) || listed("C1-DF", *o))
        .collect();
    assert_eq!(left, expected);
}

/// Block ids of chapter 01 section 13.3 for the engine ids that the engines have.
fn block(engine: EngineId) -> u32 {
    match engine {
        EngineId::Pe => 2,
        EngineId::Act => 1,
        EngineId::Pool => 3,
        EngineId::Dve => 4,
        EngineId::Sp => 5,
    }
}

#[test]
fn every_other_byte_is_a_fatal_bad_opcode() {
    for (engine, generation, strict) in places() {
        let mut machine = all_opcodes(engine, generation, strict);
        let fresh = state(&mut machine, engine).clone();
        for opcode in 0..=255u8 {
            *state(&mut machine, engine) = fresh.clone();
            machine.cores[0].notifications.clear();
            let pc = BASE + 64 * u64::from(opcode);
            machine.csr_write(0, engine, LR3, pc as u32).unwrap();
            state(&mut machine, engine).start();
            let result = step(&mut machine, 0, engine);
            let place = format!("0x{opcode:02x} on {engine} {generation} strict {strict}");
            if legal(opcode, engine, generation, strict, false) {
                let bad = matches!(result, Err(fault) if matches!(fault.kind, FaultKind::BadOpcode { .. }));
                assert!(!bad, "{place}");
                continue;
            }
            let fault = result.expect_err(&place);
            assert_eq!(fault.kind, FaultKind::BadOpcode { opcode, engine, generation }, "{place}");
            assert_eq!((fault.core, fault.engine, fault.pc, fault.slot), (0, engine, pc, opcode.into()));
            let record = u32::from(opcode) << 24 | block(engine) << 8;
            let seq = &machine.cores[0].engines[engine.index()].seq;
            assert_eq!((seq.error_record, seq.phase), (record, Phase::Dead), "{place}");
            assert_eq!(stopped(&machine, engine), (16, 16, pc), "{place}");
            let kind = NotificationKind::Error { record, fatal: true };
            assert_eq!(notifications(&machine), [(Some(engine), pc, kind)], "{place}");
        }
    }
}

/// A wrong length byte does not make the opcode a bad one.
#[test]
fn a_wrong_length_is_an_illegal_instruction() {
    let mut word = Word::new(0xA4);
    word.0[1] = 0x11;
    let mut machine = machine(EngineId::Pe, &[word]);
    let fault = start(&mut machine, EngineId::Pe).unwrap_err();
    assert_eq!(fault.kind.to_string(), "word length (byte 1) is 0x11, expected 0x10");
    assert_eq!(seq(&mut machine, EngineId::Pe).error_record, 0xA400_0200);
}
