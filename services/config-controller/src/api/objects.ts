/** Requests for objects and collections, as a Kubernetes API answers them. */
import { type Config, type ConfigKey, isObject, type KubeObject } from "@flotilla/model";
import { withoutNullFields } from "@flotilla/registry/config";
import type { Draft } from "../store/durable/draft.ts";
import type { DurableStore } from "../store/durable/durable-store.ts";
import { manifestOf } from "../store/manifest-of.ts";
import { ApiError } from "./api-error.ts";
import { type Judging, transactJudged } from "./judged-transaction.ts";
import { type Admitted, admit, type Validate } from "./manifest.ts";
import { applyJsonPatch, applyMergePatch } from "./patches.ts";
import type { ResourcePath } from "./resource-path.ts";
import { parseSelection } from "./selection.ts";
import { type Application, appliedPrefix, applyServerSide, withoutMemory } from "./server-side-apply.ts";

export interface ObjectsOptions {
  readonly durable: DurableStore;
  readonly validate: Validate;
  /** Validates large objects. */
  readonly thread: Judging["thread"];
  /** The source whose object of the key is in force in place of ours. */
  readonly hiddenBy: (key: ConfigKey) => string | undefined;
  readonly randomName: () => string;
}

export interface ObjectReply {
  readonly status: number;
  readonly body: unknown;
  readonly warnings?: readonly string[];
}

/** An object that was written, and the warnings about it. */
export interface Written {
  readonly config: Config;
  readonly result: "created" | "configured" | "unchanged";
  readonly warnings: readonly string[];
}

export type PatchType = "merge" | "json" | "apply";

export interface Patch {
  readonly type: PatchType;
  readonly body: unknown;
  /** The body has some, and in an object a field that is null is an absent one. */
  readonly mayAddNulls: boolean;
}

export class Objects {
  readonly #options: ObjectsOptions;

  constructor(options: ObjectsOptions) {
    this.#options = options;
  }

