; c = a @ b in bfloat16 with fp32 sums. a comes transposed, so that the contraction lies on the partitions.
;
; 256 x 512 times 512 x 512: two tiles of rows, each a chain of four products in one PSUM bank.

program matmul_bf16 for cayman
prologue

let M = 2           ; row tiles of 128
let K = 4           ; contraction tiles of 128
let N = 512         ; columns: what a PSUM bank holds

input  at bfloat16[K*128, M*128]
input  b  bfloat16[K*128, N]
output c  bfloat16[M*128, N]
table  addresses = [at, b, c]

queue qSPDynamicHW  dynamic SP
queue qActDynamicHW dynamic ACT

sbuf ta  bfloat16[K, M*128]
sbuf tb  bfloat16[K, N]
sbuf tc  bfloat16[M, N]
psum acc fp32[M, N]

repeat k in 0..K {
    SP  load_a[k]: DMA at[128*k :+ 128] -> ta[k]
    ACT load_b[k]: DMA b[128*k :+ 128] -> tb[k]
}
repeat m in 0..M {
    repeat k in 0..K {
        ; The first weight goes to the last column of the array, so weights are read backwards.
        PE          LDWEIGHTS transpose_mode=DISABLED src=ta[k, 128*m :+ 128][::-1] 128*128   after load_a[k]
        PE mm[m,k]: MATMUL acc_flags={(k == 0) + 2*(k == K - 1)} src=tb[k] dst=acc[m] 128*128   after load_b[k]
    }
    DVE cast[m]:  CAST src=acc[m] dst=tc[m] channels=128   after mm[m, K - 1]
    SP  store[m]: DMA tc[m] -> c[128*m :+ 128]   after cast[m]
}
SP NOP after store
