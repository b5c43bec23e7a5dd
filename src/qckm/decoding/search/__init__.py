"""Clusters that explain a sketch, found from scratch: at one scale or several, and in the noise of a private one."""
