; out = a + b, one tile.
;
;   SP   loads both operands and stores the sum through its queue of generated DMA
;   DVE  adds

program vector_add for cayman
prologue

input  a   fp32[128, 64]
input  b   fp32[128, 64]
output out fp32[128, 64]
table  addresses = [a, b, out]

queue qSPDynamicHW dynamic SP

sbuf ta  fp32[64]
sbuf tb  fp32[64]
sbuf sum fp32[64]

SP  load_a: DMA a -> ta
SP  load_b: DMA b -> tb
DVE add:    TENSOR_TENSOR op=ADD src0=ta src1=tb dst=sum channels=128   after load_a, load_b
SP  store:  DMA sum -> out   after add
SP          NOP   after store
