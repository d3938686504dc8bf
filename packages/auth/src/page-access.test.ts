/** Access to debug pages. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { type Caller, callerOfRequest, openLocalIssuer, operatorAudience, pageAccess, type Verdict } from "./index.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-pages-"));
after(() => rmSync(workDir, { recursive: true }));

const elsewhere = "10.0.0.7";
const cases = [
  { name: "a caller of this host", from: "127.0.0.1", status: 200 },
  { name: "a caller of this host over a dual-stack socket", from: "::ffff:127.0.0.1", status: 200 },
  { name: "a web page in a browser of this host", from: "127.0.0.1", host: "evil.test:15014", status: 403 },
  { name: "a caller of another host", from: elsewhere, status: 403 },
  {
    name: "a caller of another host with a token of the control plane",
    from: elsewhere,
    of: "istio-system",
    status: 200,
  },
  { name: "one over IPv6", from: "fd00::7", of: "istio-system", status: 200 },
  { name: "a workload of another namespace", from: elsewhere, of: "shop", status: 403 },
  { name: "a token for another audience", from: elsewhere, of: "istio-system", audience: "other", status: 401 },
  { name: "an operator's token", from: elsewhere, of: "istio-system", audience: operatorAudience, status: 200 },
  { name: "a caller of this host by the token that it shows", from: "127.0.0.1", of: "shop", status: 403 },
  { name: "any caller where the guard is off", from: elsewhere, isOn: false, status: 200 },
] as const;

describe("debug pages", () => {
  for (const { name, from, status, ...one } of cases) {
    it(`answer ${name} with ${status}`, async () => {
      const { of, audience, host, isOn } = {
        of: undefined,
        audience: undefined,
        host: "localhost",
        isOn: true,
        ...one,
      };
      const issuer = await openLocalIssuer(workDir);
      const token =
        of && (await issuer.mintToken({ namespace: of, serviceAccount: "a", ...(audience && { audience }) }));
      const handler = pageAccess({ isOn, workDir, namespace: "istio-system", log: noopLogger }).read(() => ({
        json: {},
      }));
      const headers = { host, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const request = { method: "GET", path: "/", query: new URLSearchParams(), headers, body: new Uint8Array() };
      const reply = await handler({ ...request, remoteAddress: from });
      assert.equal(reply.status ?? 200, status);
    });
  }

  for (const [remoteAddress, asked] of [
    ["10.0.0.7", "10.0.0.7:0"],
    ["fd00::7", "[fd00::7]:0"],
  ] as const)
    it(`ask who calls from ${remoteAddress} as gRPC's addresses are written`, async () => {
      const addresses: string[] = [];
      const authenticate = (caller: Caller): Promise<Verdict> => {
        addresses.push(caller.remoteAddress);
        return Promise.resolve({ authenticated: false, reason: "nobody" });
      };
      const request = { headers: { authorization: "Bearer a" }, remoteAddress };
      assert.equal(await callerOfRequest(request, { name: "nobody", authenticate }), undefined);
      assert.deepEqual(addresses, [asked]);
    });

  const asked = async (
    account: string,
    guarded: "write" | "caller",
    writers: readonly string[] = ["istio-system/admin"],
  ) => {
    const [namespace = "", serviceAccount = ""] = account.split("/");
    const token = await (await openLocalIssuer(workDir)).mintToken({ namespace, serviceAccount });
    const access = pageAccess({ isOn: false, workDir, namespace: "istio-system", writers, log: noopLogger });
    const handler = guarded === "write" ? access.write(() => ({ json: {} })) : access.caller;
    const headers = { host: "localhost", authorization: `Bearer ${token}` };
    const request = { method: "PUT", path: "/", query: new URLSearchParams(), headers, body: new Uint8Array() };
    return handler({ ...request, remoteAddress: elsewhere });
  };

  it("let writers alone write, also where reading is open to everybody", async () => {
    assert.equal((await asked("istio-system/admin", "write")).status ?? 200, 200);
    assert.equal((await asked("istio-system/reader", "write")).status, 403);
  });
  it("name the caller whom a token proves", async () => {
    assert.deepEqual(await asked("istio-system/reader", "caller"), {
      json: { account: "istio-system/reader", mayWrite: false },
    });
    assert.equal((await asked("shop/reader", "caller")).status, 403);
  });
});
