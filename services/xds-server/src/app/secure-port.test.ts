/** The opening of the TLS port: with the identity of ca, whose next one it follows, and not at all without ca. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TlsMaterial } from "@flotilla/auth/serving";
import { createMetrics, noopLogger, until } from "@flotilla/runtime";
import { certificatePem, keyPem } from "../serve/testing/test-certificate.ts";
import type { XdsService } from "../settings.ts";
import { readSettings } from "../settings.ts";
import { serveSecure } from "./secure-port.ts";

const first: TlsMaterial = { chainPem: certificatePem, keyPem, rootsPem: certificatePem };

/** A ca that issues when it is asked to, and a server that keeps what it is opened with. */
function aReplica(env: Readonly<Record<string, string>>) {
  const stop = new AbortController();
  const opened: { readonly port: number; readonly mode: string; readonly methods: number }[] = [];
  const reloaded: TlsMaterial[] = [];
  const logged: string[] = [];
  let isClosed = false;
  let issue: (material: TlsMaterial) => void = () => assert.fail("nobody follows the certificate");
  const ads = {
    serveTls: async (at: { port: number }, { mode }: { mode: string }, methods: ReadonlyMap<string, unknown>) => {
      opened.push({ port: at.port, mode, methods: methods.size });
      return {
        port: 7,
        reload: (material: TlsMaterial) => void reloaded.push(material),
        [Symbol.asyncDispose]: async () => {
          isClosed = true;
        },
      };
    },
  };
  const certificate = {
    follow: async (onIdentity: (material: TlsMaterial) => void, stopped: AbortSignal) => {
      issue = onIdentity;
      await new Promise((resolve) => stopped.addEventListener("abort", resolve, { once: true }));
    },
  };
  const service = {
    ...{ settings: readSettings(env), metrics: createMetrics(), stop: stop.signal },
    health: { setCondition: () => undefined },
    log: {
      ...noopLogger,
      info: (text: string, fields?: object) => void logged.push(`${text} ${JSON.stringify(fields)}`),
    },
  };
  const identity = { peers: { authenticator: {}, certificates: {} }, certificate, cluster: undefined };
  const served = serveSecure(service as unknown as XdsService, { ads, identity } as never);
  return { served, stop, opened, reloaded, logged, issue: (one: TlsMaterial) => issue(one), isClosed: () => isClosed };
}

describe("the TLS port", () => {
  it("is not opened without the address of ca", async () => {
    const { served, opened } = aReplica({});
    await served;
    assert.deepEqual(opened, []);
  });

  it("is opened with the identity of ca, follows it, and is closed when the service stops", async () => {
    const replica = aReplica({ CA_ADDRESS: "127.0.0.1:1", XDS_TLS_PORT: "15012" });
    await new Promise(setImmediate);
    assert.equal(replica.opened.length, 0);
    replica.issue(first);
    await until(() => replica.logged[0], { withinMs: 10_000, what: "the port", everyMs: 1 });
    const { port, mode, methods = 0 } = replica.opened.at(0) ?? {};
    assert.deepEqual([port, mode], [15012, "required"]);
    assert.ok(methods > 0, "certificate requests pass on to ca");
    assert.deepEqual(replica.logged, ['serving with TLS {"port":7}']);
    const second = { ...first, rootsPem: `${certificatePem}\n` };
    replica.issue(second);
    assert.deepEqual(replica.reloaded, [second]);
    assert.equal(replica.isClosed(), false);
    replica.stop.abort();
    await replica.served;
    assert.equal(replica.isClosed(), true);
  });
});
