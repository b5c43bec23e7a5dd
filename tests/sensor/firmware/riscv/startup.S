# The least a RISC-V core needs to reach main.
    .section .init, "ax"
    .globl _start
_start:
    la sp, stack_top
    la t0, bss_start
    la t1, bss_end
1:  bgeu t0, t1, 2f
    sw zero, 0(t0)
    addi t0, t0, 4
    j 1b
2:  call main
3:  j 3b

    .text
    .globl semihost
    .balign 16
semihost:
    .option push
    .option norvc
    slli zero, zero, 0x1f
    ebreak
    srai zero, zero, 7
    .option pop
    ret

    .globl memset
memset:
    mv t0, a0
4:  beqz a2, 5f
    sb a1, 0(t0)
    addi t0, t0, 1
    addi a2, a2, -1
    j 4b
5:  ret
