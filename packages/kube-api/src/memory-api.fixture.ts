/**
 * For tests: an API server within the process that keeps objects by their path, lists, watches and checks versions as a real one
 * does. Server-side apply changes the fields that it is given, lists as a whole: fields have no owner here.
 */
import { aborted } from "@flotilla/runtime";
import { KubeError } from "./errors.ts";
import type { KubeApi, KubeObject } from "./kube-api.ts";

export interface MemoryWrite {
  readonly verb: "create" | "replace" | "apply" | "delete";
  readonly path: string;
  readonly object?: unknown;
  readonly fieldManager?: string;
}

export interface MemoryApi {
  readonly api: KubeApi;
  /** Writes of callers of `api`, in order, without the refused ones. */
  readonly writes: readonly MemoryWrite[];
  /** As written by somebody else. The path is that of an object, or of a group's version for the list of its kinds. */
  put(path: string, object: object): void;
  remove(path: string): void;
  read<T = KubeObject>(path: string): T | undefined;
  /** Asked before each request: an error is the answer to it. */
  refusal: (request: { readonly verb: string; readonly path: string }) => KubeError | undefined;
}

/** @param stored by path */
export function createMemoryApi(stored: Readonly<Record<string, object>> = {}): MemoryApi {
  const store = new MemoryStore();
  for (const [path, object] of Object.entries(stored)) store.put(path, object);
  const writes: MemoryWrite[] = [];
  const answer = async <T>(verb: string, path: string, work: () => unknown): Promise<T> => {
    const error = memory.refusal({ verb, path });
    if (error !== undefined) throw error;
    return structuredClone(work()) as T;
  };
  const write = <T>(written: MemoryWrite, work: () => unknown): Promise<T> =>
    answer(written.verb, written.path, () => {
      const result = work();
      writes.push(structuredClone(written));
      return result;
    });
  const api: KubeApi = {
    server: "memory:",
    get: (path) => answer("get", path, () => store.get(path)),
    metadata: (path) =>
      answer("get", path, () => {
        const found = store.read(path);
        return found && { metadata: found.metadata };
      }),
    kindsTag: () => answer("get", "/apis", () => undefined),
    create: (path, object) => write({ verb: "create", path, object }, () => store.create(path, object as KubeObject)),
    replace: (path, object) =>
      write({ verb: "replace", path, object }, () => store.replace(path, object as KubeObject, true)),
    apply: (path, object, { fieldManager }) =>
      write({ verb: "apply", path, object, fieldManager }, () => store.replace(path, object as KubeObject, false)),
    delete: async (path) =>
      store.read(path) !== undefined && (await write({ verb: "delete", path }, () => store.remove(path))) !== undefined,
    async *lines(path, stop, onOpen) {
      await answer("watch", path, () => undefined);
      onOpen?.();
      yield* store.watch(path, stop);
    },
    async *textLines(path, stop) {
      for await (const event of api.lines(path, stop)) yield JSON.stringify(event);
    },
    [Symbol.dispose]: () => undefined,
  };
  const memory: MemoryApi = {
    ...{ api, writes, refusal: () => undefined },
    put: (path, object) => void store.put(path, object),
    remove: (path) => void store.remove(path),
    read: <T>(path: string) => structuredClone(store.read(path)) as T | undefined,
  };
  return memory;
}

interface Change {
  readonly path: string;
  readonly line: { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject };
}

class MemoryStore {
  readonly #objects = new Map<string, KubeObject>();
  /** The version of an object is its change's place among them. */
  readonly #changes: Change[] = [];
  #next = Promise.withResolvers<void>();

  read(path: string): KubeObject | undefined {
    return this.#objects.get(path);
  }

