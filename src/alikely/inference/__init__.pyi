from .chains import SamplingWarning as SamplingWarning
from .chains import nuts as nuts
from .null import null_percentiles as null_percentiles
from .sampling import posterior as posterior

__all__ = ["SamplingWarning", "null_percentiles", "nuts", "posterior"]
