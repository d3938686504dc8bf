/** Refuses mesh documents that do not fit their message, or whose fields mean nothing; loaded only where there is a document to check. */
import { type Config, isObject, type JsonObject } from "@flotilla/model";
import { fromJson, ProtoError } from "@flotilla/proto";
import { MeshConfigSchema } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import { MeshNetworksSchema } from "@flotilla/proto/mesh/v1alpha1/network_pb";
import { validateMeshConfig, validateMeshNetworks } from "@flotilla/validation";

type Finding = { readonly field: string; readonly reason: string };

/** Unknown fields are ignored, as in Istio: a document may be meant for a newer version. */
export function checkMeshDocument({ key, spec }: Config): readonly Finding[] {
  const isNetworks = key.kind === "MeshNetworks";
  const schema = isNetworks ? MeshNetworksSchema : MeshConfigSchema;
  const strict = failure(schema, spec, false);
  // Reading leniently forgives wrong enum values too: only a document with unknown fields is read so.
  const message = isUnknownKey(strict) ? failure(schema, spec, true) : strict;
  if (message !== undefined) return [finding(message, unreadablePath(schema, spec))];
  const problems = (isNetworks ? validateMeshNetworks : validateMeshConfig)(spec as JsonObject);
  return problems.filter(({ severity }) => severity === "error").map(({ field, reason }) => ({ field, reason }));
}

type MeshSchema = typeof MeshNetworksSchema | typeof MeshConfigSchema;

function failure(schema: MeshSchema, spec: unknown, ignoreUnknownFields: boolean): string | undefined {
  try {
    fromJson(schema, spec as never, { ignoreUnknownFields });
    return undefined;
  } catch (cause) {
    if (!(cause instanceof ProtoError)) throw cause;
    return cause.message;
  }
}

/** `… cannot decode field istio.mesh.v1alpha1.MeshConfig.trust_domain from JSON: expected string, got 5` */
function finding(message: string, path: string): Finding {
  const found = /cannot decode (?:field|enum|message) (\S+) from JSON: /.exec(message);
  if (found === null) return { field: path, reason: message };
  return { field: path, reason: `cannot be read: ${message.slice(found.index + found[0].length)}` };
}

/** The innermost value that cannot be read by itself: the error names its message alone, not where in the document it stands. */
function unreadablePath(schema: MeshSchema, spec: unknown): string {
  const path: string[] = [];
  let node = spec;
  for (;;) {
    const next = membersOf(node).find(([key, member]) => isUnreadable(schema, nested([...path, key], member)));
    if (next === undefined) return path.join(".");
    path.push(next[0]);
    node = next[1];
  }
}

function isUnreadable(schema: MeshSchema, spec: unknown): boolean {
  const message = failure(schema, spec, false);
  return message !== undefined && !isUnknownKey(message);
}

function isUnknownKey(message: string | undefined): boolean {
  return message !== undefined && / key "[^"]*" is unknown$/.test(message);
}

/** Lists are left whole: their members need not make sense alone. */
function membersOf(node: unknown): readonly (readonly [string, unknown])[] {
  return isObject(node) ? Object.entries(node) : [];
}

function nested(path: readonly string[], value: unknown): unknown {
  return path.reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
}
