//! SORT, NONZERO_WITH_COUNT and GET_SEQUENCE_BOUNDS (chapter 06 section 5).

use std::cmp::Ordering;

use super::lanes::{expect_row, read_lane, write_lane};
use super::{Access, Exec, FaultKind, Flow, LaneScalar, Walk};
use crate::isa::field::Imm;
use crate::isa::layouts::{S1D2_SORT, S3D3_NONZERO_WITH_COUNT, S3D3_SEQ_BOUNDS};
use crate::isa::{AluOp, Decoded, Dtype};
use crate::num;

/// NONZERO_WITH_COUNT uses one partition in so many.
pub const NONZERO_SPACING: usize = 16;

/// SORT (section 5.1): the first K of each lane's elements in order, with their positions.
pub fn sort(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S1D2_SORT>(w)?;
    let (lanes, dtype) = (o.num_active_channels, o.in_out_dtype.low());
    let src = x.tensor("src", &o.src, dtype, lanes, Access::Read)?;
    expect_row("src", &src)?;
    let dst = x.tensor("dst", &o.dst, o.in_out_dtype.high(), lanes, Access::Write)?;
    let ranks = usize::from(o.dst.num[1]);
    if o.dst.num[0] != 2 || ranks > src.count || dst.size != src.size {
        let found = format!("{} by {} elements", o.dst.num[0], ranks);
        return Err(FaultKind::illegal("dst", found, format!("2 by at most {}", src.count)));
    }
    let descending = match o.comparison {
        AluOp::IS_LT => false,
        AluOp::IS_GT => true,
        other => return Err(FaultKind::illegal("comparison", other.text(), "IS_LT or IS_GT")),
    };
    let offset = x.scalar("index_offset", o.index_offset_src, Imm(o.index_offset), Dtype::UINT32, lanes)?;
    // Everything is read before anything is written (00 A14).
    let rows: Vec<Vec<u8>> = (0..lanes.into())
        .map(|lane| {
            sorted(&read_lane(x.core(), &src, lane), dtype, descending, ranks, offset.bits(x.core(), lane))
        })
        .collect();
    for (lane, row) in rows.iter().enumerate() {
        write_lane(x.core(), &dst, lane, row);
    }
    Ok(Flow::Next)
}

/// Value and position, each of the dtype's width, of the first ranks; ties keep their order (D06-9).
fn sorted(packed: &[u8], dtype: Dtype, descending: bool, ranks: usize, offset: u32) -> Vec<u8> {
    let elements: Vec<&[u8]> = packed.chunks_exact(dtype.bytes()).collect();
    let keys: Vec<Key> = elements.iter().map(|e| Key::new(e, dtype, descending)).collect();
    let mut order: Vec<usize> = (0..elements.len()).collect();
    order.sort_by(|a, b| keys[*a].cmp(&keys[*b]));
    let mut out = Vec::with_capacity(2 * ranks * dtype.bytes());
    for position in order.into_iter().take(ranks) {
        out.extend_from_slice(elements[position]);
        let index = offset.wrapping_add(position as u32).to_le_bytes();
        out.extend_from_slice(&index[..dtype.bytes()]);
    }
    out
}

/// What elements are ordered by: NaN last in both directions (D06-10), the two zeros equal.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    is_nan: bool,
    rank: i64,
}

impl Key {
    fn new(element: &[u8], dtype: Dtype, descending: bool) -> Key {
        let mut bytes = [0; 4];
        bytes[..element.len()].copy_from_slice(element);
        let bits = u32::from_le_bytes(bytes);
        let (is_nan, rank) = if dtype.is_integer() {
            let shift = 32 - 8 * element.len() as u32;
            (false, if dtype.is_signed() { ((bits << shift) as i32 >> shift).into() } else { bits.into() })
        } else {
            float_rank(bits, dtype)
        };
        Key { is_nan, rank: if descending && !is_nan { -rank } else { rank } }
    }
}

/// Floats on a line: FP32 bits are monotonic in the magnitude. Widening BF16 and FP16 is exact.
fn float_rank(bits: u32, dtype: Dtype) -> (bool, i64) {
    let value = num::to_f32(bits, dtype, num::Fp8::default());
    let magnitude = i64::from(value.to_bits() & 0x7FFF_FFFF);
    match value.partial_cmp(&0.0) {
        None => (true, 0),
        Some(Ordering::Less) => (false, -magnitude),
        Some(_) => (false, if value == 0.0 { 0 } else { magnitude }),
    }
}

