/** Corpus gateway-api: objects of the Gateway API, held against the configuration and the status that Istio makes of them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { kindOf } from "@flotilla/kinds";
import { type Config, equalJson, type KubeObject } from "@flotilla/model";
import { fromJson, type GenMessage, type JsonValue, type Message, toJson, withSeconds } from "@flotilla/proto";
import { DestinationRuleSchema } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import { GatewaySchema } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { VirtualServiceSchema } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { parseAllDocuments } from "yaml";
import type { CaseResult } from "./corpus.ts";
import { type CaseSecret, type CaseService, CaseWorld } from "./gateway-api/case-world.ts";
import { convert } from "./gateway-api/convert.ts";

interface Case {
  readonly name: string;
  readonly input: string;
  readonly expected: { readonly config: string; readonly status: string };
  readonly settings: { readonly services: string; readonly objects: string };
}

const schemas: Readonly<Record<string, GenMessage<Message>>> = {
  Gateway: GatewaySchema,
  VirtualService: VirtualServiceSchema,
  DestinationRule: DestinationRuleSchema,
};

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.map((one) => runCase(directory, one)));
}

async function runCase(directory: string, { name, input, expected, settings }: Case): Promise<CaseResult> {
  const read = (path: string) => readFile(join(directory, path), "utf8");
  const services = JSON.parse(await read(settings.services)) as readonly CaseService[];
  const secrets = JSON.parse(await read(settings.objects)) as readonly CaseSecret[];
  const { configs, status } = convert(new CaseWorld(await read(input), services, secrets));
  const wantConfigs = Object.fromEntries(documents(await read(expected.config)).map(configEntry));
  const wantStatus = Object.fromEntries(documents(await read(expected.status)).map(statusEntry));
  const differences = [
    ...differencesOf("config", wantConfigs, Object.fromEntries(configs.map(ownEntry))),
    ...differencesOf("status", wantStatus, withoutTimes(Object.fromEntries(status)) as Entries),
  ];
  return differences.length === 0
    ? { name, passed: true }
    : { name, passed: false, detail: differences.slice(0, 3).join("; ") };
}

function documents(text: string): readonly KubeObject[] {
  return parseAllDocuments(text)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null);
}

function configEntry({ kind, metadata, ...rest }: KubeObject) {
  const { namespace = "", name, annotations = {} } = metadata;
  return [`${kind}/${namespace}/${name}`, { annotations, spec: messageJson(kind, rest["spec"]) }] as const;
}

function ownEntry({ key, annotations, spec }: Config) {
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

function statusEntry(object: KubeObject) {
  const { namespace = "", name } = object.metadata;
  const kind = kindOf(object)?.name ?? object.kind;
  return [`${kind}/${namespace}/${name}`, withoutTimes(object["status"] ?? {})] as const;
}

/** Times are the writer's, and the same text throughout in the golden files. */
function withoutTimes(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === "lastTransitionTime" ? undefined : part)));
}

type Entries = Readonly<Record<string, unknown>>;

function differencesOf(what: string, want: Entries, got: Entries): readonly string[] {
  const names = [...new Set([...Object.keys(want), ...Object.keys(got)])].sort();
  return names
    .filter((name) => !equalJson(want[name], got[name]))
    .map((name) => `${what} of ${name}: want ${JSON.stringify(want[name])}, got ${JSON.stringify(got[name])}`);
}
