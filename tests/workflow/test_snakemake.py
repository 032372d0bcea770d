"""Each private part of Snakemake that fairfl.workflow.snakemake uses: a test fails when Snakemake changes it."""

import asyncio
import inspect
import re
from types import SimpleNamespace

import pytest
from snakemake import api, cli, io, workflow
from snakemake.scheduling import greedy
from snakemake.scheduling.job_scheduler import JobScheduler
from snakemake.settings.types import DeploymentMethod, DeploymentSettings, SchedulingSettings

from fairfl.experiments.workload import load_workload
from fairfl.runtime.errors import FairflError
from fairfl.workflow import snakemake
from tests.workflow.graphs import graph_of

DAG, Workflow = workflow.DAG, workflow.Workflow

NONE_STORED = SimpleNamespace(stored=lambda name: None)


@pytest.fixture(scope="module")
def graph(root):
    return graph_of(load_workload(root, {"scale": "quick", "papers": ["eagle"], "artifacts": ["eagle_table1"]}))


def called(graph, *targets, dryrun=False):
    """A workflow that is asked for these targets."""
    rules = [
        SimpleNamespace(name=rule.name, has_wildcards=lambda rule=rule: any("{" in path for path in rule.outputs))
        for rule in graph.rules.values()
    ]
    settings = {"dag_settings": SimpleNamespace(targets=targets), "storage_settings": SimpleNamespace(all_temp=False)}
    return SimpleNamespace(**settings, rules=rules, touch=False, dryrun=dryrun)


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("eagle_tabel1", "no target 'eagle_tabel1'; did you mean 'eagle_table1'?"),
        ("results/quick/eagle/tabel1.csv", "did you mean 'results/quick/eagle/table1.csv'?"),
        ("results/quick/tidy/eagle_emnist_linear_a01.csv", "'results/quick/tidy/eagle_emnist_linear_a0.1.csv'?"),
        ("README.md", "no target 'README.md'"),
        ("eagle_table2", "no target 'eagle_table2': `artifacts` leaves it out"),
    ],
)
def test_a_target_that_nothing_makes(graph, target, words):
    with pytest.raises(FairflError, match=re.escape(words)):
        snakemake.check_targets(called(graph, target), graph, NONE_STORED)


def test_no_result_is_temporary(graph):
    workflow = called(graph, "eagle_table1")
    snakemake.check_targets(workflow, graph, NONE_STORED)
    workflow.storage_settings.all_temp = True
    with pytest.raises(FairflError, match="--all-temp: results would be deleted .*: leave it out"):
        snakemake.check_targets(workflow, graph, NONE_STORED)


def test_a_file_of_a_stored_result_is_no_target(graph):
    target = graph.job(graph.wanted("eagle_table1")[0]).outputs[0]
    with pytest.raises(FairflError, match=f"{target}: is among the stored results, and in no file"):
        snakemake.check_targets(called(graph, target), graph, SimpleNamespace(stored=str))


@pytest.mark.parametrize(
    ("targets", "dryrun"), [(("plan", "eagle_table1"), False), (("plan",), True), (("eagle_table1", "plan"), False)]
)
def test_a_plan_runs_nothing(graph, targets, dryrun):
    """Not even the other targets of its command, of which it says nothing; and its dry run would be empty."""
    with pytest.raises(FairflError, match="`fairfl plan --config artifacts=eagle_table1` plans a part"):
        snakemake.check_targets(called(graph, *targets, dryrun=dryrun), graph, NONE_STORED)


# What stands in the source of its parts, where no run would fail without it: every command builds its DAG in one
# method; no timer is started without a limit on submissions; by what the length of a DAG is counted; where the
# executor is while rules are parsed.
SOURCES = [
    *((method, ["_prepare_dag("]) for method in (Workflow.execute, Workflow.printdag, Workflow.summary)),
    (Workflow.delete_output, ["_prepare_dag("]),
    (
        JobScheduler,
        ["self.workflow.scheduling_settings.max_jobs_per_timespan", "if self.job_rate_limiter is not None:"],
    ),
    (DAG, ["self._len = len(self._finished | self._needrun)"]),
    (cli.args_to_api, ["executor_plugin = ", "workflow_api.dag("]),
    (api.DAGApi.__post_init__, ["self.workflow_api._workflow."]),
]


@pytest.mark.parametrize(("part", "texts"), SOURCES, ids=[part.__qualname__ for part, _ in SOURCES])
def test_its_source_has(part, texts):
    source = inspect.getsource(part)
    assert [text for text in texts if text not in source] == []


def test_where_jobs_run_is_read_in_the_call_of_the_command_line():
    """Of a workflow that says so wrongly, as all do while rules are parsed; without such a call it says so."""
    said = SimpleNamespace(local_exec=True)

    def args_to_api(local):
        executor_plugin = SimpleNamespace(common_settings=SimpleNamespace(local_exec=local))
        return executor_plugin and snakemake.is_local(said)

    assert args_to_api(True) and not args_to_api(False) and snakemake.is_local(said)


def test_many_jobs_that_run_here_are_worth_a_server():
    def workflow(local_exec=True, deployed=(), jobs=100):
        settings = DeploymentSettings(deployment_method=set(deployed))
        return SimpleNamespace(local_exec=local_exec, deployment_settings=settings, dag=range(jobs))

    assert snakemake.runs_here(workflow(), at_least=4)
    for differs in ({"local_exec": False}, {"deployed": [DeploymentMethod.CONDA]}, {"jobs": 1}):
        assert not snakemake.runs_here(workflow(**differs), at_least=4)


