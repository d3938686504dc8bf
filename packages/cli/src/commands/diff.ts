/** `flotilla diff -f FILE`: what `apply` would change; `flotilla diff GENERATION GENERATION`: what differs between the two. */
import { kindOf } from "@flotilla/kinds";
import { stringify } from "yaml";
import { type ApiClient, ApiRefusal, openApi } from "../api/api-client.ts";
import { diffLines } from "../api/line-diff.ts";
import { type Manifest, readManifests } from "../api/manifests.ts";
import { withPlaces } from "../api/refusals.ts";
import type { diff as definition } from "../definitions/objects.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";
import { type Applied, listOf, manager } from "./apply.ts";
import { diffGenerations } from "./diff-generations.ts";

type KubeObject = Applied["object"] & { readonly apiVersion: string };

/** The exit code is 1 when something differs, as that of diff. */
export const diff: Run<typeof definition> = async (invocation) => {
  const { options, operands, terminal } = invocation;
  if (operands.generations.length > 0) return diffGenerations(invocation);
  const manifests = readManifests(options.file);
  if (manifests.length === 0)
    throw new CliError("CLI_USAGE", "diff needs -f FILE, a directory or - with at least one object");
  const api = await openApi(options);
  const changed = await changes(api, manifests, options.namespace ?? "default");
  for (const { title, text } of changed) terminal.print(`${title}\n${text}`);
  return changed.length > 0 ? 1 : 0;
};

async function changes(api: ApiClient, manifests: readonly Manifest[], namespace: string) {
  const query = new URLSearchParams({ fieldManager: manager, namespace, force: "true", dryRun: "All" });
  const { items } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Applied[] }>("POST", `/flotilla/v1/apply?${query}`, listOf(manifests)),
  );
  const changed = items.filter(({ result }) => result !== "unchanged").map(({ object }) => object as KubeObject);
  return Promise.all(
    changed.map(async (object) => {
      const { name, namespace: own } = object.metadata;
      const before = await current(api, object);
      const title = `${object.kind} ${own === undefined ? "" : `${own}/`}${name}${before === undefined ? " (new)" : ""}`;
      return { title, text: diffLines(before === undefined ? "" : text(before), text(object)) };
    }),
  );
}

async function current(api: ApiClient, { apiVersion, kind, metadata }: KubeObject): Promise<KubeObject | undefined> {
  const row = kindOf({ apiVersion, kind });
  const root = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = metadata.namespace === undefined ? "" : `/namespaces/${encodeURIComponent(metadata.namespace)}`;
  try {
    return await api.call<KubeObject>("GET", `${root}${place}/${row?.plural}/${encodeURIComponent(metadata.name)}`);
  } catch (error) {
    if (error instanceof ApiRefusal && error.status === 404) return undefined;
    throw error;
  }
}

/** Without what the store counts by itself. */
function text({ metadata, ...object }: KubeObject): string {
  const {
    resourceVersion: _,
    generation: __,
    uid: ___,
    creationTimestamp: ____,
    ...rest
  } = metadata as Record<string, unknown>;
  const { status: _____, ...content } = object as Record<string, unknown>;
  return stringify({ ...content, metadata: rest }, { sortMapEntries: true });
}
