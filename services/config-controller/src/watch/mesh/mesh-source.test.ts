import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { it } from "node:test";
import type { JsonObject } from "@flotilla/model";
import { meshConfigKey, meshConfigOf } from "@flotilla/registry/config";
import { aborted } from "@flotilla/runtime";
import type { ConfigGroup } from "../config-source.ts";
import { fileLayer } from "./document-layers.ts";
import { checkMeshDocument } from "./mesh-check.ts";
import { meshSource } from "./mesh-source.ts";

it("a document that is wrong from the start holds nothing up, and what the stream has of the mesh stays", async () => {
  const directory = await mkdtemp(join(tmpdir(), "mesh-"));
  const path = join(directory, "mesh.yaml");
  await writeFile(path, "trustDomain: [wrong]\n");
  const check = (value: unknown) => checkMeshDocument(meshConfigOf(value as JsonObject));
  const onProblems = () => undefined;
  const layers = [fileLayer({ path, check, onProblems })];
  await using source = meshSource({
    ...{ name: "mesh", key: meshConfigKey, layers, toConfig: meshConfigOf, onProblems, patienceMs: 500 },
  });
  const groups = source.groups(AbortSignal.timeout(10_000))[Symbol.asyncIterator]();
  const next = async () => (await groups.next()).value as ConfigGroup;
  assert.deepEqual((await next()).changes, []);
  assert.equal(source.isIncomplete?.(meshConfigKey), true);
  assert.equal(source.isIncomplete?.({ kind: "Sidecar", namespace: "shop", name: "x" }), false);
  assert.deepEqual(
    source.problems().map(({ field }) => field),
    ["trustDomain"],
  );

  await writeFile(path, "trustDomain: right\n");
  const { changes, isComplete } = await next();
  assert.equal(isComplete, true);
  assert.equal(source.isIncomplete?.(meshConfigKey), false);
  const [change] = changes;
  assert.equal(change?.op === "put" && (change.value.spec as JsonObject)["trustDomain"], "right");
  assert.deepEqual(source.problems(), []);
  await groups.return?.();
  await rm(directory, { recursive: true });
});

it("a source that is stopped before it begins gives nothing and ends", async () => {
  const layer = {
    versions: async function* (stop: AbortSignal) {
      if (!stop.aborted) yield { document: {}, eventTimeMs: 0 };
      await aborted(stop);
    },
    problems: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  };
  const onProblems = () => undefined;
  const options = { name: "mesh", key: meshConfigKey, layers: [layer], toConfig: meshConfigOf, onProblems };
  await using source = meshSource(options);
  for await (const _ of source.groups(AbortSignal.abort())) assert.fail("a group");
});

it("remarks on the configuration in force are there when they are reported", async () => {
  const reported: (readonly string[])[] = [];
  const remarks = () => [{ file: "", line: 0, reason: "cannot be followed" }];
  await using source = meshSource({
    ...{ name: "mesh", key: meshConfigKey, layers: [], toConfig: meshConfigOf, remarks },
    onProblems: () => void reported.push(source.problems().map(({ reason }) => reason)),
  });
  for await (const { changes } of source.groups(new AbortController().signal)) assert.equal(changes.length, 1);
  assert.deepEqual(reported, [["cannot be followed"]]);
});
