/**
 * One resource of MCP as the object that it stands for. The envelope names it (`namespace/name`), the body is the message of its
 * kind; nothing without a namespace travels this way.
 */
import { type Kind, mcpTypeUrls } from "@flotilla/kinds";
import type { KubeObject } from "@flotilla/model";
import { decode, ProtoError, registry, toJson, typeNameOf } from "@flotilla/proto";
import { type Resource, ResourceSchema } from "@flotilla/proto/mcp/v1alpha1/resource_pb";

export type ReadResource =
  | { readonly object: KubeObject; readonly version: string }
  | { readonly field: string; readonly reason: string };

/** Of an envelope; empty when it cannot be read. */
export function resourceName(bytes: Uint8Array): string {
  const resource = envelope(bytes);
  return resource?.metadata?.name ?? "";
}

export function readResource(kind: Kind, bytes: Uint8Array): ReadResource {
  const resource = envelope(bytes);
  if (resource === undefined) return { field: "", reason: `is no ${ResourceSchema.typeName}` };
  const { metadata, body } = resource;
  const [namespace = "", name = "", ...rest] = (metadata?.name ?? "").split("/");
  if (namespace === "" || name === "" || rest.length > 0)
    return { field: "metadata.name", reason: `"${metadata?.name ?? ""}" is not namespace/name` };
  const spec = specOf(kind, body);
  if ("reason" in spec) return spec;
  const { labels = {}, annotations = {}, createTime, version = "" } = metadata ?? {};
  const created = createTime === undefined ? undefined : new Date(Number(createTime.seconds) * 1000).toISOString();
  const object = {
    apiVersion: mcpTypeUrls(kind)[0]?.split("/").slice(0, 2).join("/") ?? "",
    kind: kind.kind,
    metadata: {
      namespace,
      name,
      labels,
      annotations,
      ...(created !== undefined && { creationTimestamp: created }),
      ...(version !== "" && { resourceVersion: version }),
    },
    spec: spec.json,
  };
  return { object, version };
}

function envelope(bytes: Uint8Array): Resource | undefined {
  try {
    return decode(ResourceSchema, bytes);
  } catch (error) {
    if (error instanceof ProtoError) return undefined;
    throw error;
  }
}

function specOf(
  { message = "" }: Kind,
  body: Resource["body"],
): { readonly json: unknown } | { readonly field: string; readonly reason: string } {
  const field = "body";
  if (body === undefined) return { field, reason: "is missing" };
  const type = typeNameOf(body.typeUrl);
  if (type !== message) return { field, reason: `is a ${type || "message without a type"}, not a ${message}` };
  const schema = registry.getMessage(message);
  if (schema === undefined) throw new RangeError(`no message ${message}`);
  try {
    return { json: toJson(schema, decode(schema, body.value)) };
  } catch (error) {
    if (!(error instanceof ProtoError)) throw error;
    return { field, reason: `cannot be read as ${message}` };
  }
}
