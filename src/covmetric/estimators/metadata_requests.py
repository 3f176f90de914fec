"""scikit-learn's metadata requests, such as ``set_fit_request(groups=True)``, as plain data for model files."""

from __future__ import annotations

import re
from typing import Any

from sklearn import config_context

#: What a file may ask for: the metadata or not, None (an error if it is passed), or another name for it.
Requests = dict[str, dict[str, bool | str | None]]


def get_requests(estimator: Any) -> Requests:
    """Return the metadata requests that the user has set.

    Parameters
    ----------
    estimator : object
        An estimator of scikit-learn.

    Returns
    -------
    dict of str to dict
        The requests by method and name; empty if none was set.

    Examples
    --------
    >>> import sklearn
    >>> from covmetric import Recentre
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     get_requests(Recentre().set_fit_request(groups=True))
    {'fit': {'groups': True}}
    """
    if "_metadata_request" not in vars(estimator):
        return {}
    routing = estimator.get_metadata_routing()
    found = {method: getattr(routing, method).requests for method in _methods(estimator)}
    changed = {
        method: {name: value for name, value in sorted(requests.items()) if value is not None}
        for method, requests in found.items()
    }
    return {method: requests for method, requests in changed.items() if requests}


def set_requests(estimator: Any, requests: Any) -> None:
    """Set metadata requests that come from a file, which may be damaged or hostile.

    Parameters
    ----------
    estimator : object
        An estimator of scikit-learn.
    requests : dict of str to dict
        The requests by method and name, as `get_requests` returns them.

    Raises
    ------
    ValueError
        If the estimator has no such method or name, or if a request is neither a bool, None nor a name.
    """
    kind, methods = type(estimator).__name__, _methods(estimator)
    if not isinstance(requests, dict):
        raise ValueError(f"the metadata requests of {kind} must be a dict, got {requests!r:.60}")
    for method, values in requests.items():
        if method not in methods:
            raise ValueError(f"{kind} has no metadata requests for {method!r:.60}, only for {', '.join(methods)}")
        if not isinstance(values, dict):
            raise ValueError(f"the metadata requests of {kind}.{method} must be a dict, got {values!r:.60}")
        known = getattr(estimator.get_metadata_routing(), method).requests
        for name, value in values.items():
            if name not in known:
                raise ValueError(f"{kind}.{method} takes no metadata {name!r:.60}, only {', '.join(known)}")
            if not (value is None or isinstance(value, bool) or (isinstance(value, str) and value.isidentifier())):
                raise ValueError(
                    f"the metadata request {name} of {kind}.{method} must be a bool, None or a name, got {value!r:.60}"
                )
        with config_context(enable_metadata_routing=True):  # without it, scikit-learn refuses to set requests
            getattr(estimator, f"set_{method}_request")(**values)


def _methods(estimator: Any) -> list[str]:
    """Return the methods that scikit-learn has made a setter of requests for."""
    matches = (re.fullmatch(r"set_(\w+)_request", name) for name in dir(type(estimator)))
    return [match[1] for match in matches if match]
