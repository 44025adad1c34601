from .checking import adjust as adjust
from .checking import check as check
from .comparing import compare as compare
from .fitting import fit as fit
from .fitting import update as update
from .predicting import predict as predict
from .transferring import transfer as transfer
