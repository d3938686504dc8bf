/** `flotilla delete -f FILE`, `flotilla delete KIND NAME…`: objects out of the mesh, all at once. */
import { apiVersionOf } from "@flotilla/kinds";
import { openApi, parseApiArgs } from "../api/api-client.ts";
import { kindArgument } from "../api/kind-argument.ts";
import { type Manifest, readManifests } from "../api/manifests.ts";
import { withPlaces } from "../api/refusals.ts";
import type { Command } from "../command.ts";
import { CliError } from "../errors.ts";
import { listOf } from "./apply.ts";

interface Deleted {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly result: "deleted" | "not found";
}

export const deleteObjects: Command = async (args, env) => {
  const { values, positionals } = parseApiArgs(args, {
    file: { type: "string", short: "f", multiple: true },
    "dry-run": { type: "boolean", default: false },
    "ignore-not-found": { type: "boolean", default: false },
  });
  const manifests = values.file === undefined ? named(positionals) : readManifests(values.file);
  if (manifests.length === 0) throw new CliError("CLI_USAGE", "delete needs -f FILE, or KIND and NAME");
  const query = new URLSearchParams({ namespace: values.namespace ?? "default" });
  if (values["dry-run"]) query.set("dryRun", "All");
  const api = await openApi(values, env);
  const { items } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Deleted[] }>("POST", `/flotilla/v1/delete?${query}`, listOf(manifests)),
  );
  for (const { kind, namespace, name, result } of items)
    process.stdout.write(
      `${kind} ${namespace === "" ? "" : `${namespace}/`}${name} ${result}${values["dry-run"] ? " (dry run)" : ""}\n`,
    );
  const isMissing = items.some(({ result }) => result === "not found");
  return isMissing && !values["ignore-not-found"] ? 1 : 0;
};

function named([kind, ...names]: readonly string[]): readonly Manifest[] {
  if (kind === undefined) return [];
  const row = kindArgument(kind);
  return names.map((name) => ({
    place: "argument",
    object: { apiVersion: apiVersionOf(row), kind: row.kind, metadata: { name } },
  }));
}
