; c = at.T @ b with microscaled operands: fp8 (e4m3) elements, four of the contraction side by side in a row, and an
; e8m0 scale for every eight rows of them.

program matmul_mx for mariana
prologue

let K = 2           ; contraction tiles of 128 rows, 512 elements
let M = 64
let N = 32

; Rows of the array, columns or positions, lanes.
input  at uint8[K*128, M, 4]
input  b  uint8[K*128, N, 4]
; Scales of eight rows, contraction tiles, columns or positions.
input  sat uint8[16, K, M]
input  sb  uint8[16, K, N]
output c  fp32[M, N]
table  addresses = [at, b, sat, sb, c]

queue qSPDynamicHW dynamic SP

sbuf ta  uint8[K, M, 4]
sbuf tb  uint8[K, N, 4]
sbuf tsa uint8[K, M] at 0x5000
sbuf tsb uint8[K, N] at 0x5000
sbuf tc  fp32[N] at 0x6000
psum acc fp32[N]

; Every 32 partitions hold the scales of their own rows: those of at in the first four, those of b in the next.
repeat q in 0..4 {
    sbuf qa uint8[K, M] at tsa + 32*q*0x40000
    sbuf qb uint8[K, N] at tsb + (32*q + 4)*0x40000
    SP scale_a[q]: DMA sat[4*q :+ 4] -> qa
    SP scale_b[q]: DMA sb[4*q :+ 4] -> qb
}
repeat k in 0..K {
    SP load_a[k]: DMA at[128*k :+ 128] -> ta[k]
    SP load_b[k]: DMA b[128*k :+ 128] -> tb[k]
    PE weights[k]: LDWEIGHTS_MX src={ta[k]},{tsa[k]}[{4*M},1,0] in_dtype=fp8_e4m3 \
        num_active_rows=128 num_active_cols=M row_grp=15 col_grp=15   after load_a[k], scale_a
    PE mm[k]: MATMUL_MX src={tb[k]},{tsb[k]}[{4*N},1,4] in_dtype=fp8_e4m3 \
        num_active_rows=128 num_active_cols=M out_dtype=fp32 psum_accumulate_flags={(k == 0) + 2*(k == K - 1)} \
        row_grp=15 col_grp=15 psum_zero_region=0 dst=acc   after load_b[k], scale_b, mm[k - 1]?
}
ACT copy:  COPY src=acc dst=tc channels=M   after mm[K - 1]
SP  store: DMA tc -> c   after copy
SP         NOP   after store
