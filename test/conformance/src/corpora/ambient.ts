/** Corpus ambient: policies, services, pods and entries held against what istiod's ambient index makes of them. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { equalJson } from "@flotilla/model";
import { buildCase } from "./ambient/build.ts";
import { callFunction } from "./ambient/functions.ts";
import { policyCase } from "./ambient/policies.ts";
import type { BuildCase, ContextObject, FunctionCase, PolicyCase } from "./ambient/types.ts";
import type { CaseResult } from "./corpus.ts";

type Case = PolicyCase | BuildCase | FunctionCase;

export async function run(directory: string): Promise<readonly CaseResult[]> {
  const { cases } = JSON.parse(await readFile(join(directory, "cases.json"), "utf8")) as { cases: readonly Case[] };
  const text = await readFile(join(directory, "files/settings/network-fixture.json"), "utf8");
  const fixture = JSON.parse(text) as readonly ContextObject[];
  const read = (path: string) => readFile(join(directory, path), "utf8");
  return Promise.all(
    cases.map(async (one): Promise<CaseResult> => {
      const { name } = one;
      try {
        const { want, got } = await outcome(one, fixture, read);
        const passed = equalJson(want, got);
        return { name, passed, ...(!passed && { detail: `want ${JSON.stringify(want)} got ${JSON.stringify(got)}` }) };
      } catch (cause) {
        return { name, passed: false, detail: `threw ${cause instanceof Error ? cause.message : cause}` };
      }
    }),
  );
}

interface Outcome {
  readonly want: unknown;
  readonly got: unknown;
}

async function outcome(
  one: Case,
  fixture: readonly ContextObject[],
  read: (path: string) => Promise<string>,
): Promise<Outcome> {
  if ("input" in one) return policyCase(one, read);
  return "operation" in one ? buildCase(one, fixture) : callFunction(one);
}
