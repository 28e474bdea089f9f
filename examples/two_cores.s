; z = x @ y on two cores: each makes half of the columns of z. Inputs and outputs of both are the same buffers;
; everything else, from the tiles to the semaphores, is each core's own.

program two_cores for cayman
prologue

let K = 2           ; contraction tiles of 128
let N = 256         ; columns of z
let half = N/2

input  xt bfloat16[K*128, 128]
input  y  bfloat16[K*128, N]
output z  bfloat16[128, N]

macro product(first) {
    table addresses = [xt, y, z]
    queue qSPDynamicHW dynamic SP

    sbuf tx  bfloat16[K, 128]
    sbuf ty  bfloat16[K, half]
    sbuf tz  bfloat16[half]
    psum acc fp32[half]

    repeat k in 0..K {
        SP load_x[k]: DMA xt[128*k :+ 128] -> tx[k]
        SP load_y[k]: DMA y[128*k :+ 128, first :+ half] -> ty[k]
        PE            LDWEIGHTS transpose_mode=DISABLED src=tx[k][::-1] 128*128   after load_x[k]
        PE mm[k]:     MATMUL acc_flags={(k == 0) + 2*(k == K - 1)} src=ty[k] dst=acc 128*128   after load_y[k]
    }
    ACT cast:  CAST src=acc dst=tz channels=128   after mm[K - 1]
    SP  store: DMA tz -> z[:, first :+ half]   after cast
    SP         NOP   after store
}

core sg00 {
    product(0)
}
core sg01 {
    product(half)
}
