/** `flotilla apply -f FILE`: objects into the mesh, all of them at once or none. */
import { openApi, parseApiArgs } from "../api/api-client.ts";
import { type Manifest, readManifests } from "../api/manifests.ts";
import { withPlaces } from "../api/refusals.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";

export interface Applied {
  readonly result: "created" | "configured" | "unchanged";
  readonly warnings: readonly string[];
  readonly object: { readonly kind: string; readonly metadata: { readonly name: string; readonly namespace?: string } };
}

/** Names what it wants among others who apply. */
export const manager = "flotilla-cli";

export const apply: Command = async (args, env) => {
  const { values } = parseApiArgs(args, {
    file: { type: "string", short: "f", multiple: true },
    "dry-run": { type: "boolean", default: false },
    force: { type: "boolean", default: false },
  });
  const manifests = readManifests(values.file ?? []);
  if (manifests.length === 0)
    throw new CliError("CLI_USAGE", "apply needs -f FILE, a directory or - with at least one object");
  const query = new URLSearchParams({
    fieldManager: manager,
    namespace: values.namespace ?? "default",
    force: String(values.force),
  });
  if (values["dry-run"]) query.set("dryRun", "All");
  const api = await openApi(values, env);
  const { items } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Applied[] }>("POST", `/flotilla/v1/apply?${query}`, listOf(manifests)),
  );
  for (const { result, object, warnings } of items) {
    const { name, namespace } = object.metadata;
    process.stdout.write(
      `${object.kind} ${namespace === undefined ? "" : `${namespace}/`}${name} ${result}${values["dry-run"] ? " (dry run)" : ""}\n`,
    );
    for (const warning of warnings) process.stderr.write(`warning: ${warning}\n`);
  }
  return 0;
};

export function listOf(manifests: readonly Manifest[]): unknown {
  return { apiVersion: "v1", kind: "List", items: manifests.map(({ object }) => object) };
}
