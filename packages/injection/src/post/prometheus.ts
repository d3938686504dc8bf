/** Prometheus is sent to the proxy's agent, which merges the application's metrics with the proxy's. */
import { parseBoolean } from "@flotilla/model";
import { names } from "../annotations.ts";
import { InjectionError } from "../errors.ts";
import { annotate, changeContainer, findProxy, type Json, type Pod, proxyName, type Texts } from "../pod.ts";

const [scrape, path, port] = ["prometheus.io/scrape", "prometheus.io/path", "prometheus.io/port"];
const securePort = "prometheus.istio.io/secure-port";

/** @throws InjectionError INJECT_BAD_POD for ports that the agent cannot scrape */
export function mergePrometheus(pod: Pod, mesh: Json, statusPort: number): Pod {
  const annotations = pod.metadata.annotations ?? {};
  if (!isScraped(annotations) || !isMerging(annotations, mesh)) return pod;
  const own = String(statusPort);
  // It was done in an earlier injection, or the author does it himself.
  if (found(annotations, port) === own) return pod;
  const target = scrapeTarget(annotations);
  for (const one of target.targets ?? [target]) if (one.port !== "") checkTarget(one.port, own);
  const annotated = annotate(withoutTargets(pod), { [port]: own, [path]: "/stats/prometheus", [scrape]: "true" });
  const isEmpty = target.scrape === "" && target.path === "" && target.port === "";
  if (isEmpty || findProxy(pod.spec) === undefined) return annotated;
  const value = JSON.stringify(target);
  return changeContainer(annotated, proxyName, (container) => ({
    ...container,
    env: [...(container.env ?? []), { name: "ISTIO_PROMETHEUS_ANNOTATIONS", value }],
  }));
}

/** Where the agent offers merged metrics over TLS too, Prometheus finds the port as it finds the plain one. */
export function annotateSecurePort(pod: Pod): Pod {
  if (found(pod.metadata.annotations ?? {}, securePort) !== undefined) return pod;
  const env = findProxy(pod.spec)?.env ?? [];
  const value = env.find((one) => one.name === "ENVOY_SECURE_MERGED_METRICS_PORT" && isSet(one.value))?.value;
  return value === undefined ? pod : annotate(pod, { [securePort]: value });
}

const isSet = (value: string | undefined): boolean => value !== undefined && value !== "" && value !== "0";

/** Prometheus makes labels of annotations: spellings that differ in other signs than letters and digits are the same one. */
const labelName = (name: string): string => name.replace(/[^a-zA-Z0-9_]/g, "_");

function found(annotations: Texts, name: string): string | undefined {
  const wanted = labelName(name);
  return Object.entries(annotations).find(([own]) => labelName(own) === wanted)?.[1];
}

const isScraped = (annotations: Texts): boolean => parseBoolean(found(annotations, scrape) ?? "") ?? true;

function isMerging(annotations: Texts, mesh: Json): boolean {
  return parseBoolean(annotations[names.mergeMetrics] ?? "") ?? mesh["enablePrometheusMerge"] !== false;
}

/** The agent has them now, in whatever spelling; scrapers must not ask the application as well. */
function withoutTargets(pod: Pod): Pod {
  const known = new Set([scrape, path, port, names.scrapeTargets].map(labelName));
  const left = Object.entries(pod.metadata.annotations ?? {}).filter(([name]) => !known.has(labelName(name)));
  return { ...pod, metadata: { ...pod.metadata, annotations: Object.fromEntries(left) } };
}

interface Target {
  readonly port: string;
  readonly path: string;
}

interface ScrapeConfiguration extends Target {
  readonly scrape: string;
  readonly targets?: readonly Target[];
}

/**
 * The place of the application's own metrics, in the agent's words. The first of several targets stands for all, for agents that support
 * one.
 */
function scrapeTarget(annotations: Texts): ScrapeConfiguration {
  const targets = parseTargets(found(annotations, names.scrapeTargets) ?? "");
  const [first] = targets;
  return {
    scrape: found(annotations, scrape) ?? "",
    path: first?.path ?? found(annotations, path) ?? "",
    port: first?.port ?? found(annotations, port) ?? "",
    ...(targets.length === 0 ? {} : { targets }),
  };
}

/** `8080:/metrics,9100:/custom`; a list with a target that has no port counts as none. */
function parseTargets(text: string): readonly Target[] {
  const targets = text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const colon = part.includes(":") ? part.indexOf(":") : part.length;
      return { port: part.slice(0, colon).trim(), path: part.slice(colon + 1).trim() || "/metrics" };
    });
  return targets.some((target) => target.port === "") ? [] : targets;
}

/** Ports of the proxy: to scrape them would count twice, or disturb traffic. */
const reserved: ReadonlySet<number> = new Set([15_000, 15_001, 15_004, 15_006, 15_008, 15_020, 15_021, 15_053, 15_090]);

function checkTarget(text: string, statusPort: string): void {
  const reason = targetProblem(text, statusPort);
  if (reason !== undefined)
    throw new InjectionError("INJECT_BAD_POD", `invalid prometheus scrape configuration: ${reason}`);
}

function targetProblem(text: string, statusPort: string): string | undefined {
  const number = /^[+-]?\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (!(number >= 1 && number <= 65_535)) return `invalid port ${JSON.stringify(text)}`;
  if (String(number) === statusPort) return `port ${text} conflicts with agent port`;
  return reserved.has(number) ? `port ${text} is reserved for Istio and cannot be scraped` : undefined;
}
