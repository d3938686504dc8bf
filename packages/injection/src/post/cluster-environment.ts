/** Environment of the proxy that the webhook's address carries: which cluster and network a remote pod is in. */
import { ownValue } from "@flotilla/model";
import { changeContainer, type Metadata, type Pod, proxyName, type Texts } from "../pod.ts";

const networkLabel = "topology.istio.io/network";
const laterNames: ReadonlySet<string> = new Set(["ISTIO_PROMETHEUS_ANNOTATIONS", "ISTIO_KUBE_APP_PROBERS"]);

/** The network of a pod by its label. */
export const networkOfLabel = ({ labels }: Metadata): string | undefined => labels?.[networkLabel];

/** Replaces what the template has for these variables; the control plane learns the network by a label too. */
export function applyProxyEnvironment(pod: Pod, proxyEnv: Texts): Pod {
  const entries = Object.entries(proxyEnv).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return pod;
  const changed = changeContainer(pod, proxyName, (container) => {
    const others = (container.env ?? []).filter(({ name }) => !Object.hasOwn(proxyEnv, name));
    // Variables that an earlier injection put behind them stay there, so that a second injection gives the same pod.
    const end = others.findIndex(({ name }) => laterNames.has(name));
    const place = end === -1 ? others.length : end;
    return { ...container, env: others.toSpliced(place, 0, ...entries.map(([name, value]) => ({ name, value }))) };
  });
  const network = proxyEnv["ISTIO_META_NETWORK"];
  const labels = changed.metadata.labels ?? {};
  if (network === undefined || labels[networkLabel] !== undefined) return changed;
  return { ...changed, metadata: { ...changed.metadata, labels: { ...labels, [networkLabel]: network } } };
}

/** `/inject/cluster/east/net/n1` → ISTIO_META_CLUSTER_ID=east, ISTIO_META_NETWORK=n1; other keys are upper-cased. */
export function environmentOfPath(path: string): Texts {
  const rest = path.replace(/^\/inject\/?/, "").replace(/\/$/, "");
  // The older form, which only a URL can have: /inject/:ENV:A=1:ENV:B=2.
  if (rest.startsWith(":ENV:")) return Object.fromEntries(rest.split(":ENV:").flatMap(variable));
  const parts = rest.split("/");
  const entries: [string, string][] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [key = "", value = ""] = [parts[index], parts[index + 1]];
    if (key !== "")
      entries.push([ownValue(knownKeys, key) ?? key.toUpperCase(), decode(value).replaceAll("--slash--", "/")]);
  }
  return Object.fromEntries(entries);
}

function variable(pair: string): readonly (readonly [string, string])[] {
  const equals = pair.indexOf("=");
  const [key, value] = [pair.slice(0, Math.max(equals, 0)), pair.slice(equals + 1)];
  return key === "" ? [] : [[ownValue(knownKeys, key) ?? key.toUpperCase(), decode(value)]];
}

const knownKeys: Readonly<Record<string, string>> = {
  cluster: "ISTIO_META_CLUSTER_ID",
  net: "ISTIO_META_NETWORK",
};

/** A path that is not well encoded is taken as it stands. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
