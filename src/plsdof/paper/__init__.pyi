from .algorithms import dA as dA
from .algorithms import dof_of_one_component as dof_of_one_component
from .algorithms import dvvtz as dvvtz
from .algorithms import krylov as krylov
from .algorithms import lanczos as lanczos
from .algorithms import normalize as normalize
