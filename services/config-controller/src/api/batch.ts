/** Several objects written at once: all of them become true together, or none does. */
import { isForeignKind, kindOf } from "@flotilla/kinds";
import { type ConfigStore, isObject, StoreError } from "@flotilla/model";
import { unknownKindText } from "@flotilla/validation";
import { configSchemas } from "../store/config-schemas.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { ApiError, type Cause, fromStore } from "./api-error.ts";
import { type ObjectReply, type Objects, shown, type Written } from "./objects.ts";
import type { ResourcePath } from "./resource-path.ts";
import type { Application } from "./server-side-apply.ts";

export interface BatchOptions {
  readonly durable: DurableStore;
  readonly objects: Objects;
  /** All sources as one. */
  readonly inForce: ConfigStore;
}

type NamedPath = ResourcePath & { readonly name: string };

/** Body: a List. Objects that name no namespace are meant for `namespace`. @throws ApiError with the causes of all objects */
export async function applyAll(
  { durable, objects }: BatchOptions,
  body: unknown,
  application: Application & { readonly namespace: string },
  dryRun: boolean,
): Promise<ObjectReply> {
  const { entries, ignored } = withoutForeign(itemsOf(body));
  const paths = located(entries, application.namespace);
  const written = await objects.transact(
    (draft, validate) =>
      forEach(entries, ({ item }, index) => objects.apply(draft, at(paths, index), item, { ...application, validate })),
    dryRun,
  );
  const results = written.map(({ config, result, warnings }: Written, index) => ({
    result,
    warnings: [...warnings, ...objects.hidden(config.key)],
    object: shown(config, at(paths, index).apiVersion),
  }));
  return { status: 200, body: { resourceVersion: String(durable.version), items: results, ignored } };
}

/** Body: a List. Objects that are not stored are passed over; `inForce` is where another source has an object of the same name. */
export async function deleteAll(
  { durable, inForce }: BatchOptions,
  body: unknown,
  namespace: string,
  dryRun: boolean,
): Promise<ObjectReply> {
  const { entries, ignored } = withoutForeign(itemsOf(body));
  const paths = located(entries, namespace);
  const results = await durable.transact(
    (draft) =>
      paths.map((path) => {
        const key = { kind: path.kind.name, namespace: path.namespace, name: path.name };
        const isThere = draft.get(key) !== undefined;
        if (isThere) draft.delete(key);
        return { ...key, result: isThere ? "deleted" : "not found" };
      }),
    { dryRun },
  );
  const items = await Promise.all(
    results.map(async (result) => {
      const provenance = (await inForce.get(result))?.provenance;
      const isOther = provenance !== undefined && provenance.source !== durable.store.name;
      return { ...result, ...(isOther && { inForce: provenance }) };
    }),
  );
  return { status: 200, body: { resourceVersion: String(durable.version), items, ignored } };
}

function itemsOf(body: unknown): readonly unknown[] {
  if (isObject(body) && body["kind"] === "List" && Array.isArray(body["items"])) return body["items"];
  throw new ApiError(400, "BadRequest", "the body is no List");
}

/** An object of the list, with its place there. */
interface Entry {
  readonly item: unknown;
  readonly place: number;
}

interface Ignored {
  readonly apiVersion: string;
  readonly kind: string;
  readonly count: number;
}

/**
 * A directory may hold Deployments and the like beside configuration: such objects are counted by kind. @throws ApiError 400 when
 * there is nothing else
 */
function withoutForeign(items: readonly unknown[]): {
  readonly entries: readonly Entry[];
  readonly ignored: readonly Ignored[];
} {
  const counts = new Map<string, Ignored>();
  const entries = items.flatMap((item, place) => {
    const { apiVersion, kind } = isObject(item) ? item : {};
    if (typeof apiVersion !== "string" || typeof kind !== "string") return [{ item, place }];
    if (!isForeignKind({ apiVersion, kind })) return [{ item, place }];
    const text = `${apiVersion} ${kind}`;
    counts.set(text, { apiVersion, kind, count: (counts.get(text)?.count ?? 0) + 1 });
    return [];
  });
  if (entries.length > 0 || counts.size === 0) return { entries, ignored: [...counts.values()] };
  const text = [...counts].map(([kind, { count }]) => `${kind} is no kind that is served here (${count} objects)`);
  throw new ApiError(400, "BadRequest", text.join("; "));
}

function located(entries: readonly Entry[], namespace: string): readonly NamedPath[] {
  const paths = forEach(entries, ({ item }) => pathOf(item, namespace));
  const seen = new Set<string>();
  return forEach(entries, (_, index) => {
    const path = at(paths, index);
    const text = `${path.kind.name}/${path.namespace}/${path.name}`;
    if (seen.has(text)) throw new ApiError(400, "BadRequest", `${text} is in the list more than once`);
    seen.add(text);
    return path;
  });
}

/** @throws ApiError 400 */
function pathOf(item: unknown, defaultNamespace: string): NamedPath {
  const { apiVersion, kind, metadata } = isObject(item) ? item : {};
  if (typeof apiVersion !== "string" || typeof kind !== "string")
    throw new ApiError(400, "BadRequest", "apiVersion and kind are missing");
  const row = kindOf({ apiVersion, kind });
  const schema = row && configSchemas.find(({ name }) => name === row.name);
  if (schema === undefined) throw new ApiError(400, "BadRequest", unknownKindText({ apiVersion, kind }));
  const { name, namespace = defaultNamespace } = isObject(metadata) ? metadata : {};
  if (typeof name !== "string" || typeof namespace !== "string")
    throw new ApiError(400, "BadRequest", `a ${kind} has no metadata.name`);
  return { kind: schema, apiVersion, namespace: schema.namespaced ? namespace : "", name, isStatus: false };
}

function at(paths: readonly NamedPath[], index: number): NamedPath {
  const path = paths[index];
  if (path === undefined) throw new RangeError(`there is no item ${index}`);
  return path;
}

/** Reports all problems of all of them at once, by their places in the list. */
function forEach<Result>(entries: readonly Entry[], work: (entry: Entry, index: number) => Result): readonly Result[] {
  const failures: ApiError[] = [];
  const causes: Cause[] = [];
  const results = entries.flatMap((entry, index) => {
    try {
      return [work(entry, index)];
    } catch (error) {
      const failure = error instanceof StoreError ? fromStore(error) : error;
      if (!(failure instanceof ApiError)) throw failure;
      failures.push(failure);
      const own = failure.causes.length > 0 ? failure.causes : [{ field: "", message: failure.message }];
      causes.push(
        ...own.map(({ field, message }) => ({
          field: `items[${entry.place}]${field === "" ? "" : `.${field.replace(/^\./, "")}`}`,
          message,
        })),
      );
      return [];
    }
  });
  const [first] = failures;
  if (first === undefined) return results;
  const text = failures.map(({ message }) => message).join("\n");
  throw new ApiError(first.status, first.reason, text, causes);
}
