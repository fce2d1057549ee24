"""Wrong sweep files: one line with file, field, value and what is allowed."""

from collections.abc import Mapping

import pytest

from netcosim.errors import ScenarioError
from netcosim.scenario import Scenario
from ray_sweeps.space import checks, space_of
from ray_sweeps.sweep_file.fields import MOST_VALUES, check_lists
from tests.ray_sweeps.sweeps import ALONE, FILE, sweep_of

DRAW = "[[draw]]\ncount = 3\n[draw.factors]\n"


def refused(text: str, message: str) -> None:
    with pytest.raises(ScenarioError, match=message) as refused:
        space_of(sweep_of(text))
    said = str(refused.value)
    assert said.startswith(f"{FILE}: ")
    assert said.isprintable()
    assert len(said) < 500


@pytest.mark.parametrize(
    ("factors", "message"),
    [
        ("worker = [1, 2]", r'factors.worker: "worker": .* did you mean workers\?'),
        ('"cluster.link.dely" = ["1ms"]', r"factors.cluster.link.dely: .* did you mean delay\?"),
        ('"clustr.link.delay" = ["1ms"]', r"clustr: unknown key; did you mean cluster\?"),
        ('"transport.grcp.window" = ["1MiB"]', r'transport.grcp: "grcp": must be one of: grpc'),
        ('cluster.link.delay = ["1ms"]', 'must stand in quotes: "cluster.link.delay" = '),
        ("repetitions = [1, 2]", "does not vary from point to point; 'replications'"),
        ("servers = []", "factors.servers.values: must not be empty"),
        ("servers = 3", "factors.servers: 3: must be a list of values, or a table"),
        ("servers = { count = 2 }", "factors.servers: must have 'values', or 'from' and 'to'"),
        ("servers = { values = [1], wen = 'x' }", r"factors.servers.wen: .* did you mean when\?"),
        ("servers = [1, 5000]", "factors.servers: 5000: cluster.servers: 5000: must be <= 1024"),
        ("workers = [0, 4]", "factors.workers: 0: training.workers: must be numbers of workers, 1"),
        ('rate = ["1Gbps"]', 'factors.rate: "1Gbps": .* did you mean 1gbit'),
        ('synchronisation = ["asp", "bps"]', r'synchronisation: "bps": .* did you mean bsp\?'),
        ('order = ["asc"]', 'factors.order: "asc": policy.order: "asc": unknown; allowed: as_l'),
        ('workload = ["resnet51"]', r'factors.workload: "resnet51": .* did you mean resnet50\?'),
        ('transport = ["grpcoff"]', r'factors.transport: "grpcoff": .* did you mean grpc-off\?'),
        ('straggler = ["none", "jitery"]', r'straggler: "jitery": .* did you mean jittery\?'),
        ("straggler = [1]", "factors.straggler: 1: must be names"),
        ('servers = [1, "2"]', "factors.servers: must be all numbers, all text, or all true"),
        ('rate = ["1gbit", "1000mbit"]', 'factors.rate.values: "1000mbit": is given twice'),
        ('"training.both_busy" = [nan]', "nan: must be a finite number"),
        ('"training.both_busy" = { from = 0.1, to = inf, count = 3 }', "inf: must be a finite"),
        ("servers = { from = 4, to = 2, count = 2 }", r"to: 2: must be above 'from' \(4\)"),
        ("servers = { from = 2, to = 2, count = 2 }", r"to: 2: must be above 'from' \(2\)"),
        ('gap = { from = 0, to = 8, count = 3, scale = "log" }', "gap.from: 0: must be > 0 with"),
        ('gap = { from = 1, to = 8, step = 1, scale = "log" }', "step: has no meaning with scale"),
        ("gap = { from = 1, to = 8, step = 0 }", "gap.step: 0: must be > 0"),
        ("gap = { from = 1, to = 8, step = 1, count = 3 }", "must have one of 'step' and 'count'"),
        ("gap = { from = 1, to = 3, count = 5 }", "has only 3 whole numbers; must have 5"),
        ("gap = { from = 1, to = 2, count = 0 }", "gap.count: 0: must be >= 2"),
        ("gap = { from = 1, to = 2, count = 1_000_000_000_000 }", "must be <= 100000"),
        ("gap = { from = 1, to = 2, step = 1e-9 }", "comes to 1000000001 values; must come to"),
        ('rate = { from = "1gbit", to = 10, count = 3 }', "rate.to: 10: must be a quantity"),
        ('rate = { from = "1gbit", to = "1ms", count = 3 }', "must all be rates, sizes or dura"),
        ('servers = [1]\n"cluster.servers" = [2]', "servers is set by factors.servers, too"),
        ("steps = [1]", "factors.steps: steps is set by fixed.steps, too; must be set once"),
        ("servers = [1]\n[[zip]]\nservers = [1, 2]", "is the name of factors.servers, too"),
        ('[[zip]]\nservers = [1, 2]\nrate = ["1gbit"]', "servers has 2, rate has 1 values"),
        ("[[zip]]", r"zip\[0\]: must have a factor"),
        ('rate = { path = "cluster.links.w0.rate", values = ["1gbit"] }', "is the short name of"),
        ('"a b" = { path = "cluster.servers", values = [1] }', "must be a word of letters"),
        ("many = { values = [1] }", '"many": is no short name and no dotted path'),
        ("delay = { distribution = 'uniform', low = 1, high = 2 }", r"belongs under \[\[draw\]\]"),
        (f"{DRAW}delay = {{ low = 1, high = 4 }}", "must be a table with a 'distribution'"),
        (f'{DRAW}gap = {{ distribution = "unifrm", low = 1 }}', r"did you mean uniform\?"),
        (f'{DRAW}gap = {{ distribution = "uniform", low = 5, high = 4 }}', "must be below 'high'"),
        (f'{DRAW}gap = {{ distribution = "uniform", low = nan, high = 4 }}', "low: nan: must be"),
        (f'{DRAW}gap = {{ distribution = "uniform", low = 1 }}', "uniform needs low, high"),
        (f'{DRAW}gap = {{ distribution = "uniform", median = 1 }}', "gap.median: unknown key"),
        (
            f'{DRAW}gap = {{ distribution = "log-uniform", low = 0, high = 1 }}',
            r"\(0\) must be > 0",
        ),
        (
            f'{DRAW}delay = {{ distribution = "uniform", low = 1, high = 4, unit = "mms" }}',
            r"unit: .*: unknown; did you mean ms\?",
        ),
        (
            f'{DRAW}servers = {{ distribution = "uniform", low = 1, high = 4 }}',
            "cluster.servers: .* must be a valid integer",
        ),
        ("[[draw]]\ncount = 0", r"draw\[0\].count: 0: must be >= 1"),
        ("[[draw]]\ncount = 1_000_000_000_000", r"draw\[0\].count: .* must be <= 1000000"),
        ("servers = { values = [1, 2], when = 'gap > 5' }\ngap = [1, 2]", "is true of no point"),
        ("servers = { values = [2], when = 'gap > 5' }\ngap = [1, 2]", "is true of no point"),
        (
            "servers = { values = [1], when = 'gap > 1' }\n"
            "gap = { values = [1], when = 'servers > 1' }",
            "factors.servers.when: looks at a factor whose 'when' looks back",
        ),
        ("servers = { values = [1], when = 'gp > 1' }\ngap = [1]", r"when: .* did you mean gap\?"),
        ("servers = { values = [1], when = 3 }", "factors.servers.when: 3: must be text"),
        ("servers = { values = [1], path = 3 }", "factors.servers.path: 3: must be text"),
        (
            'straggler = ["none"]\n"straggler.0.options.factor" = [2.0]',
            "straggler.0: .* the list is empty",
        ),
        ('"workload.resnet50.profile" = ["./gone.json"]', "gone.json: can't be read: No such"),
    ],
)
def test_wrong_factors(factors, message):
    own = "" if factors.startswith("transport") else 'transport = "grpc"\n'
    workers = "" if factors.startswith("workers") else "workers = 4\n"
    refused(f'name = "test"\n[fixed]\nsteps = 60\n{own}{workers}[factors]\n{factors}\n', message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[factors]\nservers = [1]", "name: is required"),
        ('name = "a/b"', 'name: "a/b": must begin with a letter or digit'),
        (f"wher = []\n{ALONE}", r"wher: unknown key; did you mean where\?"),
        (f"replications = 0\n{ALONE}", "replications: 0: must be >= 1"),
        (f"seed = -1\n{ALONE}", "seed: -1: must be >= 0"),
        (f'where = "gap > 1"\n{ALONE}', "where: .* must be a list of conditions"),
        (f'where = ["gap > 1"]\n{ALONE}', r"where\[0\]: \"gap > 1\": gap: is no factor"),
        (f'where = ["gap > 9"]\n{ALONE}[factors]\ngap = [1, 2]', "where: excludes every point"),
        (f'given = "rate"\n{ALONE}', "given: .* must be a list of names of factors"),
        (
            f'given = ["gap"]\n{ALONE}[factors]\nrate = ["1gbit"]',
            r"given\[0\]: \"gap\": is no factor",
        ),
        (
            f'given = ["b"]\n{ALONE}[[draw]]\ncount = 3\n'
            'factors.b = { path = "seed", distribution = "uniform", low = 1, high = 9, whole = true'
            " }",
            r"given\[0\]: \"b\": is drawn; must have a list",
        ),
        (f'scenario = "defalt"\n{ALONE}', r"scenario: \"defalt\": .* did you mean default\?"),
        (f'scenario = "./gone.toml"\n{ALONE}', "/nowhere/gone.toml: can't be read: No such file"),
        (f'scenario = "\\u0000/x"\n{ALONE}', "must be a built-in scenario's"),
        (f"scenario = 3\n{ALONE}", "scenario: 3: must be a built-in scenario's name"),
        (f'{ALONE}[scenario]\nname = "x"', "scenario: cluster: is required"),
        (f"factors = 3\n{ALONE}", "factors: 3: must be a table"),
        ('name = "x"\n[fixed]\nstep = 3', r'fixed.step: "step": .* did you mean steps\?'),
        ('name = "x"\n[fixed]\nsteps = 0', "fixed: training.steps: 0: must be >= 1"),
        ('name = "x"\n[fixed]\ntraining.steps = 9', 'must stand in quotes: "training.steps" = '),
        ('name = "x"\n[fixed]\nsteps = 90\n"training.steps" = 80', "steps is set by fixed.steps"),
        (f'{ALONE}[[prices]]\nname = "x"\nworker = nan\nserver = 1', "worker: nan: must be a fin"),
        (f'{ALONE}[[prices]]\nname = "x"\nworker = 0\nserver = 0', "can't both be 0"),
        (f'{ALONE}[[prices]]\nname = "x"\nworkers = 1\nserver = 0', r"did you mean worker\?"),
        (
            f'{ALONE}[[prices]]\nname = "x"\nworker = 1\nserver = 0\n' * 1
            + '[[prices]]\nname = "x"\nworker = 1\nserver = 0\n',
            r"prices\[1\].name: \"x\": names must differ",
        ),
        (f"x = {'[' * 5000}{']' * 5000}", "not TOML: nested too deeply"),
        (f"{ALONE}[factors]\nservers = {'[' * 20}{']' * 20}", "nested too deeply"),
        (f"{'a.' * 200}b = 1", "not TOML: nested too deeply"),
        (f"a = {'9' * 5000}", "not TOML: a number of thousands of digits"),
        ("a = ", "not TOML: Invalid value"),
        ('\ufeffname = "x"', "not TOML: begins with a byte order mark"),
        (
            'name = "x"\n[fixed]\nsteps = 20\n[factors]\nworkers = [0]',
            "factors.workers: 0: training.workers: must be numbers of workers",
        ),
        (
            'name = "x"\n[fixed]\nsteps = 20\n[factors]\nworkers = [1.5]',
            "factors.workers: 1.5: training.workers: must be a list of whole numbers",
        ),
        (
            'name = "x"\n[scenario]\nname = "y"\n[scenario.cluster]\ntopology = "star"\n'
            'link = { rate = "1gbit" }\n[[scenario.workload]]\nname = "w"\nprofile = "./no.json"\n'
            '[[scenario.transport]]\nname = "t"\nsender = "h2"\nreceiver = "h2"\n'
            "[factors]\nworkers = [1, 2]",
            r"toml: scenario: .*no.json: can't be read: No such file",
        ),
    ],
)
def test_wrong_files(text, message):
    refused(text, message)


