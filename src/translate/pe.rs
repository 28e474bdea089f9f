//! The PE array (chapter 05 section 2), in the kernels of the runtime.

use seqjit_runtime::kernels::pe::{LoadWeights, MatMul};
use seqjit_runtime::kernels::pe_sparse::SparseMatMul;
use seqjit_runtime::kernels::pe_state::{Seeds, Tables, Tags};

use super::Kernel;

/// The kernel of a word that only its operands decide.
macro_rules! always {
    ($word:ty) => {
        Kernel {
            bind: |x, w| {
                let word = <$word>::bind(x, w)?;
                Ok(Box::new(move |x| {
                    word.run(x);
                    true
                }))
            },
        }
    };
}

/// The kernel of a word that has to go with what the array holds, which shows when it runs.
macro_rules! if_it_fits {
    ($word:ty) => {
        Kernel {
            bind: |x, w| {
                let word = <$word>::bind(x, w)?;
                Ok(Box::new(move |x| word.run(x)))
            },
        }
    };
}

/// LDWEIGHTS.
pub const fn ldweights() -> Kernel {
    always!(LoadWeights)
}

/// MATMUL.
pub const fn matmul() -> Kernel {
    if_it_fits!(MatMul)
}

/// LDTAGS (section 2.6).
pub const fn ldtags() -> Kernel {
    always!(Tags)
}

/// MATMUL_SPARSE (section 2.6).
pub const fn matmul_sparse() -> Kernel {
    if_it_fits!(SparseMatMul)
}

/// PE_MANAGE_SEED (section 2.8).
pub const fn manage_seed() -> Kernel {
    always!(Seeds)
}

/// CONV_LUT_LOAD (chapter 06 section 9.4).
pub const fn load_lut() -> Kernel {
    always!(Tables)
}
