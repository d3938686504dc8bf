/** Corpus gateway-api: objects of the Gateway API, held against the configuration and the status that Istio makes of them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { kindOf } from "@flotilla/kinds";
import type { KubeObject } from "@flotilla/model";
import type { CaseResult } from "./corpus.ts";
import { type CaseSecret, type CaseService, CaseWorld } from "./gateway-api/case-world.ts";
import { convert } from "./gateway-api/convert.ts";
import { configEntry, differencesOf, documents, type Entries, ownEntry } from "./golden-config.ts";

interface Case {
  readonly name: string;
  readonly input: string;
  readonly expected: { readonly config: string; readonly status: string };
  readonly settings: { readonly services: string; readonly objects: string };
}

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

function statusEntry(object: KubeObject) {
  const { namespace = "", name } = object.metadata;
  const kind = kindOf(object)?.name ?? object.kind;
  return [`${kind}/${namespace}/${name}`, withoutTimes(object["status"] ?? {})] as const;
}

/** Times are the writer's, and the same text throughout in the golden files. */
function withoutTimes(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, part) => (key === "lastTransitionTime" ? undefined : part)));
}
