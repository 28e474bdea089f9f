//! Reading trace files: the recorded run, the vendor's export of it, and files that are damaged or hostile.

mod common;

use std::collections::BTreeMap;
use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use seqjit::runtime::isa::{EngineId, Word};
use seqjit::trace::{CoreTrace, Edge, Limits, RECORD_BYTES, Trace, TraceError};

const TRACE: &str = "neffs/fused_fp32_s512.ntff.gz";
const PROFILE: &str = "neffs/fused_fp32_s512_profile.json.gz";

/// Bytes before the message.
const HEADER: usize = 128;

/// The recorded file, unpacked.
fn recorded_bytes() -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    GzDecoder::new(std::fs::File::open(common::data(TRACE)?).unwrap()).read_to_end(&mut bytes).unwrap();
    Some(bytes)
}

fn read(bytes: &[u8]) -> Result<Trace, TraceError> {
    Trace::read(bytes, &Limits::default())
}

/// A word with these bytes; all others are zero.
fn word(parts: &[(usize, &[u8])]) -> Word {
    let mut bytes = [0; 64];
    for (at, part) in parts {
        bytes[*at..*at + part.len()].copy_from_slice(part);
    }
    Word(bytes)
}

/// Numbers of chapters 09 and 10; words of chapter 10 section 16.
#[test]
fn the_recorded_run() {
    let Some(path) = common::data(TRACE) else { return };
    let trace = Trace::open(&path).unwrap();
    assert_eq!(
        trace.cores.iter().map(|c| (c.graph.as_str(), c.number)).collect::<Vec<_>>(),
        [("sg00", 4), ("sg01", 5)]
    );
    let words = |core: &CoreTrace| core.images.iter().map(|i| i.words.len()).sum::<usize>();
    assert_eq!(trace.cores.iter().map(words).sum::<usize>(), 881);
    let core = &trace.cores[0];
    assert_eq!((core.instructions.len(), core.changes.len(), core.packets.len()), (629, 456, 1440));
    assert_eq!(trace.cores.iter().map(|c| c.unknown_records).sum::<usize>(), 0);

    let pe = core.image(EngineId::Pe);
    // 67 words before the program, 123 of it (its CC is deleted), 11 behind.
    assert_eq!(pe.words.len(), 67 + 123 + 11);
    assert!(pe.origin[..67].iter().chain(&pe.origin[190..]).all(Option::is_none));
    let kept: Vec<usize> = std::iter::once(0).chain(2..124).collect();
    assert_eq!(pe.origin[67..190].iter().map(|o| o.unwrap()).collect::<Vec<_>>(), kept);
    let back = word(&[(0, &[0xA9, 0x10, 0, 2]), (14, &[3]), (48, &[0, 0xD4, 0xFF, 0xFF])]);
    assert_eq!(pe.words[200], back);
    let table = word(&[
        (0, &[0xAA, 0x10]),
        (12, &[9, 0, 2, 1]),
        (16, &[0, 0x50, 0x36, 0xC0, 5, 0x80]),
        (24, &[1]),
        (32, &[0x82, 0x83]),
    ]);
    assert_eq!(pe.words[56], table);
    assert!(core.queues.iter().any(|q| (q.name.as_str(), q.dma_engine, q.index) == ("qPoolDynamic", 64, 0)));
}

/// Pairs start and end of each word of an engine in order.
fn pairs(core: &CoreTrace, engine: EngineId) -> Vec<[&seqjit::trace::InstructionRecord; 2]> {
    let mut open: BTreeMap<u32, Vec<&_>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for record in core.instructions.iter().filter(|r| r.engine == engine) {
        let waiting = open.entry(record.pc).or_default();
        match record.edge {
            Edge::Start => waiting.push(record),
            Edge::End => pairs.push([waiting.remove(0), record]),
        }
    }
    pairs
}

#[track_caller]
fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) {
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!(found, expected);
    }
    assert_eq!(found.len(), expected.len());
}

