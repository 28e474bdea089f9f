//! Wrong results on purpose, see [`Engine::with_defect`](super::Engine::with_defect).

use seqjit_runtime::interp::Exec;
use seqjit_runtime::isa::field::{Addr4, Kind};
use seqjit_runtime::isa::{Decoded, Family};

/// Names of the operand that is changed.
const RESULTS: [&str; 3] = ["dst", "dst0", "data_dst"];

/// Changes what a kernel has just done: the first element of the destination in lane 0, or hidden state where
/// the word has none.
pub(super) fn spoil(x: &mut Exec<'_>, w: &Decoded) {
    let fields = w.operands.layout().def().fields;
    let Some(dst) = fields.iter().find(|f| RESULTS.contains(&f.name) && matches!(f.kind, Kind::Tensor(_)))
    else {
        return spoil_state(x, w);
    };
    let start = Addr4(u32::from_le_bytes(std::array::from_fn(|i| w.word.0[dst.offset + i])));
    let geometry = x.machine.generation.geometry();
    let place = x.start_address(dst.name, start).ok().and_then(|address| geometry.locate(address));
    if let Some(place) = place {
        let row = x.core().memory_mut(place.space).partition_mut(place.partition.into());
        row[place.offset as usize] ^= 1;
    }
}

fn spoil_state(x: &mut Exec<'_>, w: &Decoded) {
    let core = x.core();
    match w.info.family {
        Family::Pe => core.pe.raw.iter_mut().for_each(|bits| *bits ^= 1),
        Family::Activation => core.act.resident = core.act.resident.is_none().then_some(0),
        Family::TensorScalar => core.dve.scalars.0.iter_mut().for_each(|scalars| scalars[0] ^= 1),
        Family::Search => core.dve.search.keys[0] = core.dve.search.keys[0].map(|key| key + 1.0),
        Family::Shuffle => core.dve.mask.0[0] ^= 1,
        Family::BatchNorm => {
            core.dve.batch_norm.ram[0] ^= 1;
            core.dve.batch_norm.params[0].n += 1.0;
        }
        Family::Gather => {
            core.pool.buffer.mask ^= 1;
            core.pool.arguments[0] ^= 1;
        }
        Family::Random => {
            core.pool.random.xorwow[0].0[0] ^= 1;
            core.dve.random.convert[0][0] ^= 1;
        }
        _ => {}
    }
}
