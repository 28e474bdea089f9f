//! Lane movement (chapter 06 section 7).

use super::rows::Stream;
use super::tiles::{BATCH, Transposed};
use crate::interp::Exec;
use crate::interp::shuffle::{Movement, QUADRANT};
use crate::machine::Core;

/// STREAM_SHUFFLE (section 7.3). Lanes that no lane takes are not read.
pub fn stream_shuffle(m: &Movement, x: &mut Exec<'_>) {
    let core = x.core();
    let mask = m.mask(core);
    let moves =
        || mask.0.iter().map(|from| usize::from(*from)).enumerate().filter(|(_, from)| *from < QUADRANT);
    let contiguous = m.src.is_contiguous() && m.dst.is_contiguous();
    if contiguous && m.src.space == m.dst.space && m.src.is_apart_from(&m.dst, m.lanes) {
        let memory = core.memory_mut(m.src.space);
        for first in (0..m.lanes).step_by(QUADRANT) {
            for (lane, from) in moves() {
                let from = (m.src.partition + first + from, m.src.offset);
                let to = (m.dst.partition + first + lane, m.dst.offset);
                memory.copy_within(from, to, m.src.count * m.src.size);
            }
        }
        return;
    }
    let mut rows: [Vec<u8>; QUADRANT] = Default::default();
    let (mut src, mut dst) = (Stream::new(&m.src), Stream::new(&m.dst));
    for first in (0..m.lanes).step_by(QUADRANT) {
        for (_, from) in moves() {
            src.restart();
            rows[from].clear();
            rows[from].extend_from_slice(src.next(core, first + from, m.src.count));
        }
        for (lane, from) in moves() {
            dst.restart();
            dst.write(core, first + lane, m.dst.count, |out| out.copy_from_slice(&rows[from]));
        }
    }
}

/// STREAM_TRANSPOSE (section 7.4).
pub fn stream_transpose(m: &Movement, x: &mut Exec<'_>) {
    let core = x.core();
    let mask = m.mask(core);
    // Several tiles are read before the first of them is written only where that makes no difference.
    let batch = if m.src.is_apart_from(&m.dst, m.lanes) { BATCH } else { 1 };
    let mut src = Transposed::new(&m.src);
    let mut dst: Vec<Stream<'_>> = (0..QUADRANT).map(|_| Stream::new(&m.dst)).collect();
    for first in (0..m.lanes).step_by(QUADRANT) {
        src.restart();
        dst.iter_mut().for_each(Stream::restart);
        let mut left = m.dst.count;
        while left > 0 {
            let n = left.min(batch * QUADRANT);
            let rows = src.next(core, first, n.next_multiple_of(QUADRANT));
            let bytes = n * m.src.size;
            for ((lane, stream), from) in dst.iter_mut().enumerate().zip(mask.0) {
                if let Some(row) = rows.get(usize::from(from)) {
                    write(stream, core, first + lane, n, &row[..bytes]);
                }
            }
            left -= n;
        }
    }
}

fn write(stream: &mut Stream<'_>, core: &mut Core, lane: usize, n: usize, row: &[u8]) {
    stream.write(core, lane, n, |out| out.copy_from_slice(row));
}
