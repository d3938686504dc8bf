/** A real NATS server that comes back with an older copy of its disk: neither the rotation nor the record of certificates goes back. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { connectBus, type KeyValue } from "@flotilla/bus";
import { noopLogger, until } from "@flotilla/runtime";
import { startNats } from "@flotilla/servers";
import { type Holding, Ledger } from "./ledger.ts";
import { compareLedger, flushLedger, loadLedger } from "./ledger-store.ts";
import { idle, type RotationState } from "./rotation-state.ts";
import { StateStore } from "./state-store.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-lost-records-"));
const [directory, older] = [join(root, "server"), join(root, "older")];
after(() => rmSync(root, { recursive: true, force: true }));

const nowMs = () => 1_000;
const holdingOf = (name: string): Holding => ({
  ...{ identity: `spiffe://cluster.local/ns/shop/sa/${name}`, place: `instance ${name}`, issuer: "a", roots: ["a"] },
  ...{ issuedMs: 1, notAfterMs: 100_000 },
});
const trusting: RotationState = {
  ...{ ...idle, phase: "trusting", id: "r1", phaseSinceMs: 1 },
  roots: { old: "a", next: "b", origin: "self-signed" },
};

async function identitiesIn(values: KeyValue): Promise<readonly string[]> {
  const ledger = new Ledger();
  await loadLedger(ledger, values);
  return ledger.holdings(nowMs()).map(({ place }) => place);
}

describe("the records of a certificate authority on a NATS server that lost writes", () => {
  it("are as the replica knows them", { timeout: 90_000 }, async () => {
    const server = await startNats({ directory, env: process.env });
    const { port } = server;
    const stop = AbortSignal.timeout(80_000);
    await using bus = await connectBus({ url: server.url, clientName: "test", log: noopLogger }, stop);
    const values = await bus.keyValue("ca");
    const [ledger, states] = [new Ledger(), new StateStore(join(root, "state"), noopLogger)];
    const record = async (name: string) => {
      ledger.record(holdingOf(name));
      await flushLedger(ledger, values, nowMs);
    };
    await record("web");
    await states.write(values, trusting);
    await server.kill();
    cpSync(directory, older, { recursive: true });
    await until(() => !bus.state.connected, { withinMs: 30_000, what: "the connection to be lost" });
    const back = await startNats({ directory, env: process.env, port });
    await until(() => bus.state.connected, { withinMs: 30_000, what: "the connection" });
    await record("api");
    await states.write(values, { ...trusting, phase: "issuing" });

    await back.kill();
    await until(() => !bus.state.connected, { withinMs: 30_000, what: "the connection to be lost again" });
    rmSync(directory, { recursive: true, force: true });
    cpSync(older, directory, { recursive: true });
    await using _again = await startNats({ directory, env: process.env, port });
    await until(() => bus.state.connected, { withinMs: 30_000, what: "the connection again" });
    assert.deepEqual(await identitiesIn(values), ["instance web"]);

    assert.equal(await compareLedger(ledger, values, nowMs), 1);
    await flushLedger(ledger, values, nowMs);
    assert.deepEqual([...(await identitiesIn(values))].sort(), ["instance api", "instance web"]);
    assert.equal(await compareLedger(ledger, values, nowMs), 0);
    assert.equal(await states.read(values), false);
    assert.equal(states.state.phase, "issuing");
    const fresh = new StateStore(join(root, "fresh"), noopLogger);
    await fresh.read(values);
    assert.equal(fresh.state.phase, "issuing");
  });
});
