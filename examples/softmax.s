; y = softmax(x) over the rows of x, 128 rows at a time.
;
;   DVE  row maximum (negated), row sum, its reciprocal, the scaling
;   ACT  exp(x - maximum)
;   SP   loads and stores

program softmax for cayman
prologue

let T = 2           ; tiles of 128 rows
let N = 128         ; columns

input  x fp32[T*128, N]
output y fp32[T*128, N]
table  addresses = [x, y]

activation exponential(exp)
queue qSPDynamicHW dynamic SP

sbuf tx  fp32[T, N]
sbuf ty  fp32[T, N]
sbuf max fp32[T]
sbuf sum fp32[T]
sbuf inv fp32[T]

ACT ACT_TABLE_LOAD table_sel=0
repeat t in 0..T {
    SP load[t]: DMA x[128*t :+ 128] -> tx[t]
}
repeat t in 0..T {
    DVE max[t]:   TENSOR_REDUCE op=MAX dim=X negated=1 src=tx[t] dst=max[t] channels=128   after load[t]
    ACT exp[t]:   ACTIVATE EXP bias_ptr=max[t] src=tx[t] dst=ty[t] channels=128 scale=1.0 accumulator_cmd=IDLE \
                      after max[t]
    DVE sum[t]:   TENSOR_REDUCE op=ADD dim=X src=ty[t] dst=sum[t] channels=128   after exp[t]
    DVE inv[t]:   RECIPROCAL src=sum[t] dst=inv[t] channels=128   after sum[t]
    DVE scale[t]: TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=inv[t],0 imm_src=PTR,INSTRUCTION \
                      src=ty[t] dst=ty[t] channels=128   after inv[t]
    SP  store[t]: DMA ty[t] -> y[128*t :+ 128]   after scale[t]
}
SP NOP after store
