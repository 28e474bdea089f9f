//! Products of bfloat16 operands in the tile registers of AMX. A tile instruction computes what chapter 05 section 2.1
//! defines, by design of that definition: 32 rows a step, an even and an odd chain of fused multiply-adds, subnormals
//! and tiny results as zero.
//!
//! What surrounds the instructions (the layout of tiles, the walk over them) is generic over [`Tiles`], so that it
//! runs and is tested on every host, on a model of the instructions.

use super::matmul::{Order, PANEL, Sink};
use super::transpose;
use crate::num::dispatch::multiversion;

/// Rows of a tile: columns of the stationary operand, or pairs of its rows.
const ROWS: usize = 16;
/// A tile: 16 rows of 64 bytes.
type Tile = [[u32; ROWS]; ROWS];

/// The bits of -0 in bfloat16 twice. Products of it with +0 change no sum, so that it stands for rows that are missing.
const MISSING: u32 = 0x8000_8000;

/// The stationary operand as tiles: for every 32 columns and every group of rows two tiles, in which a row is a
/// column of the operand and an element a pair of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct PackedWeights {
    tiles: Vec<Tile>,
    groups: usize,
    columns: usize,
}

impl PackedWeights {
    /// Lays out the weights of a tile: `offsets` say where the first column of each summand of `order` lies; 15 more
    /// than the last column must be there. `None`: some weight is no bfloat16, or rows have several contraction
    /// lanes.
    pub(super) fn new(
        weights: &[f32],
        offsets: &[usize],
        order: &Order,
        columns: usize,
    ) -> Option<PackedWeights> {
        let fits = |at: &usize| all_bfloat16(&weights[*at..][..columns]);
        if order.lanes() > 1 || !offsets.iter().all(fits) {
            return None;
        }
        let groups = order.ends().len();
        let mut tiles = Vec::with_capacity(columns.div_ceil(2 * ROWS) * groups * 2);
        for block in (0..columns).step_by(2 * ROWS) {
            for group in 0..groups {
                for column in [block, block + ROWS] {
                    let row = |summand: usize| weights[offsets[summand] + column..].first_chunk();
                    let mut by_pair = [[MISSING; ROWS]; ROWS];
                    // The second tile may be beyond the array.
                    if column < columns {
                        for (pair, (even, odd)) in by_pair.iter_mut().zip(pairs(order, group)) {
                            let odd = odd.map_or(Some(&[-0.0; ROWS]), row);
                            pair_up(row(even).unwrap_or(&[-0.0; ROWS]), odd.unwrap_or(&[-0.0; ROWS]), pair);
                        }
                    }
                    tiles.push(transpose::square(&by_pair.each_ref()));
                }
            }
        }
        Some(PackedWeights { tiles, groups, columns })
    }

    /// Some columns, from a multiple of [`COLUMNS`] on.
    pub(super) fn columns(&self, first: usize, columns: usize) -> PackedColumns<'_> {
        let PackedWeights { tiles, groups, columns: all } = self;
        let columns = columns.min(all - first);
        let tiles = &tiles[first / ROWS * groups..][..columns.next_multiple_of(COLUMNS) / ROWS * groups];
        PackedColumns { tiles, groups: *groups, columns }
    }
}

/// Columns that the tile registers work on together.
pub(super) const COLUMNS: usize = 2 * ROWS;

/// Some columns of the stationary operand.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedColumns<'a> {
    tiles: &'a [Tile],
    groups: usize,
    columns: usize,
}

/// The summands of the pairs of rows of a group; the last row may lack its partner.
fn pairs(order: &Order, group: usize) -> impl Iterator<Item = (usize, Option<usize>)> {
    let ends = order.ends();
    let first = group.checked_sub(1).map_or(0, |before| ends[before].1);
    let (middle, end) = ends[group];
    (first..middle).zip((middle..end).map(Some).chain(std::iter::repeat(None)))
}

/// The moving operand as tiles: for every 16 positions and every group of rows one tile, in which a row is a pair of
/// rows and an element a position.
#[derive(Default)]
pub(super) struct PackedMoving {
    tiles: Vec<Tile>,
    groups: usize,
}

