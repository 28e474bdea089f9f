; out = softmax(q k' / sqrt(d)) v in fp32, one head: 256 queries, 256 keys, d = 128.
;
; For each tile of 128 queries:
;
;   PE   transposes the tile by a product with the identity, so that d lies on the partitions
;   PE   scores = q k', [128, 256] in one PSUM bank, as a pair of low and high products
;   DVE  row maximum; ACT exp((score - maximum) / sqrt(d)), straight from PSUM; DVE row sum
;   PE   transposes the probabilities and multiplies by v, a chain over the tiles of keys
;   DVE  divides by the row sum on the way out of PSUM

program attention for cayman
prologue

let D = 128
let T = 2           ; tiles of 128 queries, and of 128 keys
let S = 128*T

input  q   fp32[S, D]
input  k   fp32[S, D]
input  v   fp32[S, D]
output out fp32[S, D]
const  eye fp32[128, 128] = identity
table  addresses = [q, k, v, out, eye]

activation exponential(exp)
queue qSPDynamicHW  dynamic SP
queue qPoolDynamic  dynamic POOL

sbuf identity fp32[128]
sbuf rows     fp32[2*T, D]      ; tiles of q, then of k, as they come
sbuf tv       fp32[T, D]
sbuf columns  fp32[2, S]        ; q and k transposed: d on the partitions
sbuf p        fp32[T, S]        ; probabilities times the row sum
sbuf pt       fp32[T, T, 128]   ; the same, transposed: keys on the partitions
sbuf result   fp32[T, D]
sbuf most     fp32[T, 2]        ; minus the row maximum, then the same over sqrt(d)
sbuf sum      fp32[T, 2]        ; the row sum, then its reciprocal

psum turned   fp32[2, 512]      ; one bank for each of two transposes in flight
psum scores   fp32[T, 512]
psum outcome  fp32[T, 512]

POOL load_eye: DMA eye -> identity
repeat t in 0..T {
    SP   load[t]:     DMA q[128*t :+ 128] -> rows[t]
    SP   load[T + t]: DMA k[128*t :+ 128] -> rows[T + t]
    POOL load_v[t]: DMA v[128*t :+ 128] -> tv[t]
}

; Tile i of q and k, transposed through bank i % 2: weights times identity pass all 32 bits in one pair.
PE EVENT_SEMAPHORE after load_eye
repeat i in 0..2*T {
    let bank  = turned[i % 2, 0:128]
    let first = 128*(i % T)
    PE           LDWEIGHTS fp32_mode=LOW transpose_mode=ENABLED src=rows[i][::-1] 128*128   after load[i], turn[i - 2]?
    PE flip[i]:  MATMUL acc_flags=3 fp32_mode=LOW_HIGH src=identity dst=bank 128*128 +transpose_mode=1
    DVE turn[i]: COPY src=bank dst=columns[i / T, first :+ 128] channels=128   after flip[i]
}

ACT ACT_TABLE_LOAD table_sel=0
repeat t in 0..T {
    let queries = columns[0, 128*t :+ 128]
    PE           LDWEIGHTS fp32_mode=LOW transpose_mode=DISABLED src=queries[::-1] 128*128   after turn
    PE           MATMUL acc_flags=1 fp32_mode=LOW_HIGH src=columns[1] dst=scores[t, 0:S] 128*128
    PE           LDWEIGHTS fp32_mode=HIGH transpose_mode=DISABLED src=queries[::-1] 128*128
    PE score[t]: MATMUL acc_flags=2 fp32_mode=LOW_HIGH src=columns[1] dst=scores[t, 0:S] 128*128

    DVE max[t]:  TENSOR_REDUCE op=MAX dim=X negated=1 src=scores[t, 0:S] dst=most[t, 0] channels=128   after score[t]
    DVE bias[t]: TENSOR_SCALAR ops=MULTIPLY,BYPASS imm={1/sqrt(D)},0 imm_src=INSTRUCTION,INSTRUCTION \
                    src=most[t, 0] dst=most[t, 1] channels=128   after max[t]
    ACT exp[t]:  ACTIVATE EXP bias_ptr=most[t, 1] src=scores[t, 0:S] dst=p[t] channels=128 scale={1/sqrt(D)} \
                    accumulator_cmd=IDLE   after bias[t]
    DVE sum[t]:  TENSOR_REDUCE op=ADD dim=X src=p[t] dst=sum[t, 0] channels=128   after exp[t]
    DVE inv[t]:  RECIPROCAL src=sum[t, 0] dst=sum[t, 1] channels=128   after sum[t]
}

repeat t in 0..T {
    repeat j in 0..T {
        ; Transposes go on through the two banks: number n of them all.
        let n = T*t + j
        let bank = turned[n % 2, 0:128]
        PE          LDWEIGHTS fp32_mode=LOW transpose_mode=ENABLED src=p[t, 128*j :+ 128][::-1] 128*128 \
                        after exp[t], tip[n - 2]?
        PE spin[n]: MATMUL acc_flags=3 fp32_mode=LOW_HIGH src=identity dst=bank 128*128 +transpose_mode=1
        ACT tip[n]: COPY src=bank dst=pt[t, j] channels=128   after spin[n]
    }
    repeat j in 0..T {
        PE LDWEIGHTS fp32_mode=LOW transpose_mode=DISABLED src=pt[t, j][::-1] 128*128   after tip[T*t + j]
        PE MATMUL acc_flags={j == 0} fp32_mode=LOW_HIGH src=tv[j] dst=outcome[t, 0:D] 128*128   after load_v[j]
        PE LDWEIGHTS fp32_mode=HIGH transpose_mode=DISABLED src=pt[t, j][::-1] 128*128
        PE mix[t, j]: MATMUL acc_flags={2*(j == T - 1)} fp32_mode=LOW_HIGH src=tv[j] dst=outcome[t, 0:D] 128*128
    }
    DVE scale[t]: TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=sum[t, 1],0 imm_src=PTR,INSTRUCTION \
                    src=outcome[t, 0:D] dst=result[t] channels=128   after mix[t, T - 1], inv[t]
    SP  store[t]: DMA result[t] -> out[128*t :+ 128]   after scale[t]
}
SP NOP after store
