/** Addresses of the screens, from the names that the contract uses. */
import type { ObjectName } from "../../contract/index.ts";
import { formatAddress, pathOf } from "./router.ts";

/** The parts of `Kind/namespace/name`; undefined for a text that is none. */
export function objectParts(object: ObjectName): { kind: string; namespace: string; name: string } | undefined {
  const [kind = "", namespace = "", name = "", ...rest] = object.split("/");
  return kind === "" || name === "" || rest.length > 0 || /\s/.test(object) ? undefined : { kind, namespace, name };
}

/** The screen of an object; the namespace of a kind without namespaces is `-`. */
export function objectPath(object: ObjectName): string | undefined {
  const parts = objectParts(object);
  return parts === undefined ? undefined : pathOf("objects", parts.kind, parts.namespace || "-", parts.name);
}

/** The screen of a proxy, `name.namespace`. */
export function proxyPath(proxy: string): string {
  return pathOf("proxies", proxy);
}

/** The screen of a service and its neighbours. */
export function servicePath(namespace: string, hostname: string): string {
  return pathOf("topology", namespace, hostname);
}

/** The screen of the way of a request, with what is known of it; no namespace is named `-`. */
export function wayPath(known: Readonly<Record<string, string>> = {}): string {
  return formatAddress("/topology/-/request", new Map(Object.entries(known)));
}

/** The screen above: of `/objects/Gateway/shop/web` it is `/objects`; of the first level the overview. */
export function pathAbove(path: string): string {
  const [, first = ""] = path.split("/");
  return path === `/${first}` ? "/" : `/${first}`;
}

/** Properties of each screen: the names in its path, decoded. */
export interface ScreenProps {
  readonly names: ReadonlyMap<string, string>;
}
