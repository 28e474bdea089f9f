//! The loops of a lane-local word: several tensors walked together, lanes outermost.

use seqjit_runtime::isa::{Dtype, Tensor};

use super::Refusal;

/// Elements of a row from which on a kernel, whose vectors are as wide as the CPU has them, is faster than generated
/// code in spite of its calls.
const LONG_ROW: usize = 128;

/// Whether the elements of a lane make one row that is long enough for a kernel.
pub fn is_long_row<const N: usize>(tensor: &Tensor<N>, dtype: Dtype) -> bool {
    let dims = Dims::of(tensor, dtype.bytes());
    dims.count() >= LONG_ROW && dims.is_contiguous(dtype.bytes())
}

/// One loop: how often, and the step of each operand in bytes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Loop {
    /// Iterations, at least 1.
    pub count: usize,
    /// Bytes per iteration, one an operand.
    pub steps: Vec<i64>,
}

/// The dimensions of one operand, innermost first: elements, and bytes from one to the next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Dims(Vec<(usize, i64)>);

impl Dims {
    /// Of a tensor operand with elements of `size` bytes. Dimensions of one element do not matter.
    pub fn of<const N: usize>(tensor: &Tensor<N>, size: usize) -> Dims {
        let dims = tensor.num.iter().zip(tensor.step).filter(|(num, _)| **num != 1);
        Dims(dims.map(|(num, step)| (usize::from(*num), i64::from(step) * size as i64)).collect())
    }

    /// Elements.
    pub fn count(&self) -> usize {
        self.0.iter().map(|(count, _)| count).product()
    }

    /// Whether the elements, of `size` bytes, lie one behind the other, ascending.
    pub fn is_contiguous(&self, size: usize) -> bool {
        let mut below = size as i64;
        self.0.iter().all(|(count, step)| {
            let continues = *step == below;
            below *= *count as i64;
            continues
        })
    }

    /// Dimensions of more than one element.
    pub fn rank(&self) -> usize {
        self.0.len()
    }

    /// Elements and step in bytes of each dimension, innermost first.
    pub fn iter(&self) -> impl Iterator<Item = (usize, i64)> + '_ {
        self.0.iter().copied()
    }

    /// The step of a stretch of the loop nest that starts behind `inner` elements; `None` where it does not
    /// lie in one dimension or does not start at a multiple of the dimension's elements.
    fn step_behind(&self, inner: usize, count: usize) -> Option<i64> {
        let mut below = 1;
        for (elements, step) in &self.0 {
            let above = below * elements;
            if inner < above {
                let fits = inner.is_multiple_of(below) && above.is_multiple_of(inner * count);
                return fits.then_some(*step * (inner / below) as i64);
            }
            below = above;
        }
        None
    }
}

/// The loops that walk all operands at once, innermost first, in the fewest dimensions; `None` where the
/// operands' dimensions do not nest: 6 elements as 2 x 3 and as 3 x 2, for instance.
///
/// # Errors
/// Where the operands do not have the same number of elements.
pub fn common(operands: &[Dims]) -> Result<Option<Vec<Loop>>, Refusal> {
    let total = operands.first().map_or(1, Dims::count);
    if operands.iter().any(|dims| dims.count() != total) {
        return Err(Refusal::Dimensions);
    }
    Ok(nested(operands))
}

fn nested(operands: &[Dims]) -> Option<Vec<Loop>> {
    let mut ends: Vec<usize> = operands.iter().flat_map(ends).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut loops: Vec<Loop> = Vec::new();
    let mut inner = 1;
    for end in ends {
        if !end.is_multiple_of(inner) {
            return None;
        }
        let count = end / inner;
        let steps: Option<Vec<i64>> = operands.iter().map(|dims| dims.step_behind(inner, count)).collect();
        let steps = steps?;
        inner = end;
        match loops.last_mut() {
            Some(last) if continues(last, &steps) => last.count *= count,
            _ => loops.push(Loop { count, steps }),
        }
    }
    Some(loops)
}

/// Elements up to the end of each dimension.
fn ends(dims: &Dims) -> impl Iterator<Item = usize> + '_ {
    dims.0.iter().scan(1, |below, (count, _)| {
        *below *= count;
        Some(*below)
    })
}

/// Whether a loop with these steps around `inner` is the same as a longer `inner`.
fn continues(inner: &Loop, steps: &[i64]) -> bool {
    inner.steps.iter().zip(steps).all(|(inside, step)| *step == inside * inner.count as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use seqjit_runtime::isa::field::Addr4;

    fn dims<const N: usize>(step: [i16; N], num: [u16; N]) -> Dims {
        Dims::of(&Tensor { start: Addr4(0), step, num }, 4)
    }

    fn of(count: usize, steps: &[i64]) -> Loop {
        Loop { count, steps: steps.to_vec() }
    }

    #[test]
    fn contiguous_operands_are_one_loop() {
        let operands = [dims([1, 8, 32], [8, 4, 2]), dims([1, 1, 1], [64, 1, 1])];
        assert_eq!(common(&operands).unwrap().unwrap(), [of(64, &[4, 4])]);
    }

    #[test]
    fn dimensions_are_cut_where_any_operand_turns() {
        let operands = [dims([1, 100], [8, 4]), dims([-1, 0], [16, 2])];
        let expected = [of(8, &[4, -4]), of(2, &[400, -32]), of(2, &[800, 0])];
        assert_eq!(common(&operands).unwrap().unwrap(), expected);
    }

    #[test]
    fn one_element_needs_no_loop() {
        assert_eq!(common(&[dims([1, 5], [1, 1]), dims([0, 0], [1, 1])]).unwrap().unwrap(), []);
    }

    #[test]
    fn what_does_not_nest_has_no_loops() {
        assert_eq!(common(&[dims([1, 9], [2, 3]), dims([1, 9], [3, 2])]), Ok(None));
        assert_eq!(common(&[dims([1, 9], [2, 3]), dims([1, 9], [2, 4])]), Err(Refusal::Dimensions));
    }
}
