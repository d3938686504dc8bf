/** The MeshConfig that is kept for the next start, and namespaces, by events on the bus. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import { type Change, defaultMeshConfig } from "@flotilla/model";
import { type Logger, noopLogger, until } from "@flotilla/runtime";
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
    assert.deepEqual(warnings, ["saved mesh configuration unreadable"]);
  });
  it("comes without annotations of namespaces", async () => {
    const { state } = await restored(undefined);
    assert.deepEqual(state.namespaceAnnotations("shop"), {});
  });
});

describe("events of the bus", () => {
  const put = (kind: string, name: string, value: object): Change => {
    const key = { kind, namespace: "", name };
    return {
      type: "config",
      op: "put",
      key,
      value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: {}, ...value },
    };
  };
  const mesh = put("MeshConfig", "default", { spec: { trustDomain: "td" } });
  const shop = put("Namespace", "shop", { annotations: { a: "1" } });
  const two: Change = (() => {
    const key = { kind: "ProxyConfig", namespace: "shop", name: "two" };
    const spec = { concurrency: 2 };
    return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
  })();

  async function following(file: string) {
    const stop = new AbortController();
    const bus = await connectBus({ url: `embedded:${file}`, clientName: "t", log: noopLogger }, stop.signal);
    const publisher = createPublisher({ bus, publisher: "p", seal: undefined, log: noopLogger, nowMs: () => 1 });
    const warnings: string[] = [];
    const state = new MeshState(file, { ...noopLogger, warn: (event) => void warnings.push(event) });
    let heard = 0;
    await publisher.synchronize([mesh, shop]);
    const running = state.follow(bus, { onHeard: () => void heard++, onChange: () => undefined }, stop.signal);
    await until(() => heard === 1, { withinMs: 10_000, what: "the stored events", everyMs: 1 });
    return {
      ...{ state, warnings, heard: () => heard },
      publish: (changes: readonly Change[], isSo: () => boolean) =>
        publisher.synchronize(changes).then(() => until(isSo, { withinMs: 10_000, what: "the change", everyMs: 1 })),
      [Symbol.asyncDispose]: async () => {
        stop.abort();
        await running;
        await bus[Symbol.asyncDispose]();
      },
    };
  }

  it("change the mesh and the annotations of namespaces, and deletions take them away", async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-mesh-state-"));
    try {
      const file = join(directory, "new", "mesh.json");
      await using it = await following(file);
      assert.deepEqual([it.state.mesh, it.state.namespaceAnnotations("shop")], [{ trustDomain: "td" }, { a: "1" }]);
      assert.deepEqual(it.state.namespaceAnnotations("default"), {});
      assert.equal(readFileSync(file, "utf8"), '{"trustDomain":"td"}');
      await it.publish([mesh], () => Object.keys(it.state.namespaceAnnotations("shop")).length === 0);
      assert.deepEqual(it.state.mesh, { trustDomain: "td" });
      const general = () => it.state.proxyConfigs("shop", {}).general;
      await it.publish([mesh, two], () => general().length === 1);
      assert.deepEqual([general(), it.state.proxyConfigs("depot", {}).general], [[{ concurrency: 2 }], []]);
      await it.publish([mesh], () => general().length === 0);
      await it.publish([], () => it.state.mesh === defaultMeshConfig);
      await until(() => readFileSync(file, "utf8") === JSON.stringify(defaultMeshConfig), {
        ...{ withinMs: 10_000, what: "the kept defaults", everyMs: 1 },
      });
      assert.deepEqual([it.heard(), it.warnings], [1, []]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });

  it("count also when the MeshConfig cannot be kept, with a warning", async () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-mesh-state-"));
    try {
      writeFileSync(join(directory, "file"), "");
      await using it = await following(join(directory, "file", "mesh.json"));
      assert.deepEqual([it.state.mesh, it.warnings], [{ trustDomain: "td" }, ["mesh configuration not saved"]]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
