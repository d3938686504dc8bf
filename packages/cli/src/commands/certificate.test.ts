/** `flotilla certificate`: what it needs, and that it goes on until it is stopped unless one certificate is enough. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createAuthority, serverName, startCa } from "@flotilla/auth/testing";
import { until } from "@flotilla/runtime";
import { recordRun } from "../recorded-run.fixture.ts";

const authority = await createAuthority();
const directory = mkdtempSync(join(tmpdir(), "flotilla-certificate-"));
after(() => rmSync(directory, { recursive: true }));
const path = (name: string) => join(directory, name);
writeFileSync(path("root.pem"), authority.rootPem);
writeFileSync(path("token"), "t");

const account = ["--namespace", "shop", "--service-account", "nats"];
const run = (...args: readonly string[]) => recordRun(["certificate", ...args]);

describe("flotilla certificate", () => {
  for (const { name, args } of [
    { name: "a namespace", args: ["--service-account", "nats", "--ca", "h:1", "--out", "d"] },
    { name: "an account", args: ["--namespace", "shop", "--ca", "h:1", "--out", "d"] },
    { name: "the address of ca", args: [...account, "--out", "d"] },
    { name: "a place for what it obtains", args: [...account, "--ca", "h:1"] },
  ])
    it(`needs ${name}`, async () => {
      const { code, err } = await run(...args);
      assert.equal(code, 2);
      assert.match(err, /certificate needs --namespace NS --service-account SA --ca HOST:PORT and --out DIRECTORY/);
    });

  const given = (ca: string, out: string) => [
    ...[...account, "--ca", ca, "--ca-name", serverName, "--root-file", path("root.pem")],
    ...["--token-file", path("token"), "--name", "nats.shop.svc", "--out", path(out)],
  ];

  it("writes one and ends", async () => {
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    assert.equal((await run(...given(ca.address, "once"), "--once")).code, 0);
    assert.match(readFileSync(path("once/tls.crt"), "utf8"), /BEGIN CERTIFICATE/);
    assert.deepEqual(ca.calls[0]?.caller.metadata.get("authorization"), ["Bearer t"]);
  });

  it("goes on until it is stopped", async () => {
    await using ca = await startCa(authority, ({ request }) => [authority.sign(request.csr), authority.rootPem]);
    let code: number | undefined;
    const running = run(...given(ca.address, "kept")).then((ended) => {
      code = ended.code;
    });
    await until(() => existsSync(path("kept/tls.crt")), { withinMs: 20_000, what: "the certificate" });
    assert.equal(code, undefined);
    // The runner of tests has listeners of its own for the other signals.
    process.emit("SIGHUP");
    await running;
    assert.equal(code, 0);
  });
});
