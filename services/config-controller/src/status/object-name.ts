/** Objects as people name them: `VirtualService/reviews.shop`, `vs/reviews.shop`, `Namespace/shop`, `MeshConfig`, or `Kind/namespace/name`. */
import { type Kind, kinds } from "@flotilla/kinds";
import type { ConfigKey } from "@flotilla/model";
import { meshConfigKey, meshNetworksKey } from "@flotilla/registry/config";

const meshDocuments: readonly ConfigKey[] = [meshConfigKey, meshNetworksKey];

/** Names may have dots, namespaces have none. @throws RangeError saying what is wrong */
export function parseObjectName(text: string): ConfigKey {
  const [kindText = "", first = "", second, ...more] = text.split("/");
  const document = meshDocuments.find((key) => key.kind.toLowerCase() === text.toLowerCase());
  if (document !== undefined) return document;
  const kind = kinds.find((row) => isCalled(row, kindText.toLowerCase()));
  if (kind === undefined) throw new RangeError(`"${kindText}" in "${text}" is no kind of configuration`);
  if (first === "" || more.length > 0) throw new RangeError(`"${text}" is not KIND/NAME.NAMESPACE`);
  if (second !== undefined) return { kind: kind.name, namespace: first, name: second };
  if (!kind.namespaced) return { kind: kind.name, namespace: "", name: first };
  const dot = first.lastIndexOf(".");
  if (dot <= 0) throw new RangeError(`"${text}" names no namespace: ${kind.name}/${first}.NAMESPACE`);
  return { kind: kind.name, namespace: first.slice(dot + 1), name: first.slice(0, dot) };
}

/** Of Gateways, Istio's comes first; `KubernetesGateway` is the Gateway API's. */
function isCalled({ name, kind, plural, shortNames }: Kind, text: string): boolean {
  return [name, kind, plural, ...shortNames].some((one) => one.toLowerCase() === text);
}
