"""Devices, dispatch keys with their kernels, plugins and settings.

Entry points: `devices` (`device`, `DispatchKey`, and `dispatch_key`, which returns the key of a dtype and device), `hookspecs`
(the hooks of plugins) and `state` (the global state that each call checks).  Must stay true: there is one dispatch key for
each dtype and device, so that keys are compared by identity; a key looks a kernel up once; nothing here imports tensors.  How
kernels are found may change: `calls.resolve` registers it.
"""
