"""The sensor's side: an operator as C or Verilog, and the messages that come back."""

from qckm.sensor.export import export_c, render_c
from qckm.sensor.pooling import Pool
from qckm.sensor.verilog import export_verilog, render_verilog
from qckm.sensor.wire import Message

__all__ = ["Message", "Pool", "export_c", "export_verilog", "render_c", "render_verilog"]
