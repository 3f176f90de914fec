"""``python -m covmetric`` is the command `covmetric`."""

from covmetric.cli import main

raise SystemExit(main())