/// The rule of chapter 09 section 6 makes the vendor's export of the same run out of the records.
#[test]
fn records_give_the_vendors_export() {
    let Some(path) = common::data(TRACE) else { return };
    let Some(profile) = common::read_gz(PROFILE) else { return };
    let trace = Trace::open(&path).unwrap();
    let profile: serde_json::Value = serde_json::from_str(&profile).unwrap();
    let (start, end) = trace.span.unwrap();

    let mut instructions = Vec::new();
    let mut semaphores = Vec::new();
    let mut outside = 0;
    for core in &trace.cores {
        for (engine, name) in EngineId::ALL.into_iter().zip(["Tensor", "Scalar", "GpSimd", "Vector", "Sync"])
        {
            for [first, last] in pairs(core, engine) {
                if first.time < start || last.time > end {
                    outside += 1;
                    continue;
                }
                // Cycles of 1.2 GHz; multiples of 6 show that the exporter divides in fp32.
                let wait = ((first.detail >> 16) as f32 / 1.2) as u64;
                let (time, duration) = ((first.time - start) / 1000, (last.time - first.time) / 1000);
                let slot = first.slot(core.image(engine).address);
                instructions.push((core.graph.clone(), name.to_owned(), slot, time, duration, wait));
            }
        }
        for change in core.changes.iter().filter(|c| c.semaphore && (start..=end).contains(&c.time)) {
            let row = (core.graph.clone(), u64::from(change.index), (change.time - start) / 1000);
            semaphores.push((row, u64::from(change.value)));
        }
    }
    assert_eq!(outside, 27);

    let text = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_owned();
    let number = |row: &serde_json::Value, key: &str| row[key].as_u64().unwrap();
    let rows = profile["instruction"].as_array().unwrap();
    let mut exported: Vec<_> = rows
        .iter()
        .map(|row| {
            let (time, duration) = (number(row, "timestamp"), number(row, "duration"));
            let engine = text(row, "subgroup");
            (text(row, "subgraph"), engine, number(row, "pc"), time, duration, number(row, "evt_wait_time"))
        })
        .collect();
    exported.sort();
    instructions.sort();
    assert_eq!(exported.len(), 442);
    same(&instructions, &exported);

    let rows = profile["semaphore_update"].as_array().unwrap();
    let mut exported: Vec<_> = rows
        .iter()
        .map(|row| {
            // `S[8] (qSyncDynamicHW)`, or the number alone.
            let id = text(row, "id");
            let id = id.trim_start_matches("S[").split(']').next().unwrap().parse().unwrap();
            ((text(row, "subgraph"), id, number(row, "timestamp")), number(row, "value"))
        })
        .collect();
    exported.sort();
    semaphores.sort();
    assert_eq!(exported.len(), 733);
    same(&semaphores, &exported);
}

// Files of our own: a protobuf writer in a few lines.

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u64, value: u64) -> Vec<u8> {
    [varint(field << 3), varint(value)].concat()
}

fn nested(field: u64, contents: &[u8]) -> Vec<u8> {
    [varint(field << 3 | 2), varint(contents.len() as u64), contents.to_vec()].concat()
}

fn file(message: &[u8], blob: &[u8]) -> Vec<u8> {
    let mut header = vec![6];
    header.extend(&(message.len() as u64).to_le_bytes()[..7]);
    header.resize(HEADER, 0xEE);
    [&header, message, blob].concat()
}

/// A graph for a core, with what follows.
fn graph(core: u64, parts: &[Vec<u8>]) -> Vec<u8> {
    let contents = [nested(1, b"sg00"), number(3, core), parts.concat()].concat();
    nested(4, &nested(4, &nested(1, &contents)))
}

fn image(engine: u64, address: u64, offset: u64, bytes: u64) -> Vec<u8> {
    nested(4, &[number(1, engine), number(2, address), number(7, offset), number(8, bytes)].concat())
}

fn chunk(kind: u64, block: u64, offset: u64, bytes: u64, core: u64) -> Vec<u8> {
    let parts = [number(1, kind), number(3, block), number(5, offset), number(6, bytes), number(7, core)];
    nested(16, &parts.concat())
}

