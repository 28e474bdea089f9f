; y = x / sqrt(mean(x^2) + eps) * g over the rows of x.
;
;   ACT   squares, reciprocal square root
;   DVE   sum of squares, mean + eps, both scalings
;   POOL  fetches g once for every partition
;   SP    loads and stores

program rmsnorm for cayman
prologue

let N = 256
let eps = 1e-5

input  x fp32[128, N]
input  g fp32[N]
output y fp32[128, N]
table  addresses = [x, g, y]

activation norm(square, reciprocal_sqrt)
queue qSPDynamicHW dynamic SP
queue qPoolDynamic dynamic POOL

sbuf tx      fp32[N]
sbuf tg      fp32[N]
sbuf ty      fp32[N]
sbuf squares fp32[N]
sbuf zero    fp32[1]
sbuf sum     fp32[1]
sbuf mean    fp32[1]
sbuf inv     fp32[1]

POOL load_g: DMA g[*128, :] -> tg
SP   load_x: DMA x -> tx

; ACTIVATE takes its bias from memory: a zero for functions that need none.
DVE clear:  MEMSET value=0x0 dst=zero channels=128
ACT         ACT_TABLE_LOAD table_sel=0
ACT square: ACTIVATE SQUARE bias_ptr=zero src=tx dst=squares channels=128 scale=1.0 accumulator_cmd=IDLE \
                after load_x, clear
DVE sum:    TENSOR_REDUCE op=ADD dim=X src=squares dst=sum channels=128   after square
DVE mean:   TENSOR_SCALAR ops=MULTIPLY,ADD imm={1.0/N},{eps} imm_src=INSTRUCTION,INSTRUCTION \
                src=sum dst=mean channels=128   after sum
ACT inv:    ACTIVATE RECIPROCAL_SQRT bias_ptr=zero src=mean dst=inv channels=128 scale=1.0 accumulator_cmd=IDLE \
                after mean
DVE scale:  TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=inv,0 imm_src=PTR,INSTRUCTION src=tx dst=ty channels=128 \
                after inv
DVE weight: TENSOR_TENSOR op=MULTIPLY src0=ty src1=tg dst=ty channels=128   after scale, load_g
SP  store:  DMA ty -> y   after weight
SP          NOP   after store