  /** The same objects, written through another view of the store. */
  through(durable: DurableStore): Objects {
    return new Objects({ ...this.#options, durable });
  }

  async get(path: ResourcePath, name: string): Promise<ObjectReply> {
    const config = await this.#options.durable.store.get(keyOf(path, name));
    if (config === undefined) throw notFound(path, name);
    return { status: 200, body: shown(config, path.apiVersion) };
  }

  async list(path: ResourcePath, query: URLSearchParams): Promise<ObjectReply> {
    const { durable } = this.#options;
    const version = durable.version;
    const configs = (await durable.store.list(path.kind.name, path.namespace)).filter(parseSelection(query));
    const items = configs.map((config) => shown(config, path.apiVersion));
    const metadata = { resourceVersion: String(version) };
    return { status: 200, body: { apiVersion: path.apiVersion, kind: `${path.kind.kind}List`, metadata, items } };
  }

  async create(path: ResourcePath, body: unknown, dryRun: boolean): Promise<ObjectReply> {
    if (path.name !== undefined) throw new ApiError(405, "MethodNotAllowed", "objects are created in their collection");
    const named = this.#withName(body);
    const written = await this.transact((draft, validate) => this.#create(draft, admit(named, path, validate)), dryRun);
    return { ...this.#reply(path, written), status: 201 };
  }

  async update(path: ResourcePath, name: string, body: unknown, dryRun: boolean): Promise<ObjectReply> {
    const write = (draft: Draft, validate: Validate) => {
      const admitted = admit(body, { ...path, name }, validate);
      const current = draft.get(admitted.config.key);
      if (current === undefined) throw notFound(path, name);
      return this.#store(draft, path, current, admitted);
    };
    return this.#reply(path, await this.transact(write, dryRun));
  }

  async patch(path: ResourcePath, name: string, patch: Patch & Application, dryRun: boolean): Promise<ObjectReply> {
    let isNew = false;
    const written = await this.transact((draft, validate) => {
      const current = draft.get(keyOf(path, name));
      isNew = current === undefined;
      if (patch.type === "apply") return this.apply(draft, { ...path, name }, patch.body, { ...patch, validate });
      if (current === undefined) throw notFound(path, name);
      const before = shown(current, path.apiVersion);
      const edited = patch.type === "json" ? applyJsonPatch(before, patch.body) : applyMergePatch(before, patch.body);
      const object = patch.mayAddNulls && isObject(edited) ? withoutNullFields(path.kind.kind, edited) : edited;
      return this.#store(draft, path, current, admit(object, { ...path, name }, validate));
    }, dryRun);
    return { ...this.#reply(path, written), status: isNew ? 201 : 200 };
  }

  async delete(path: ResourcePath, name: string, options: unknown, dryRun: boolean): Promise<ObjectReply> {
    const { uid, resourceVersion } = preconditions(options);
    const gone = await this.#options.durable.transact(
      (draft) => {
        const current = draft.get(keyOf(path, name));
        if (current === undefined) throw notFound(path, name);
        if (uid !== undefined && manifestOf(current).metadata.uid !== uid)
          throw new ApiError(
            409,
            "Conflict",
            `${path.kind.plural} ${JSON.stringify(name)} is not the one with uid ${uid} any more`,
          );
        return draft.delete(current.key, resourceVersion === undefined ? {} : { resourceVersion });
      },
      { dryRun },
    );
    const details = { name, group: path.kind.group, kind: path.kind.plural, uid: manifestOf(gone).metadata.uid };
    return { status: 200, body: { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", details } };
  }

  /** All that the selectors of the query choose, at once. */
  async deleteCollection(path: ResourcePath, query: URLSearchParams, dryRun: boolean): Promise<ObjectReply> {
    const { durable } = this.#options;
    const selects = parseSelection(query);
    const chosen = (await durable.store.list(path.kind.name, path.namespace)).filter(selects);
    await durable.transact((draft) => chosen.map(({ key }) => draft.delete(key)), { dryRun });
    const items = chosen.map((config) => shown(config, path.apiVersion));
    const metadata = { resourceVersion: String(durable.version) };
    return { status: 200, body: { apiVersion: path.apiVersion, kind: `${path.kind.kind}List`, metadata, items } };
  }

  /** For all that `write` does, with the objects that it validates: see `transactJudged`. */
  transact<T>(write: (draft: Draft, validate: Validate) => T, dryRun: boolean): Promise<T> {
    return transactJudged(this.#options, write, dryRun);
  }

  /** Creates the object or brings it to what is wanted, within a transaction. */
  apply(
    draft: Draft,
    path: ResourcePath & { readonly name: string },
    body: unknown,
    { validate, ...application }: Application & { readonly validate: Validate },
  ): Written {
    // Judged as it will be, not as it is sent: a part may be wanted by somebody else.
    const wanted = toObject(body, path);
    const current = draft.get(keyOf(path, path.name));
    const applied = applyServerSide(current && manifestOf(current, path.apiVersion), wanted, application);
    const admitted = admit(applied, path, validate);
    if (current === undefined) return this.#create(draft, admitted);
    return written(current, admitted, draft.update(admitted.config));
  }

  #create(draft: Draft, { config, warnings }: Admitted): Written {
    return { config: draft.create(config), result: "created", warnings };
  }

  #store(draft: Draft, path: ResourcePath, current: Config, admitted: Admitted): Written {
    const { config } = admitted;
    if (path.isStatus) return written(current, admitted, draft.updateStatus(config));
    // The intents of appliers are remembered in annotations that clients do not see, and so do not send.
    const memory = Object.entries(current.annotations).filter(([key]) => key.startsWith(appliedPrefix));
    const annotations = { ...config.annotations, ...Object.fromEntries(memory) };
    return written(current, admitted, draft.update({ ...config, annotations }));
  }

  #withName(body: unknown): unknown {
    if (!isObject(body) || !isObject(body["metadata"])) return body;
    const { name, generateName, ...rest } = body["metadata"];
    if (name !== undefined || typeof generateName !== "string") return body;
    return { ...body, metadata: { ...rest, name: `${generateName}${this.#options.randomName()}` } };
  }

  #reply(path: ResourcePath, { config, warnings }: Written): ObjectReply {
    return { status: 200, body: shown(config, path.apiVersion), warnings: [...warnings, ...this.hidden(config.key)] };
  }

  /** A warning for callers that write an object which is not in force. */
  hidden(key: ConfigKey): readonly string[] {
    const other = this.#options.hiddenBy(key);
    return other === undefined
      ? []
      : [`${key.kind} ${key.namespace}/${key.name} is stored, but that of ${other} is in force`];
  }
}

function written(current: Config, { warnings }: Admitted, config: Config): Written {
  return { config, result: config === current ? "unchanged" : "configured", warnings };
}

/** As clients see it. */
export function shown(config: Config, apiVersion?: string): KubeObject {
  return manifestOf({ ...config, annotations: withoutMemory(config.annotations) }, apiVersion);
}

function keyOf({ kind, namespace }: ResourcePath, name: string): ConfigKey {
  return { kind: kind.name, namespace: kind.namespaced ? namespace : "", name };
}

function toObject(
  body: unknown,
  { apiVersion, kind, namespace, name }: ResourcePath & { readonly name: string },
): KubeObject {
  if (!isObject(body)) throw new ApiError(400, "BadRequest", "the body is no object");
  const metadata = isObject(body["metadata"]) ? body["metadata"] : {};
  return {
    apiVersion,
    kind: kind.kind,
    ...body,
    metadata: { ...(kind.namespaced && { namespace }), name, ...metadata },
  };
}

function notFound({ kind, namespace }: ResourcePath, name: string): ApiError {
  const group = kind.group === "" ? "" : `.${kind.group}`;
  const place = namespace === "" ? "" : ` in namespace ${namespace}`;
  return new ApiError(404, "NotFound", `${kind.plural}${group} ${JSON.stringify(name)} not found${place}`);
}

function preconditions(options: unknown): { readonly uid?: string; readonly resourceVersion?: string } {
  const given = isObject(options) && isObject(options["preconditions"]) ? options["preconditions"] : {};
  const { uid, resourceVersion } = given;
  return { ...(typeof uid === "string" && { uid }), ...(typeof resourceVersion === "string" && { resourceVersion }) };
}
