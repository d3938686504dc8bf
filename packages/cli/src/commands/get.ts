/** `flotilla get KIND [NAME]`: objects in force, of all sources. */
import { openApi } from "../api/api-client.ts";
import { kindArgument } from "../api/kind-argument.ts";
import type { get as definition } from "../definitions/objects.ts";
import { columns, type Format, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { getServices } from "./get-services.ts";

interface InForce {
  readonly object: {
    readonly kind: string;
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly creationTimestamp?: string;
      readonly generation?: number;
    };
  };
  readonly provenance?: { readonly source: string; readonly location?: string };
}

export const get: Run<typeof definition> = async (invocation) => {
  const { options, operands, terminal } = invocation;
  const { kind, names } = operands;
  const row = kindArgument(kind);
  // Services come from registries too: xds-server has them all.
  if (row.name === "Service") return getServices(invocation);
  const isOfAll = !row.namespaced || (options.allNamespaces && names.length === 0);
  const namespace = options.namespace ?? "default";
  const query = new URLSearchParams({
    namespace: isOfAll ? "" : namespace,
    ...(options.selector !== undefined && { labelSelector: options.selector }),
  });
  const api = await openApi(options);
  const { items } = await api.call<{ readonly items: readonly InForce[] }>(
    "GET",
    `/flotilla/v1/in-force/${row.name}?${query}`,
  );
  const wanted = names.length === 0 ? items : items.filter(({ object }) => names.includes(object.metadata.name));
  const found = new Set(wanted.map(({ object }) => object.metadata.name));
  const missing = names.filter((name) => !found.has(name));
  const format = formatOf(options);
  const none = isOfAll ? `no ${row.kind} found` : `no ${row.kind} in namespace ${namespace}; -A shows all namespaces`;
  if (wanted.length > 0 || (missing.length === 0 && format !== "name"))
    terminal.print(show(wanted, format, { isOne: names.length === 1, none }));
  for (const name of missing) terminal.warn(`flotilla: ${row.kind} ${JSON.stringify(name)} not found`);
  return missing.length === 0 ? 0 : 1;
};

function show(
  items: readonly InForce[],
  format: Format,
  { isOne, none }: { readonly isOne: boolean; readonly none: string },
): string {
  const objects = items.map(({ object }) => object);
  if (format === "name")
    return objects.map(({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`).join("\n");
  const shown = isOne ? objects[0] : { apiVersion: "v1", kind: "List", items: objects };
  return render(format, shown, () => (items.length === 0 ? none : table(items)));
}

export function table(items: readonly InForce[], nowMs: number = Date.now()): string {
  return columns([
    ["NAMESPACE", "NAME", "AGE", "SOURCE"],
    ...items.map(({ object: { metadata }, provenance }) => [
      metadata.namespace ?? "",
      metadata.name,
      age(Date.parse(metadata.creationTimestamp ?? ""), nowMs),
      [provenance?.source, provenance?.location].filter(Boolean).join(" "),
    ]),
  ]);
}

function age(createdMs: number, nowMs: number): string {
  // Objects of files have no time of creation.
  if (!(createdMs > 0)) return "";
  const seconds = Math.max(0, Math.floor((nowMs - createdMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3_600)}h` : `${Math.floor(seconds / 86_400)}d`;
}
