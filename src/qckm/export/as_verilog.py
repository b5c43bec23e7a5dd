"""From an operator to Verilog: one channel, and an encoder that uses it for one frequency after the other."""

from __future__ import annotations

import os

from qckm.common import atomic
from qckm.export.as_c import require_exportable
from qckm.export.rendering import PREFIX, read_source, require_prefix, with_prefix
from qckm.operator.operator import Operator
from qckm.operator.structured import StructuredCodes


def export_verilog(operator: Operator, path: str | os.PathLike[str], prefix: str = PREFIX) -> None:
    """Write the modules of `render_verilog` to a file."""
    atomic.write_atomically(path, render_verilog(operator, prefix).encode("ascii"))


def render_verilog(operator: Operator, prefix: str = PREFIX) -> str:
    """Return the modules PREFIX_channel and PREFIX_encoder, the same for the same operator.

    The encoder takes the n codes of a row (int16, counted from the origin and clipped), one per clock, and then gives
    for each frequency its measurements, every n + 1 clocks.

    Examples
    --------
    >>> import qckm
    >>> op = qckm.SketchOperator.draw(3, 64, scale=1.0, random_state=0)
    >>> "module gait_encoder" in render_verilog(op, prefix="gait")
    True
    """
    require_prefix(prefix)
    require_exportable(operator)
    channel = read_source("export", "channel.v")
    return with_prefix(f"{channel}\n{_encoder(operator)}", prefix)


def _encoder(operator: Operator) -> str:
    codes = operator.frequency_codes
    assert not isinstance(codes, StructuredCodes)
    n, m = codes.shape
    wide, tall = max(1, (n - 1).bit_length()), max(1, (m - 1).bit_length())
    dithers = "\n".join(
        f"            {j}: dither = 24'h{code:06X};" for j, code in enumerate(operator.dither_codes.tolist())
    )
    frequencies = "\n".join(
        f"            {{{tall}'d{j}, {wide}'d{k}}}: frequency = 16'h{int(codes[k, j]) & 0xFFFF:04X};"
        for j in range(m)
        for k in range(n)
    )
    return f"""\
// Operator {operator.fingerprint}: {n} codes to {m} frequencies.
module qckm_encoder (
    input wire clock,
    input wire reset,
    input wire code_valid,            // {n} codes of a row, one a clock, while ready
    input wire signed [15:0] code,
    output wire ready,
    output reg valid,                 // the measurements of the next frequency, {m} times a row
    output wire at_phase,
    output wire at_quarter
);
    localparam N = {n}, M = {m};
    reg signed [15:0] codes [0:{2**wide - 1}];
    reg [{wide - 1}:0] k;
    reg [{tall - 1}:0] j;
    reg running, loaded;
    reg [23:0] dither;
    reg signed [15:0] frequency;

    // The tables; synthesis makes them memory or logic.
    always @(*)
        case (j)
{dithers}
            default: dither = 24'h0;
        endcase
    always @(*)
        case ({{j, k}})
{frequencies}
            default: frequency = 16'h0;
        endcase

    assign ready = ~running;
    qckm_channel channel (
        clock, running & ~loaded, running & loaded, dither, codes[k], frequency, at_phase, at_quarter);

    always @(posedge clock) begin
        valid <= 1'b0;
        if (reset) begin
            running <= 1'b0;
            loaded <= 1'b0;
            k <= 0;
            j <= 0;
        end else if (!running) begin
            if (code_valid) begin
                codes[k] <= code;
                k <= k == N - 1 ? 0 : k + 1'b1;
                running <= k == N - 1;
            end
        end else if (!loaded) begin
            loaded <= 1'b1;
        end else if (k == N - 1) begin
            // The last product is being added: the measurements are there with the next clock.
            valid <= 1'b1;
            k <= 0;
            loaded <= 1'b0;
            j <= j == M - 1 ? 0 : j + 1'b1;
            running <= j != M - 1;
        end else begin
            k <= k + 1'b1;
        end
    end
endmodule
"""
