"""The engines: different inputs, one result, a :class:`~hoeffding.decomposition.Decomposition`."""