#[test]
fn a_small_file() {
    // An image of two words, a start, and a change whose type is not known.
    let mut blob = vec![0xA4; 128];
    blob.extend((0x8400_0041u128 | 0x2_0000 << 32 | 77 << 64).to_le_bytes());
    blob.extend((0x8200_0000u128).to_le_bytes());
    let unknown = [nested(99, b"later versions"), number(98, 1)].concat();
    let message =
        [graph(3, &[image(1, 0x1000, 0, 128)]), chunk(0, 0, 128, 16, 3), chunk(1, 0, 144, 16, 3), unknown];
    let trace = read(&file(&message.concat(), &blob)).unwrap();
    let core = &trace.cores[0];
    assert_eq!((core.number, core.image(EngineId::Act).address), (3, 0x1000));
    assert_eq!(core.image(EngineId::Act).words, [Word([0xA4; 64]); 2]);
    assert_eq!(core.image(EngineId::Act).origin, [Some(0), Some(1)]);
    assert!(core.image(EngineId::Pe).words.is_empty());
    let record = core.instructions[0];
    assert_eq!(
        (record.engine, record.edge, record.slot(0x1000), record.time),
        (EngineId::Pe, Edge::Start, 1, 77)
    );
    assert_eq!((core.changes.len(), core.unknown_records), (0, 1));
}

