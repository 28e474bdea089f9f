; y = conv(x, w) + bias: 3 x 3, valid, 128 to 128 channels, bfloat16 with fp32 sums.
;
; A convolution is nine products: tap (i, j) multiplies its [in, out] matrix of weights by the 14 x 14 window of the
; image that starts at (i, j). The weights come as [out, in, 3, 3]; PE transposes the nine matrices, which it reads
; with a step of nine elements.

program conv3x3 for cayman
prologue

let H = 16
let W = 16
let h = H - 2
let w = W - 2

input  x    bfloat16[128, H, W]
input  wt   bfloat16[128, 128, 3, 3]
input  bias fp32[128]
output y    bfloat16[128, h, w]
const  eye  bfloat16[128, 128] = identity
table  addresses = [x, wt, bias, y, eye]

queue qSPDynamicHW  dynamic SP
queue qActDynamicHW dynamic ACT

sbuf identity bfloat16[128]
sbuf image    bfloat16[H, W]
sbuf raw      bfloat16[128, 9]      ; out on the partitions: in, tap
sbuf taps     bfloat16[9, 128]      ; in on the partitions: tap, out
sbuf tb       fp32[1]
sbuf ty       bfloat16[h, w]
psum turned   bfloat16[2, 1024]     ; one bank for each of two transposes in flight
psum acc      fp32[h, w]

SP  load_eye:  DMA eye -> identity
SP  load_w:    DMA wt -> raw
ACT load_x:    DMA x -> image
ACT load_bias: DMA bias -> tb

PE EVENT_SEMAPHORE after load_eye, load_w
repeat t in 0..9 {
    ; A transpose writes cells as wide as its input, so the bank holds 2-byte cells.
    PE           LDWEIGHTS transpose_mode=ENABLED src=raw[::-1, t] 128*128   after turn[t - 2]?
    PE flip[t]:  MATMUL acc_flags=3 src=identity dst=turned[t % 2, 0:128] 128*128 +transpose_mode=1
    DVE turn[t]: COPY src=turned[t % 2, 0:128] dst=taps[t] channels=128   after flip[t]
}
repeat t in 0..9 {
    let i = t / 3
    let j = t % 3
    PE        LDWEIGHTS transpose_mode=DISABLED src=taps[t, ::-1] 128*128   after turn[t]
    PE mm[t]: MATMUL acc_flags={(t == 0) + 2*(t == 8)} src=image[i :+ h, j :+ w] dst=acc 128*128   after load_x
}
DVE add:   TENSOR_TENSOR op=ADD src0=acc src1=tb[0, *h, *w] dst=ty channels=128   after mm[8], load_bias
SP  store: DMA ty -> y   after add
SP         NOP   after store
