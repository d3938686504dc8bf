/** Golden files with Istio's Gateways, VirtualServices and DestinationRules, for comparing with what is made here. */
import { type Config, equalJson, type KubeObject } from "@flotilla/model";
import { fromJson, type GenMessage, type JsonValue, type Message, toJson, withSeconds } from "@flotilla/proto";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { GatewaySchema } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { parseAllDocuments } from "yaml";

const schemas: Readonly<Record<string, GenMessage<Message>>> = {
  Gateway: GatewaySchema,
  VirtualService: VirtualServiceSchema,
  DestinationRule: DestinationRuleSchema,
};

export function documents(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

export function configEntry({ kind, metadata, ...rest }: KubeObject) {
  const { namespace = "", name, annotations = {} } = metadata;
  return [`${kind}/${namespace}/${name}`, { annotations, spec: messageJson(kind, rest["spec"]) }] as const;
}

export function ownEntry({ key, annotations, spec }: Config) {
  const schema = schemaOf(key.kind);
  return [`${key.kind}/${key.namespace}/${key.name}`, { annotations, spec: toJson(schema, spec as never) }] as const;
}

/** Through the message, so that defaults are left out on both sides. */
function messageJson(kind: string, spec: unknown): unknown {
  const schema = schemaOf(kind);
  return toJson(schema, fromJson(schema, withSeconds(schema, spec as JsonValue)));
}

function schemaOf(kind: string): GenMessage<Message> {
  const schema = schemas[kind];
  if (schema === undefined) throw new RangeError(`${kind} is no kind of a golden file`);
  return schema;
}

export type Entries = Readonly<Record<string, unknown>>;

export function differencesOf(what: string, want: Entries, got: Entries): readonly string[] {
  const names = [...new Set([...Object.keys(want), ...Object.keys(got)])].sort();
  return names
    .filter((name) => !equalJson(want[name], got[name]))
    .map((name) => `${what} of ${name}: want ${JSON.stringify(want[name])}, got ${JSON.stringify(got[name])}`);
}
