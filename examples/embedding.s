; y[d, k] = t[d, i[k]]: columns of a table by index, one partition for each dimension of the embedding; an index that
; the table does not have gives zero.
;
; POOL holds up to 512 elements of a partition (POOL_BUFFER_LOAD); a GATHER answers the indices of this part. The first
; one writes zero for all others, the following ones leave them alone.

program embedding for cayman
prologue

let D = 64          ; dimensions
let V = 700         ; entries of the table
let K = 96          ; indices
let part = 512

input  t fp16[D, V]
input  i uint32[K]
output y fp16[D, K]
table  addresses = [t, i, y]

queue qSPDynamicHW dynamic SP
queue qPoolDynamic dynamic POOL

sbuf tt fp16[V]
sbuf ti uint32[K]
sbuf ty fp16[K]

SP   load_t: DMA t -> tt
POOL load_i: DMA i[*D, :] -> ti
repeat p in 0..2 {
    POOL hold[p]: POOL_BUFFER_LOAD src=tt[part*p : min(part*(p + 1), V)] in_dtype=fp16 num_active_channels=D \
                      start_index={part*p} mask={part - 1}   after load_t, gather[p - 1]?
    POOL gather[p]: GATHER src=ti in_dtype=uint32 out_dtype=fp16 num_active_channels=D index_miss_behavior=p \
                      free_pool_buffer={p == 1} dst=ty   after load_i, hold[p]
}
SP store: DMA ty -> y   after gather
SP        NOP   after store