def test_sizes_of_inputs_are_not_asked_for():
    assert "self.workflow.async_run(self.update_input_sizes(jobs))" in inspect.getsource(JobScheduler.job_selector)
    scheduler = SimpleNamespace()
    asyncio.run(snakemake._without_sizes(scheduler, []))
    job = SimpleNamespace(priority=0, input=[io.AnnotatedString("x")])
    settings = SimpleNamespace(omit_prioritize_by_temp_and_input=False)
    reward = greedy.Scheduler.job_reward(SimpleNamespace(settings=settings), job, scheduler._input_sizes)
    assert reward == (0, 0, 0)


def test_slurms_plugin_is_stood_in_for_through_its_executor():
    """What becomes of jobs is in tests/unit/workflow/test_submissions.py, what is said of them in test_queue.py, what
    the plugin calls in test_sbatch.py and test_slurm.py. Here is what these would not notice."""
    source = inspect.getsource(Workflow.execute)
    assert source.index("self.scheduler = JobScheduler(") < source.index("self._onstart(")
    assert 'workflow.global_resources["_nodes"]' in inspect.getsource(JobScheduler)
    plugin = pytest.importorskip("snakemake_executor_plugin_slurm")
    assert "The error message was '{e.output.strip()}'." in inspect.getsource(plugin.Executor.run_job)
    # Without an answer it forgets all jobs; with one that names none it keeps them.
    source = inspect.getsource(plugin.Executor.check_active_jobs)
    assert "SLURM status is: '{status}'" in source
    assert "await query_job_status(" in source and "if status_of_jobs is not None:" in source
    assert re.search(r"if status_lookup_id is None:\s+(#.*\s+)*yield j\s+continue", source)


def test_what_a_cluster_runs_says_where_the_sealed_code_lies(monkeypatch):
    """It need not pass variables on, as qsub does not without -V."""
    monkeypatch.setenv("FAIRFL_CODE", "/a place/copy")
    executor = SimpleNamespace(format_job_exec=lambda job: f"python -m snakemake {job}")
    called = SimpleNamespace(scheduler=SimpleNamespace(_executor=executor), local_exec=False)
    snakemake.submit_to_cluster(called, None, None, [], print)
    command = executor.format_job_exec("x")
    assert command.startswith("export ") and " FAIRFL_CODE='/a place/copy' " in command
    assert command.endswith(" && python -m snakemake x")
    here = SimpleNamespace(format_job_exec=None)
    snakemake.submit_to_cluster(
        SimpleNamespace(scheduler=SimpleNamespace(_executor=here), local_exec=True), None, None, [], print
    )
    assert here.format_job_exec is None  # on this machine there is no other process


def test_cores_are_shared_on_this_machine_only():
    assert snakemake.cores(SimpleNamespace(cores=8, local_exec=True)) == 8
    assert snakemake.cores(SimpleNamespace(cores=8, local_exec=False)) is None


def test_snakemake_looks_only_at_jobs_that_run_and_at_what_they_read(graph):
    table, above = graph.wanted("eagle_table1")[0], graph.job(graph.wanted("eagle_table1")[0]).inputs[0]
    runs = {above}
    rerun = SimpleNamespace(
        reason=lambda name: "edited" * (name in runs),
        nearest=lambda name: [before for before in graph.job(name).inputs if before in runs],
        stored=NONE_STORED.stored,
    )
    session = SimpleNamespace(is_main_process=True, scheduling_settings=None)
    decision = snakemake.Decision(session, graph, rerun, list)
    everything = decision.of_target(None, "eagle_table1")["wanted"]
    session.scheduling_settings = SchedulingSettings()
    assert decision.of_target(None, "eagle_table1") == {"wanted": [graph.job(above).outputs[0]]}
    runs.clear()
    assert decision.of_target(None, "eagle_table1") == {"wanted": everything[:1]}  # Snakemake runs what reads nothing
    wildcards = {"paper": "eagle", "artifact": "table1"}
    assert decision.inputs(wildcards, "table") == {}
    decision._forced_by_user = True
    assert decision.of_target(None, "eagle_table1") == {"wanted": everything}
    assert decision.inputs(wildcards, "table").keys() == graph.job(table).reads.keys()


def test_patterns_keep_their_constraints(graph):
    assert io.strip_wildcard_constraints(r"a/{seed,\d+}/{x}") == "a/{seed}/{x}"
    rule = graph.rules["train"]
    assert rule.constraints["seed"] == r"\d+" and rule.constraints["algorithm"] == "[a-z0-9_]+"
    assert rule.outputs[1] == "results/quick/runs/{setting}/{algorithm}/{variant}/seed{seed}/summary.json"


def test_rules_are_read_with_their_inputs_by_name_and_their_checkpoint(graph):
    names = [name for name, _ in graph.rules["train"].inputs]
    assert names == ["data", "partition", "weights", "optima", "tuned", "after"]
    assert graph.rules["train"].checkpoint.endswith("/checkpoint.pt") and not graph.rules["partition"].checkpoint
    paths = dict(graph.rules["page"].inputs)["artifacts"]
    assert paths and all(path.startswith("results/quick/eagle/table1.") for path in paths)
