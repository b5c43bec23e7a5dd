// Gives rows of codes to an encoder and writes down what it measures, frequency by frequency: two digits each, a line per row.
`timescale 1ns / 1ns
module bench;
    parameter ROWS = 1, FEATURES = 1, FREQUENCIES = 1;
    reg clock = 0, reset = 1, code_valid = 0;
    reg signed [15:0] code;
    wire ready, valid, at_phase, at_quarter;
    reg [15:0] rows [0:ROWS * FEATURES - 1];
    integer row, k, seen;

    qckm_encoder encoder (clock, reset, code_valid, code, ready, valid, at_phase, at_quarter);
    always #5 clock = ~clock;

    // Sampled between the edges, where nothing moves.
    always @(negedge clock)
        if (valid) begin
            $write("%b%b", at_phase, at_quarter);
            seen = seen + 1;
        end

    initial begin
        $readmemh("rows.hex", rows);
        seen = 0;
        repeat (2) @(negedge clock);
        reset = 0;
        for (row = 0; row < ROWS; row = row + 1) begin
            for (k = 0; k < FEATURES; k = k + 1) begin
                @(negedge clock);
                code = rows[row * FEATURES + k];
                code_valid = 1;
            end
            @(negedge clock);
            code_valid = 0;
            wait (seen == FREQUENCIES * (row + 1));
            $write("\n");
        end
        $finish;
    end
endmodule