  put(path: string, object: object): KubeObject {
    const before = this.#objects.get(path);
    const { metadata = {} } = object as Partial<KubeObject>;
    const version = String(this.#changes.length + 1);
    const uid = before?.metadata.uid ?? metadata.uid ?? `uid-${version}`;
    const kept = {
      ...structuredClone(object),
      metadata: { ...nameIn(path), ...structuredClone(metadata), uid, resourceVersion: version },
    };
    this.#objects.set(path, kept);
    this.#note({ path, line: { type: before === undefined ? "ADDED" : "MODIFIED", object: kept } });
    return kept;
  }

  remove(path: string): KubeObject {
    const object = this.#objects.get(path);
    if (object === undefined) throw missing(path);
    this.#objects.delete(path);
    this.#note({ path, line: { type: "DELETED", object } });
    return object;
  }

  get(asked: string): unknown {
    const { path, isSelected } = parse(asked);
    const found = this.#objects.get(path);
    if (found !== undefined || !isCollection(path)) return found;
    const items = [...this.#objects].flatMap(([at, object]) => (isSelected(at, object) ? [object] : []));
    return { metadata: { resourceVersion: String(this.#changes.length) }, items };
  }

  create(collection: string, object: KubeObject): KubeObject {
    const path = `${collection}/${encodeURIComponent(object.metadata.name ?? "")}`;
    if (this.#objects.has(path)) throw conflict(`${path} already exists`);
    return this.put(path, object);
  }

  /** @param isWhole false: fields that are not named stay, and what is not there is made. */
  replace(asked: string, object: KubeObject, isWhole: boolean): KubeObject {
    const path = asked.replace(/\/status$/, "");
    const before = this.#objects.get(path);
    if (before === undefined && (isWhole || path !== asked)) throw missing(path);
    const { resourceVersion } = object.metadata;
    if (resourceVersion !== undefined && resourceVersion !== before?.metadata.resourceVersion)
      throw conflict(`${path}: the object has been modified`);
    // The status is written by itself.
    const { status } = (path === asked ? (before ?? {}) : object) as { readonly status?: unknown };
    const rest = path === asked ? (isWhole ? object : merged(before, object)) : before;
    return this.put(path, { ...(rest as object), ...(status !== undefined && { status }) });
  }

  async *watch(asked: string, stop: AbortSignal): AsyncGenerator<unknown> {
    const { from, isSelected } = parse(asked);
    for (let at = from; !stop.aborted; ) {
      const more = this.#next.promise;
      const lines = this.#changes.slice(at);
      at += lines.length;
      for (const { path, line } of lines) if (isSelected(path, line.object)) yield structuredClone(line);
      if (this.#changes.length === at) await Promise.race([more, aborted(stop)]);
    }
  }

  #note(change: Change): void {
    this.#changes.push(change);
    this.#next.resolve();
    this.#next = Promise.withResolvers();
  }
}

function merged(before: unknown, change: unknown): unknown {
  if (!isObject(before) || !isObject(change)) return change;
  const fields = Object.entries(change).map(([name, value]) => [name, merged(before[name], value)]);
  return { ...before, ...Object.fromEntries(fields) };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The name and the namespace that an object's path has. */
function nameIn(path: string): { readonly name: string; readonly namespace?: string } {
  const namespace = /\/namespaces\/([^/]+)\/[^/]+\/[^/]+$/.exec(path)?.[1];
  return { name: path.slice(path.lastIndexOf("/") + 1), ...(namespace !== undefined && { namespace }) };
}

/** `/api/v1/KIND` or `/apis/GROUP/VERSION/KIND`, both perhaps with `namespaces/NAMESPACE` before the kind. */
function isCollection(path: string): boolean {
  const { length } = path.split("/").slice(path.startsWith("/apis/") ? 4 : 3);
  return length === 1 || (length === 3 && path.includes("/namespaces/"));
}

/** Selectors: of labels `NAME` and `NAME=VALUE`, of fields `metadata.name=NAME`. */
function parse(asked: string) {
  const { pathname: path, searchParams } = new URL(asked, "http://memory");
  const [root, kind] = [path.slice(0, path.lastIndexOf("/")), path.slice(path.lastIndexOf("/") + 1)];
  const isIn = (at: string): boolean => {
    const collection = at.slice(0, at.lastIndexOf("/"));
    const isOfAll = !root.includes("/namespaces/") && collection.split("/").length === path.split("/").length + 2;
    return (
      collection === path ||
      (isOfAll && collection.startsWith(`${root}/namespaces/`) && collection.endsWith(`/${kind}`))
    );
  };
  const [label, value] = (searchParams.get("labelSelector") ?? "").split("=");
  const name = /^metadata\.name=(.*)$/.exec(searchParams.get("fieldSelector") ?? "")?.[1];
  const hasLabel = ({ metadata: { labels } }: KubeObject): boolean =>
    !label || (value === undefined ? labels?.[label] !== undefined : labels?.[label] === value);
  return {
    path,
    from: Number(searchParams.get("resourceVersion") ?? 0),
    isSelected: (at: string, object: KubeObject): boolean =>
      isIn(at) && hasLabel(object) && (name === undefined || object.metadata.name === name),
  };
}

function conflict(message: string): KubeError {
  return new KubeError("KUBE_CONFLICT", message, { status: 409 });
}

function missing(path: string): KubeError {
  return new KubeError("KUBE_REFUSED", `${path} not found`, { status: 404 });
}
