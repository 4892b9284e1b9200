"""What the Rust core offers Python: the interface that both engines satisfy."""

__build__: str
__version__: str
