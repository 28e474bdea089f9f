//! PE_MANAGE_SEED and the tables of CONV_LUT_LOAD (chapter 05 section 2.8, chapter 06 section 9.4).

use crate::interp::{Access, Exec, FaultKind, Flow, Walk};
use crate::isa::layouts::{S2_CONVLUT, S2S1D2_PE_SEED};
use crate::isa::{Decoded, Dtype, PARTITIONS, Space};
use crate::machine::hidden::{LUT_ENTRIES, SEEDS};

/// PE_MANAGE_SEED with its operands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ManageSeed {
    /// Mode 0.
    Nothing,
    /// Seed s of all partitions from lane s of SBUF.
    Load(Walk),
    /// The seeds of a partition to its lane of PSUM.
    Save(Walk),
}

impl ManageSeed {
    /// Resolves a word and checks it.
    pub(crate) fn new(x: &Exec<'_>, w: &Decoded) -> Result<ManageSeed, FaultKind> {
        let o = *x.operands::<S2S1D2_PE_SEED>(w)?;
        match o.mode {
            0 => Ok(ManageSeed::Nothing),
            1 => {
                let src = x.tensor("src_seed", &o.src_seed, Dtype::INT32, SEEDS as u8, Access::Read)?;
                x.tensor("identity", &o.identity, o.identity_dtype, SEEDS as u8, Access::Read)?;
                if src.space != Space::Sbuf || src.count != PARTITIONS {
                    let found = format!("{} elements of {}", src.count, src.space);
                    return Err(FaultKind::illegal("src_seed", found, "128 elements of sbuf"));
                }
                Ok(ManageSeed::Load(src))
            }
            2 => {
                let dst =
                    x.tensor("dst_seed", &o.dst_seed, Dtype::UINT32, PARTITIONS as u8, Access::Write)?;
                if dst.space != Space::Psum || dst.count != SEEDS {
                    let found = format!("{} elements of {}", dst.count, dst.space);
                    return Err(FaultKind::illegal("dst_seed", found, "16 elements of psum"));
                }
                Ok(ManageSeed::Save(dst))
            }
            other => Err(FaultKind::illegal("mode", other, "0 to 2")),
        }
    }
}

/// PE_MANAGE_SEED: loads the seeds of stochastic rounding from SBUF, seed s from partition s, or stores them to
/// PSUM, those of a partition in it. The two layouts are each other's transpose.
pub fn manage_seed(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let word = ManageSeed::new(x, w)?;
    let core = x.core();
    match word {
        ManageSeed::Nothing => {}
        ManageSeed::Load(src) => {
            let mut packed = vec![0; src.count * src.size];
            for seed in 0..SEEDS {
                src.gather(&mut src.start(), core.memory(src.space), seed, &mut packed);
                for (partition, b) in packed.chunks_exact(4).enumerate() {
                    core.pe.hidden.seeds[partition][seed] = u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                }
            }
            core.pe.hidden.seeded = true;
        }
        ManageSeed::Save(dst) => {
            for partition in 0..PARTITIONS {
                let seeds = core.pe.hidden.seeds[partition];
                let bytes: Vec<u8> = seeds.iter().flat_map(|s| s.to_le_bytes()).collect();
                dst.scatter(&mut dst.start(), core.memory_mut(dst.space), partition, &bytes);
            }
        }
    }
    Ok(Flow::Next)
}

/// The source of CONV_LUT_LOAD after all checks: sixteen cells of two bytes in every partition.
pub(crate) fn resolve_lut(x: &Exec<'_>, w: &Decoded) -> Result<Walk, FaultKind> {
    let o = *x.operands::<S2_CONVLUT>(w)?;
    let src = x.tensor("src", &o.src, o.in_dtype, PARTITIONS as u8, Access::Read)?;
    if src.count != LUT_ENTRIES || src.size != 2 {
        let found = format!("{} elements of {} bytes", src.count, src.size);
        return Err(FaultKind::illegal("src", found, "16 elements of 2 bytes"));
    }
    Ok(src)
}

/// CONV_LUT_LOAD, legacy form: a table of sixteen cells for every row of the array, which no word reads (D06-32).
pub fn load_lut(x: &mut Exec<'_>, w: &Decoded) -> Result<Flow, FaultKind> {
    let src = resolve_lut(x, w)?;
    let core = x.core();
    let mut packed = vec![0; src.count * src.size];
    for row in 0..PARTITIONS {
        src.gather(&mut src.start(), core.memory(src.space), row, &mut packed);
        for (slot, b) in core.pe.hidden.lut[row].iter_mut().zip(packed.chunks_exact(2)) {
            *slot = u16::from_le_bytes([b[0], b[1]]);
        }
    }
    Ok(Flow::Next)
}
