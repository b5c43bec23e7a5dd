"""Messages of sensors go in, a sketch of all their rows comes out; what they run is made in export/."""

from qckm.export import export_c, export_verilog, render_c, render_verilog
from qckm.sensor.pooling import Pool
from qckm.sensor.wire import Message

__all__ = ["Message", "Pool", "export_c", "export_verilog", "render_c", "render_verilog"]
