/** Corpus simulation: calls, and what of Istio's own configuration they meet. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { bytesToJson, type JsonObject, typeUrl } from "@flotilla/proto";
import { type Call, type Configuration, type Outcome, simulate } from "@flotilla/traffic";
import { nameSet } from "@flotilla/xds";
import type { Core } from "@flotilla/xds-server/core";
import type { CaseResult } from "./corpus.ts";
import { isClaimed, loadCore, type MeshCase, proxyOf, withoutDomain } from "./mesh-case.ts";

interface Case extends MeshCase {
  readonly name: string;
  readonly calls: readonly { readonly name: string; readonly call: Call; readonly istio: Outcome }[];
}

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  return Promise.all(cases.filter(isClaimed).map((one) => runCase(directory, one)));
}

async function runCase(directory: string, one: Case): Promise<CaseResult> {
  const { name } = one;
  try {
    const core = await loadCore(directory, one);
    const configuration = configurationOf(core, one);
    const details = one.calls.flatMap(({ name: call, call: asked, istio }) => {
      const met = simulate(configuration, asked);
      return isDeepStrictEqual(withoutDomain(met), withoutDomain(istio))
        ? []
        : [`${call}: want ${JSON.stringify(istio)} got ${JSON.stringify(met)}`];
    });
    return { name, passed: details.length === 0, ...(details.length > 0 && { detail: details.join("; ") }) };
  } catch (cause) {
    return { name, passed: false, detail: `threw ${cause}` };
  }
}

function configurationOf(core: Core, one: Case): Configuration {
  const subject = core.subjectOf(proxyOf(one));
  const jsonOf = (type: string, bytes: Uint8Array) => bytesToJson(type, bytes) as JsonObject;
  const listeners = [...(core.resources(subject, typeUrl.listener)?.byName.values() ?? [])];
  return {
    listeners: listeners.map(({ bytes }) => jsonOf(typeUrl.listener, bytes)),
    routes: (name) => {
      const route = core.resources(subject, typeUrl.route, nameSet([name]))?.byName.get(name);
      return route && jsonOf(typeUrl.route, route.bytes);
    },
  };
}
