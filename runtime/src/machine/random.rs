//! Random number generators (chapter 06 section 8).

use crate::isa::{EngineId, Generation, PARTITIONS};
use crate::save::saved;

/// Generators of a lane of the vector engine; element k of a word draws from generator k mod 4 (D06-23).
pub const GENERATORS: usize = 4;

/// Marsaglia's XORWOW: x, y, z, w, v and the counter d (chapter 06 section 8.2).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Xorwow(pub [u32; 6]);

impl Default for Xorwow {
    /// The reset state; the counter starts at zero (D06-21).
    fn default() -> Self {
        Xorwow([0x075B_CD15, 0x159A_55E5, 0x1F12_3BB5, 0x0549_1333, 0x0058_3F19, 0])
    }
}

impl Xorwow {
    /// Advances by one step and returns the draw.
    pub fn draw(&mut self) -> u32 {
        let [x, y, z, w, v, d] = self.0;
        let t = x ^ (x >> 2);
        let next = (v ^ (v << 4)) ^ (t ^ (t << 1));
        let d = d.wrapping_add(362_437);
        self.0 = [y, z, w, v, next, d];
        next.wrapping_add(d)
    }
}

/// A 32-bit Fibonacci LFSR with taps 32, 22, 2 and 1 (chapter 06 section 8.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lfsr(u32);

impl Lfsr {
    /// A generator in a state; zero, which never leaves itself, is replaced by one.
    pub fn new(state: u32) -> Self {
        Lfsr(if state == 0 { 1 } else { state })
    }

    /// The state, which is also the last draw.
    pub fn state(self) -> u32 {
        self.0
    }

    /// Advances by one step and returns the draw.
    pub fn draw(&mut self) -> u32 {
        let s = self.0;
        let bit = (s >> 31 ^ s >> 21 ^ s >> 1 ^ s) & 1;
        self.0 = s << 1 | bit;
        self.0
    }
}

saved!(wrapper Xorwow, Lfsr);

/// The generators of a vector engine, per partition.
pub type LaneGenerators = [[Lfsr; GENERATORS]; PARTITIONS];

/// What a seed makes of the generators of the vector engine (chapter 06 section 8.5, D06-24).
pub fn seeded(seed: u32) -> LaneGenerators {
    let generator = |lane: usize, j: usize| {
        let step = (GENERATORS * lane + j + 1) as u32;
        Lfsr::new(seed ^ 0x9E37_79B9u32.wrapping_mul(step))
    };
    std::array::from_fn(|lane| std::array::from_fn(|j| generator(lane, j)))
}

/// The number in [0, 1) that the low 23 bits of a draw make, exact (D05-42, D06-27).
pub fn unit(draw: u32) -> f32 {
    f32::from_bits(draw & 0x007F_FFFF | 0x3F80_0000) - 1.0
}

/// State that RAND_GET_STATE and RAND_SET_STATE move (chapter 06 section 8.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum BankState {
    PoolXorwow,
    PoolConvert,
    DveXorwow,
    DveLfsr,
    DveConvert,
    ActConvert,
}

/// How a word names a generator's state (chapter 06 section 8.7).
#[derive(Debug)]
pub struct Bank {
    /// The state.
    pub state: BankState,
    /// The engine that owns it.
    pub engine: EngineId,
    /// `rand_generator`.
    pub source: u8,
    /// `rand_algorithm`.
    pub algorithm: u8,
    /// 32-bit words a lane.
    pub words: usize,
    /// First and last generation.
    pub generations: (Generation, Generation),
}

/// Every generator that words can load and store.
pub const BANKS: &[Bank] = &[
    bank(BankState::PoolXorwow, EngineId::Pool, (1, 3), 6, (Generation::Cayman, Generation::Maverick)),
    bank(BankState::PoolConvert, EngineId::Pool, (3, 0), 1, (Generation::Mariana, Generation::Maverick)),
    bank(BankState::DveXorwow, EngineId::Dve, (1, 3), 24, (Generation::Mariana, Generation::Maverick)),
    bank(BankState::DveLfsr, EngineId::Dve, (0, 0), 4, (Generation::Mariana, Generation::Maverick)),
    bank(BankState::DveConvert, EngineId::Dve, (3, 0), 4, (Generation::Mariana, Generation::Maverick)),
    bank(BankState::ActConvert, EngineId::Act, (3, 0), 2, (Generation::Mariana, Generation::Mariana)),
];

const fn bank(
    state: BankState,
    engine: EngineId,
    (source, algorithm): (u8, u8),
    words: usize,
    generations: (Generation, Generation),
) -> Bank {
    Bank { state, engine, source, algorithm, words, generations }
}

