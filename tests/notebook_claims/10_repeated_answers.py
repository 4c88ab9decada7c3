"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

identical = table["se"]
assert np.isclose(identical["items (default)"], np.sqrt(5) * identical["cluster='trial'"])
assert (plan["se"].diff().dropna() < 0).all()
assert plan["items"].iloc[-1] > plan["items"].iloc[0]
se = modalities["se"].unstack(0).loc[["analytic", "bootstrap", "posterior"]]
assert (se["the same cases"] < se["as other cases"]).all()
assert noise["note"].iloc[0].startswith("one response to each item")
assert len(groups.observers) == 10
assert (readers["power"].diff().dropna() > 0).all()
