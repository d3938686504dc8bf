/** Configuration objects: their list, one of them, and what is made from it; kinds and their schemas for editors. */
import type { Condition, Finding, KindSchema, ObjectDetail, ObjectPage, ObjectRow } from "@flotilla/console/contract";
import { apiVersionOf, isIstioKind, kindNamed, kinds } from "@flotilla/kinds";
import { editorSchemas } from "@flotilla/validation";
import { stringify } from "yaml";
import { RequestRefused } from "../errors.ts";
import { type ApiRequest, type Handlers, param } from "../serve/endpoint.ts";
import type { Api } from "../upstream/api.ts";
import { expectAnswer, type Services } from "../upstream/services.ts";
import { applyObjects, deleteObject } from "./apply.ts";
import { objectHistory } from "./changes.ts";
import { listOf } from "./lists.ts";
import { madeFrom } from "./made-from.ts";

type ObjectPath = "/api/v1/objects/{kind}/{namespace}/{name}";
type ObjectHandlers = Pick<
  Handlers,
  | "GET /api/v1/objects"
  | `GET ${ObjectPath}`
  | `GET ${ObjectPath}/history`
  | `GET ${ObjectPath}/resources`
  | `DELETE ${ObjectPath}`
  | "POST /api/v1/objects/apply"
  | "GET /api/v1/kinds"
  | "GET /api/v1/kinds/{name}/schema"
>;

export function objectHandlers(services: Services, api: Api): ObjectHandlers {
  return {
    "GET /api/v1/objects": (request) =>
      listOf<ObjectPage>(services, { service: "config-controller", path: "/debug/object_rows" }, request),
    "GET /api/v1/objects/{kind}/{namespace}/{name}": (request) => oneObject(services, request),
    "GET /api/v1/objects/{kind}/{namespace}/{name}/history": (request) =>
      objectHistory(services, request, objectIn(request)),
    "GET /api/v1/objects/{kind}/{namespace}/{name}/resources": (request) =>
      madeFrom(services, request, objectIn(request)),
    "DELETE /api/v1/objects/{kind}/{namespace}/{name}": (request) => deleteObject(api, request, nameIn(request)),
    "POST /api/v1/objects/apply": (request) => applyObjects(api, request),
    "GET /api/v1/kinds": () => ({ kinds: shownKinds() }),
    "GET /api/v1/kinds/{name}/schema": (request) => schemaOf(param(request, "name")),
  };
}

interface ObjectPathName {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

function nameIn(request: ApiRequest): ObjectPathName {
  const namespace = param(request, "namespace");
  return { kind: param(request, "kind"), namespace: namespace === "-" ? "" : namespace, name: param(request, "name") };
}

function objectIn(request: ApiRequest): string {
  const { kind, namespace, name } = nameIn(request);
  return `${kind}/${namespace}/${name}`;
}

/** As `/debug/object` of config-controller answers it. */
interface Detail {
  readonly row: ObjectRow;
  readonly status: {
    readonly problems: readonly Finding[];
    readonly warnings: readonly Finding[];
    readonly inForce?: {
      readonly distribution: {
        readonly behind: readonly string[];
        readonly isPrecise: boolean;
        readonly refusals: readonly { readonly proxy: string; readonly message: string; readonly atMs: number }[];
      };
    };
  };
  readonly conditions: readonly Partial<Condition>[];
  readonly source?: string;
  readonly manifest?: object;
  readonly withheld?: string;
}

/** There is one of each in a mesh, which is named by its kind. */
const documents: ReadonlySet<string> = new Set(["MeshConfig", "MeshNetworks"]);

/** Names of objects without a namespace have one part less. */
function objectText({ kind, namespace, name }: ObjectPathName): string {
  return namespace === "" ? `${kind}/${name}` : `${kind}/${namespace}/${name}`;
}

/** The source of what is written over the API. */
const apiSource = "api";

async function oneObject(services: Services, request: ApiRequest): Promise<ObjectDetail> {
  const { kind, namespace, name } = nameIn(request);
  const { token } = request.session;
  const object = documents.has(kind) ? kind : objectText({ kind, namespace, name });
  const answer = await services.first<Detail>("config-controller", { path: "/debug/object", query: { object }, token });
  const { row, status, conditions, source, manifest, withheld } = expectAnswer(answer);
  const { behind = [], isPrecise = true, refusals = [] } = status.inForce?.distribution ?? {};
  return {
    ...row,
    ...(manifest !== undefined && { manifest: stringify(manifest) }),
    ...(withheld !== undefined && { withheld }),
    ...{ isEditable: source === apiSource, problems: status.problems, warnings: status.warnings, behind, isPrecise },
    conditions: conditions.map(({ type = "", status: of = "", reason = "", message = "" }) => ({
      ...{ type, status: of, reason, message },
    })),
    rejections: refusals.map(({ proxy, message, atMs }) => ({ proxy, message, at: new Date(atMs).toISOString() })),
  };
}

/** Kinds that people write for the mesh. */
function shownKinds() {
  return kinds
    .filter((row) => isIstioKind(row) || row.group === "gateway.networking.k8s.io")
    .map((row) => ({ kind: row.kind, name: row.name, apiVersion: apiVersionOf(row), isNamespaced: row.namespaced }));
}

let schemas: ReturnType<typeof editorSchemas> | undefined;

/** @throws RequestRefused not-found */
function schemaOf(name: string): KindSchema {
  schemas ??= editorSchemas();
  const kind = kindNamed(name);
  const schema = schemas.get(name) ?? (kind && schemas.get(kind.kind));
  if (kind === undefined || schema === undefined)
    throw new RequestRefused("not-found", `there is no schema of ${name}`);
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), schema: schema as unknown as KindSchema["schema"] };
}