impl Bank {
    /// The generator that a word of an engine names.
    pub fn find(
        engine: EngineId,
        generation: Generation,
        source: u8,
        algorithm: u8,
    ) -> Option<&'static Bank> {
        BANKS.iter().find(|b| b.is_on(engine, generation) && (b.source, b.algorithm) == (source, algorithm))
    }

    /// Whether an engine of a generation has it.
    pub fn is_on(&self, engine: EngineId, generation: Generation) -> bool {
        let (first, last) = self.generations;
        self.engine == engine && (first..=last).contains(&generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex<const N: usize>(text: &str) -> [u32; N] {
        let words: Vec<u32> = text.split(' ').map(|w| u32::from_str_radix(w, 16).unwrap()).collect();
        words.try_into().unwrap()
    }

    /// The table of chapter 06 section 8.2: state, first eight draws, draw 1000.
    #[test]
    fn xorwow_draws_what_the_manual_lists() {
        let rows = [
            (
                "075BCD15 159A55E5 1F123BB5 05491333 00583F19 00000000",
                "0E52143E DB8C19D7 4AFB08C4 E876BD38 6ED6D3DE 938A3B9A 9280D0C1 5F36C6EE",
                0x409B_B396,
            ),
            (
                "075BCD15 159A55E5 1F123BB5 05491333 00583F19 0064F0C9",
                "0EB70507 DBF10AA0 4B5FF98D E8DBAE01 6F3BC4A7 93EF2C63 92E5C18A 5F9BB7B7",
                0x4100_A45F,
            ),
            (
                "00000001 00000002 00000003 00000004 00000005 00000006",
                "00058821 000B14C0 0010ED8A 001B5484 00720AA5 05518E07 565C5C40 359B7A9D",
                0x359C_45A9,
            ),
            (
                "00000000 00000000 00000000 00000000 00000000 00000000",
                "000587C5 000B0F8A 0010974F 00161F14 001BA6D9 00212E9E 0026B663 002C3E28",
                0x159A_5988,
            ),
            (
                "FFFFFFFF FFFFFFFF FFFFFFFF FFFFFFFF FFFFFFFF FFFFFFFF",
                "400587D3 000B1088 4010A65D 00171F12 402AA6E7 B1202F88 BF35C57D C02C2A26",
                0xDBFB_C4E5,
            ),
            (
                "DEADBEEF 12345678 9ABCDEF0 0F1E2D3C CAFEBABE 00C0FFEE",
                "5EE4EA55 84FF9C20 04111539 267967AB 7822A4D1 DA923F40 AED861C3 77D939ED",
                0xE5C2_79BD,
            ),
        ];
        for (state, draws, last) in rows {
            let mut generator = Xorwow(hex(state));
            let found: Vec<u32> = (0..1000).map(|_| generator.draw()).collect();
            assert_eq!((&found[..8], found[999]), (&hex::<8>(draws)[..], last), "{state}");
        }
    }

    #[test]
    fn xorwow_states_are_those_of_the_manual() {
        let mut generator = Xorwow::default();
        generator.draw();
        assert_eq!(generator.0, hex("159A55E5 1F123BB5 05491333 00583F19 0E4C8C79 000587C5"));
        for _ in 1..1000 {
            generator.draw();
        }
        assert_eq!(generator.0, hex("5EDC3231 3CC2AB83 DBB5B8EF 441D5AB0 2B015A0E 159A5988"));
    }

    /// The tables of chapter 06 section 8.4.
    #[test]
    fn lfsr_draws_what_the_manual_lists() {
        let rows = [
            (0x0000_0001, "00000003 00000006 0000000D 0000001B 00000036 0000006D"),
            (0x0000_0002, "00000005 0000000B 00000016 0000002D 0000005B 000000B6"),
            (0x1234_5678, "2468ACF1 48D159E2 91A2B3C5 2345678B 468ACF16 8D159E2D"),
            (0xDEAD_BEEF, "BD5B7DDE 7AB6FBBC F56DF779 EADBEEF3 D5B7DDE7 AB6FBBCE"),
            (0xFFFF_FFFF, "FFFFFFFE FFFFFFFD FFFFFFFB FFFFFFF6 FFFFFFED FFFFFFDB"),
            (0x8000_0000, "00000001 00000003 00000006 0000000D 0000001B 00000036"),
        ];
        for (state, draws) in rows {
            let mut generator = Lfsr::new(state);
            assert_eq!([(); 6].map(|()| generator.draw()), hex::<6>(draws), "{state:08x}");
        }
        assert_eq!(Lfsr::new(0).state(), 1);
    }

    /// The table of chapter 06 section 8.5.
    #[test]
    fn seeds_expand_as_listed() {
        let rows = [
            (0x0000_0000, "9E3779B9 3C6EF372 DAA66D2B 78DDE6E4", "944D04D5 32847E8E D0BBF847 6EF37200"),
            (0x0000_0001, "9E3779B8 3C6EF373 DAA66D2A 78DDE6E5", "944D04D4 32847E8F D0BBF846 6EF37201"),
            (0x0000_002A, "9E377993 3C6EF358 DAA66D01 78DDE6CE", "944D04FF 32847EA4 D0BBF86D 6EF3722A"),
            (0xDEAD_BEEF, "409AC756 E2C34D9D 040BD3C4 A670580B", "4AE0BA3A EC29C061 0E1646A8 B05ECCEF"),
            (0x9E37_79B9, "00000001 A2598ACB 44911492 E6EA9F5D", "0A7A7D6C ACB30737 4E8C81FE F0C40BB9"),
        ];
        for (seed, first, last) in rows {
            let state = seeded(seed);
            assert_eq!(state[0].map(Lfsr::state), hex::<4>(first), "{seed:08x}");
            assert_eq!(state[127].map(Lfsr::state), hex::<4>(last), "{seed:08x}");
        }
    }

    #[test]
    fn units_are_below_one() {
        assert_eq!(unit(0x0E52_143E).to_bits(), 0x3F24_287C);
        assert_eq!(unit(0xDB8C_19D7).to_bits(), 0x3DC1_9D70);
        assert_eq!(unit(0xFFFF_FFFF).to_bits(), 0x3F7F_FFFE);
        assert_eq!(unit(0x0080_0000), 0.0);
    }
}
