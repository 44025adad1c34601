"""The core: (X, y) -> Spectrum -> Filter -> Path -> Model, with numpy and scipy only.

===========  =====================================================================
inputs       checks of what comes in
standardize  centred, scaled and weighted data
moments      sums over rows that merge and subtract
rows         rows of a table wherever they are, and products with them
spectrum     Gram matrices and decompositions of the predictors
krylov       the recursion of Partial Least Squares
compression  the same Krylov space without singular vectors
rounding     what guards them against rounding: nodes, copies, error estimates
filters      regression methods as filters on a spectrum
exact        the closed form of all models: fits, derivatives, covariances
dof_range    Degrees of Freedom for responses with other noise
routes       from data to the closed form, the fast way first
operators    products with the data of many training sets at once
recursion    Partial Least Squares on all of them
left_out     the held-out matrix: residuals of rows by the fits without them
store        held-out rows and the recursion of a path, each made once
criteria     noise level, information criteria: functions of arrays
objective    what a model, or an average of models, costs
choice       one model, or an average, and the choice in words
path         every model of one method on one data set
model        one of them, or an average
opls         components of a path, rotated
recipe       how a path was fitted, as data
fit          from data to a path: PLS, PCR, ridge
===========  =====================================================================

`folds`, `plugins` (who reads data that are not one array), `threads`, `parallel` (many tasks at
once, progress bars), `warnings` and `display` (how results show themselves) serve these.
"""
