//! Damaged and hostile containers: each is refused with the error that says what is wrong, in bounded time
//! and memory, and none makes the reader panic (chapter 07 sections 2.1 and 3.3).

mod neff_support;

use neff_support::*;
use proptest::prelude::*;
use seqjit::Tensor;
use seqjit::neff::*;

fn refuse_with(file: &[u8], options: &ReadOptions) -> NeffError {
    match Neff::read(file, options) {
        Ok(_) => panic!("accepted"),
        Err(error) => error,
    }
}

fn refuse(file: &[u8]) -> NeffError {
    refuse_with(file, &ReadOptions::default())
}

fn sample() -> Vec<u8> {
    pack(&tar(&members()))
}

/// The sample with a little-endian number put into the header.
fn with_field(at: usize, bytes: usize, value: u64) -> Vec<u8> {
    let mut file = sample();
    file[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
    file
}

#[test]
fn header_gates_have_their_own_errors() {
    let size = sample().len() as u64;
    let payload = size - 1024;
    // (file, the error's text, status): the text shows every field of the variant.
    let cases: Vec<(Vec<u8>, &str, String, u32)> = vec![
        (vec![], "TooShort", "0 bytes, expected at least 1024".to_owned(), 2),
        (sample()[..1023].to_vec(), "TooShort", "1023 bytes".to_owned(), 2),
        (
            with_field(8, 8, size),
            "HeaderSizeBeyondFile",
            format!("`header_size` at offset 0x8 is {size}, expected less than the file size {size}"),
            2,
        ),
        (with_field(8, 8, u64::MAX), "HeaderSizeBeyondFile", format!("is {}", u64::MAX), 2),
        (with_field(8, 8, 1023), "HeaderSize", "`header_size` at offset 0x8 is 1023, expected 1024".to_owned(), 2),
        (with_field(8, 8, 0), "HeaderSize", "is 0, expected 1024".to_owned(), 2),
        (
            with_field(0x18, 8, 3),
            "MajorVersion",
            "`neff_version_major` at offset 0x18 is 3, expected 0, 1 or 2".to_owned(),
            10,
        ),
        (with_field(0x18, 8, 1 << 32), "MajorVersion", "is 4294967296".to_owned(), 10),
        (
            with_field(0x220, 8, 1 << 27),
            "FeatureBits",
            "`feature_bits` at offset 0x220 is 0x8000000, expected no bit outside 0x7ffffff; offending bits 0x8000000"
                .to_owned(),
            10,
        ),
        (with_field(0x220, 8, 1 << 62 | 1), "FeatureBits", "offending bits 0x4000000000000000".to_owned(), 10),
        (with_field(0x220, 8, 1 << 63), "FeatureBits", "offending bits 0x8000000000000000".to_owned(), 10),
        (
            with_field(0x10, 8, payload + 1),
            "DataSize",
            format!("`data_size` at offset 0x10 is {}, expected at most {payload}", payload + 1),
            2,
        ),
        (with_field(0x10, 8, u64::MAX), "DataSize", format!("at most {payload}"), 2),
        (
            with_field(0, 8, 0),
            "PackageVersion",
            "`pkg_version` at offset 0x0 is 0, expected 1 (raw tar) or 2 (gzip)".to_owned(),
            10,
        ),
        (with_field(0, 8, 3), "PackageVersion", "is 3".to_owned(), 10),
        (with_field(0x228, 4, 3), "VncSize", "`vnc_size` at offset 0x228 is 3, expected 0, 1 or 2".to_owned(), 2),
        (with_field(0x10, 8, 0), "EmptyPayload", "`data_size` at offset 0x10 is 0".to_owned(), 2),
        (with_field(0xAC, 4, 0x1234_5678), "Digest", "`hash` at offset 0xac is 78563412".to_owned(), 2),
        (with_field(0, 8, 1), "Digest", "SHA-256".to_owned(), 2),
    ];
    for (file, variant, text, status) in cases {
        let error = refuse(&file);
        assert_eq!(kind(&error).0, variant, "{error}");
        assert!(error.to_string().contains(&text), "{error}: no {text}");
        assert_eq!(error.status(), status, "{error}");
    }
}

#[test]
fn header_gates_are_tried_in_order() {
    // Chapter 07 section 2.1: every test from the first broken one on is broken too; the first one counts.
    let breaks: [(usize, usize, u64, &str); 7] = [
        (8, 8, u64::MAX, "HeaderSizeBeyondFile"),
        (0x18, 8, 9, "MajorVersion"),
        (0x220, 8, 1 << 40, "FeatureBits"),
        (0x10, 8, 1 << 40, "DataSize"),
        (0, 8, 7, "PackageVersion"),
        (0x228, 4, 9, "VncSize"),
        (0xAC, 8, 0, "Digest"),
    ];
    for first in 0..breaks.len() {
        let mut file = sample();
        for (at, bytes, value, _) in &breaks[first..] {
            file[*at..at + bytes].copy_from_slice(&value.to_le_bytes()[..*bytes]);
        }
        assert_eq!(kind(&refuse(&file)).0, breaks[first].3);
    }
}

#[test]
fn headers_that_are_odd_but_legal_pass() {
    for major in [0, 1, 2] {
        assert!(Neff::read(&with_field(0x18, 8, major), &ReadOptions::default()).is_ok());
    }
    // Older majors have no feature mask.
    let mut file = with_field(0x18, 8, 1);
    file[0x220..0x228].fill(0xFF);
    assert!(Neff::read(&file, &ReadOptions::default()).is_ok());
    let neff = Neff::read(&with_field(0x228, 4, 0), &ReadOptions::default()).unwrap();
    assert_eq!(neff.header.virtual_core_size(), 1);
    assert!(Neff::read(&with_field(0x1DC, 4, 77), &ReadOptions::default()).is_ok());
    assert!(Neff::read(&with_field(0xA8, 4, 0), &ReadOptions::default()).is_ok());
    assert!(Neff::read(&with_field(0x20, 8, u64::MAX), &ReadOptions::default()).is_ok());
}

#[test]
fn damaged_payloads_are_refused() {
    let whole = gzip(&tar(&members()));
    let changed = |at: usize| {
        let mut stored = whole.clone();
        stored[at] ^= 0x10;
        file(&stored)
    };
    let end = whole.len();
    let second = [&whole[..], &gzip(b"more")].concat();
    let dirty = [&whole[..], &[0; 100], b"x"].concat();
    let cases: Vec<(Vec<u8>, &str, String)> = vec![
        (file(&[0x1F]), "Gzip", "offset 0x40".to_owned()),
        (file(b"not gzip at all"), "Gzip", "invalid gzip header".to_owned()),
        (file(&[0; 10_240]), "Gzip", "invalid gzip header".to_owned()),
        (changed(0), "Gzip", String::new()),
        // The compression method.
        (changed(2), "Gzip", String::new()),
        // CRC32 and ISIZE of the trailer.
        (changed(end - 8), "Gzip", format!("offset {:#x}", 1024 + end)),
        (changed(end - 5), "Gzip", "corrupt".to_owned()),
        (changed(end - 4), "Gzip", "corrupt".to_owned()),
        (changed(end - 1), "Gzip", "corrupt".to_owned()),
        (file(&whole[..end - 1]), "Gzip", format!("offset {:#x}", 1024 + end - 1)),
        (file(&whole[..end / 2]), "Gzip", String::new()),
        (file(&second), "PayloadTail", format!("byte 0x1f at offset {:#x}", 1024 + end)),
        (file(&dirty), "PayloadTail", format!("byte 0x78 at offset {:#x}", 1024 + end + 100)),
    ];
    for (file, variant, text) in cases {
        let error = refuse(&file);
        assert_eq!(kind(&error).0, variant, "{error}");
        assert!(error.to_string().contains(&text), "{error}: no {text}");
    }
    let mut raw = file(&whole);
    raw[0] = 1;
    let unchecked = ReadOptions { verify_digest: false, ..ReadOptions::default() };
    assert_eq!(kind(&refuse_with(&raw, &unchecked)).0, "GzipInRawPackage");
}

#[test]
fn bombs_stop_at_the_limit() {
    let bomb = gzip(&vec![0; 64 << 20]);
    let mut options = ReadOptions::default();
    options.limits.inflated = 1 << 20;
    let error = refuse_with(&file(&bomb), &options);
    assert!(matches!(error, NeffError::Inflated { limit, .. } if limit == 1 << 20), "{error}");
    // DEFLATE stays below 1032 to 1, so only a lower ratio shows that the ratio counts.
    let mut options = ReadOptions::default();
    options.limits.inflate_ratio = 10;
    let limit = bomb.len() as u64 * 10 + (64 << 10);
    let error = refuse_with(&file(&bomb), &options);
    assert!(
        matches!(error, NeffError::Inflated { limit: l, stored } if l == limit && stored == bomb.len() as u64)
    );
    // Zeros are an empty tar.
    assert_eq!(kind(&refuse(&file(&bomb))).0, "MissingMember");
    let mut raw = Neff::read(&sample(), &ReadOptions::default()).unwrap();
    raw.header.package = Package::RawTar;
    let mut options = ReadOptions::default();
    options.limits.inflated = 1000;
    assert_eq!(kind(&refuse_with(&raw.write(), &options)).0, "Inflated");
}

/// The sample's tar behind some entries.
fn behind(entries: &[u8]) -> Vec<u8> {
    pack(&[entries, &tar(&members())].concat())
}

#[test]
fn hostile_names_are_refused() {
    let long = vec![b'a'; 1025];
    let long_name = [tar_entry(b"l", b'L', &long), tar_entry(b"s", b'0', b"")].concat();
    let names: [(&[u8], &str); 16] = [
        (b"../x", "no `.` and no `..` component"),
        (b"a/../../x", "no `.` and no `..` component"),
        (b"a/..", "no `.` and no `..` component"),
        (b"..", "no `.` and no `..` component"),
        (b"a/./b", "no `.` and no `..` component"),
        (b"././a", "no `.` and no `..` component"),
        (b"/etc/passwd", "a relative path"),
        (b".//etc", "a relative path"),
        (b"c:/x", "no drive letter"),
        (b"C:", "no drive letter"),
        (b"a\\b", "no NUL and no backslash"),
        (b"..\\x", "no NUL and no backslash"),
        (b"a//b", "no empty component"),
        (b"a/", "no empty component"),
        (b"", "no empty component"),
        (b"\xFF\xFE", "UTF-8"),
    ];
    for (name, rule) in names {
        let error = refuse(&behind(&tar_entry(name, b'0', b"x")));
        let NeffError::MemberPath { offset, expected, .. } = &error else { panic!("{name:?}: {error}") };
        assert_eq!((*offset, expected.as_str()), (0, rule), "{name:?}");
    }
    let error = refuse(&behind(&long_name));
    assert!(
        matches!(&error, NeffError::MemberPath { offset: 1024.., expected, .. } if expected == "at most 1024 bytes")
    );
    for name in [&b"../d"[..], b"/d", b"a/../d/"] {
        assert_eq!(kind(&refuse(&behind(&tar_entry(name, b'5', b"")))).0, "MemberPath", "{name:?}");
    }
    // A pax record may also hide a NUL.
    for path in ["../x", "/x", "a\0b", "x/../y"] {
        let body = format!(" path={path}\n");
        let record = format!("{}{body}", body.len() + 2);
        let entries = [tar_entry(b"p", b'x', record.as_bytes()), tar_entry(b"s", b'0', b"")].concat();
        assert_eq!(kind(&refuse(&behind(&entries))).0, "MemberPath", "{path:?}");
    }
    let mut archive = Archive::default();
    assert_eq!(kind(&archive.insert("../x", vec![]).unwrap_err()).0, "MemberPath");
}

#[test]
fn links_and_devices_are_refused() {
    for entry in *b"12346SDMNVXA\x01\xFF" {
        let error = refuse(&behind(&tar_entry(b"evil", entry, b"")));
        let NeffError::TarEntryType { offset: 0, path, kind } = &error else { panic!("{error}") };
        assert_eq!((path.as_str(), *kind), ("evil", char::from(entry)));
    }
}

#[test]
fn duplicate_members_are_refused() {
    let error = refuse(&behind(&tar_entry(b"neff.json", b'0', b"{}")));
    assert!(
        matches!(&error, NeffError::DuplicateMember { path, offset } if path == "neff.json" && *offset > 1024)
    );
    let error = refuse(&behind(&tar_entry(b"./sg00/def.json", b'0', b"{}")));
    assert!(matches!(&error, NeffError::DuplicateMember { path, .. } if path == "sg00/def.json"), "{error}");
}

/// A header of the member `m` with some bytes replaced, checksum made right.
fn header_with(at: usize, bytes: &[u8]) -> Vec<u8> {
    let mut header = tar_header(b"m", b'0', 0).to_vec();
    header[at..at + bytes.len()].copy_from_slice(bytes);
    set_checksum(&mut header);
    header
}

#[test]
fn malformed_tar_headers_are_refused() {
    let checksum = |text: &[u8; 8]| {
        let mut header = tar_header(b"m", b'0', 0).to_vec();
        header[148..156].copy_from_slice(text);
        header
    };
    let base256 = |bytes: [u8; 12]| header_with(124, &bytes);
    let record = |kind, text: &[u8]| [tar_entry(b"r", kind, text), tar_entry(b"s", b'0', b"")].concat();
    let sized = |kind, size: u64| tar_header(b"m", kind, size).to_vec();
    let cases: Vec<(Vec<u8>, &str, &str)> = vec![
        (checksum(b"0000000\0"), "TarChecksum", "checksum is 0"),
        (checksum(b"7777777\0"), "TarChecksum", "checksum is 2097151"),
        (checksum(b"garbage\0"), "TarField", "checksum is `garbage"),
        (checksum(b"\0\0\0\0\0\0\0\0"), "TarField", "expected octal digits"),
        (header_with(124, b"00000000009\0"), "TarField", "size is `00000000009"),
        (header_with(124, b"+0000000001\0"), "TarField", "expected octal digits"),
        (header_with(124, b"            "), "TarField", "expected octal digits"),
        (header_with(124, &[0; 12]), "TarField", "expected octal digits"),
        // Negative, and beyond 2^56.
        (base256([0xFF; 12]), "TarField", "base-256"),
        (base256([0x80, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]), "TarField", "base-256"),
        (base256([0x80, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), "TarField", "base-256"),
        (base256([0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]), "TarField", "base-256"),
        // Sizes that are not there: nothing may be allocated for them.
        (base256([0x80, 0, 0, 0, 0, 0x7F, 0, 0, 0, 0, 0, 0]), "TarTruncated", "member `m`"),
        (sized(b'0', 0o77777777777), "TarTruncated", "needs 8589934591 bytes"),
        (sized(b'5', 1), "TarField", "size of a directory is `1`"),
        // Extension records.
        (sized(b'x', 65537), "TarField", "at most 65536 bytes"),
        (sized(b'L', 0o77777777777), "TarField", "at most 65536 bytes"),
        (record(b'x', b"no length"), "TarField", "pax record"),
        (record(b'x', b"5 a=b\n"), "TarField", "pax record"),
        (record(b'x', b"99 a=b\n"), "TarField", "pax record"),
        (record(b'x', b"1 a=b\n"), "TarField", "pax record"),
        (record(b'x', b"7 abcd\n"), "TarField", "pax record"),
        (record(b'x', b"7 a=bc "), "TarField", "pax record"),
        (record(b'x', b"99999999999999999999 a=b\n"), "TarField", "pax record"),
        (record(b'x', b"10 size=x\n"), "TarField", "pax size is `x`"),
        (record(b'x', b"11 size=-1\n"), "TarField", "pax size is `-1`"),
        (record(b'x', b"30 size=99999999999999999999\n"), "TarField", "pax"),
        (record(b'x', b"22 GNU.sparse.major=1\n"), "TarField", "expected no sparse file"),
        (record(b'g', b"10 path=x\n"), "TarField", "global pax key is `path`"),
        (record(b'g', b"10 size=1\n"), "TarField", "global pax key is `size`"),
        ([tar_entry(b"l", b'L', b"a"), record(b'L', b"b")].concat(), "TarField", "long name is `second one`"),
    ];
    for (i, (entries, variant, text)) in cases.into_iter().enumerate() {
        let error = refuse(&behind(&entries));
        // The size case stands where the tar ends, so that it is not taken from the sample's own bytes.
        let error = if variant == "TarTruncated" { refuse(&pack(&entries)) } else { error };
        assert_eq!(kind(&error).0, variant, "case {i}: {error}");
        assert!(error.to_string().contains(text), "case {i}: {error}: no {text}");
    }
    let error = refuse(&pack(&tar_entry(b"l", b'L', b"nobody")));
    assert!(error.to_string().contains("extension record is `last`"), "{error}");
    let mut options = ReadOptions::default();
    options.limits.members = 5;
    let error = refuse_with(&sample(), &options);
    assert!(matches!(error, NeffError::TooManyMembers { limit: 5, offset: 1.. }), "{error}");
}

#[test]
fn a_cut_tar_is_refused_wherever_it_is_cut() {
    let whole = tar(&members());
    let end = whole.len() - 1024;
    let padding = HOST.len().next_multiple_of(512) - HOST.len();
    let mut truncated = 0;
    for length in (0..whole.len()).step_by(97) {
        // The last member's padding and the end mark may be missing.
        if length >= end - padding {
            let neff = Neff::read(&pack(&whole[..length]), &ReadOptions::default()).unwrap();
            assert!(neff.warnings.iter().all(|w| matches!(w, Warning::TarEnd { .. })), "{:?}", neff.warnings);
            assert_eq!(neff.warnings.len(), 1, "{length}");
            continue;
        }
        // Cut inside a member or header, or between two so that members are missing.
        let error = refuse(&pack(&whole[..length]));
        match kind(&error).0.as_str() {
            "TarTruncated" => truncated += 1,
            "MissingMember" => {}
            other => panic!("{length}: {other}: {error}"),
        }
    }
    assert!(truncated > 100);
}

#[test]
fn missing_members_are_named() {
    let cases = [
        ("neff.json", "every container"),
        ("kelf-0.json", "`neff.json`"),
        ("sg00/def.json", "graph `sg00`"),
        ("sg00/PE.bin", "`instr` of `sg00/PE.json`"),
        ("sg00/act_info.json", "`sg00/Activation.json`"),
        ("sg00/exp.json", "activation set `exp`"),
        ("sg00/exp_bkt.bin", "activation set `exp`"),
        ("sg00/exp_ctrl.bin", "activation set `exp`"),
        ("sg00/opcode.bin", "`dve_tables` of the DVE"),
        ("sg00/datapath.bin", "`dve_tables` of the DVE"),
        ("sg00/fast.bin", "`dve_tables` of the DVE"),
        ("sg00/slow.bin", "`dve_tables` of the DVE"),
        ("sg00/w.npy", "variable `w`"),
        ("sg00/raw.bin", "variable `raw`"),
    ];
    for (path, by) in cases {
        let error = refuse(&without_member(path));
        let NeffError::MissingMember { member, needed_by } = &error else { panic!("{error}") };
        assert_eq!((member.as_str(), needed_by.as_str()), (path, by));
    }
    // A name that leaves the graph's directory is no member either.
    let error = refuse(&with_text("sg00/def.json", r#""raw.bin""#, r#""../kelf-0.json""#));
    assert!(matches!(&error, NeffError::MissingMember { member, .. } if member == "sg00/../kelf-0.json"));
}

#[test]
fn members_of_the_wrong_size_are_refused() {
    let cases: Vec<(Vec<u8>, &str, u64, &str)> = vec![
        (with_member("sg00/Pool.bin", &[0; 63]), "sg00/Pool.bin", 63, "a multiple of 64"),
        (with_member("sg00/PE.bin", &[0; 129]), "sg00/PE.bin", 129, "a multiple of 64"),
        (with_member("sg00/raw.bin", &[0; 9]), "sg00/raw.bin", 9, "8 bytes of data"),
        (with_member("sg00/raw.bin", &[]), "sg00/raw.bin", 0, "8 bytes of data"),
        (with_member("sg00/w.npy", &npy(1, "<V2", "(9,)", &[0; 18])), "sg00/w.npy", 18, "16 bytes of data"),
        (with_member("sg00/opcode.bin", &[0; 2048]), "sg00/opcode.bin", 2048, "1024: 256 entries on cayman"),
        (with_member("sg00/opcode.bin", &[]), "sg00/opcode.bin", 0, "1024"),
    ];
    for (file, path, bytes, text) in cases {
        let error = refuse(&file);
        let NeffError::MemberSize { member, size, expected } = &error else { panic!("{error}") };
        assert_eq!((member.as_str(), *size), (path, bytes));
        assert!(expected.contains(text), "{expected}: no {text}");
    }
    // Too long a constant is refused in lenient mode as well.
    let lenient = ReadOptions { strict: false, ..ReadOptions::default() };
    let error = refuse_with(&with_member("sg00/raw.bin", &[0; 9]), &lenient);
    assert_eq!(kind(&error).0, "MemberSize");
}

#[test]
fn text_that_is_not_json_is_refused() {
    let texts: [(&[u8], usize); 22] = [
        (b"", 0),
        (b"   ", 2),
        (b"{", 0),
        (b"{} x", 3),
        (b"{}{}", 2),
        (b"{\"a\": 1,}", 8),
        (b"[1, 2,]", 6),
        (b"{'a': 1}", 1),
        (b"{\"a\": 01}", 7),
        (b"{\"a\": +1}", 6),
        (b"{\"a\": .5}", 6),
        (b"{\"a\": NaN}", 6),
        (b"{\"a\": Infinity}", 6),
        (b"{\"a\": True}", 6),
        (b"{\"a\": 1e999}", 10),
        (b"// no\n{}", 0),
        (b"{\"a\": \"\x01\"}", 7),
        (b"{\"a\": \"\\x\"}", 8),
        (b"{\"a\": \"\\ud800\"}", 13),
        (b"{\"a\" 1}", 5),
        (b"\n\n{\"a\"\n1}", 7),
        (b"\xEF\xBB\xBF{}", 0),
    ];
    for (text, at) in texts {
        for member in ["neff.json", "kelf-0.json", "sg00/def.json", "sg00/SP.json", "sg00/act_info.json"] {
            let error = refuse(&with_member(member, text));
            let NeffError::JsonSyntax { member: named, offset, .. } = &error else {
                panic!("{text:?}: {error}")
            };
            assert_eq!(named, member);
            assert!(offset.abs_diff(at) <= 1, "{text:?}: {error}");
        }
    }
    let error = refuse(&with_member("neff.json", b"{\"a\": \"\xFF\"}"));
    assert!(matches!(error, NeffError::JsonUtf8 { offset: 7, .. }), "{error}");
}

#[test]
fn json_limits_hold() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let with_extra = |value: &str| {
        with_text(
            "sg00/def.json",
            r#""unknown_key": [1, {"a": null}]"#,
            &format!(r#""unknown_key": {value}"#),
        )
    };
    // The value stands one level deep.
    assert!(Neff::read(&with_extra(&nested(63)), &ReadOptions::default()).is_ok());
    for depth in [64, 65, 126, 1000, 1_000_000] {
        let error = refuse(&with_extra(&nested(depth)));
        assert!(matches!(error, NeffError::JsonLimit { what: "levels", limit: 64, .. }), "{error}");
        let objects = format!("{}1{}", r#"{"a":"#.repeat(depth), "}".repeat(depth));
        let error = refuse(&with_extra(&objects));
        assert!(matches!(error, NeffError::JsonLimit { what: "levels", limit: 64, .. }), "{error}");
    }
    let mut options = ReadOptions::default();
    options.limits.json_bytes = 100;
    let error = refuse_with(&sample(), &options);
    assert!(
        matches!(&error, NeffError::JsonLimit { member, what: "bytes", limit: 100, .. } if member == "neff.json")
    );
    let mut options = ReadOptions::default();
    options.limits.json_values = 1000;
    let error = refuse_with(&with_extra(&format!("[{}0]", "0,".repeat(1000))), &options);
    assert!(matches!(&error, NeffError::JsonLimit { what: "values", limit: 1000, .. }), "{error}");
    let mut options = ReadOptions::default();
    options.limits.device_memory = 65536 * 2;
    assert_eq!(kind(&refuse_with(&sample(), &options)).1, Some(Rule::DeviceMemory));
    // Repeated keys do not pile up.
    let keys = r#""k": 0, "#.repeat(5000) + r#""k": 0"#;
    let neff = Neff::read(&with_extra(&format!("{{{keys}}}")), &ReadOptions::default()).unwrap();
    assert_eq!(neff.warnings.len(), 1001);
    assert_eq!(neff.warnings.last(), Some(&Warning::Suppressed { count: 4000 }));
}

#[test]
fn every_cut_of_a_file_is_refused() {
    let whole = sample();
    for length in 0..whole.len() {
        assert!(Neff::read(&whole[..length], &ReadOptions::default()).is_err(), "{length}");
    }
    // With the digest off and the size field right, the cut reaches the payload.
    let options = ReadOptions { verify_digest: false, ..ReadOptions::default() };
    for length in (1024..whole.len()).step_by(7) {
        let mut cut = whole[..length].to_vec();
        cut[16..24].copy_from_slice(&((length - 1024) as u64).to_le_bytes());
        let expected = if length == 1024 { "HeaderSizeBeyondFile" } else { "Gzip" };
        assert_eq!(kind(&refuse_with(&cut, &options)).0, expected, "{length}");
    }
}

#[test]
fn a_flipped_payload_bit_never_passes() {
    let whole = sample();
    let original = Neff::read(&whole, &ReadOptions::default()).unwrap();
    for at in (1024..whole.len()).step_by(11) {
        let mut damaged = whole.clone();
        damaged[at] ^= 1 << (at % 8);
        assert_eq!(kind(&refuse(&damaged)).0, "Digest", "{at}");
        // Without the digest, CRC32 lets only bits pass that change nothing: another back reference to the
        // same bytes, or the gzip header's time.
        let options = ReadOptions { verify_digest: false, ..ReadOptions::default() };
        if let Ok(read) = Neff::read(&damaged, &options) {
            assert_eq!(read.archive, original.archive, "{at}");
        }
    }
}

#[test]
fn a_flipped_header_bit_passes_only_where_readers_do_not_look() {
    let whole = sample();
    let looked_at = |at: usize| matches!(at, 0..0x20 | 0xAC..0xBC | 0x220..0x22C);
    for at in 0..1024 {
        for bit in 0..8 {
            let mut damaged = whole.clone();
            damaged[at] ^= 1 << bit;
            match Neff::read(&damaged, &ReadOptions::default()) {
                Ok(neff) => {
                    let feature = (0x220..0x224).contains(&at);
                    let known = matches!((at, bit), (0x18, _) | (0x228, _)) || feature;
                    assert!(!looked_at(at) || known, "{at:#x} bit {bit}");
                    assert_eq!(neff.warnings.is_empty(), !feature, "{at:#x} bit {bit}");
                }
                Err(error) => assert!(looked_at(at), "{at:#x} bit {bit}: {error}"),
            }
        }
    }
}

#[test]
fn damaged_vendor_files_are_refused() {
    let Some(whole) = vendor("fused_fp32_s512") else { return };
    for length in (0..whole.len()).step_by(509) {
        assert!(Neff::read(&whole[..length], &ReadOptions::default()).is_err(), "{length}");
    }
    for at in (1024..whole.len()).step_by(991) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x40;
        assert_eq!(kind(&refuse(&damaged)).0, "Digest", "{at}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Random bytes in the tar: typed errors or a readable program, never a panic.
    #[test]
    fn random_damage_to_the_tar_never_panics(edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8)) {
        let mut all = tar(&members());
        for (at, byte) in &edits {
            let at = at.index(all.len());
            all[at] = *byte;
        }
        for strict in [false, true] {
            let options = ReadOptions { strict, ..ReadOptions::default() };
            if let Err(error) = Neff::read(&pack(&all), &options) {
                prop_assert!(!error.to_string().is_empty());
            }
        }
    }

    /// Random edits to the JSON text of the tiers.
    #[test]
    fn random_damage_to_json_never_panics(
        member in prop::sample::select(vec!["neff.json", "kelf-0.json", "sg00/def.json", "sg00/SP.json", "sg00/act_info.json", "sg00/DVE.json"]),
        at in any::<prop::sample::Index>(),
        length in 0_usize..12,
        insert in prop::sample::select(vec!["", "0", "-1", "18446744073709551615", "1e300", "[]", "{}", "null", "\"\"", "true", ",", "\"SB\""]),
    ) {
        let all = members();
        let (_, text) = all.iter().find(|(path, _)| path == member).unwrap();
        let at = at.index(text.len());
        let end = (at + length).min(text.len());
        let damaged = [&text[..at], insert.as_bytes(), &text[end..]].concat();
        if let Err(error) = Neff::read(&with_member(member, &damaged), &ReadOptions::default()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }

    /// Any file at all.
    #[test]
    fn random_files_never_panic(header in prop::collection::vec(any::<u8>(), 1024), payload in prop::collection::vec(any::<u8>(), 0..2000)) {
        let mut file = file(&payload);
        let _ = Neff::read(&[&header[..], &payload].concat(), &ReadOptions::default());
        file[0] = 1;
        let options = ReadOptions { verify_digest: false, ..ReadOptions::default() };
        prop_assert!(Neff::read(&file, &options).is_err());
        let _ = Tensor::from_npy(&[b"\x93NUMPY\x01\x00", &payload[..]].concat());
    }
}
