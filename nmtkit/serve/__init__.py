"""A server for trained models: LibreTranslate's API, Marian's WebSocket, Moses's XML-RPC.

The process that speaks to clients has no torch and no model. Each model is loaded by a process of
its own (`model_host.py`), whose forks (`worker.py`) share its memory and translate pieces of work.
Who gets which piece is decided in `scheduler.py`; `engine.py` carries lines there and back.
"""
