; The K largest values of every row of x, largest first, and where they stand; of equal ones the first comes first.
;
; MAX8 finds eight values, smallest first; MATCH_VALUE_LOAD makes them the keys of a search, the last one key 0;
; FIND_INDEX8 tells where each key stands; MATCH_REPLACE8 takes them out, so that the next turn finds the next eight.

program topk for cayman
prologue

let N = 64
let K = 16

input  x       fp32[128, N]
output values  fp32[128, K]
output indices uint32[128, K]
table  addresses = [x, values, indices]

queue qSPDynamicHW dynamic SP

sbuf tx   fp32[N]
sbuf best fp32[K]
sbuf at   uint32[K]

SP load: DMA x -> tx
repeat t in 0..K/8 {
    let part = best[8*t :+ 8]
    DVE max[t]:  MAX8 src=tx in_dtype=fp32 out_dtype=fp32 num_active_channels=128 dst=part[::-1] \
                     after load, out[t - 1]?
    DVE keys[t]: MATCH_VALUE_LOAD src=part[::-1] dtype=fp32 num_active_channels=128   after max[t]
    DVE find[t]: FIND_INDEX8 src=tx in_dtype=fp32 out_dtype=uint32 num_active_channels=128 dst=at[8*t :+ 8] \
                     after keys[t]
    DVE out[t]:  MATCH_REPLACE8 src=tx in_dtype=fp32 out_dtype=fp32 num_active_channels=128 immediate=-inf dst=tx \
                     after find[t]
}
SP best: DMA best -> values   after max
SP at:   DMA at -> indices   after find
SP       NOP   after best, at
