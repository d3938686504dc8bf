/** Environment of the proxy that the webhook's address carries: which cluster and network a remote pod is in. */
import { ownValue } from "@flotilla/model";
import { changeContainer, type Pod, proxyName, type Texts } from "../pod.ts";

const networkLabel = "topology.istio.io/network";

/** What the address says replaces what the template says; the control plane learns the network by a label too. */
export function applyProxyEnvironment(pod: Pod, proxyEnv: Texts): Pod {
  const entries = Object.entries(proxyEnv).sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return pod;
  const changed = changeContainer(pod, proxyName, (container) => ({
    ...container,
    env: [
      ...(container.env ?? []).filter(({ name }) => !Object.hasOwn(proxyEnv, name)),
      ...entries.map(([name, value]) => ({ name, value })),
    ],
  }));
  const network = proxyEnv["ISTIO_META_NETWORK"];
  const labels = changed.metadata.labels ?? {};
  if (network === undefined || labels[networkLabel] !== undefined) return changed;
  return { ...changed, metadata: { ...changed.metadata, labels: { ...labels, [networkLabel]: network } } };
}

/** `/inject/cluster/east/net/n1` → ISTIO_META_CLUSTER_ID=east, ISTIO_META_NETWORK=n1; other keys are upper-cased. */
export function environmentOfPath(path: string): Texts {
  const parts = path.replace(/^\/inject\/?/, "").split("/");
  const entries: [string, string][] = [];
  for (let index = 0; index + 1 < parts.length; index += 2) {
    const [key = "", value = ""] = [parts[index], parts[index + 1]];
    if (key !== "")
      entries.push([ownValue(knownKeys, key) ?? key.toUpperCase(), decode(value).replaceAll("--slash--", "/")]);
  }
  return Object.fromEntries(entries);
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
