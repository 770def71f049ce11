"""Every search test runs with a model of each family (`pytestmark` in the modules with models)."""

import pytest

from tests.decode.families import FAMILIES, current


@pytest.fixture(params=FAMILIES, scope="module")
def family(request: pytest.FixtureRequest) -> None:
    current["family"] = request.param
