"""Reports: the facts about a decomposition, and files that show them to people (HTML, Markdown) or machines (JSON).

.. code-block:: python

    facts = hoeffding.report.facts(result, X, outputs=model.predict(X), model=model)
    hoeffding.report.write(facts, "report.html")
"""

from hoeffding.report.gather import facts
from hoeffding.report.writing import write

__all__ = ["facts", "write"]
