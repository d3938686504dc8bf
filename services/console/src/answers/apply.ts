/** Writing objects, by the API of config-controller and with the caller's own rights. */
import type { AppliedObject, ApplyAnswer, Cause, DeleteAnswer } from "@flotilla/console/contract";
import { apiVersionOf, kindNamed, kindOf } from "@flotilla/kinds";
import { type Json, jsonDifferences } from "@flotilla/model";
import { RequestRefused } from "../errors.ts";
import type { ApiRequest } from "../serve/endpoint.ts";
import type { Api } from "../upstream/api.ts";
import { lineOf, parseYaml, type YamlObject } from "./yaml-objects.ts";

/** Names the console among others who apply. */
const manager = "flotilla-console";

interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly [field: string]: unknown;
}

interface Applied {
  readonly result: AppliedObject["result"];
  readonly warnings: readonly string[];
  readonly object: KubeObject;
}

/** All objects, or none. @throws RequestRefused invalid with each wrong field; forbidden */
export async function applyObjects(api: Api, request: ApiRequest): Promise<ApplyAnswer> {
  const { yaml, namespace = "default", dryRun } = applicationIn(await request.body());
  const objects = parseYaml(yaml);
  if (objects.length === 0) throw new RequestRefused("bad-request", "there is no object in the text");
  const { token } = request.session;
  const before = await Promise.all(objects.map(({ object }) => presentOf(api, token, object, namespace)));
  const query = new URLSearchParams({ fieldManager: manager, namespace, force: "true" });
  if (dryRun) query.set("dryRun", "All");
  const body = { apiVersion: "v1", kind: "List", items: objects.map(({ object }) => object) };
  const answer = await withLines(objects, () =>
    api.call<{ readonly items: readonly Applied[]; readonly ignored: ApplyAnswer["ignored"] }>(
      ...[token, "POST" as const, `/flotilla/v1/apply?${query}`, body],
    ),
  );
  const present = new Map(before.flatMap((one) => (one === undefined ? [] : [[nameOf(one), one] as const])));
  const items = answer.items.map(({ result, warnings, object }) => ({
    ...{ object: nameOf(object), result, warnings },
    differences: jsonDifferences(contentOf(present.get(nameOf(object))), contentOf(object)),
  }));
  return { dryRun, items, ignored: answer.ignored.map(({ kind, count }) => ({ kind, count })) };
}

interface Application {
  readonly yaml: string;
  readonly namespace?: string;
  readonly dryRun: boolean;
}

/** @throws RequestRefused bad-request */
function applicationIn(body: unknown): Application {
  const { yaml, namespace, dryRun } = (body ?? {}) as Partial<Record<keyof Application, unknown>>;
  if (typeof yaml !== "string") throw new RequestRefused("bad-request", "yaml is no text");
  if (typeof dryRun !== "boolean") throw new RequestRefused("bad-request", "dryRun is neither true nor false");
  if (namespace !== undefined && typeof namespace !== "string")
    throw new RequestRefused("bad-request", "namespace is no text");
  return { yaml, dryRun, ...(namespace !== undefined && { namespace }) };
}

/** As the API has it now; undefined where there is none, and for what the API refuses by itself. */
async function presentOf(
  api: Api,
  token: string,
  object: Readonly<Record<string, unknown>>,
  defaultNamespace: string,
): Promise<KubeObject | undefined> {
  const { apiVersion, kind, metadata } = object as Partial<KubeObject>;
  const row = typeof apiVersion === "string" && typeof kind === "string" ? kindOf({ apiVersion, kind }) : undefined;
  if (row === undefined || typeof metadata?.name !== "string") return undefined;
  const { name, namespace = defaultNamespace } = metadata;
  const root = String(apiVersion).includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  const place = row.namespaced ? `/namespaces/${encodeURIComponent(namespace)}` : "";
  try {
    return await api.call<KubeObject>(token, "GET", `${root}${place}/${row.plural}/${encodeURIComponent(name)}`);
  } catch (error) {
    if (error instanceof RequestRefused && error.code === "not-found") return undefined;
    throw error;
  }
}

function nameOf({ apiVersion, kind, metadata: { name, namespace = "" } }: KubeObject): string {
  return `${kindOf({ apiVersion, kind })?.name ?? kind}/${namespace}/${name}`;
}

/** Without fields that the store counts by itself. */
function contentOf(object: KubeObject | undefined): Json {
  if (object === undefined) return {};
  const { status: _, metadata, ...rest } = object;
  const counted = new Set(["resourceVersion", "generation", "uid", "creationTimestamp", "managedFields"]);
  const own = Object.fromEntries(Object.entries(metadata).filter(([field]) => !counted.has(field)));
  return { ...rest, metadata: own } as Json;
}

async function withLines<T>(objects: readonly YamlObject[], work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.causes === undefined) throw error;
    const causes = error.causes.map((cause): Cause => {
      const line = lineOf(objects[cause.item ?? 0], cause.field);
      return { ...cause, ...(line !== undefined && { line }) };
    });
    throw new RequestRefused(error.code, error.message, causes);
  }
}

interface Deleted {
  readonly result: DeleteAnswer["result"];
  readonly inForce?: { readonly source: string; readonly location?: string };
}

/** @throws RequestRefused not-found, forbidden */
export async function deleteObject(
  api: Api,
  { session: { token } }: ApiRequest,
  { kind, namespace, name }: { readonly kind: string; readonly namespace: string; readonly name: string },
): Promise<DeleteAnswer> {
  const row = kindNamed(kind);
  if (row === undefined) throw new RequestRefused("not-found", `${kind} is no kind of configuration`);
  const metadata = { name, ...(namespace !== "" && { namespace }) };
  const items = [{ apiVersion: apiVersionOf(row), kind: row.kind, metadata }];
  const answer = await api.call<{ readonly items: readonly Deleted[] }>(
    token,
    "POST",
    "/flotilla/v1/delete?namespace=default",
    {
      ...{ apiVersion: "v1", kind: "List", items },
    },
  );
  const [deleted] = answer.items;
  if (deleted === undefined) throw new RequestRefused("upstream", "the API names no object that it deleted");
  const { result, inForce } = deleted;
  const hiddenBy = inForce && [inForce.source, inForce.location].filter(Boolean).join(" ");
  return { result, ...(hiddenBy !== undefined && { hiddenBy }) };
}