def test_a_space_of_more_points_than_anyone_can_simulate():
    factors = "\n".join(
        f"{name} = {{ from = 1, to = 1001, count = 1001 }}" for name in ("batch", "gap", "seed")
    )
    refused(f"{ALONE}[factors]\n{factors}\n", "comes to 1003003001 points; must come to at most")


def test_more_factors_than_a_table_has_use_for():
    lines = "\n".join(f'"transport.grpc.options.o{i}" = [1]' for i in range(101))
    refused(f"{ALONE}[factors]\n{lines}\n", "must be at most 100 factors")


@pytest.mark.parametrize("value", ["1", '"1mbit"', "[1]", "{ a = 1 }"])
def test_a_list_of_too_many_values_is_refused_before_it_is_read(value, monkeypatch):
    """Reading a million values takes many times as long as the refusal may."""
    monkeypatch.delattr("ray_sweeps.sweep_file.reading.parse_toml")
    many = ",\n".join([value] * (MOST_VALUES + 1))
    refused(f"{ALONE}[factors.rate]\nvalues = [\n{many}\n]\n", "line [0-9]+: a list of more than")


def test_a_list_of_as_many_values_as_a_factor_may_have_is_read():
    check_lists(f"workers = [{', '.join(map(str, range(MOST_VALUES)))},]")
    check_lists("rate = [1, # " + "1, " * MOST_VALUES + "\n2]")


def test_a_range_that_leads_too_far_is_refused_by_its_end(monkeypatch):
    """Not only when a hundred scenarios on the way there were tried."""
    tried: list[object] = []
    real = checks.with_values

    def counted(base: Scenario, changes: Mapping[str, object], source: str = "") -> Scenario:
        tried.append(changes)
        return real(base, changes, source)

    monkeypatch.setattr(checks, "with_values", counted)
    refused(
        f"{ALONE}[factors]\nservers = {{ from = 1, to = 2000, step = 1 }}\n", "2000: must be <="
    )
    assert len(tried) < 10


def test_a_value_is_fine_if_one_point_with_it_is():
    text = f"""{ALONE}[factors]
straggler = ["none", "one-slow-link"]
"training.share" = ["equal", "two_servers", "max_min"]
"""
    assert len(space_of(sweep_of(text))) == 6
    refused(text.replace(', "max_min"', ""), "factors.straggler: .*one-slow-link.* take max_min")


def test_points_that_conditions_exclude_need_not_make_a_scenario():
    text = f"{ALONE}[factors]\nservers = [1, 5000]\n"
    assert len(space_of(sweep_of(f'where = ["servers < 5000"]\n{text}'))) == 2
    refused(text, "factors.servers: 5000")
