// The one-bit channel of the paper's Fig. 1: multiply-accumulate, dither, one bit.
// A turn is 2^24, so the accumulator has 24 bits and overflow is the modulo of the periodic signature.
module qckm_channel (
    input wire clock,
    input wire load,                  // start a frequency: take the dither
    input wire add,                   // add code * frequency
    input wire [23:0] dither,
    input wire signed [15:0] code,
    input wire signed [15:0] frequency,
    output wire at_phase,             // the measurement at the phase: 1 stands for -1
    output wire at_quarter            // the one a quarter turn on
);
    reg [23:0] phase;
    wire signed [31:0] product = code * frequency;

    always @(posedge clock)
        if (load) phase <= dither;
        else if (add) phase <= phase + product[23:0];

    // Bit 23 of phase + 2^22, and of phase + 2^23: no adder is needed.
    assign at_phase = phase[23] ^ phase[22];
    assign at_quarter = ~phase[23];
endmodule
