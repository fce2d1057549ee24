"""The JSON schemas in the package: as the models are, and as the project's own files are."""

import json
import tomllib
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator, ValidationError

from netcosim.cli.schema import KINDS, main
from netcosim.workload import dump_profile
from netcosim.workload.catalogue import load_profile, profile_names
from tools.write_schemas import FOLDER, MODELS, schema_text

ROOT = Path(__file__).parents[2]
SCENARIOS = sorted([*ROOT.glob("examples/*.toml"), *ROOT.glob("*/scenarios/*.toml")])


def validator(kind: str) -> Draft202012Validator:
    schema = json.loads((FOLDER / f"{kind}.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


@pytest.mark.parametrize("kind", MODELS)
def test_a_schema_is_that_of_the_model(kind, capsys):
    kept = (FOLDER / f"{kind}.schema.json").read_text()
    assert kept == schema_text(kind), "run tools/write_schemas.py"
    assert main([kind]) == 0
    assert capsys.readouterr().out == kept


def test_every_schema_can_be_asked_for():
    assert sorted(KINDS) == sorted(MODELS) == sorted(f.name.split(".")[0] for f in FOLDER.iterdir())


def test_the_projects_scenarios_are_valid_and_mistakes_are_not():
    checked = validator("scenario")
    assert len(SCENARIOS) > 10
    for path in SCENARIOS:
        checked.validate(tomllib.loads(path.read_text()))
    right = tomllib.loads(SCENARIOS[0].read_text())
    for wrong in ({"name": "a b"}, {"nmae": "x"}, {"repetitions": "3"}, {"cluster": {"link": {}}}):
        with pytest.raises(ValidationError):
            checked.validate({**right, **wrong})


@pytest.mark.oracle
def test_the_built_in_profiles_are_valid_and_mistakes_are_not():
    checked = validator("profile")
    for name in profile_names():
        checked.validate(json.loads(dump_profile(load_profile(name))))
    right = json.loads(dump_profile(load_profile("alexnet")))
    for wrong in ({"batch": 0}, {"name": ""}, {"version": 99}, {"step": {}}):
        with pytest.raises(ValidationError):
            checked.validate({**right, **wrong})
