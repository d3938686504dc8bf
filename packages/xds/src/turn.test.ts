/** Make before break: in which order a change of several types goes out, and what it waits for. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { typeUrl as types } from "@flotilla/proto";
import { Bodies } from "./message-body.ts";
import type { Form } from "./plan.ts";
import type { ResourceSet } from "./resource-set.ts";
import { newStream, step, takeTurn } from "./stream-state.ts";
import type { StreamState } from "./stream-types.ts";
import { resourceSet, setOf } from "./testing/fixtures.ts";

const { cluster, endpoint, listener, route, extensionConfig } = types;
const shortNames: Readonly<Record<string, string>> = {
  [cluster]: "cds",
  [endpoint]: "eds",
  [listener]: "lds",
  [route]: "rds",
  [extensionConfig]: "ecds",
};
const waitMs = 1_000;

/** A delta stream that has everything it asked for, acknowledged. */
class Server {
  state: StreamState = newStream;
  nowMs = 0;
  retryAtMs: number | undefined;
  readonly #world = new Map<string, ResourceSet>();
  readonly #bodies = new Bodies();
  readonly #form: Form;
  #nonce = 0;

  constructor(form: Form, world: Readonly<Record<string, Readonly<Record<string, string>>>>) {
    this.#form = form;
    for (const [typeUrl, contents] of Object.entries(world)) this.#world.set(typeUrl, resourceSet(typeUrl, contents));
    const extensions = extensionConfig in world ? [extensionConfig] : [];
    for (const typeUrl of [cluster, endpoint, listener, route, ...extensions]) {
      const names = typeUrl === cluster || typeUrl === listener ? [] : Object.keys(world[typeUrl] ?? {});
      this.ask(typeUrl, names);
      this.write();
      this.accept(typeUrl);
    }
  }

  ask(typeUrl: string, names: readonly string[]): void {
    const common = { typeUrl, nonce: "", error: undefined };
    const request =
      this.#form === "sotw"
        ? { ...common, nonce: this.state.types.get(typeUrl)?.nonce ?? "", names, version: "" }
        : { ...common, subscribe: names, unsubscribe: [], held: new Map() };
    this.#step({ type: "request", request });
  }

  accept(typeUrl: string): void {
    const known = this.state.types.get(typeUrl);
    const nonce = known?.nonce ?? "";
    const common = { typeUrl, nonce, error: undefined };
    const names = [...(known?.subscription.names ?? [])];
    const request =
      this.#form === "sotw"
        ? { ...common, names, version: "x" }
        : { ...common, subscribe: [], unsubscribe: [], held: new Map() };
    this.#step({ type: "request", request });
  }

  change(world: Readonly<Record<string, Readonly<Record<string, string>>>>): void {
    for (const [typeUrl, contents] of Object.entries(world)) {
      this.#world.set(typeUrl, resourceSet(typeUrl, contents));
      this.#step({ type: "stale", typeUrl });
    }
  }

  /** Everything that may go now: `cds a b -c`. */
  write({ endpointsFirst = false } = {}): readonly string[] {
    const out: string[] = [];
    for (;;) {
      const turn = takeTurn(this.state, {
        form: this.#form,
        bodies: this.#bodies,
        nowMs: this.nowMs,
        orderWaitMs: waitMs,
        endpointsFirst,
        setOf: (typeUrl, { wildcard, names }) => {
          const all = this.#world.get(typeUrl);
          if (all === undefined || wildcard) return all;
          return setOf(
            typeUrl,
            [...all.byName.values()].filter(({ name }) => names.has(name)),
          );
        },
      });
      this.state = turn.state;
      this.retryAtMs = turn.retryAtMs;
      if (turn.message === undefined) return out;
      const { typeUrl, set, body, again } = turn.message;
      const removed = this.#form === "delta" ? body.removed.map((name) => `-${name}`) : [];
      out.push([shortNames[typeUrl], ...body.resources.map(({ name }) => name), ...removed].join(" "));
      this.#step({ type: "sent", typeUrl, set, body, nonce: String(++this.#nonce), again });
    }
  }

  #step(event: Parameters<typeof step>[1]): void {
    [this.state] = step(this.state, event);
  }
}

const world = {
  [cluster]: { a: "1", b: "1" },
  [endpoint]: { a: "1", b: "1" },
  [listener]: { l: "1" },
  [route]: { r: "to a" },
};

