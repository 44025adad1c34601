"""The core: (X, y) -> Spectrum -> Filter -> Path, with numpy and scipy only.

==========  ======================================================================
inputs      what comes in, checked, centred, scaled and weighted
spectrum    Gram matrices and decompositions of the predictors
krylov      the recursions of Partial Least Squares
filters     regression methods as filters on a spectrum
criteria    noise level, information criteria, rules of choice: functions of arrays
path        every model size of one method on one data set
fit         from data to a path: PLS, PCR, ridge
other_data  who reads data that are not one array
work        threads, many tasks at once, progress bars
display     how results show themselves
==========  ======================================================================
"""
