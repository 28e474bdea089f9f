; z = xt.T @ y with the contraction split over two cores: each multiplies its half, sends its partial sums into the
; other's state buffer (SB2SB_COLLECTIVE), and adds what it got. Both end with all of z; z[r] is the copy of core r.

program all_reduce for cayman
prologue

let N = 64

input  xt bfloat16[256, 128]
input  y  bfloat16[256, N]
output z  fp32[2, 128, N]

macro rank(r) {
    table addresses = [xt, y, z]
    queue qSPDynamicHW dynamic SP

    sbuf tx   bfloat16[128]
    sbuf ty   bfloat16[N]
    sbuf own  fp32[N]
    sbuf peer fp32[N]
    psum acc  fp32[N]

    SP load_x: DMA xt[128*r :+ 128] -> tx
    SP load_y: DMA y[128*r :+ 128] -> ty
    PE         LDWEIGHTS transpose_mode=DISABLED src=tx[::-1] 128*128   after load_x
    PE mm:     MATMUL acc_flags=3 src=ty dst=acc 128*128   after load_y
    ACT own:   COPY src=acc dst=own channels=128   after mm
    ; Both cores come to this word; it is done when the other's sums are here.
    POOL swap: SB2SB_COLLECTIVE in_dtype=fp32 out_dtype=fp32 src=own lnc_size_fmt=LNC2 num_active_channels=128 \
                   dst=peer   after own
    DVE sum:   TENSOR_TENSOR op=ADD src0=own src1=peer dst=own channels=128   after swap
    SP  store: DMA own -> z[r]   after sum
    SP         NOP   after store
}

core sg00 {
    rank(0)
}
core sg01 {
    rank(1)
}
