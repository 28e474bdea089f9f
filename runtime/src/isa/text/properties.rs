//! What holds for every opcode, form and word.

use proptest::prelude::*;
use proptest::strategy::ValueTree;

use super::super::field::Kind;
use super::super::{OPCODES, decode, opcode_info};
use super::forms::FORMS;
use super::tests::engine_of;
use super::view::named_fields;
use super::*;

#[test]
fn names_of_fields_are_unique() {
    for info in OPCODES {
        for generation in Generation::ALL {
            let layout = info.layouts[generation.index()].def();
            let mut names: Vec<&str> = named_fields(layout).map(|field| field.name).collect();
            let count = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), count, "{}", layout.name);
        }
    }
}

#[test]
fn forms_name_fields_that_exist() {
    for form in FORMS {
        for opcode in form.opcodes {
            let info = opcode_info(*opcode).unwrap();
            let exists = |name: &str| {
                info.layouts.iter().any(|layout| named_fields(layout.def()).any(|field| field.name == name))
            };
            for (name, _) in form.defaults {
                assert!(exists(name), "{}: {name}", info.name);
            }
            if let Some((count, tensor)) = form.counted {
                assert!(exists(count) && exists(tensor), "{}", info.name);
            }
        }
    }
}

/// Words whose bytes lean towards the values that fields like.
fn any_word() -> impl Strategy<Value = [u8; 64]> {
    let byte = prop_oneof![4 => Just(0), 3 => 0..=0x20_u8, 1 => 0x80..=0x99_u8, 3 => any::<u8>()];
    proptest::collection::vec(byte, 64).prop_map(|bytes| bytes.try_into().unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn text_leads_back_to_every_word(bytes in any_word()) {
        let names: Names = "1=Tensor|4=q_one|0=q-two".parse().unwrap();
        for info in OPCODES {
            let mut word = Word(bytes);
            word.0[0] = info.byte;
            if has_length(info.byte) {
                word.0[1] = 0x10;
            }
            for generation in Generation::ALL.into_iter().filter(|g| info.exists_on(*g)) {
                let line = Line::new(&decode(&word, generation).unwrap(), generation, &names);
                let engine = engine_of(info.display);
                let back = assemble(line.opcode, &line.text(), engine, generation, &names);
                prop_assert_eq!(back.as_ref(), Ok(&word), "{} on {}: {}", info.name, generation, line);
            }
        }
    }

    #[test]
    fn every_float_keeps_its_bits(bits: u32) {
        let text = values::print(Kind::Float, &bits.to_le_bytes());
        let mut read = [0; 4];
        values::parse(Kind::Float, &mut Cursor::new(&text), &mut read).unwrap();
        prop_assert_eq!(u32::from_le_bytes(read), bits);
    }

    #[test]
    fn any_text_gives_a_word_or_an_error(
        bytes in any_word(),
        noise in "\\PC{0,6}",
        (info, cut, skip) in (any::<prop::sample::Index>(), any::<prop::sample::Index>(), 0..6_usize),
    ) {
        let info = info.get(OPCODES);
        let mut word = Word(bytes);
        (word.0[0], word.0[1]) = (info.byte, 0x10);
        let whole = View { word, info, generation: Generation::Maverick, names: &Names::new() };
        let text = print::print(&whole).text;
        let (head, tail) = text.split_at(cut.index(text.len() + 1));
        let spoilt = [head, &noise, tail.get(skip..).unwrap_or_default()].concat();
        let mut view = View { word: Word::new(info.byte), ..whole };
        if let Err(error) = parse::parse(&mut Cursor::new(&spoilt), &mut view) {
            prop_assert!(spoilt[error.at..].trim_start().starts_with(&error.seen), "{} in {:?}", error, spoilt);
        }
    }
}

/// Every operand of every form prints on some word: no form names a field that no generation has.
#[test]
fn every_operand_of_every_form_can_print() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let words: Vec<[u8; 64]> =
        (0..2000).map(|_| any_word().new_tree(&mut runner).unwrap().current()).collect();
    for form in FORMS {
        for item in form.items() {
            let prints = |opcode: &u8, bytes: &[u8; 64]| {
                let mut word = Word(*bytes);
                (word.0[0], word.0[1]) = (*opcode, 0x10);
                let info = opcode_info(*opcode).unwrap();
                let names = Names::new();
                let view = View { word, info, generation: Generation::Cayman, names: &names };
                item.when.holds(&view) && item.piece.print(&view).is_some()
            };
            let any = form.opcodes.iter().all(|opcode| words.iter().any(|bytes| prints(opcode, bytes)));
            assert!(any, "{:02x?} {}", form.opcodes, item.key);
        }
    }
}
