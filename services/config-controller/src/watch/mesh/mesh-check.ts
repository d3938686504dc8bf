/** Refuses mesh documents that do not fit their message, or whose fields mean nothing; loaded only where there is a document to check. */
import type { Config, JsonObject } from "@flotilla/model";
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
  const message =
    strict !== undefined && / key "[^"]*" is unknown$/.test(strict) ? failure(schema, spec, true) : strict;
  if (message !== undefined) return [finding(message)];
  const problems = (isNetworks ? validateMeshNetworks : validateMeshConfig)(spec as JsonObject);
  return problems.filter(({ severity }) => severity === "error").map(({ field, reason }) => ({ field, reason }));
}

function failure(
  schema: typeof MeshNetworksSchema | typeof MeshConfigSchema,
  spec: unknown,
  ignoreUnknownFields: boolean,
): string | undefined {
  try {
    fromJson(schema, spec as never, { ignoreUnknownFields });
    return undefined;
  } catch (cause) {
    if (!(cause instanceof ProtoError)) throw cause;
    return cause.message;
  }
}

/** `… cannot decode field istio.mesh.v1alpha1.MeshConfig.trust_domain from JSON: expected string, got 5` */
function finding(message: string): Finding {
  const found = /cannot decode (?:field|enum|message) (\S+) from JSON: /.exec(message);
  if (found === null) return { field: "", reason: message };
  const [text, field = ""] = found;
  const reason = message.slice(found.index + text.length);
  return { field: field.replace(/^istio\.mesh\.v1alpha1\./, ""), reason: `cannot be read: ${reason}` };
}
