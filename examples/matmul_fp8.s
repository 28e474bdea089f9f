; c = at.T @ b with fp8 (e4m3) operands, products summed in fp32, no rounding of the result.

program matmul_fp8 for cayman
prologue

let K = 2           ; contraction tiles of 128
let N = 64

input  at uint8[K*128, 128]
input  b  uint8[K*128, N]
output c  fp32[128, N]
table  addresses = [at, b, c]

queue qSPDynamicHW dynamic SP

; Hosts have no fp8: inputs are bytes, moved as they are to where the fp8 tiles lie.
sbuf bytes_a uint8[K, 128] at 0x4000
sbuf ta   fp8_e4m3[K, 128] at 0x4000
sbuf bytes_b   uint8[K, N] at 0x5000
sbuf tb     fp8_e4m3[K, N] at 0x5000
sbuf tc            fp32[N] at 0x6000
psum acc fp32[N]

repeat k in 0..K {
    SP load_a[k]: DMA at[128*k :+ 128] -> bytes_a[k]
    SP load_b[k]: DMA b[128*k :+ 128] -> bytes_b[k]
    PE            LDWEIGHTS transpose_mode=DISABLED src=ta[k][::-1] 128*128   after load_a[k]
    PE mm[k]:     MATMUL acc_flags={(k == 0) + 2*(k == K - 1)} src=tb[k] dst=acc 128*128   after load_b[k]
}
ACT copy:  COPY src=acc dst=tc channels=128   after mm[K - 1]
SP  store: DMA tc -> c   after copy
SP         NOP   after store
