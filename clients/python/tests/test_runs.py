"""Starting, controlling and finding runs."""

from __future__ import annotations

import pytest

import lyceum


def test_a_run_is_started_with_overrides_and_found_again(lab: lyceum.Client) -> None:
    run = lab.create_run(preset="small", overrides={"seed": 9, "steps": 2}, name="started", tags=["a", "b"])
    assert (run.config["seed"], run.steps) == (9, 2)
    again = lab.run(run.id)
    assert (again.name, again.document["tags"]) == ("started", ["a", "b"])
    assert run.id in [one.id for one in lab.runs(tag="b")]


def test_a_config_is_resolved_without_starting_anything(lab: lyceum.Client) -> None:
    before = [run.id for run in lab.runs()]
    resolved = lab.resolve(preset="small", overrides={"parameters.width": 5})
    assert resolved["config"]["parameters"] == {"width": 5}
    assert [run.id for run in lab.runs()] == before


def test_every_fault_is_told_with_its_place(lab: lyceum.Client) -> None:
    with pytest.raises(lyceum.Invalid) as raised:
        lab.create_run(preset="small", overrides={"steps": 0, "parameters.widht": 1})
    refused = raised.value
    assert (refused.status, refused.type) == (422, "invalid")
    places = {fault.place for fault in refused.faults}
    assert any("steps" in place for place in places) and any("parameters" in place for place in places), places
    for fault in refused.faults:
        assert str(fault) in str(refused), "the message of the exception has every fault"


def test_refusals_are_told_apart(lab: lyceum.Client) -> None:
    with pytest.raises(lyceum.NotFound):
        lab.run("00000000-0000-0000-0000-000000000000")
    with lyceum.connect(lab.url, token="lyc_wrong") as stranger, pytest.raises(lyceum.Denied) as denied:
        list(stranger.runs())
    assert denied.value.status == 401
    run = lab.create_run(preset="small")
    run.pause()
    with pytest.raises(lyceum.Conflict):
        run.pause()
    assert run.resume().state == "running"
    run.cancel()


def test_a_list_is_read_beyond_its_first_page(lab: lyceum.Client) -> None:
    made = {lab.create_run(preset="small", tags=["many"]).id for _ in range(5)}
    found = [run.id for run in lab.runs(tag="many", limit=2)]
    assert len(found) == 5 and set(found) == made


def test_a_run_is_changed_forked_and_deleted(lab: lyceum.Client) -> None:
    run = lab.create_run(preset="small")
    assert run.update(name="other", tags=["x"]).name == "other"
    fork = run.fork(0, overrides={"seed": 21}, name="fork")
    assert (fork.document["forked_from"], fork.config["seed"]) == (run.id, 21)
    fork.cancel()
    fork.delete()
    with pytest.raises(lyceum.NotFound):
        fork.refresh()
    run.cancel()


def test_events_are_read_to_their_end(lab: lyceum.Client) -> None:
    run = lab.create_run(preset="small")
    run.cancel()
    events = list(run.events())
    assert [event["number"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["kind"] == "created"


def test_a_server_that_is_away_is_named() -> None:
    with lyceum.connect("http://127.0.0.1:1", token="lyc_x") as nobody, pytest.raises(lyceum.Unreachable) as away:
        list(nobody.runs())
    assert "http://127.0.0.1:1" in str(away.value)