describe("make before break", () => {
  it("a route waits until the new cluster and its endpoints are accepted", () => {
    const server = new Server("delta", world);
    server.change({
      [cluster]: { a: "1", b: "1", c: "1" },
      [endpoint]: { a: "1", b: "1", c: "1" },
      [route]: { r: "to c" },
    });
    assert.deepEqual(server.write(), ["cds c"]);
    server.accept(cluster);
    assert.deepEqual(server.write(), [], "its endpoints were not asked for yet");
    server.ask(endpoint, ["c"]);
    assert.deepEqual(server.write(), ["eds c"]);
    server.accept(endpoint);
    assert.deepEqual(server.write(), ["rds r"]);
  });

  it("a route waits for endpoints that are not asked for yet, although another type goes meanwhile", () => {
    const server = new Server("delta", { ...world, [extensionConfig]: { x: "1" } });
    server.change({ [cluster]: { a: "1", b: "1", c: "1" }, [route]: { r: "to c" } });
    assert.deepEqual(server.write(), ["cds c"]);
    server.accept(cluster);
    server.change({ [extensionConfig]: { x: "2" } });
    assert.deepEqual(server.write(), ["ecds x"]);
    server.accept(extensionConfig);
    assert.deepEqual(server.write(), []);
    server.ask(endpoint, ["c"]);
    assert.deepEqual(server.write(), ["eds -c"]);
    server.accept(endpoint);
    assert.deepEqual(server.write(), ["rds r"]);
  });

  it("a cluster and its endpoints go after the route that used them", () => {
    for (const form of ["sotw", "delta"] as const) {
      const server = new Server(form, world);
      server.change({ [cluster]: { a: "1" }, [endpoint]: { a: "1" }, [route]: { r: "elsewhere" } });
      assert.deepEqual(server.write(), ["rds r"]);
      server.accept(route);
      assert.deepEqual(server.write(), [form === "delta" ? "cds -b" : "cds a"]);
      server.accept(cluster);
      assert.deepEqual(server.write(), form === "delta" ? ["eds -b"] : ["eds b"]);
    }
  });

  it("lost endpoints overtake clusters that are due; those of a changed cluster go again with it", () => {
    for (const form of ["sotw", "delta"] as const) {
      const server = new Server(form, world);
      server.change({ [cluster]: { a: "1", b: "2" }, [endpoint]: { a: "fewer", b: "1" }, [route]: { r: "to b" } });
      const clusters = form === "delta" ? "cds b" : "cds a b";
      assert.deepEqual(server.write({ endpointsFirst: true }), ["eds a", clusters, "eds b"]);
    }
  });

  it("lost endpoints overtake no removal: a cluster in use keeps its endpoints", () => {
    const server = new Server("delta", world);
    server.change({ [cluster]: { a: "1" }, [endpoint]: { a: "1" }, [route]: { r: "elsewhere" } });
    assert.deepEqual(server.write({ endpointsFirst: true }), ["rds r"]);
  });

  it("an extension changes before the listener that names it, and goes after it", () => {
    const server = new Server("delta", { [listener]: { L: "1" }, [extensionConfig]: { a: "1", b: "1" } });
    server.change({ [listener]: { L: "2" }, [extensionConfig]: { a: "2" } });
    assert.deepEqual(server.write(), ["ecds a", "lds L"]);
    server.accept(extensionConfig);
    assert.deepEqual(server.write(), []);
    server.accept(listener);
    assert.deepEqual(server.write(), ["ecds -b"]);
  });

  it("a renamed cluster is there twice for a while", () => {
    const cases = [
      { form: "sotw", both: "cds a c b", after: "cds a c" },
      { form: "delta", both: "cds c", after: "cds -b" },
    ] as const;
    for (const { form, both, after } of cases) {
      const server = new Server(form, world);
      server.change({ [cluster]: { a: "1", c: "1" }, [endpoint]: { a: "1", c: "1" }, [route]: { r: "to c" } });
      assert.deepEqual(server.write(), [both]);
      server.accept(cluster);
      server.ask(endpoint, form === "sotw" ? ["a", "b", "c"] : ["c"]);
      assert.deepEqual(server.write(), ["eds c"]);
      server.accept(endpoint);
      assert.deepEqual(server.write(), ["rds r"]);
      server.accept(route);
      assert.equal(server.write()[0], after);
    }
  });

  it("a changed cluster takes its endpoints along, unchanged ones stay", () => {
    const server = new Server("delta", world);
    server.change({ [cluster]: { a: "2", b: "1" } });
    assert.deepEqual(server.write(), ["cds a", "eds a"]);
  });

  it("a change of routes alone waits for nothing, nor does one of endpoints", () => {
    const server = new Server("delta", world);
    server.change({ [route]: { r: "to b" }, [endpoint]: { a: "2", b: "1" } });
    assert.deepEqual(server.write(), ["eds a"]);
    server.accept(endpoint);
    assert.deepEqual(server.write(), ["rds r"]);
    server.change({ [route]: { r: "to a" } });
    assert.deepEqual(server.write(), ["rds r"]);
  });

  it("a client that does not answer holds its routes back for a limited time", () => {
    const server = new Server("delta", world);
    server.change({ [cluster]: { a: "2", b: "1" }, [route]: { r: "to b" } });
    assert.deepEqual(server.write(), ["cds a", "eds a"]);
    assert.equal(server.retryAtMs, waitMs);
    server.nowMs = waitMs - 1;
    assert.deepEqual(server.write(), []);
    server.nowMs = waitMs;
    assert.deepEqual(server.write(), ["rds r"]);
    assert.equal(server.retryAtMs, undefined);
  });

  it("requests of the client are answered at once", () => {
    const server = new Server("delta", { ...world, [route]: { r: "to a", s: "to a" } });
    server.change({ [cluster]: { a: "2", b: "1" }, [route]: { r: "to b", s: "to b" } });
    assert.deepEqual(server.write(), ["cds a", "eds a"]);
    server.ask(route, ["s"]);
    assert.equal(server.write().length, 1);
  });
});
