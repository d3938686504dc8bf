/** `flotilla diff -f FILE`: what `apply` would change; `flotilla diff GENERATION GENERATION`: what differs between the two. */
import { kindOf } from "@flotilla/kinds";
import { type ApiClient, ApiRefusal, openApi, withPlaces } from "../api/api-client.ts";
import { type Manifest, readManifests, unifiedDiff } from "../api/manifests.ts";
import type { diff as definition } from "../definitions/objects.ts";
import { CliError } from "../errors.ts";
import { formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { type Applied, listOf, manager } from "./apply.ts";
import { diffGenerations } from "./diff-generations.ts";

interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly resourceVersion?: string;
    readonly generation?: number;
    readonly uid?: string;
    readonly creationTimestamp?: string;
  };
  readonly status?: unknown;
}

/** The exit code is 1 when something differs, as that of diff. */
export const diff: Run<typeof definition> = async (invocation) => {
  const { options, operands, terminal } = invocation;
  if (operands.generations.length > 0) return diffGenerations(invocation);
  const manifests = readManifests(options.file);
  if (manifests.length === 0)
    throw new CliError("CLI_USAGE", "diff needs -f FILE, a directory or - with at least one object");
  const api = await openApi(options);
  const changed = await changes(api, manifests, options.namespace ?? "default");
  const format = formatOf(options);
  terminal.print(render(format, { objects: changed }, describeChanges));
  return changed.length > 0 ? 1 : 0;
};

function describeChanges({ objects }: { readonly objects: readonly Changed[] }): string {
  if (objects.length === 0) return "nothing differs";
  return objects.map((one) => unifiedDiff({ ...one, labels: ["in the mesh", "in the files"] })).join("\n");
}

interface Changed {
  readonly object: string;
  readonly before: object | undefined;
  readonly after: object;
}

async function changes(api: ApiClient, manifests: readonly Manifest[], namespace: string): Promise<readonly Changed[]> {
  const query = new URLSearchParams({ fieldManager: manager, namespace, force: "true", dryRun: "All" });
  const { items } = await withPlaces(manifests, () =>
    api.call<{ readonly items: readonly Applied[] }>("POST", `/flotilla/v1/apply?${query}`, listOf(manifests)),
  );
  const changed = items.filter(({ result }) => result !== "unchanged").map(({ object }) => object as KubeObject);
  return Promise.all(
    changed.map(async (object) => {
      const { name, namespace: own } = object.metadata;
      const before = await current(api, object);
      return {
        object: [object.kind, ...(own === undefined ? [] : [own]), name].join("/"),
        before: before && content(before),
        after: content(object),
      };
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

/** Without fields that the store counts by itself. */
function content({ metadata, status: _, ...object }: KubeObject): object {
  const { resourceVersion: __, generation: ___, uid: ____, creationTimestamp: _____, ...own } = metadata;
  return { ...object, metadata: own };
}
