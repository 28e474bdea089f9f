//! The words of a device image against those of the container.

use seqjit_runtime::interp::Instruction;
use seqjit_runtime::interp::dma::lowered;
use seqjit_runtime::isa::layouts::DMA_DIRECT2D;
use seqjit_runtime::isa::{Addr8Form, EngineId, Layout, Word, op};

use super::error::ReplayError;
use crate::trace::EngineImage;

/// Where the recorded run had a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    /// Variable id.
    pub id: u16,
    /// SoC address of its byte 0.
    pub address: u64,
}

/// Checks that an image holds the stream of a container, lowered, and tells where the recorded run had the
/// variables that its generated DMA names: the loader made them absolute, table operands it left alone
/// (chapter 10 section 5).
pub(super) fn pair(
    graph: &str,
    engine: EngineId,
    image: &EngineImage,
    stream: &[Instruction],
) -> Result<Vec<Placed>, ReplayError> {
    let mut placed = Vec::new();
    let mut found = 0;
    for (slot, (word, origin)) in image.words.iter().zip(&image.origin).enumerate() {
        let Some(origin) = *origin else { continue };
        found += 1;
        let theirs = stream.get(origin);
        if theirs.is_some_and(|theirs| theirs.word() == word) {
            continue;
        }
        let pseudo = theirs.and_then(|theirs| theirs.body.as_ref().ok()).filter(|d| d.info.is_pseudo());
        match (theirs, pseudo) {
            (Some(theirs), Some(d)) if d.info.byte == op::PSEUDO_DMA_DIRECT2D => {
                let here = lowering(word, theirs.word());
                placed.extend(here.ok_or_else(|| foreign(graph, engine, slot, origin))?);
            }
            (_, Some(d)) => {
                let (graph, opcode) = (graph.to_owned(), d.info.display);
                return Err(ReplayError::Lowered { graph, engine, origin, opcode });
            }
            _ => return Err(foreign(graph, engine, slot, origin)),
        }
    }
    // The loader deletes the container's CC (chapter 10 section 7).
    let kept = stream.iter().filter(|i| i.word().opcode() != op::PSEUDO_BRANCH_LABEL).count();
    if found != kept {
        return Err(ReplayError::Missing { graph: graph.to_owned(), engine, found, expected: kept });
    }
    Ok(placed)
}

fn foreign(graph: &str, engine: EngineId, slot: usize, origin: usize) -> ReplayError {
    ReplayError::Foreign { graph: graph.to_owned(), engine, slot, origin }
}

/// The variables that lowering made absolute; `None` if `device` is not what `container` becomes.
fn lowering(device: &Word, container: &Word) -> Option<Vec<Placed>> {
    let expected = lowered(container);
    let mut want = DMA_DIRECT2D::read(&expected);
    let got = DMA_DIRECT2D::read(device);
    let mut placed = Vec::new();
    for (want, got) in
        [(&mut want.src_start_addr, got.src_start_addr), (&mut want.dst_start_addr, got.dst_start_addr)]
    {
        if let Addr8Form::Variable { id, offset } = want.form() {
            let Addr8Form::Immediate(address) = got.form() else { return None };
            placed.push(Placed { id, address: address.checked_sub(offset.into())? });
            *want = got;
        }
    }
    (expected.0[..12] == device.0[..12] && want == got).then_some(placed)
}
