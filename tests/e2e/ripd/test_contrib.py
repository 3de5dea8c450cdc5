# SPDX-License-Identifier: Apache-2.0
"""The files in ripd/contrib/: each is accepted by its tool, and refers only to metrics and paths that ripd has."""
import json
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import world as w  # noqa: E402

CONTRIB = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../ripd/contrib"))
LABEL = re.compile(r'\b([a-z_]+)\s*(=~|!~|!=|=)\s*"([^"]*)"')


def read(name):
    with open(os.path.join(CONTRIB, name), encoding="utf-8") as file:
        return file.read()


def tool(*argv):
    if shutil.which(argv[0]) is None:
        raise w.Skip(f"{argv[0]} is not installed (Debian packages prometheus, prometheus-alertmanager)")
    done = subprocess.run(argv, cwd=CONTRIB, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def rules_and_their_tests(_world):
    assert "SUCCESS" in tool("promtool", "check", "rules", "--lint=all", "--lint-fatal", "alerts.yml")
    assert "SUCCESS" in tool("promtool", "test", "rules", "alerts_test.yml")


def every_alert_has_a_test(_world):
    alerts = set(re.findall(r"alert: (\w+)", read("alerts.yml")))
    tested = set(re.findall(r"alertname: (\w+)\n\s+exp_alerts", read("alerts_test.yml")))
    assert len(alerts) > 10 and alerts == tested, alerts ^ tested


def examples_of_configuration(_world):
    assert "SUCCESS" in tool("promtool", "check", "config", "--lint=all", "--lint-fatal", "prometheus.yml")
    assert "SUCCESS" in tool("amtool", "check-config", "alertmanager.yml")


def known(world):
    """Returns {metric: {label: values}}, including the sample names of histograms."""
    text = world.request("/metrics")[1]
    metrics = {}
    for name, labels in re.findall(r"^([a-z_]+)(?:\{(.*)\})? \S+$", text, re.M):
        of_metric = metrics.setdefault(name, {})
        for label, _, value in LABEL.findall(labels):
            of_metric.setdefault(label, set()).add(value)
    return metrics


def check_expression(expression, metrics):
    """Checks that all metrics of an expression are known (or up), and that all label values exist. Returns their
    number."""
    names = re.findall(r"\b((?:ripd|process)_[a-z_]+)\b(?!\s*\()(?:\{([^}]*)\})?", expression)
    for name, matchers in names:
        assert name in metrics, f"{expression}: unknown metric {name}"
        for label, operator, value in LABEL.findall(matchers):
            if label in ("job", "instance"):
                continue
            assert label in metrics[name], f"{expression}: {name} has no label {label}"
            for one in value.split("|") if "~" in operator else [value]:
                assert one in metrics[name][label], f"{expression}: no {label} {one}"
    return len(names)


def alerts_use_known_metrics(world):
    metrics = known(world)
    text = re.sub(r"#.*", "", read("alerts.yml"))
    expressions = re.findall(r"expr: (?:>-\n)?(.*?)\n\s+(?:for|labels):", text, re.S)
    assert len(expressions) == text.count("alert:")
    for expression in expressions:
        assert check_expression(expression, metrics) or "up{" in expression, expression
    assert check_expression(" ".join(re.findall(r'printf "(.*?)"', text)).replace("'", '"'), metrics) == 2
    for path in set(re.findall(r"curl -s 'http://\{\{ \$labels.instance \}\}(/[^']*)'", text)):
        assert world.request(path)[0] == 200, path


def panels_of(dashboard):
    for panel in dashboard["panels"]:
        yield panel
        yield from panel.get("panels", [])


def the_dashboard_uses_known_metrics(world):
    metrics = known(world)
    dashboard = json.loads(read("dashboard.json"))
    panels = list(panels_of(dashboard))
    assert len({panel["id"] for panel in panels}) == len(panels) > 20
    shown = set()
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24 and panel["title"]
        if panel["type"] == "row":
            continue
        assert panel["description"] and panel["targets"], panel["title"]
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert check_expression(target["expr"], metrics), target["expr"]
            for name in re.findall(r"\b(?:ripd|process)_[a-z_]+", target["expr"]):
                shown.add(name)
            assert target["expr"].count('job=~"$job", instance=~"$instance"') >= 1
    for variable in dashboard["templating"]["list"][1:]:
        assert "ripd_build_info" in variable["query"]["query"]
    for cell in range(24):  # panels must not overlap
        column = sorted((p["gridPos"]["y"], p["gridPos"]["h"]) for p in panels
                        if p["gridPos"]["x"] <= cell < p["gridPos"]["x"] + p["gridPos"]["w"])
        for (y, height), (next_y, _) in zip(column, column[1:]):
            assert y + height <= next_y, (cell, y, height, next_y)
    assert {"ripd_stalls", "ripd_stall_longest_seconds", "ripd_ids", "ripd_scan_duration_seconds_bucket"} <= shown


def expressions_of_the_dashboard_parse(world):
    """promtool parses the expressions as rules."""
    lines = ["groups: [{name: g, rules: ["]
    for i, panel in enumerate(panels_of(json.loads(read("dashboard.json")))):
        for target in panel.get("targets", []):
            expression = re.sub(r"\$(job|instance)", ".*", target["expr"].replace("$__rate_interval", "1m"))
            lines.append(f"{{record: 'r:{i}{target['refId']}', expr: {json.dumps(expression)}}},")
    lines.append("]}]")
    path = os.path.join(world.made, "rules.yml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    assert "SUCCESS" in tool("promtool", "check", "rules", path)


if __name__ == "__main__":
    w.run([rules_and_their_tests, every_alert_has_a_test, examples_of_configuration, alerts_use_known_metrics,
           the_dashboard_uses_known_metrics, expressions_of_the_dashboard_parse])
