/** Types whose resources have several names: what a client is sent that asks by one of the others. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode, typeUrl as types } from "@flotilla/proto";
import { DeltaDiscoveryResponseSchema } from "@flotilla/proto/envoy/service/discovery/v3/discovery_pb";
import { Bodies, encodeDeltaBody } from "./message-body.ts";
import type { Resource, ResourceSet } from "./resource-set.ts";
import { newStream, step, takeTurn } from "./stream-state.ts";
import type { StreamState } from "./stream-types.ts";
import { resource, setOf } from "./testing/fixtures.ts";

function workload(uid: string, content: string, ...aliases: readonly string[]): Resource {
  return { ...resource(types.address, uid, content), aliases };
}

/** A delta stream whose set holds the resources that a test gives for the requested names. */
class Server {
  state: StreamState = newStream;
  set: ResourceSet = setOf(types.address, []);
  readonly #bodies = new Bodies();
  #nonce = 0;

  ask(names: readonly string[], { isFirst = false } = {}): void {
    const request = {
      typeUrl: types.address,
      nonce: "",
      error: undefined,
      held: new Map<string, { version: string }>(),
    };
    const unsubscribe = isFirst ? ["*"] : [];
    [this.state] = step(this.state, { type: "request", request: { ...request, subscribe: names, unsubscribe } });
  }

  put(...resources: readonly Resource[]): void {
    this.set = setOf(types.address, resources);
    [this.state] = step(this.state, { type: "stale", typeUrl: types.address });
  }

  /** `name` of each resource and `-name` of what is removed; undefined when nothing is sent. */
  write(): readonly string[] | undefined {
    const options = { form: "delta", setOf: () => this.set, bodies: this.#bodies, nowMs: 0, orderWaitMs: 0 } as const;
    const { state, message } = takeTurn(this.state, options);
    this.state = state;
    if (message === undefined) return undefined;
    const nonce = String(++this.#nonce);
    const { typeUrl, body, set } = message;
    [this.state] = step(this.state, { type: "sent", typeUrl, set, body, nonce });
    const request = { typeUrl, nonce, error: undefined, held: new Map<string, { version: string }>() };
    [this.state] = step(this.state, { type: "request", request: { ...request, subscribe: [], unsubscribe: [] } });
    return [...body.resources.map(({ name }) => name), ...body.removed.map((name) => `-${name}`)];
  }
}

describe("aliases", () => {
  it("a name that stands for a resource is answered with it and not as removed", () => {
    const server = new Server();
    server.ask(["n/10.0.0.1"], { isFirst: true });
    server.put(workload("uid-a", "1", "n/10.0.0.1"));
    assert.deepEqual(server.write(), ["uid-a"]);
  });

  it("a name that nothing is known of is answered as removed, and what it stands for later is sent", () => {
    const server = new Server();
    server.ask(["n/10.0.0.1"], { isFirst: true });
    assert.deepEqual(server.write(), ["-n/10.0.0.1"]);
    server.put(workload("uid-a", "1", "n/10.0.0.1"));
    assert.deepEqual(server.write(), ["uid-a"]);
  });

  it("a resource that was asked for by another name is removed by its own", () => {
    const server = new Server();
    server.ask(["n/10.0.0.1", "shop/a"], { isFirst: true });
    server.put(workload("shop/a", "1"), workload("uid-a", "1", "n/10.0.0.1"), workload("uid-b", "1", "n/10.0.0.2"));
    assert.deepEqual(server.write(), ["shop/a", "uid-a", "uid-b"]);
    server.put(workload("shop/a", "1"), workload("uid-a", "1", "n/10.0.0.1"));
    assert.deepEqual(server.write(), ["-uid-b"]);
    server.put(workload("shop/a", "1"));
    assert.deepEqual(server.write(), ["-uid-a"]);
  });

  it("only what changed is sent, and what is asked for again", () => {
    const server = new Server();
    server.ask(["n/10.0.0.1", "n/10.0.0.2"], { isFirst: true });
    server.put(workload("uid-a", "1", "n/10.0.0.1"), workload("uid-b", "1", "n/10.0.0.2"));
    server.write();
    server.put(workload("uid-a", "2", "n/10.0.0.1"), workload("uid-b", "1", "n/10.0.0.2"));
    assert.deepEqual(server.write(), ["uid-a"]);
    server.ask(["n/10.0.0.2"]);
    assert.deepEqual(server.write(), ["uid-b"]);
  });

  it("aliases travel with the resource", () => {
    const resources = [workload("uid-a", "1", "n/10.0.0.1", "n/::1"), workload("uid-b", "1")];
    const bytes = encodeDeltaBody({ typeUrl: types.address, resources, removed: [] });
    const { resources: read } = decode(DeltaDiscoveryResponseSchema, bytes);
    assert.deepEqual(
      read.map(({ name, aliases }) => [name, ...aliases]),
      [["uid-a", "n/10.0.0.1", "n/::1"], ["uid-b"]],
    );
  });
});
