/** The view of the Prometheus of the profile `observability`, by its HTTP API as it is published on this host. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@flotilla/runtime";
import { parse } from "yaml";
import { figure, timed } from "./figures.ts";
import type { Project } from "./project.ts";

const prometheusPort = 19090;
const url = `http://127.0.0.1:${prometheusPort}/api/v1`;

/** Counters that have no series before the first event, none of which the sample causes: it refuses nothing, and admits no pods. */
const withoutEvents = /pilot_total_xds_rejects|streams_refused|sidecar_injection|galley_validation/;

/** @param watchers services of the profile, and whether their image is there */
export async function checkObservability(project: Project, watchers: Readonly<Record<string, boolean>>): Promise<void> {
  const names = Object.keys(watchers).filter((name) => watchers[name]);
  assert.ok(names.includes("prometheus"));
  const env = { FLOTILLA_PROMETHEUS_PORT: String(prometheusPort) };
  const profile = ["--profile", "observability"];
  await timed("`--profile observability up --wait`", () =>
    project.compose([...profile, "up", "-d", "--wait", "--no-recreate", ...names], env),
  );
  const areUp = async () => {
    const states = await targetStates();
    return states?.size === 6 && [...states.values()].every((state) => state === "up");
  };
  await until(areUp, { withinMs: 90_000, everyMs: 1_000, what: "every service to be scraped" });
  const isEvaluated = async () => [...(await evaluatedAlerts()).values()].every((health) => health === "ok");
  await until(isEvaluated, { withinMs: 60_000, everyMs: 1_000, what: "the rules to be evaluated" });
  assert.deepEqual([...(await evaluatedAlerts()).keys()], alertsOf(project.directory));
  const panels = panelsOf(project.directory);
  const silent = async () => {
    const found = await Promise.all(panels.map(hasData));
    return panels.filter((_, i) => !found[i]);
  };
  const hasAll = async () => (await silent()).every((panel) => withoutEvents.test(panel));
  await until(hasAll, { withinMs: 90_000, everyMs: 5_000, what: "data of the panels" }).catch(
    async (error: unknown) => {
      throw new Error(`no data: ${(await silent()).join("; ")}`, { cause: error });
    },
  );
  figure("panels of the dashboard with data", `${panels.length - (await silent()).length} of ${panels.length}`);
  for (const name of Object.keys(watchers).filter((one) => !names.includes(one)))
    figure(`\`${name}\` of the profile`, "not started: its image could not be pulled");
  await project.compose([...profile, "rm", "-sf", ...names], env);
}

function panelsOf(directory: string): readonly string[] {
  const dashboard = readFileSync(join(directory, "k8s/observability/dashboard.json"), "utf8");
  const { panels } = JSON.parse(dashboard) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  return panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll("$__rate_interval", "1m")));
}

function alertsOf(directory: string): readonly string[] {
  const rules = parse(readFileSync(join(directory, "k8s/observability/rules.yaml"), "utf8")) as RuleGroups;
  return rules.groups.flatMap((group) => group.rules.map((rule) => rule.alert));
}

/** Jobs by the state of their target: `up`, `down`, `unknown`. Undefined while Prometheus does not answer. */
async function targetStates(): Promise<ReadonlyMap<string, string> | undefined> {
  const answer = await ask<{ readonly activeTargets: readonly Target[] }>("targets").catch(() => undefined);
  return answer && new Map(answer.activeTargets.map(({ labels, health }) => [labels["job"] ?? "", health]));
}

/** Names of the alerts that Prometheus evaluates, with the health of their rule. */
async function evaluatedAlerts(): Promise<ReadonlyMap<string, string>> {
  const { groups } = await ask<{ readonly groups: readonly { readonly rules: readonly Rule[] }[] }>("rules");
  return new Map(groups.flatMap(({ rules }) => rules.map(({ name, health }) => [name, health])));
}

/** @throws Error when Prometheus refuses the expression */
async function hasData(expression: string): Promise<boolean> {
  const { result } = await ask<{ readonly result: readonly unknown[] }>(
    `query?query=${encodeURIComponent(expression)}`,
  );
  return result.length > 0;
}

async function ask<Data>(path: string): Promise<Data> {
  const answer = (await (await fetch(`${url}/${path}`)).json()) as {
    readonly status: string;
    readonly error?: string;
    readonly data: Data;
  };
  if (answer.status !== "success") throw new Error(`${path}: ${answer.error}`);
  return answer.data;
}

interface RuleGroups {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}
interface Target {
  readonly labels: Readonly<Record<string, string>>;
  readonly health: string;
}
interface Rule {
  readonly name: string;
  readonly health: string;
}
