"""Devices, dispatch keys with their kernels, plugins and settings.

Entry points: `devices` (`device`, `DispatchKey`, and `dispatch_key`, which returns the key of a dtype and device), `plugins`
and `hookspecs` (finding plugins, and calling their hooks), `interceptor` (replacing kernels temporarily) and `state` (the global
state that each call checks).  `flambeau.backend`, with the classes that backends subclass, belongs to this layer.  Must stay
true: there is one dispatch key for each dtype and device, so that keys can be compared by identity; a key looks up each kernel
once; only an `Interceptor` replaces kernels of existing keys; nothing here imports tensors.  How kernels are found (a function
of `calls.resolve`) may change.
"""
