/** A real Prometheus that scrapes services every second: the one on PATH, or the one that PROMETHEUS_BIN names. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "@flotilla/runtime";
import { freePort } from "@flotilla/servers";
import { parse, stringify } from "yaml";

const binary = process.env["PROMETHEUS_BIN"] ?? "prometheus";

/** False where there is one. */
export const whyNoPrometheus: string | false =
  spawnSync(binary, ["--version"], { timeout: 60_000 }).status !== 0 &&
  "no prometheus: install Prometheus, or name its program by PROMETHEUS_BIN";

export interface Target {
  /** `host:port`. */
  readonly address: string;
  readonly path?: string;
  /** Beside those that Prometheus adds. */
  readonly labels: Readonly<Record<string, string>>;
}

export interface Prometheus extends AsyncDisposable {
  /** The series of an instant query. @throws Error when Prometheus refuses the expression */
  query(expression: string): Promise<readonly Sample[]>;
  /** Names of the alerts that fire now. */
  firing(): Promise<ReadonlySet<string>>;
  /** Scrapes one more, from its next look at the file of targets on. */
  watch(target: Target): void;
}

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface PrometheusOptions {
  readonly directory: string;
  readonly targets: readonly Target[];
  readonly rules: string;
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[];
}

/** The rules with every `for` left out, and bounds that are passed within seconds, so that a test need not wait for them. */
export function impatientRules(file: string): string {
  const { groups } = parse(readFileSync(file, "utf8")) as RuleFile;
  return stringify({
    groups: groups.map((group) => ({
      ...group,
      interval: "1s",
      rules: group.rules.map(({ expr, ...rule }) => ({
        ...rule,
        for: "0s",
        expr: expr
          .replace("flotilla_cluster_away_seconds) > 120", "flotilla_cluster_away_seconds) > 5")
          .replace("flotilla_background_failures_total[10m])) > 5", "flotilla_background_failures_total[10m])) > 1"),
      })),
    })),
  });
}

/** Resolves when it answers. */
export async function startPrometheus({ directory, targets, rules }: PrometheusOptions): Promise<Prometheus> {
  mkdirSync(directory, { recursive: true });
  const file = (name: string) => join(directory, name);
  writeFileSync(file("rules.yaml"), rules);
  const later: { readonly targets: readonly string[]; readonly labels: Target["labels"] }[] = [];
  writeFileSync(
    file("prometheus.yaml"),
    stringify({
      global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
      rule_files: ["rules.yaml"],
      scrape_configs: [
        ...targets.map(({ address, path = "/metrics", labels }, i) => ({
          job_name: `target-${i}`,
          metrics_path: path,
          static_configs: [{ targets: [address], labels }],
        })),
        { job_name: "later", file_sd_configs: [{ files: [file("later.json")], refresh_interval: "1s" }] },
      ],
    }),
  );
  const url = `http://127.0.0.1:${await freePort()}`;
  const log = openSync(file("prometheus.log"), "a");
  const child = spawn(
    binary,
    [
      ...[`--config.file=${file("prometheus.yaml")}`, `--storage.tsdb.path=${file("data")}`],
      `--web.listen-address=${url.slice("http://".length)}`,
    ],
    { stdio: ["ignore", log, log] },
  );
  const exited = once(child, "exit");
  const get = async <T>(path: string): Promise<T> => {
    const answer = (await (await fetch(`${url}/api/v1/${path}`)).json()) as Answer<T>;
    if (answer.status !== "success") throw new Error(`${path}: ${answer.error}`);
    return answer.data;
  };
  const started: Prometheus = {
    query: async (expression) =>
      (await get<{ readonly result: readonly Sample[] }>(`query?query=${encodeURIComponent(expression)}`)).result,
    firing: async () => {
      const { alerts } = await get<{ readonly alerts: readonly Alert[] }>("alerts");
      return new Set(alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels["alertname"] ?? ""));
    },
    watch: ({ address, labels }) => {
      later.push({ targets: [address], labels });
      writeFileSync(file("later.json"), JSON.stringify(later));
    },
    [Symbol.asyncDispose]: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
  try {
    const isReady = async () => {
      if (child.exitCode !== null) throw new Error(readFileSync(file("prometheus.log"), "utf8").slice(-2_000));
      return (await fetch(`${url}/-/ready`).catch(() => undefined))?.status === 200;
    };
    await until(isReady, { withinMs: 60_000, what: "Prometheus to be ready", everyMs: 100 });
    return started;
  } catch (error) {
    await started[Symbol.asyncDispose]();
    throw error;
  }
}

interface Answer<T> {
  readonly status: string;
  readonly error?: string;
  readonly data: T;
}
interface Alert {
  readonly state: string;
  readonly labels: Readonly<Record<string, string>>;
}
