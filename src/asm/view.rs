//! Views: strided parts of tiles and of variables, as indexing makes them.

use seqjit_runtime::isa::Dtype;

/// Where the bytes of a view are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Memory {
    /// In the state buffer, from partition 0.
    Sbuf,
    /// In PSUM, from partition 0.
    Psum,
    /// In the variable of this id.
    Variable(u32),
}

/// One dimension.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Dim {
    pub count: i64,
    /// Bytes; a multiple of the element's size.
    pub step: i64,
}

/// A strided part of a tile or variable. The dimensions of a tile are those inside a partition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct View {
    pub memory: Memory,
    /// Of the first element: the on-chip address, or the bytes from the start of the variable.
    pub offset: i64,
    pub dtype: Dtype,
    /// Outermost first.
    pub dims: Vec<Dim>,
}

impl View {
    /// The whole of a row-major array; `None` if its size overflows.
    pub fn whole(memory: Memory, offset: i64, dtype: Dtype, counts: &[i64]) -> Option<View> {
        let mut step = dtype.bytes() as i64;
        let mut dims = Vec::new();
        for count in counts.iter().rev() {
            dims.push(Dim { count: *count, step });
            step = step.checked_mul(*count)?;
        }
        dims.reverse();
        Some(View { memory, offset, dtype, dims })
    }

    pub fn on_chip(&self) -> bool {
        !matches!(self.memory, Memory::Variable(_))
    }

    /// Elements; views are inside arrays or repeat them a limited number of times, so that this fits.
    pub fn elements(&self) -> i64 {
        self.dims.iter().map(|d| d.count).product()
    }

    /// Bytes of one element.
    pub fn element(&self) -> i64 {
        self.dtype.bytes() as i64
    }

    /// Removes a dimension of one element or joins two that are one walk, until `limit` are left.
    /// `None` if that does not succeed.
    pub fn squeezed(&self, limit: usize) -> Option<Vec<Dim>> {
        let mut dims = self.dims.clone();
        while dims.len() > limit {
            if let Some(at) = dims.iter().position(|d| d.count == 1) {
                dims.remove(at);
                continue;
            }
            let joins = |pair: &[Dim]| pair[0].step == pair[1].step * pair[1].count;
            let at = dims.windows(2).position(joins)?;
            dims[at + 1].count *= dims[at].count;
            dims.remove(at);
        }
        Some(dims)
    }
}