#[test]
fn what_is_wrong_is_named() {
    let ok = graph(0, &[image(0, 0x1000, 0, 64)]);
    let blob = vec![0; 128];
    let with = |part: &[u8]| read(&file(&[&ok[..], part].concat(), &blob)).unwrap_err();
    assert!(read(&file(&ok, &blob)).is_ok());

    assert!(matches!(read(&[]).unwrap_err(), TraceError::Header { found: 0 }));
    assert!(matches!(read(&[6; 127]).unwrap_err(), TraceError::Header { found: 127 }));
    let mut other = file(&ok, &blob);
    other[0] = 5;
    assert!(matches!(read(&other).unwrap_err(), TraceError::Version { found: 5 }));
    let mut long = file(&ok, &blob);
    long[1..8].copy_from_slice(&(1000u64).to_le_bytes()[..7]);
    assert!(matches!(read(&long).unwrap_err(), TraceError::MessageLength { found: 1000, .. }));
    long[1..8].fill(0xFF);
    assert!(matches!(read(&long).unwrap_err(), TraceError::MessageLimit { .. }));
    assert!(matches!(read(&file(&[], &blob)).unwrap_err(), TraceError::Empty));
    assert!(matches!(with(&[0x82, 0x01, 0x7F]), TraceError::Message(_)));
    assert!(matches!(with(&[0x07]), TraceError::Message(_)));

    // Offsets and lengths.
    assert!(matches!(with(&chunk(0, 0, 128, 16, 0)), TraceError::Range { .. }));
    assert!(matches!(with(&chunk(0, 0, u64::MAX, 16, 0)), TraceError::Range { .. }));
    assert!(matches!(with(&chunk(0, 0, 0, u64::MAX - 15, 0)), TraceError::Range { .. }));
    assert!(matches!(with(&chunk(0, 0, 64, 15, 0)), TraceError::Size { unit: 16, .. }));
    assert!(matches!(with(&chunk(0, 0, 0, 128, 0)), TraceError::Overlap { .. }));
    assert!(matches!(with(&graph(1, &[image(0, 0x1000, 0, 100)])), TraceError::Size { unit: 64, .. }));
    assert!(matches!(with(&graph(1, &[image(0, 0x1000, 100, 64)])), TraceError::Range { .. }));
    assert!(matches!(with(&graph(1, &[image(0, 0x1001, 64, 64)])), TraceError::Address { .. }));
    assert!(matches!(with(&graph(1, &[image(0, u64::MAX - 63, 64, 64)])), TraceError::Address { .. }));
    assert!(matches!(with(&graph(1, &[image(5, 0x1000, 64, 64)])), TraceError::Engine { found: 5, .. }));
    assert!(matches!(with(&graph(0, &[])), TraceError::Twice { .. }));
    let twice = [image(2, 0x1000, 64, 64), image(2, 0x2000, 64, 0)];
    assert!(matches!(with(&graph(1, &twice)), TraceError::Twice { .. }));

    // Patches.
    let patched = |offset: u64, count: u64, kind: u64| {
        let patch = nested(2, &[number(1, offset), number(2, count), number(3, kind)].concat());
        let patches = nested(5, &[number(1, 0), patch].concat());
        with(&graph(1, &[image(0, 0x1000, 64, 64), patches]))
    };
    for (offset, count, kind) in [(0, 2, 0), (0, u64::MAX, 0), (128, 1, 2), (1, 0, 0), (0, 1, 3)] {
        assert!(matches!(patched(offset, count, kind), TraceError::Patch { number: 0, .. }));
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn gzip_is_bounded_and_checked() {
    let plain = file(&graph(0, &[image(0, 0x1000, 0, 64)]), &[0; 64]);
    let packed = gzip(&plain);
    assert_eq!(read(&packed).unwrap(), read(&plain).unwrap());
    assert!(matches!(read(&packed[..packed.len() - 9]).unwrap_err(), TraceError::Gzip(_)));
    let limits = Limits { file: 1000, ..Limits::default() };
    let bomb = gzip(&vec![6; 1 << 20]);
    assert!(bomb.len() < 10_000);
    assert!(matches!(Trace::read(&bomb, &limits).unwrap_err(), TraceError::TooLarge { limit: 1000 }));
    assert!(matches!(
        Trace::read(&vec![6; 1001], &limits).unwrap_err(),
        TraceError::TooLarge { limit: 1000 }
    ));
    let limits = Limits { message: 10, ..Limits::default() };
    assert!(matches!(Trace::read(&plain, &limits).unwrap_err(), TraceError::MessageLimit { limit: 10, .. }));
}

#[test]
fn every_truncation_is_noticed() {
    let Some(bytes) = recorded_bytes() else { return };
    let message = u64::from_le_bytes(bytes[1..9].try_into().unwrap()) & (u64::MAX >> 8);
    let blob = HEADER + message as usize;
    for length in (0..blob).chain((blob..bytes.len()).step_by(101)).chain([bytes.len() - 1]) {
        assert!(read(&bytes[..length]).is_err(), "{length} bytes are accepted");
    }
}

/// What a trace holds is never more than its file.
fn held(trace: &Trace) -> usize {
    let of_core = |core: &CoreTrace| {
        let records = core.instructions.len() + core.changes.len() + core.packets.len();
        let words: usize = core.images.iter().map(|image| image.words.len()).sum();
        64 * words + RECORD_BYTES * (records + core.unknown_records)
    };
    trace.cores.iter().map(of_core).sum()
}

#[test]
fn flipped_bits_do_no_harm() {
    let Some(mut bytes) = recorded_bytes() else { return };
    let message = u64::from_le_bytes(bytes[1..9].try_into().unwrap()) & (u64::MAX >> 8);
    let mut accepted = 0;
    for at in (0..8).chain(HEADER..HEADER + message as usize) {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            if let Ok(trace) = read(&bytes) {
                accepted += 1;
                assert!(held(&trace) <= bytes.len());
            }
            bytes[at] ^= 1 << bit;
        }
    }
    // Names, addresses and numbers that nothing checks: most of the message, but not its frame.
    assert!(accepted > 0 && accepted < 8 * message as usize);
    assert!(read(&bytes).is_ok());
}

proptest! {
    #[test]
    fn random_messages_do_no_harm(message in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&file(&message, &[0; 256]));
    }

    #[test]
    fn random_places_do_no_harm(
        places in prop::collection::vec((0..6u64, 0..3u64, any::<u64>(), any::<u64>(), 0..3u64), 0..8),
        small in prop::collection::vec((0..6u64, 0..3u64, 0..300u64, 0..300u64, 0..3u64), 0..8),
    ) {
        let chunks = places.into_iter().chain(small).map(|(a, b, c, d, e)| chunk(a, b, c, d, e));
        let message = [graph(0, &[]), graph(1, &[]), chunks.collect::<Vec<_>>().concat()].concat();
        let blob = vec![0x84; 256];
        if let Ok(trace) = read(&file(&message, &blob)) {
            prop_assert!(held(&trace) <= blob.len());
        }
    }

    #[test]
    fn random_patches_do_no_harm(
        patches in prop::collection::vec((0..6u64, any::<u64>(), 0..4u64), 0..8),
        wild in any::<u64>(),
    ) {
        let patches = patches.into_iter().map(|(slot, count, kind)| {
            let count = if count & 1 == 0 { count } else { count >> 1 & 3 };
            nested(2, &[number(1, slot * 64), number(2, count), number(3, kind)].concat())
        });
        let list = [patches.collect::<Vec<_>>().concat(), nested(2, &number(1, wild))].concat();
        let message = graph(0, &[image(0, 0x1000, 0, 256), nested(5, &list)]);
        if let Ok(trace) = read(&file(&message, &[0; 256])) {
            prop_assert_eq!(trace.cores[0].images[0].origin.len(), 4);
        }
    }
}
