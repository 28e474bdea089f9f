; y = (x - mean) / sqrt(variance + eps) * g + b over the rows of x.
;
;   DVE   moments of the halves of a row (BATCH_NORM_STATS2), merged to mean and variance (BATCH_NORM_AGGREGATE);
;         normalising, weight, bias
;   ACT   reciprocal square root
;   POOL  fetches g and b once for every partition
;   SP    loads and stores

program layernorm for cayman
prologue

let N = 64
let C = 2           ; parts of a row whose moments are taken apart
let n = N/C
let eps = 1e-5

input  x fp32[128, N]
input  g fp32[N]
input  b fp32[N]
output y fp32[128, N]
table  addresses = [x, g, b, y]

activation inverse(reciprocal_sqrt)
queue qSPDynamicHW dynamic SP
queue qPoolDynamic dynamic POOL

sbuf tx      fp32[N]
sbuf tg      fp32[N]
sbuf tb      fp32[N]
sbuf ty      fp32[N]
sbuf zero    fp32[1]
sbuf stats   fp32[C, 6]     ; count, mean and sum of squared deviations of even and of odd elements
sbuf moments fp32[2]        ; mean, variance
sbuf shifted fp32[1]
sbuf inv     fp32[1]

POOL load_g: DMA g[*128, :] -> tg
POOL load_b: DMA b[*128, :] -> tb
SP   load_x: DMA x -> tx

DVE clear:  MEMSET value=0x0 dst=zero channels=128
ACT         ACT_TABLE_LOAD table_sel=0
repeat c in 0..C {
    ; The word copies the counts that it is given.
    DVE stats[c]: BATCH_NORM_STATS2 src=tx[n*c :+ n] in_dtype=fp32 out_dtype=fp32 num_active_channels=128 \
                      even_count={(n + 1)/2} odd_count={n/2} dst=stats[c]   after load_x
}
DVE merge:  BATCH_NORM_AGGREGATE src=stats in_dtype=fp32 out_dtype=fp32 num_active_channels=128 dst=moments \
                after stats
DVE shift:  TENSOR_SCALAR ops=ADD,BYPASS imm={eps},0 imm_src=INSTRUCTION,INSTRUCTION src=moments[1] dst=shifted \
                channels=128   after merge
ACT inv:    ACTIVATE RECIPROCAL_SQRT bias_ptr=zero src=shifted dst=inv channels=128 scale=1.0 accumulator_cmd=IDLE \
                after shift, clear
DVE scale:  TENSOR_SCALAR ops=SUBTRACT,MULTIPLY imm={moments[0]},{inv} imm_src=PTR,PTR src=tx dst=ty channels=128 \
                after inv
DVE weight: TENSOR_TENSOR op=MULTIPLY src0=ty src1=tg dst=ty channels=128   after scale, load_g
DVE bias:   TENSOR_TENSOR op=ADD src0=ty src1=tb dst=ty channels=128   after weight, load_b
SP  store:  DMA ty -> y   after bias
SP          NOP   after store
