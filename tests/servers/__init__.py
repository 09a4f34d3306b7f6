"""The hub's faces: the real application, in process or on a real socket."""
