; out = a + b on SUNDA, in two chunks through static queues: the descriptors are part of the container, and the
; words only say which block of which queue to start. Waits are spelled out instead of left to `after`.

program vector_add_sunda for sunda
prologue

input  a   fp32[128, 64]
input  b   fp32[128, 64]
output out fp32[128, 64]

sbuf ta fp32[2, 32]
sbuf tb fp32[2, 32]

; Block i of a queue posts the i-th semaphore of its set when it is done: +16.
queue qSPIO0 in SP semaphores 8..24 {
    repeat i in 0..2 {
        block 2*i {
            copy a[:, 32*i :+ 32] -> ta[i]
        }
        block 2*i + 1 {
            ; The same as `copy b[:, 32*i :+ 32] -> tb[i]`: byte steps and counts, innermost first.
            copy fp32@b+(128*i)[1, 256][128, 128] -> fp32@SB+(tb[i])[1, 0x40000][128, 128]
        }
    }
}
queue qPoolIO0 in POOL semaphores 24..40 {
    repeat i in 0..2 {
        block i {
            copy ta[i] -> out[:, 32*i :+ 32]
        }
    }
}

semaphore vector = 6

repeat i in 0..2 {
    SP   PSEUDO_DMA_TRIGGER qSPIO0 block_id={2*i}
    SP   PSEUDO_DMA_TRIGGER qSPIO0 block_id={2*i + 1}

    ; A queue is first in, first out, so that the second block of a pair says that both are done.
    DVE  TENSOR_TENSOR S[9 + 2*i]>=16 S[vector]++ op=ADD src0=ta[i] src1=tb[i] dst=ta[i] channels=128

    POOL PSEUDO_DMA_TRIGGER S[vector]>={i + 1} qPoolIO0 block_id={i}
}
POOL NOP S[25]>=16
