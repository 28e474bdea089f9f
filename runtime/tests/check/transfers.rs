//! Generated DMA, words between cores, functions, lists of semaphores, and compression: legal words, and words
//! that break one rule each (chapter 02 section 8.19, chapter 05 section 9, chapter 06 sections 4, 6 and 10, chapter
//! 07 section 9.1).

mod cores;
mod dma;
mod lists;

use crate::legal::{POOL_C, PSUM, SP_C, line};
use crate::{Case, Place, error, patch, word};
use seqjit_runtime::isa::EngineId::{Dve, Pool, Sp};
use seqjit_runtime::isa::Generation::{Mariana, Maverick};
use seqjit_runtime::isa::field::*;
use seqjit_runtime::isa::layouts::*;
use seqjit_runtime::isa::{AluOp, Dtype, Tensor, Word, op};

use cores::*;
pub use cores::{collective, triggered};
use dma::*;
use lists::*;

const SP_M: Place = Place(Mariana, Sp);

const DVE_M: Place = Place(Mariana, Dve);

const POOL_V: Place = Place(Maverick, Pool);

/// Legal words.
pub fn words() -> Vec<(&'static str, Place, Word)> {
    vec![
        ("BB", POOL_C, word(op::DMA_INDIRECT, indirect())),
        ("BD", SP_C, word(op::DMA_TRANSPOSE, transpose())),
        ("F1", POOL_C, word(op::DMA_GATHER_TRANSPOSE, gather_transpose())),
        ("B9", POOL_V, word(op::DMA_MEMCPY2, copy2d())),
        ("BF", POOL_C, word(op::SB2SB_COLLECTIVE, exchange())),
        ("C8", SP_C, triggered(collective())),
        ("F0 8", POOL_C, word(op::EXTENDED_INST, remote())),
        ("F0 9", POOL_C, patch(Word::new(op::EXTENDED_INST), 12, &[9])),
        ("D1", SP_C, word(op::PSEUDO_FUNCTION_BEGIN, begin())),
        ("D2", SP_C, Word::new(op::PSEUDO_FUNCTION_RETURN)),
        ("D3", SP_C, call(b"main.body")),
        ("D5", SP_C, Word::new(op::PSEUDO_SYNC_BARRIER)),
        ("D8", SP_C, word(op::PSEUDO_CORE_BARRIER, PSEUDO_CORE_BARRIER { id: 1, semaphore: 2 })),
        ("C3", SP_C, patch(Word::new(op::PSEUDO_DMABARRIER), 12, &[1])),
        ("DD", SP_C, Word::new(op::PSEUDO_BRANCH_PREFETCH_HINT)),
        ("DE", SP_C, Word::new(op::PSEUDO_TENSOR_COMPLETION)),
        ("DF", SP_C, patch(Word::new(op::PSEUDO_INST), 12, &[1])),
        ("B4", SP_M, word(op::TEST_EVENT_SEM, test_events())),
        ("E0", DVE_M, word(op::SPARSITY_COMPRESS, compress())),
        ("E1", DVE_M, word(op::SPARSITY_COMPRESS_TAG, compress_tag())),
    ]
}

/// Words that break one rule each.
pub fn cases() -> Vec<Case> {
    [indirect_cases(), tile_cases(), copy_cases(), core_cases(), list_cases(), compress_cases()]
        .into_iter()
        .flatten()
        .collect()
}