/// NONZERO_WITH_COUNT (section 5.2): positions of the nonzero elements, padding, and their number; on
/// partitions 0, 16, ... only.
pub fn nonzero(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_NONZERO_WITH_COUNT>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    expect_row("src", &src)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    if dst.count != src.count + 1 {
        return Err(FaultKind::illegal(
            "dst",
            format!("{} elements", dst.count),
            (src.count + 1).to_string(),
        ));
    }
    let offset = x.scalar("index_offset", o.index_offset_src, o.index_offset, Dtype::INT32, lanes)?;
    let padding = x.scalar("padding_val", o.padding_val_src, o.padding_val, Dtype::INT32, lanes)?;
    let used: Vec<usize> =
        (0..lanes.into()).filter(|lane| (dst.partition + lane) % NONZERO_SPACING == 0).collect();
    // Everything is read before anything is written (00 A14).
    let rows: Vec<Vec<u32>> = used
        .iter()
        .map(|lane| {
            let zeros = zero_elements(x, &src, o.in_dtype, *lane);
            positions(&zeros, bits(x, &offset, *lane), bits(x, &padding, *lane))
        })
        .collect();
    for (lane, row) in used.into_iter().zip(rows) {
        let bytes: Vec<u8> = row.into_iter().flat_map(u32::to_le_bytes).collect();
        write_lane(x.core(), &dst, lane, &bytes);
    }
    Ok(Flow::Next)
}

fn bits(x: &mut Exec<'_>, scalar: &LaneScalar, lane: usize) -> u32 {
    scalar.bits(x.core(), lane)
}

/// Which elements equal zero: both zeros of FP32 do, NaN does not (D06-11).
fn zero_elements(x: &mut Exec<'_>, src: &Walk, dtype: Dtype, lane: usize) -> Vec<bool> {
    let sign = if dtype == Dtype::FP32 { 1 << 31 } else { 0 };
    let packed = read_lane(x.core(), src, lane);
    packed.chunks_exact(4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]) & !sign == 0).collect()
}

/// Positions where `zeros` is false, padded to the length of `zeros`, then their number.
fn positions(zeros: &[bool], offset: u32, padding: u32) -> Vec<u32> {
    let found = zeros.iter().enumerate().filter(|(_, zero)| !**zero);
    let mut row: Vec<u32> = found.map(|(at, _)| offset.wrapping_add(at as u32)).collect();
    let count = row.len() as u32;
    row.resize(zeros.len(), padding);
    row.push(count);
    row
}

/// GET_SEQUENCE_BOUNDS (section 5.3): where the run of equal segment ids around each element starts and ends.
pub fn sequence_bounds(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let o = *x.operands::<S3D3_SEQ_BOUNDS>(w)?;
    let lanes = o.num_active_channels;
    let src = x.tensor("src", &o.src, o.in_dtype, lanes, Access::Read)?;
    expect_row("src", &src)?;
    let dst = x.tensor("dst", &o.dst, o.out_dtype, lanes, Access::Write)?;
    if dst.count != 2 * src.count {
        return Err(FaultKind::illegal(
            "dst",
            format!("{} elements", dst.count),
            (2 * src.count).to_string(),
        ));
    }
    let fp8 = x.core().spec.fp8;
    for lane in 0..usize::from(lanes) {
        let ids = segment_ids(&read_lane(x.core(), &src, lane), o.in_dtype);
        let bounds = bounds(&ids);
        let mut bytes = vec![0; dst.count * dst.size];
        match o.out_dtype {
            Dtype::FP32 => {
                let values: Vec<f32> = bounds.iter().map(|b| *b as f32).collect();
                num::pack(&values, o.out_dtype, fp8, &mut bytes);
            }
            _ => num::pack_int(&bounds, o.out_dtype, &mut bytes),
        }
        write_lane(x.core(), &dst, lane, &bytes);
    }
    Ok(Flow::Next)
}

/// A segment id as it compares: bits, of which both FP32 zeros are padding and a NaN equals nothing.
#[derive(Clone, Copy, PartialEq)]
enum Segment {
    Integer(u32),
    Float(f32),
}

impl Segment {
    fn is_padding(self) -> bool {
        self == Segment::Integer(0) || self == Segment::Float(0.0)
    }
}

fn segment_ids(packed: &[u8], dtype: Dtype) -> Vec<Segment> {
    let segment = |bits: u32| match dtype {
        Dtype::FP32 => Segment::Float(f32::from_bits(bits)),
        _ => Segment::Integer(bits),
    };
    packed.chunks_exact(4).map(|b| segment(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()
}

/// The starts of all elements, then their ends; padding gets `n` and -1.
fn bounds(ids: &[Segment]) -> Vec<i64> {
    let n = ids.len();
    let mut bounds = vec![0; 2 * n];
    for i in 0..n {
        let continues = i > 0 && ids[i] == ids[i - 1];
        bounds[i] = match ids[i].is_padding() {
            true => n as i64,
            false if continues => bounds[i - 1],
            false => i as i64,
        };
    }
    for i in (0..n).rev() {
        let continues = i + 1 < n && ids[i] == ids[i + 1];
        bounds[n + i] = match ids[i].is_padding() {
            true => -1,
            false if continues => bounds[n + i + 1],
            false => i as i64 + 1,
        };
    }
    bounds
}
