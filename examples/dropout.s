; y = dropout(x) / (1 - p): elements are dropped at random, the others scaled. The seed is an input; the generators go
; on from the first half of a row to the second.

program dropout for cayman
prologue

let N = 64
let p = 0.25

input  x    fp32[128, N]
input  seed uint32[1]
output y    fp32[128, N]
table  addresses = [x, seed, y]

queue qSPDynamicHW dynamic SP

sbuf tx    fp32[N]
sbuf ty    fp32[N]
sbuf tseed uint32[1]

SP load_seed: DMA seed -> tseed
SP load_x:    DMA x -> tx
DVE seed: PSEUDO_SET_RNG_SEED seed_src=PTR seed=tseed   after load_seed
repeat h in 0..2 {
    let half = N/2*h
    DVE drop[h]: DROPOUT src=tx[half :+ N/2] in_dtype=fp32 out_dtype=fp32 num_active_channels=128 threshold_src=INSTRUCTION \
                     threshold_dtype=fp32 threshold_type=0 threshold={bits(p)} dst=ty[half :+ N/2]   after load_x, seed
}
DVE scale: TENSOR_SCALAR ops=MULTIPLY,BYPASS imm={1.0/(1.0 - p)},0 imm_src=INSTRUCTION,INSTRUCTION src=ty dst=ty \
               channels=128   after drop
SP store: DMA ty -> y   after scale
SP        NOP   after store
