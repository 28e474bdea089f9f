; c = a @ b in fp32. The array multiplies reduced significands, so every product is made of a pair: the low parts
; of the weights first, then the high parts into the same cells.

program matmul_fp32 for cayman
prologue

let K = 2           ; contraction tiles of 128
let N = 256         ; columns

input  at fp32[K*128, 128]
input  b  fp32[K*128, N]
output c  fp32[128, N]
table  addresses = [at, b, c]

queue qSPDynamicHW dynamic SP

sbuf ta  fp32[K, 128]
sbuf tb  fp32[K, N]
sbuf tc  fp32[N]
psum acc fp32[N]

macro pair(k, first, last) {
    PE LDWEIGHTS fp32_mode=LOW  transpose_mode=DISABLED src=ta[k][::-1] 128*128   after load_a[k]
    PE MATMUL acc_flags={first} fp32_mode=LOW_HIGH src=tb[k] dst=acc 128*128   after load_b[k]
    PE LDWEIGHTS fp32_mode=HIGH transpose_mode=DISABLED src=ta[k][::-1] 128*128
    PE mm[k]: MATMUL acc_flags={2*last} fp32_mode=LOW_HIGH src=tb[k] dst=acc 128*128
}

repeat k in 0..K {
    SP load_a[k]: DMA at[128*k :+ 128] -> ta[k]
    SP load_b[k]: DMA b[128*k :+ 128] -> tb[k]
    pair(k, k == 0, k == K - 1)
}
ACT copy:  COPY src=acc dst=tc channels=128   after mm[K - 1]
SP  store: DMA tc -> c   after copy
SP         NOP   after store
