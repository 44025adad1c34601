"""The core: (X, y) -> Spectrum -> Filter -> Path -> Model, with numpy and scipy only.

===========  ==============================================================
`folds`, `other_data` (who reads data that are not one array), `threads`, `parallel` (many tasks at
once, progress bars), `warnings` and `display` (how results show themselves) serve these.
"""
