//! The SoC address map as DMA, WRITE, TENSOR_LOAD and TENSOR_STORE see it (chapter 07 section 10,
//! chapter 02 section 4, chapter 01 section 2).

use super::dram::BufferId;
use crate::isa::{EngineId, PARTITIONS, PSUM_PITCH};
use crate::save::saved;

/// State buffer of core 0.
pub const SBUF_BASE: u64 = 0x20_0000_0000;
/// PSUM of core 0.
pub const PSUM_BASE: u64 = 0x28_0200_0000;
/// Event and semaphore unit of core 0.
pub const SYNC_BASE: u64 = 0x28_0270_0000;
const SYNC_BYTES: u64 = 0x10_0000;
const CSR_BYTES: u64 = 0x1_0000;
const SECOND_SBUF_APERTURE: u64 = 0x28_0000_0000;
const SECOND_SBUF_BYTES: u64 = 0x200_0000;

/// CSR apertures of core 0 in engine order.
const CSR_BASES: [u64; 5] = [0x28_0266_0000, 0x28_0246_0000, 0x28_0306_0000, 0x28_02B6_0000, 0x28_0286_0000];

/// What an address names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// Device memory.
    Dram {
        /// Which buffer.
        buffer: BufferId,
        /// Bytes from its start.
        offset: usize,
    },
    /// State buffer of a core; the linear offset is partition x pitch + byte.
    Sbuf {
        /// Which core.
        core: usize,
        /// Linear offset.
        offset: u64,
    },
    /// PSUM of a core; the linear offset is partition x 0x8000 + byte.
    Psum {
        /// Which core.
        core: usize,
        /// Linear offset.
        offset: u64,
    },
    /// A cell of an event and semaphore unit.
    Sync {
        /// Which core.
        core: usize,
        /// Which window.
        window: SyncWindow,
        /// Event or semaphore.
        index: u8,
    },
    /// A reserved part of an event and semaphore unit: reads 0, ignores writes.
    SyncReserved,
    /// A control register of an engine.
    Csr {
        /// Which core.
        core: usize,
        /// Which engine.
        engine: EngineId,
        /// Byte offset in the aperture.
        offset: u32,
    },
}

/// A window of the event and semaphore unit (chapter 02 section 4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SyncWindow {
    /// Event: read state, write bit 0.
    Event,
    /// Semaphore value; writes do nothing.
    Read,
    /// Semaphore := data.
    Set,
    /// Semaphore += data.
    Increment,
    /// Semaphore -= data.
    Decrement,
}

saved!(enum SyncWindow { 0 Event, 1 Read, 2 Set, 3 Increment, 4 Decrement });
saved!(enum Target {
    0 Dram { buffer, offset },
    1 Sbuf { core, offset },
    2 Psum { core, offset },
    3 Sync { core, window, index },
    4 SyncReserved,
    5 Csr { core, engine, offset },
});

/// What is added to core 0's addresses for another core: two cores a die pair, four a device, then the
/// second die (chapter 02 section 4; SBUF and CSR bases follow the semaphore units).
pub const fn core_base(core: usize) -> u64 {
    let within = [0u64, 0x10_0000_0000, 0x40_0000_0000, 0x50_0000_0000][core % 4];
    within | if core / 4 % 2 == 1 { 1 << 47 } else { 0 }
}

/// Finds what an address outside device memory names. `sbuf_bytes` is the size of one core's state
/// buffer window; `physical` gives the physical core of each core of the machine.
pub fn route_on_chip(
    address: u64,
    physical: impl IntoIterator<Item = usize>,
    sbuf_bytes: u64,
) -> Option<Target> {
    physical.into_iter().enumerate().find_map(|(core, physical)| {
        let local = address.checked_sub(core_base(physical))?;
        if (SBUF_BASE..SBUF_BASE + sbuf_bytes).contains(&local) {
            return Some(Target::Sbuf { core, offset: local - SBUF_BASE });
        }
        if (PSUM_BASE..PSUM_BASE + u64::from(PSUM_PITCH) * PARTITIONS as u64).contains(&local) {
            return Some(Target::Psum { core, offset: local - PSUM_BASE });
        }
        if (SYNC_BASE..SYNC_BASE + SYNC_BYTES).contains(&local) {
            return Some(sync_cell(core, local - SYNC_BASE));
        }
        EngineId::ALL.into_iter().find_map(|engine| {
            let base = CSR_BASES[engine.index()];
            (base..base + CSR_BYTES).contains(&local).then(|| Target::Csr {
                core,
                engine,
                offset: (local - base) as u32,
            })
        })
    })
}

/// The second state buffer aperture exists on the device and is refused here (00 A14, 02 section 4).
pub fn is_second_sbuf_aperture(address: u64, physical: impl IntoIterator<Item = usize>) -> bool {
    physical.into_iter().any(|core| {
        let local = address.wrapping_sub(core_base(core));
        (SECOND_SBUF_APERTURE..SECOND_SBUF_APERTURE + SECOND_SBUF_BYTES).contains(&local)
    })
}

fn sync_cell(core: usize, offset: u64) -> Target {
    let window = match offset {
        0x0000..0x0400 => SyncWindow::Event,
        0x1000..0x1400 => SyncWindow::Read,
        0x1400..0x1800 => SyncWindow::Set,
        0x1800..0x1C00 => SyncWindow::Increment,
        0x1C00..0x2000 => SyncWindow::Decrement,
        _ => return Target::SyncReserved,
    };
    Target::Sync { core, window, index: (offset % 0x400 / 4) as u8 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Addresses that words of a recorded device image name (chapter 10 sections 3 and 7.1).
    #[test]
    fn physical_cores_four_and_five() {
        let route = |address| route_on_chip(address, [4, 5], 0x4_0000 * PARTITIONS as u64);
        assert_eq!(route(0x8020_0003_67F8), Some(Target::Sbuf { core: 0, offset: 0x3_67F8 }));
        let increment = |core| Some(Target::Sync { core, window: SyncWindow::Increment, index: 1 });
        assert_eq!(route(0x8028_0270_1804), increment(0));
        assert_eq!(route(0x8038_0270_1804), increment(1));
        let start = |core, engine| Some(Target::Csr { core, engine, offset: 4 });
        assert_eq!(route(0x8028_0246_0004), start(0, EngineId::Act));
        assert_eq!(route(0x8038_02B6_0004), start(1, EngineId::Dve));
        assert_eq!(route(0x28_0270_1804), None);
        assert_eq!(route(0x8010_0252_F038), None);
    }
}
