/** Definitions of kinds: made, brought up to date, left alone, and tried again when the API server is away. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type KubeApi, KubeError } from "@flotilla/kube-api";
import { noopLogger, until } from "@flotilla/runtime";
import { type Definition, keepDefinitions, shippedDefinitions } from "./kind-definitions.ts";

const name = "virtualservices.networking.istio.io";
const definitionOf = (spec: unknown): Definition =>
  ({ metadata: { name, annotations: { own: "1" } }, spec }) as Definition;
const soon = (what: string) => ({ withinMs: 10_000, what });

/** An API server with one place for the definition. */
class Server {
  stored: Definition | undefined;
  writes: string[] = [];
  failures: KubeError[] = [];
  looks = 0;
  readonly api = {
    metadata: async () => {
      this.looks++;
      const failure = this.failures.shift();
      if (failure !== undefined) throw failure;
      return this.stored;
    },
    get: async () => this.stored,
    create: async (_: string, object: Definition) => this.#write("create", object),
    replace: async (_: string, object: Definition) => this.#write("replace", object),
  } as unknown as KubeApi;

  #write(verb: string, object: Definition): void {
    this.writes.push(verb);
    this.stored = object;
  }
}

/** Looks until `looks` more are over. */
async function keep(server: Server, version: string, definition: Definition, looks = 2): Promise<void> {
  const stop = new AbortController();
  const options = { api: server.api, definitions: [definition], version, log: noopLogger, everyMs: 1 };
  const before = server.looks;
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  const running = keepDefinitions(options, stop.signal);
  running.then(over, over);
  await until(() => isOver || server.looks >= before + looks, soon("looks"));
  stop.abort();
  await running;
}

describe("the definition of a kind", () => {
  it("is made where it is missing, with the version that made it, and once", async () => {
    const server = new Server();
    await keep(server, "1.2.0", definitionOf({ v: 1 }), 3);
    assert.deepEqual(server.writes, ["create"]);
    const { annotations } = server.stored?.metadata ?? {};
    assert.equal(annotations?.["own"], "1");
    assert.equal(annotations["flotilla.dev/version"], "1.2.0");
  });
  it("is brought up to date by a newer version, which keeps annotations of others", async () => {
    const server = new Server();
    await keep(server, "1.2.0", definitionOf({ v: 1 }));
    const { stored } = server;
    assert.ok(stored !== undefined);
    server.stored = {
      ...stored,
      metadata: { ...stored.metadata, annotations: { ...stored.metadata.annotations, theirs: "x" } },
    };
    await keep(server, "1.3.0", definitionOf({ v: 2 }), 3);
    assert.deepEqual(server.writes, ["create", "replace"]);
    assert.deepEqual(server.stored.spec, { v: 2 });
    assert.deepEqual(
      [server.stored.metadata.annotations?.["theirs"], server.stored.metadata.annotations?.["flotilla.dev/version"]],
      ["x", "1.3.0"],
    );
  });
  it("is left alone by an older version, by one that says the same, and while it is being removed", async () => {
    const server = new Server();
    await keep(server, "1.3.0", definitionOf({ v: 1 }));
    await keep(server, "1.2.0", definitionOf({ v: 2 }));
    await keep(server, "1.4.0", definitionOf({ v: 1 }));
    const { stored } = server;
    assert.ok(stored !== undefined);
    server.stored = { ...stored, metadata: { ...stored.metadata, deletionTimestamp: "now" } as Definition["metadata"] };
    await keep(server, "1.4.0", definitionOf({ v: 2 }));
    assert.deepEqual(server.writes, ["create"]);
  });
  it("is left alone where somebody else made it", async () => {
    const server = new Server();
    server.stored = { metadata: { name }, spec: { theirs: true } } as Definition;
    await keep(server, "1.2.0", definitionOf({ v: 1 }));
    assert.deepEqual(server.writes, []);
  });
  it("is looked at again when the API server was away, and not when it refuses", async () => {
    const server = new Server();
    server.failures = [new KubeError("KUBE_AWAY", "no answer")];
    await keep(server, "1.2.0", definitionOf({ v: 1 }));
    assert.deepEqual(server.writes, ["create"]);
    server.failures = [new KubeError("KUBE_REFUSED", "forbidden")];
    await assert.rejects(keep(server, "1.2.0", definitionOf({ v: 1 })), { code: "KUBE_REFUSED" });
  });
  it("is shipped for every kind of Istio, each by its name", async () => {
    const names = (await shippedDefinitions()).map(({ metadata }) => metadata.name);
    assert.ok(names.includes(name) && names.length > 10, `${names.length}`);
    assert.equal(new Set(names).size, names.length);
  });
});
