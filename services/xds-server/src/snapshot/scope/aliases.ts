/**
 * Other names of services: ExternalName services, also of one another. Whoever may call a service may call it by any of them,
 * wherever they are visible themselves; so istiod does it.
 */
import { compareText, type Service } from "@flotilla/model";
import { query, type View } from "../view.ts";
import { allServices } from "./services.ts";

const aliases = query<ReadonlyMap<string, readonly string[]>>("aliases", (view) => {
  const found = view.read(allServices).filter(({ resolution }) => resolution === "alias");
  const targets = new Map(found.map(({ hostname, kubernetes }) => [hostname, kubernetes?.externalName ?? ""]));
  const names = Map.groupBy(found.sort(byNamespace), ({ hostname }) => lastOf(targets, hostname));
  return new Map([...names].map(([target, services]) => [target, services.map(({ hostname }) => hostname)]));
});

const aliasesOfHost = query<readonly string[], string>(
  "aliases-of-host",
  (view, hostname) => view.read(aliases).get(hostname) ?? [],
);

/** By namespace and name. */
export function aliasesOf(view: View, hostname: string): readonly string[] {
  return view.read(aliasesOfHost, hostname);
}

/** What a chain of names ends in; names in a circle stand for nothing. */
function lastOf(targets: ReadonlyMap<string, string>, hostname: string): string {
  const seen = new Set<string>();
  let name = hostname;
  for (let next = targets.get(name); next !== undefined; next = targets.get(name)) {
    if (seen.has(name)) return "";
    seen.add(name);
    name = next;
  }
  return name;
}

function byNamespace(a: Service, b: Service): number {
  return compareText(a.namespace, b.namespace) || compareText(a.hostname, b.hostname);
}
