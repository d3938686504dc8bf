/** `flotilla delete -f FILE`, `flotilla delete KIND NAME…`: objects out of the mesh, all at once. */
import { apiVersionOf } from "@flotilla/kinds";
import { type IgnoredKind, ignoredText, openApi, withPlaces } from "../api/api-client.ts";
import { kindArgument } from "../api/kind-argument.ts";
import { type Manifest, readManifests } from "../api/manifests.ts";
import type { deleteObjects as definition } from "../definitions/objects.ts";
import { CliError } from "../errors.ts";
import type { Invocation, Run } from "../parse/definition.ts";
import { listOf } from "./apply.ts";

interface Deleted {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly result: "deleted" | "not found";
  /** Another source has an object of this name, which is in force. */
  readonly inForce?: { readonly source: string; readonly location?: string };
}

export const deleteObjects: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const { dryRun, ignoreNotFound } = options;
  const manifests = options.file.length === 0 ? named(operands) : readManifests(options.file);
  if (manifests.length === 0) throw new CliError("CLI_USAGE", "delete needs -f FILE, or KIND and NAME");
  const query = new URLSearchParams({ namespace: options.namespace ?? "default" });
  if (dryRun) query.set("dryRun", "All");
  const api = await openApi(options);
  const { items, ignored } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Deleted[]; readonly ignored: readonly IgnoredKind[] }>(
      "POST",
      `/flotilla/v1/delete?${query}`,
      listOf(manifests),
    ),
  );
  for (const item of items) {
    const text = describeDeleted(item);
    if (item.result === "deleted") terminal.print(`${text}${dryRun ? " (dry run)" : ""}`);
    else terminal.warn(`flotilla: ${text}`);
  }
  const isThere = items.some(({ result, inForce }) => result === "not found" && inForce !== undefined);
  for (const kind of ignored) terminal.warn(ignoredText(kind));
  const isMissing = items.some(({ result }) => result === "not found");
  return isThere || (isMissing && !ignoreNotFound) ? 1 : 0;
};

export function describeDeleted({ kind, namespace, name, result, inForce }: Deleted): string {
  const object = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
  if (inForce === undefined) return `${object} ${result}`;
  const { source, location } = inForce;
  if (result === "deleted") return `${object} deleted; the one of ${placeText(source, location)} stays in force`;
  return `${object} is not deleted: it belongs to ${placeText(source, location)}. ${remedies[source] ?? "Delete it there."}`;
}

/** Locations of files are `FILE:LINE`. */
function placeText(source: string, location: string | undefined): string {
  if (source === "file") return `the file ${location ?? ""}`;
  return location === undefined ? source : `${source} (${location})`;
}

const remedies: Readonly<Record<string, string>> = {
  file: "Remove it from the file, or delete the file; the mesh follows.",
  kubernetes: "Delete it with kubectl.",
};

function named({ kind, names }: Invocation<typeof definition>["operands"]): readonly Manifest[] {
  if (kind === undefined) return [];
  const row = kindArgument(kind);
  return names.map((name) => ({
    place: "argument",
    object: { apiVersion: apiVersionOf(row), kind: row.kind, metadata: { name } },
  }));
}
