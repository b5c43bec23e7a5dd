/* What the card can do of each kind of work that sums.cu is made of: many independent instructions, nothing else. */

#define MULTIPLY(name, shape, operands, inputs)                                                                            \
    extern "C" __global__ void name(unsigned *out, int repeats)                                                            \
    {                                                                                                                      \
        unsigned a = threadIdx.x + out[1], b = a * 3u, c = a * 7u, d = a * 11u, e = a * 13u, f = a * 17u;                   \
        int s[8][4] = {};                                                                                                  \
        for (int r = 0; r < repeats; r++)                                                                                  \
            _Pragma("unroll") for (int i = 0; i < 8; i++)                                                                  \
                asm volatile("mma.sync.aligned." shape ".row.col.s32.s8.s8.s32 {%0,%1,%2,%3}," operands ",{%0,%1,%2,%3};"  \
                             : "+r"(s[i][0]), "+r"(s[i][1]), "+r"(s[i][2]), "+r"(s[i][3])                                  \
                             : inputs);                                                                                    \
        int sum = 0;                                                                                                       \
        for (int i = 0; i < 8; i++)                                                                                        \
            sum += s[i][0] + s[i][1] + s[i][2] + s[i][3];                                                                  \
        if (sum == 123456789)                                                                                              \
            out[0] = (unsigned)sum + d + e + f;                                                                            \
    }
#define COMMA ,
MULTIPLY(multiply_16, "m16n8k16", "{%4,%5},{%6}", "r"(a) COMMA "r"(b) COMMA "r"(c))
MULTIPLY(multiply_32, "m16n8k32", "{%4,%5,%6,%7},{%8,%9}",
         "r"(a) COMMA "r"(b) COMMA "r"(c) COMMA "r"(d) COMMA "r"(e) COMMA "r"(f))

#define REPEAT(name, instruction)                                                                                          \
    extern "C" __global__ void name(unsigned *out, int repeats)                                                            \
    {                                                                                                                      \
        unsigned x[16], y = threadIdx.x * 77u + out[1], z = out[2];                                                        \
        for (int i = 0; i < 16; i++)                                                                                       \
            x[i] = threadIdx.x * i + 7u;                                                                                   \
        for (int r = 0; r < repeats; r++)                                                                                  \
            _Pragma("unroll") for (int i = 0; i < 16; i++)                                                                 \
                asm volatile(instruction : "+r"(x[i]) : "r"(y), "r"(z));                                                   \
        unsigned sum = 0;                                                                                                  \
        for (int i = 0; i < 16; i++)                                                                                       \
            sum += x[i];                                                                                                   \
        if (sum == 12345u)                                                                                                 \
            out[0] = sum;                                                                                                  \
    }
REPEAT(multiply_add, "mad.lo.u32 %0,%0,%1,%2;")
REPEAT(logic, "lop3.b32 %0,%0,%1,%2,0x96;")
REPEAT(both, "mad.lo.u32 %0,%0,%1,%2; lop3.b32 %0,%0,%1,%2,0x96;")
