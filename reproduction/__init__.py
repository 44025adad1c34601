"""The experiments of Kraemer & Sugiyama (2011): every table and figure, and what is said of them.

`claims.toml` has what the paper says; `work` settings, checks and finished repeats; `data_figures`
Table 1 and Figures 1 to 3; `simulation` rules of choice and repeats; `simulation_figures` Figures 4
to 8 and the appendices; `page` the look of the pictures, errata and the page.
`python -m reproduction --help` says how to run it, `make paper` runs all of it.
"""
