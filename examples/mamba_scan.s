; The selective scan of a Mamba block, a partition for each channel, S states for each:
;
;   h[s, t] = exp(delta[t] * a[s]) * h[s, t - 1] + delta[t] * u[t] * b[s, t]
;   y[t]    = sum over s of c[s, t] * h[s, t]
;
; One word makes all steps of a state: TENSOR_TENSOR_SCAN_ARITH goes along the row with h in its accumulator.
;
;   ACT   exp
;   DVE   products, scans
;   POOL  fetches b and c, which all channels share

program mamba_scan for cayman
prologue

let T = 48
let S = 4

input  u     fp32[128, T]
input  delta fp32[128, T]
input  a     fp32[128, S]
input  b     fp32[S, T]
input  c     fp32[S, T]
output y     fp32[128, T]
table  addresses = [u, delta, a, b, c, y]

activation exponential(exp)
queue qSPDynamicHW dynamic SP
queue qPoolDynamic dynamic POOL

sbuf tu     fp32[T]
sbuf tdelta fp32[T]
sbuf ta     fp32[S]
sbuf tb     fp32[S, T]
sbuf tc     fp32[S, T]
sbuf ty     fp32[T]
sbuf zero   fp32[1]
sbuf decay  fp32[S, T]
sbuf into   fp32[S, T]
sbuf h      fp32[S, T]

SP load_delta: DMA delta -> tdelta
SP load_a:     DMA a -> ta
SP load_u:     DMA u -> tu
repeat s in 0..S {
    POOL load_b[s]: DMA b[s, *128, :] -> tb[s]
    POOL load_c[s]: DMA c[s, *128, :] -> tc[s]
}

ACT        ACT_TABLE_LOAD table_sel=0
DVE clear: MEMSET value=0x0 dst=zero channels=128
DVE du:    TENSOR_TENSOR op=MULTIPLY src0=tdelta src1=tu dst=tu channels=128   after load_delta, load_u
repeat s in 0..S {
    DVE da[s]:    TENSOR_SCALAR ops=MULTIPLY,BYPASS imm=ta[s],0 imm_src=PTR,INSTRUCTION src=tdelta dst=decay[s] \
                      channels=128   after load_delta, load_a
    ACT decay[s]: ACTIVATE EXP bias_ptr=zero src=decay[s] dst=decay[s] channels=128 scale=1.0 accumulator_cmd=IDLE \
                      after da[s], clear
    DVE into[s]:  TENSOR_TENSOR op=MULTIPLY src0=tu src1=tb[s] dst=into[s] channels=128   after du, load_b[s]
}
repeat s in 0..S {
    DVE scan[s]:  TENSOR_TENSOR_SCAN_ARITH src0=decay[s] src1=into[s] op0=MULTIPLY op1=ADD reverse_operands=NONE \
                      imm0_src=INSTRUCTION src_dtype=fp32,fp32 out_dtype=fp32 num_active_channels=128 imm0_dtype=fp32 \
                      accumulator_cmd=IDLE dst=h[s] imm0=0x0   after decay[s], into[s]
    if s == 0 {
        DVE sum[s]: TENSOR_TENSOR op=MULTIPLY src0=h[s] src1=tc[s] dst=ty channels=128   after scan[s], load_c[s]
    } else {
        DVE out[s]: TENSOR_TENSOR op=MULTIPLY src0=h[s] src1=tc[s] dst=h[s] channels=128   after scan[s], load_c[s]
        DVE sum[s]: TENSOR_TENSOR op=ADD src0=ty src1=h[s] dst=ty channels=128   after out[s], sum[s - 1]
    }
}
SP store: DMA ty -> y   after sum[S - 1]
SP        NOP   after store
