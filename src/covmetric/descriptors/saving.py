"""The state of descriptors in model files."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from covmetric._utils.validation import is_count
from covmetric.model_file import constructor_defaults, for_any_machine


class SavedDescriptor:
    """A descriptor that can be a step of a saved pipeline: its parameters, and the counts that `fit` notes.

    Attributes
    ----------
    fitted_counts : tuple of str
        The attributes that `fit`, or a method such as `set_sizes`, may set, positive integers. Those of one method
        belong together, which the class checks in `from_state`.
    fitted_names : tuple of str
        The attributes that `fit` may set, lists of names.
    """

    fitted_counts: ClassVar[tuple[str, ...]] = ()
    fitted_names: ClassVar[tuple[str, ...]] = ()

    def check_settings(self) -> None:
        """Raise ValueError if a parameter is invalid. The examples are not needed for this."""

    def get_state(self) -> dict[str, Any]:
        """Return the parameters and the fitted attributes, for a model file.

        Returns
        -------
        dict
            The values by name.
        """
        parameters = {name: getattr(self, name) for name in constructor_defaults(type(self))}
        fitted = {name: getattr(self, name) for name in self._fitted() if hasattr(self, name)}
        return {**for_any_machine(parameters), **fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Create a descriptor from its state, which may come from a hostile file.

        Parameters
        ----------
        state : dict
            A state as `get_state` returns it.

        Returns
        -------
        SavedDescriptor
            The descriptor.

        Raises
        ------
        ValueError
            If the state is incomplete or invalid.
        """
        descriptor = cls(**for_any_machine({name: state.pop(name) for name in constructor_defaults(cls)}))
        unknown = sorted(set(state) - set(cls._fitted()))
        if unknown:
            raise ValueError(f"the attributes {unknown[:5]} of {cls.__name__} are unexpected")
        descriptor.check_settings()
        for name, value in state.items():
            if name in cls.fitted_names:
                if not (isinstance(value, list) and all(isinstance(one, str) for one in value)):
                    raise ValueError(f"{name} of {cls.__name__} must be a list of names, got {value!r:.60}")
            elif not (is_count(value) and value > 0):
                raise ValueError(f"{name} of {cls.__name__} must be an integer >= 1, got {value!r:.60}")
            setattr(descriptor, name, value)
        return descriptor

    @classmethod
    def _fitted(cls) -> tuple[str, ...]:
        return cls.fitted_counts + cls.fitted_names
