"""An operator goes in, its arithmetic in another language comes out: C for a sensor, Verilog for a chip."""

from qckm.export.as_c import export_c, render_c
from qckm.export.as_verilog import export_verilog, render_verilog

__all__ = ["export_c", "export_verilog", "render_c", "render_verilog"]
