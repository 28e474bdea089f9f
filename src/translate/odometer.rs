//! Walking operands whose dimensions do not nest: one loop over all elements, each operand with counters of
//! its own. Slower than a loop nest, and rare.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::types::I64;
use cranelift_codegen::ir::{BlockArg, InstBuilder, Value};

use super::emit::Emit;
use super::nest::Dims;

/// Calls `body` with the pointers of each element in walk order, starting from those of element 0.
pub fn walk(
    e: &mut Emit<'_>,
    operands: &[Dims],
    pointers: &[Value],
    body: &mut dyn FnMut(&mut Emit<'_>, &[Value]),
) {
    let total: usize = operands.first().map_or(1, Dims::count);
    let (head, exit) = (e.b.create_block(), e.b.create_block());
    let left = e.b.ins().iconst(I64, total as i64);
    let zero = e.b.ins().iconst(I64, 0);
    let counters = operands.iter().map(Dims::rank).sum();
    let first = [left].into_iter().chain(pointers.iter().copied()).chain(std::iter::repeat_n(zero, counters));
    let first: Vec<BlockArg> = first.map(BlockArg::from).collect();
    e.b.ins().jump(head, &first);
    e.b.switch_to_block(head);
    let mut params = first.iter().map(|_| e.b.append_block_param(head, I64)).collect::<Vec<_>>().into_iter();
    let left = params.next().unwrap_or(left);
    let here: Vec<Value> = params.by_ref().take(pointers.len()).collect();
    let counters: Vec<Value> = params.collect();

    body(e, &here);
    let mut next = vec![e.b.ins().iadd_imm_s(left, -1)];
    let mut advanced = Vec::new();
    let mut rest = counters.as_slice();
    for (dims, at) in operands.iter().zip(&here) {
        let (own, others) = rest.split_at(dims.rank());
        rest = others;
        next.push(advance(e, dims, *at, own, &mut advanced));
    }
    let again = next[0];
    let args: Vec<BlockArg> = next.into_iter().chain(advanced).map(BlockArg::from).collect();
    e.b.ins().brif(again, head, &args, exit, &[]);
    e.b.seal_block(head);
    e.b.switch_to_block(exit);
    e.b.seal_block(exit);
}

/// The pointer to the next element; the counters of the dimensions, innermost first, are added to `advanced`.
fn advance(e: &mut Emit<'_>, dims: &Dims, at: Value, counters: &[Value], advanced: &mut Vec<Value>) -> Value {
    let mut at = at;
    // Whether the dimension inside has come to its end; the innermost one always steps.
    let mut carry: Option<Value> = None;
    let mut undo = 0;
    for ((count, step), counter) in dims.iter().zip(counters) {
        let stepped = e.b.ins().iadd_imm_s(*counter, 1);
        let moved = e.b.ins().iadd_imm_s(at, step - undo);
        let (counter, moved) = match carry {
            None => (stepped, moved),
            Some(carry) => (e.b.ins().select(carry, stepped, *counter), e.b.ins().select(carry, moved, at)),
        };
        at = moved;
        let end = e.b.ins().icmp_imm_s(IntCC::Equal, counter, count as i64);
        let zero = e.b.ins().iconst(I64, 0);
        advanced.push(e.b.ins().select(end, zero, counter));
        carry = Some(end);
        undo = step * count as i64;
    }
    at
}
