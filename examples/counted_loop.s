; y = x[0] + 2 x[1] + 4 x[2] + ... over the T tiles of x, by Horner's rule from the last one: a loop that runs, with its
; counter and the address of the tile in registers. DRAIN waits for the words in flight, so that a turn sees what
; the one before it has written.

program counted_loop for cayman
prologue

let T = 8
let N = 16

input  x fp32[128, T*N]
output y fp32[128, N]
table  addresses = [x, y]

queue qSPDynamicHW dynamic SP

sbuf tx fp32[T, N]
sbuf ty fp32[N]

SP load: DMA x -> tx

DVE {
    MEMSET value=0x0 dst=ty channels=128
    ; R8 is the address of the tile, R9 the number of tiles left.
    MOVE data={tx[T - 1]},{T} dst=$R[8],$R[9] dtype=uint32
    NOP   after load

    turn: DRAIN
    SCALAR_TENSOR_TENSOR_ARITH src0=ty src1=$R[8][1,0][{N},1] op0=MULTIPLY op1=ADD reverse_operands=NONE \
        imm0_src=INSTRUCTION src_dtype=fp32,fp32 out_dtype=fp32 num_active_channels=128 imm0_dtype=fp32 \
        accumulator_cmd=IDLE dst=ty imm0={bits(2)}
    ALU_OP op=SUBTRACT dtype=uint32 src1_datasrc=IMMEDIATE dst_dtype=uint32 src0_lo=8 dst_lo=8 immediate={4*N}
    ALU_OP op=SUBTRACT dtype=uint32 src1_datasrc=IMMEDIATE dst_dtype=uint32 src0_lo=9 dst_lo=9 immediate=1
    COMPARE_BRANCH cmp_op=GT dtype=int32 cmp0=$R[9] cmp1=0 label_id=turn
    done: DRAIN
}
SP store: DMA ty -> y   after done
SP        NOP   after store
