"""One toy of each kind of component, for tools/extensions.py."""
