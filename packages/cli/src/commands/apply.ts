/** `flotilla apply -f FILE`: objects into the mesh, all of them at once or none. */
import { type IgnoredKind, ignoredText, openApi, withPlaces } from "../api/api-client.ts";
import { type Manifest, readManifests } from "../api/manifests.ts";
import type { apply as definition } from "../definitions/objects.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";

export interface Applied {
  readonly result: "created" | "configured" | "unchanged";
  readonly warnings: readonly string[];
  readonly object: { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } };
}

/** Field manager of the applied fields, among others who apply. */
export const manager = "flotilla-cli";

export const apply: Run<typeof definition> = async ({ options, terminal }) => {
  const { dryRun, force, namespace = "default" } = options;
  const manifests = readManifests(options.file);
  if (manifests.length === 0)
    throw new CliError("CLI_USAGE", "apply needs -f FILE, a directory or - with at least one object");
  const query = new URLSearchParams({ fieldManager: manager, namespace, force: String(force) });
  if (dryRun) query.set("dryRun", "All");
  const api = await openApi(options);
  const { items, ignored } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Applied[]; readonly ignored: readonly IgnoredKind[] }>(
      "POST",
      `/flotilla/v1/apply?${query}`,
      listOf(manifests),
    ),
  );
  for (const { result, object, warnings } of items) {
    const { name, namespace } = object.metadata;
    const place = namespace === undefined ? "" : `${namespace}/`;
    terminal.print(`${object.kind} ${place}${name} ${result}${dryRun ? " (dry run)" : ""}`);
    for (const warning of warnings) terminal.warn(`warning: ${warning}`);
  }
  for (const kind of ignored) terminal.warn(ignoredText(kind));
  return 0;
};

export function listOf(manifests: readonly Manifest[]): unknown {
  return { apiVersion: "v1", kind: "List", items: manifests.map(({ object }) => object) };
}