impl PackedMoving {
    /// Makes room for an operand whose rows have one contraction lane. What no pair is put into multiplies as zero;
    /// positions beyond the last one hold anything.
    pub(super) fn reset(&mut self, order: &Order, positions: usize) {
        self.groups = order.ends().len();
        self.tiles.resize(positions.next_multiple_of(PANEL) / ROWS * self.groups, [[0; ROWS]; ROWS]);
        let pairs = pairs(order, self.groups - 1).count();
        for tile in self.tiles.iter_mut().skip(self.groups - 1).step_by(self.groups) {
            tile[pairs..].fill([0; ROWS]);
        }
    }

    /// Lays out a panel of values that are bfloat16, from a position on.
    pub(super) fn place_panel(&mut self, order: &Order, position: usize, panel: &[f32]) {
        let row = |summand: usize| &panel[summand * PANEL..][..PANEL];
        for group in 0..self.groups {
            for (k, (even, odd)) in pairs(order, group).enumerate() {
                let mut pairs = [0; PANEL];
                pair_up(row(even), odd.map_or(&[0.0; PANEL], row), &mut pairs);
                for (block, pairs) in pairs.as_chunks().0.iter().enumerate() {
                    self.tiles[(position / ROWS + block) * self.groups + group][k] = *pairs;
                }
            }
        }
    }

    /// Lays out rows of packed bfloat16: `row` gives that of a summand.
    pub(super) fn place_rows<'a>(&mut self, order: &Order, row: impl Fn(usize) -> &'a [u8]) {
        for group in 0..self.groups {
            for (k, (even, odd)) in pairs(order, group).enumerate() {
                let tiles = self.tiles.iter_mut().skip(group).step_by(self.groups).map(|tile| &mut tile[k]);
                let even = row(even).as_chunks().0;
                match odd {
                    Some(odd) => interleave(even, row(odd).as_chunks().0, tiles),
                    None => interleave(even, &vec![[0; 2]; even.len()], tiles),
                }
            }
        }
    }
}

/// Pairs of packed bfloat16, the even one low, to runs of 16 positions.
fn interleave<'a>(even: &[[u8; 2]], odd: &[[u8; 2]], runs: impl Iterator<Item = &'a mut [u32; ROWS]>) {
    for ((even, odd), run) in even.chunks(ROWS).zip(odd.chunks(ROWS)).zip(runs) {
        match (even.as_array::<ROWS>(), odd.as_array::<ROWS>()) {
            // Of a known length, so that it becomes vector code.
            (Some(even), Some(odd)) => pair_up_bytes(even, odd, run),
            _ => pair_up_bytes(even, odd, run),
        }
    }
}

#[inline(always)]
fn pair_up_bytes(even: &[[u8; 2]], odd: &[[u8; 2]], pairs: &mut [u32; ROWS]) {
    for ((pair, even), odd) in pairs.iter_mut().zip(even).zip(odd) {
        *pair = u32::from_le_bytes([even[0], even[1], odd[0], odd[1]]);
    }
}

multiversion! {
    /// Pairs of bfloat16 that are given as fp32, the even one low.
    fn pair_up(even: &[f32], odd: &[f32], pairs: &mut [u32]) {
        for ((pair, even), odd) in pairs.iter_mut().zip(even).zip(odd) {
            *pair = even.to_bits() >> 16 | odd.to_bits() & 0xFFFF_0000;
        }
    }
}

multiversion! {
    fn all_bfloat16(values: &[f32]) -> bool {
        values.iter().fold(0, |bits, v| bits | v.to_bits()) & 0xFFFF == 0
    }
}

/// The tile registers.
pub(super) trait Tiles {
    /// For each group g, adds to the sums of 32 columns at 32 positions what the tiles `columns[2 g]`,
    /// `columns[2 g + 1]` and `left[g]`, `right[g]` give, from +0 on, and writes them to `sums[column][at..at + 32]`.
    fn product(
        &mut self,
        columns: &[Tile],
        positions: [&[Tile]; 2],
        sums: &mut [[f32; PANEL]; 2 * ROWS],
        at: usize,
    );
}

