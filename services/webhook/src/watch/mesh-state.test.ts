/** The MeshConfig that is kept for the next start, and namespaces, by events on the bus. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { defaultMeshConfig } from "@flotilla/model";
import type { Logger } from "@flotilla/runtime";
import { noopLogger } from "@flotilla/runtime";
import { MeshState } from "./mesh-state.ts";

async function restored(text: string | undefined) {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-mesh-state-"));
  try {
    const file = join(directory, "mesh.json");
    if (text !== undefined) writeFileSync(file, text);
    const warnings: string[] = [];
    const log: Logger = { ...noopLogger, warn: (event) => void warnings.push(event) };
    const state = new MeshState(file, log);
    const isRestored = await state.restore();
    assert.equal(text, text === undefined ? undefined : readFileSync(file, "utf8"));
    return { isRestored, mesh: state.mesh, warnings, state };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe("the kept MeshConfig", () => {
  it("holds until the first event", async () => {
    const { isRestored, mesh, warnings } = await restored('{"trustDomain":"td"}');
    assert.deepEqual([isRestored, mesh, warnings], [true, { trustDomain: "td" }, []]);
  });
  it("is missing at the first start, which is worth no warning", async () => {
    const { isRestored, mesh, warnings } = await restored(undefined);
    assert.deepEqual([isRestored, mesh, warnings], [false, defaultMeshConfig, []]);
  });
  it("is not used when it cannot be read, with a warning", async () => {
    const { isRestored, mesh, warnings } = await restored("{");
    assert.deepEqual([isRestored, mesh], [false, defaultMeshConfig]);
    assert.deepEqual(warnings, ["kept mesh configuration cannot be read"]);
  });
  it("comes without annotations of namespaces", async () => {
    const { state } = await restored(undefined);
    assert.deepEqual(state.namespaceAnnotations("shop"), {});
  });
});
