/** Prometheus is sent to the proxy's agent, which merges the application's metrics with the proxy's. */
import { ownValue } from "@flotilla/model";
import { names } from "../annotations.ts";
import { annotate, changeContainer, findProxy, type Json, type Pod, proxyName, type Texts } from "../pod.ts";

const [scrape, path, port] = ["prometheus.io/scrape", "prometheus.io/path", "prometheus.io/port"];

export function mergePrometheus(pod: Pod, mesh: Json, statusPort: number): Pod {
  const annotations = pod.metadata.annotations ?? {};
  // Both spellings are in use. Source: corpus inject, prometheus-scrape2.
  if (
    [ownValue(annotations, scrape), annotations["prometheus.io.scrape"]].includes("false") ||
    !isMerging(annotations, mesh)
  )
    return pod;
  const own = String(statusPort);
  // It was done in an earlier injection, or the author does it himself.
  if (ownValue(annotations, port) === own) return pod;
  const target = scrapeTarget(annotations);
  const annotated = annotate(withoutTargets(pod), { [port]: own, [path]: "/stats/prometheus", [scrape]: "true" });
  if (target === undefined || findProxy(pod.spec) === undefined) return annotated;
  const value = JSON.stringify(target);
  return changeContainer(annotated, proxyName, (container) => ({
    ...container,
    env: [...(container.env ?? []), { name: "ISTIO_PROMETHEUS_ANNOTATIONS", value }],
  }));
}

/** The agent knows them now; whoever scrapes must not ask the application as well. */
function withoutTargets(pod: Pod): Pod {
  const { [names.scrapeTargets]: _, ...annotations } = pod.metadata.annotations ?? {};
  return { ...pod, metadata: { ...pod.metadata, annotations } };
}

function isMerging(annotations: Texts, mesh: Json): boolean {
  const own = annotations[names.mergeMetrics]?.toLowerCase();
  if (own !== undefined && own !== "") return ["true", "1", "t", "yes", "y", "on"].includes(own);
  return mesh["enablePrometheusMerge"] !== false;
}

/** Where the application's own metrics are, in the agent's words; undefined when the pod says nothing. */
function scrapeTarget(annotations: Texts): Json | undefined {
  const targets = parseTargets(annotations[names.scrapeTargets]);
  const [first] = targets;
  const target = {
    scrape: ownValue(annotations, scrape) ?? "",
    path: ownValue(annotations, path) ?? first?.path ?? "",
    port: ownValue(annotations, port) ?? first?.port ?? "",
  };
  if (target.scrape === "" && target.path === "" && target.port === "") return undefined;
  return { ...target, ...(targets.length === 0 ? {} : { targets }) };
}

/** `8080:/metrics,9100:/custom` */
function parseTargets(text = ""): readonly { readonly port: string; readonly path: string }[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const colon = part.indexOf(":");
      return colon === -1 ? { port: part, path: "" } : { port: part.slice(0, colon), path: part.slice(colon + 1) };
    });
}