/// The sums of the panel at a position, of so many positions.
pub(super) fn product(
    tiles: &mut impl Tiles,
    weights: PackedColumns<'_>,
    moving: &PackedMoving,
    position: usize,
    width: usize,
    sink: &mut impl Sink,
) {
    let groups = weights.groups;
    let mut sums = [[0.0; PANEL]; 2 * ROWS];
    for (block, columns) in weights.tiles.chunks_exact(2 * groups).enumerate() {
        for at in (0..width).step_by(2 * ROWS) {
            let block = |k| (position + at) / ROWS + k;
            let [left, right] = [0, 1].map(|k| &moving.tiles[block(k) * groups..][..groups]);
            tiles.product(columns, [left, right], &mut sums, at);
        }
        let first = block * 2 * ROWS;
        sink.take(first, &sums[..(weights.columns - first).min(2 * ROWS)]);
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
pub(super) use x86::Amx;

/// For hosts that have no tile registers.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
pub(super) enum Amx {}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
impl Amx {
    /// There are none.
    pub(super) fn new() -> Option<Amx> {
        None
    }
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
impl Tiles for Amx {
    fn product(&mut self, _: &[Tile], _: [&[Tile]; 2], _: &mut [[f32; PANEL]; 2 * ROWS], _: usize) {
        match *self {}
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
mod x86 {
    use std::arch::asm;
    use std::sync::OnceLock;

    use super::{PANEL, ROWS, Tile, Tiles};
    use crate::num::Level;

    /// Tile registers 0 to 7 as 16 rows of 64 bytes, palette 1.
    #[repr(C, align(64))]
    struct Configuration {
        palette: u8,
        start_row: u8,
        reserved: [u8; 14],
        bytes: [u16; 16],
        rows: [u8; 16],
    }

    static CONFIGURATION: Configuration = Configuration {
        palette: 1,
        start_row: 0,
        reserved: [0; 14],
        bytes: [64, 64, 64, 64, 64, 64, 64, 64, 0, 0, 0, 0, 0, 0, 0, 0],
        rows: [16, 16, 16, 16, 16, 16, 16, 16, 0, 0, 0, 0, 0, 0, 0, 0],
    };

    /// Configured tile registers, given back at the end.
    pub(in super::super) struct Amx(());

    impl Amx {
        /// Configures the registers for this thread, if the current level allows it and the system permits their
        /// use.
        pub(in super::super) fn new() -> Option<Amx> {
            if Level::current() < Level::Amx || !permitted() {
                return None;
            }
            // SAFETY: the CPU has tiles, the system saves them and lets this process use them.
            unsafe { asm!("ldtilecfg [{}]", in(reg) &raw const CONFIGURATION, options(nostack, readonly)) };
            Some(Amx(()))
        }
    }

    impl Drop for Amx {
        fn drop(&mut self) {
            // SAFETY: as in `new`.
            unsafe { asm!("tilerelease", options(nostack, nomem)) };
        }
    }

    /// Whether the system lets this process use tile data; it has to be asked, once.
    fn permitted() -> bool {
        const ARCH_PRCTL: i64 = 158;
        const ARCH_REQ_XCOMP_PERM: u64 = 0x1023;
        const XFEATURE_XTILEDATA: u64 = 18;
        static PERMITTED: OnceLock<bool> = OnceLock::new();
        *PERMITTED.get_or_init(|| {
            let result: i64;
            // SAFETY: a system call that allows a register state and touches no memory.
            unsafe {
                asm!(
                    "syscall",
                    inlateout("rax") ARCH_PRCTL => result,
                    in("rdi") ARCH_REQ_XCOMP_PERM,
                    in("rsi") XFEATURE_XTILEDATA,
                    out("rcx") _,
                    out("r11") _,
                    options(nostack),
                );
            }
            result == 0
        })
    }

    impl Tiles for Amx {
        fn product(
            &mut self,
            columns: &[Tile],
            [left, right]: [&[Tile]; 2],
            sums: &mut [[f32; PANEL]; 2 * ROWS],
            at: usize,
        ) {
            let groups = left.len();
            assert!(
                right.len() == groups && columns.len() == 2 * groups && groups > 0 && at + 2 * ROWS <= PANEL
            );
            let (top, bottom) = (sums[0][at..].as_mut_ptr(), sums[ROWS][at..].as_mut_ptr());
            // SAFETY: the registers are configured; every tile that is read lies in the slices, whose lengths are as
            // asserted, and 16 rows of 64 bytes, PANEL elements apart, are written on from each of four places.
            unsafe {
                asm!(
                    "tilezero tmm0",
                    "tilezero tmm1",
                    "tilezero tmm2",
                    "tilezero tmm3",
                    "2:",
                    "tileloadd tmm4, [{columns} + {row}*1]",
                    "tileloadd tmm6, [{left} + {row}*1]",
                    "tileloadd tmm7, [{right} + {row}*1]",
                    "tileloadd tmm5, [{columns} + {row}*1 + 1024]",
                    "tdpbf16ps tmm0, tmm4, tmm6",
                    "tdpbf16ps tmm1, tmm4, tmm7",
                    "tdpbf16ps tmm2, tmm5, tmm6",
                    "tdpbf16ps tmm3, tmm5, tmm7",
                    "add {columns}, 2048",
                    "add {left}, 1024",
                    "add {right}, 1024",
                    "dec {groups}",
                    "jnz 2b",
                    "tilestored [{top} + {pitch}*1], tmm0",
                    "tilestored [{top} + {pitch}*1 + 64], tmm1",
                    "tilestored [{bottom} + {pitch}*1], tmm2",
                    "tilestored [{bottom} + {pitch}*1 + 64], tmm3",
                    columns = inout(reg) columns.as_ptr() => _,
                    left = inout(reg) left.as_ptr() => _,
                    right = inout(reg) right.as_ptr() => _,
                    groups = inout(reg) groups => _,
                    row = in(reg) 64_usize,
                    top = in(reg) top,
                    bottom = in(reg) bottom,
                    pitch = in(reg) PANEL * size_of::<f32>(),
                    options(nostack),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interp::pe::sum::{Arithmetic::FlushTiny, add, fma};

    /// The tile registers by what their instructions are defined to do.
    struct Model;

    impl Tiles for Model {
        fn product(
            &mut self,
            columns: &[Tile],
            positions: [&[Tile]; 2],
            sums: &mut [[f32; PANEL]; 2 * ROWS],
            at: usize,
        ) {
            for (c, row) in sums.iter_mut().enumerate() {
                for (n, sum) in row[at..at + 2 * ROWS].iter_mut().enumerate() {
                    *sum = 0.0;
                    for (group, x) in positions[n / ROWS].iter().enumerate() {
                        dot(sum, &columns[group * 2 + c / ROWS][c % ROWS], x, n % ROWS);
                    }
                }
            }
        }
    }

    /// TDPBF16PS for one element.
    fn dot(sum: &mut f32, a: &[u32; ROWS], b: &Tile, n: usize) {
        let value = |bits: u32| {
            let value = f32::from_bits(bits);
            if value.is_subnormal() { 0.0f32.copysign(value) } else { value }
        };
        let mut chains = [0.0; 2];
        for (a, b) in a.iter().zip(b) {
            chains[0] = fma(value(a << 16), value(b[n] << 16), chains[0], FlushTiny);
            chains[1] = fma(value(a & 0xFFFF_0000), value(b[n] & 0xFFFF_0000), chains[1], FlushTiny);
        }
        *sum = add(*sum, add(chains[0], chains[1], FlushTiny), FlushTiny);
    }

    fn random(state: &mut u64) -> u32 {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as u32
    }

    /// Sums as chapter 05 section 2.1 writes them, row after row.
    fn definition(w: &[f32], x: &[f32], rows: usize, column: usize, n: usize) -> f32 {
        let mut acc = 0.0;
        for group in (0..rows).step_by(32) {
            let mut chains = [0.0; 2];
            for row in group..rows.min(group + 32) {
                let chain = &mut chains[row % 2];
                *chain = fma(w[row * PITCH + column], x[row * PANEL + n], *chain, FlushTiny);
            }
            acc = add(acc, add(chains[0], chains[1], FlushTiny), FlushTiny);
        }
        acc
    }

    const PITCH: usize = 144;

    struct Collect(Vec<[f32; PANEL]>);

    impl Sink for Collect {
        fn take(&mut self, column: usize, sums: &[[f32; PANEL]]) {
            self.0.resize(column, [0.0; PANEL]);
            self.0.extend_from_slice(sums);
        }
    }

    /// Compares tiles with the definition, on values of so many exponents below 2^-63 and on special ones.
    fn check(tiles: &mut impl Tiles, rows: usize, columns: usize, width: usize, spread: u32) {
        let mut state = (rows * 1000 + columns) as u64;
        let mut value = || {
            let bits = random(&mut state);
            match bits % 16 {
                0 => 0x8000_0000,
                1 if spread > 40 => 0x7F80_0000,
                2 if spread > 40 => 0xFFC1_0000,
                _ => (bits & 0x807F_0000) | ((64 - (random(&mut state) % spread)) << 23),
            }
        };
        let w: Vec<f32> = (0..128 * PITCH).map(|_| f32::from_bits(value())).collect();
        let x: Vec<f32> = (0..rows * PANEL).map(|_| f32::from_bits(value())).collect();
        let order = Order::new(1, rows);
        let offsets: Vec<usize> = order.summands.iter().map(|(_, row)| row * PITCH).collect();
        let ordered: Vec<f32> =
            order.summands.iter().flat_map(|(_, row)| x[row * PANEL..][..PANEL].iter().copied()).collect();
        let weights = PackedWeights::new(&w, &offsets, &order, columns).expect("all are bfloat16");
        let mut moving = PackedMoving::default();
        moving.reset(&order, width);
        // Both ways to lay out the moving operand, the same values.
        if columns.is_multiple_of(2) {
            moving.place_panel(&order, 0, &ordered);
        } else {
            let bytes: Vec<u8> =
                ordered.iter().flat_map(|v| ((v.to_bits() >> 16) as u16).to_le_bytes()).collect();
            moving.place_rows(&order, |summand| &bytes[summand * PANEL * 2..][..width * 2]);
        }
        let mut sums = Collect(Vec::new());
        product(tiles, weights.columns(0, weights.columns), &moving, 0, width, &mut sums);
        assert_eq!(sums.0.len(), columns);
        for (column, sums) in sums.0.iter().enumerate() {
            for (n, sum) in sums[..width].iter().enumerate() {
                let expected = definition(&w, &x, rows, column, n);
                let same = sum.to_bits() == expected.to_bits() || (sum.is_nan() && expected.is_nan());
                assert!(same, "{rows} rows, column {column}, position {n}: {sum:e} and {expected:e}");
            }
        }
    }

    const SHAPES: [(usize, usize, usize); 7] =
        [(128, 128, 64), (128, 127, 64), (33, 5, 17), (1, 1, 1), (95, 100, 50), (2, 16, 64), (127, 33, 33)];

    #[test]
    fn tiles_follow_the_definition() {
        for (rows, columns, width) in SHAPES {
            for spread in [3, 20, 60] {
                check(&mut Model, rows, columns, width, spread);
            }
        }
    }

    #[test]
    fn the_instructions_follow_the_definition() {
        let Some(mut amx) = Amx::new() else {
            eprintln!("SKIPPED: this host has no AMX");
            return;
        };
        for (rows, columns, width) in SHAPES {
            for spread in [3, 20, 60] {
                check(&mut amx, rows, columns, width, spread);
            }
        }
    }

    /// What does not fit is refused.
    #[test]
    fn other_operands_are_refused() {
        let weights = vec![1.0 + f32::EPSILON; 144];
        assert!(PackedWeights::new(&weights, &[0], &Order::new(1, 1), 1).is_none());
        assert!(PackedWeights::new(&[1.0; 144], &[0, 0], &Order::new(2, 1), 1).is_none());
    }
}
