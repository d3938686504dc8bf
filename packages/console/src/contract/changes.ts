/** Generations of the configuration, and its objects. */
import type { Difference, FacetedPage, ObjectName, Page, PageQuery } from "./common.ts";

/** `GET /api/v1/changes`: the latest first. `search` looks at objects, causes and generations. */
export interface ChangesQuery extends PageQuery {
  /** Generations that changed this object. */
  readonly object?: ObjectName;
}

export type ChangePage = Page<GenerationRow>;

/** A generation of the configuration. */
export interface GenerationRow {
  readonly generation: number;
  /** When the source changed. */
  readonly at: string;
  /** Account that wrote it over the API; else the source, such as a directory; else the service itself. */
  readonly by: string;
  readonly changes: number;
  /** The first 20. */
  readonly objects: readonly { readonly object: ObjectName; readonly op: ChangeOp }[];
  /** How it reached the fleet; absent while xds-server is away, and of generations older than its replicas remember. */
  readonly arrival?: Arrival;
}

export type ChangeOp = "created" | "changed" | "deleted";

/** Progress of a generation at the proxies, over all replicas of xds-server that have counted it. */
export interface Arrival {
  /** Messages that were sent for it, and for others that were applied with it; `together` counts those generations with itself. */
  readonly messages: number;
  readonly together: number;
  readonly bytes: number;
  /** From the event to the last acknowledgement so far; absent while none came. */
  readonly lastAckMs?: number;
  /** Types of proxies that have yet to answer. */
  readonly waiting: number;
  readonly rejections: number;
}

/** `GET /api/v1/changes/compare`: any two generations that are kept; sorted by object. */
export interface CompareQuery extends PageQuery {
  readonly from: number;
  readonly to: number;
}

export interface Comparison extends Page<ChangedObject> {
  readonly from: number;
  readonly to: number;
}

/** An object that two generations differ in. */
export interface ChangedObject {
  readonly object: ObjectName;
  readonly op: ChangeOp;
  /** Why its content is not shown, such as a Secret's; then there are no differences. */
  readonly withheld?: string;
  readonly differences: readonly Difference[];
  /** Manifests as YAML; absent where there was no object. */
  readonly before?: string;
  readonly after?: string;
}

/** `GET /api/v1/objects`. Sorted by `object`, `kind`, `namespace`, `name`, `state`, `generation`, `source`. */
export interface ObjectsQuery extends PageQuery {
  readonly kind?: string;
  readonly namespace?: string;
  readonly state?: string;
  readonly source?: string;
}

export type ObjectPage = FacetedPage<ObjectRow, "kind" | "namespace" | "state" | "source">;

/** A configuration object. */
export interface ObjectRow {
  readonly object: ObjectName;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /**
   * `refused`: validation refuses the last one received. `rejected`: proxies reject what was made from it. `arriving`: proxies that it
   * concerns have yet to answer. `warning`: it is live, and doubtful. `live`: in effect everywhere, without a doubt.
   */
  readonly state: "refused" | "rejected" | "arriving" | "warning" | "live";
  /** Where it was read from. */
  readonly source: string;
  /** The generation that brought it; absent when none is in force. */
  readonly generation?: number;
  readonly by?: string;
  /** Proxies that have it in effect, of those that it concerns. */
  readonly live: number;
  readonly concerned: number;
  /** The first reason why it is refused, rejected or doubtful. */
  readonly reason?: string;
}

/** `GET /api/v1/objects/{kind}/{namespace}/{name}`; the namespace of a kind without namespaces is `-`. */
export interface ObjectDetail extends ObjectRow {
  /** As YAML; absent when none is in force, or its content is not shown. */
  readonly manifest?: string;
  /** Why the content is not shown. */
  readonly withheld?: string;
  /** The API owns it: it can be edited and deleted here, by callers who may. */
  readonly isEditable: boolean;
  readonly problems: readonly Finding[];
  readonly warnings: readonly Finding[];
  readonly conditions: readonly Condition[];
  /** Some proxies that have yet to answer. */
  readonly behind: readonly string[];
  /** False: which proxies it concerns is not known on every replica, and all of those are counted. */
  readonly isPrecise: boolean;
  readonly rejections: readonly { readonly proxy: string; readonly message: string; readonly at: string }[];
}

export interface Finding {
  readonly field: string;
  readonly reason: string;
}

/** As in the status of Kubernetes objects. */
export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

/** `GET …/history`: the latest first, with what each generation changed in it. */
export type ObjectHistory = Page<GenerationRow & { readonly change?: ChangedObject }>;

/** `GET …/resources`: resources made from an object, on every replica; sorted by `proxy`, `type`, `name`. */
export interface MadeResourcePage extends Page<MadeResource> {
  /** False: a replica ended its search after half a second, or after 1,000 resources, and more may exist. */
  readonly isComplete: boolean;
}

export interface MadeResource {
  readonly proxy: string;
  readonly type: string;
  readonly name: string;
}

/** `POST /api/v1/objects/apply`; 422 `invalid` with causes when validation refuses any object, and nothing is written. */
export interface ApplyRequest {
  /** One or several documents. */
  readonly yaml: string;
  /** Of objects that name none; `default` if absent. */
  readonly namespace?: string;
  /** True: nothing is written, and the answer shows what would change. */
  readonly dryRun: boolean;
}

/** Objects in the order of the documents. */
export interface ApplyAnswer {
  readonly dryRun: boolean;
  readonly items: readonly AppliedObject[];
  /** Documents of foreign kinds, which are passed over. */
  readonly ignored: readonly { readonly kind: string; readonly count: number }[];
}

export interface AppliedObject {
  readonly object: ObjectName;
  readonly result: "created" | "configured" | "unchanged";
  readonly warnings: readonly string[];
  readonly differences: readonly Difference[];
}

/** `DELETE /api/v1/objects/{kind}/{namespace}/{name}`; `hiddenBy`: another source has an object of the name, which is in force now. */
export interface DeleteAnswer {
  readonly result: "deleted" | "not found";
  readonly hiddenBy?: string;
}

/** `GET /api/v1/kinds`: kinds of configuration, for editors and filters. */
export interface KindList {
  readonly kinds: readonly KindRow[];
}

export interface KindRow {
  readonly kind: string;
  /** As in ObjectName; other than `kind` where two groups share one. */
  readonly name: string;
  readonly apiVersion: string;
  readonly isNamespaced: boolean;
}

/** `GET /api/v1/kinds/{name}/schema`: OpenAPI v3 schema of the kind's objects; fields have `description`s. */
export interface KindSchema {
  readonly kind: string;
  readonly apiVersion: string;
  readonly schema: Readonly<Record<string, unknown>>;
}
