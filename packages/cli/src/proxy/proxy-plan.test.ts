/** Where a proxy's control plane is, and what the proxy proves itself by. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { copyRoot, type ProxyOptions, planProxy } from "./proxy-plan.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-plan-"));
after(() => rmSync(root, { recursive: true }));
const rootFile = join(root, "root.pem");
writeFileSync(rootFile, "roots");
const workDir = join(root, "work");

const options = (more: Partial<ProxyOptions & { readonly ca: string }> = {}) => ({
  ...({ name: "web", namespace: "shop", serviceAccount: "web", address: "127.0.0.1", type: "sidecar" } as ProxyOptions),
  ...{ label: [], url: [], tokenTtl: 60_000, discoveryName: "istiod.istio-system.svc", workDir, rootFile },
  ...{ tokenFile: undefined, out: undefined, discoveryAddress: undefined },
  ...more,
});

describe("the control plane of a proxy", () => {
  const cases: readonly (readonly [name: string, given: Parameters<typeof options>[0], xds: string, ca: string])[] = [
    [
      "an address, which certificates come from too",
      { discoveryAddress: "mesh.example:15012" },
      "mesh.example:15012",
      "mesh.example:15012",
    ],
    [
      "an address, and one for certificates",
      { discoveryAddress: "mesh.example:15012", ca: "ca.example:15013" },
      "mesh.example:15012",
      "ca.example:15013",
    ],
    [
      "the host of the first page without a service's name",
      { url: ["ca=http://ca.example:15026", "http://mesh.example:15014", "http://other.example"] },
      "mesh.example:15012",
      "mesh.example:15013",
    ],
    [
      "the host of a page, and an address for certificates",
      { url: ["https://mesh.example"], ca: "ca.example:1" },
      "mesh.example:15012",
      "ca.example:1",
    ],
  ];
  for (const [name, given, xds, ca] of cases)
    it(`is that of ${name}`, () => {
      const { discoveryAddress, caAddress } = planProxy(options(given));
      assert.deepEqual([discoveryAddress, caAddress], [xds, ca]);
    });

  it("is the one of the work directory", () => {
    const at = join(root, "running");
    rmSync(at, { recursive: true, force: true });
    planProxy(options({ workDir: at, discoveryAddress: "a:1" }));
    writeFileSync(
      join(at, "flotilla.json"),
      JSON.stringify({ pid: process.pid, services: [], ports: { xdsTls: 20_001, ca: 20_006 } }),
    );
    const of = (more: Partial<ProxyOptions & { readonly ca: string }>) => {
      const { discoveryAddress, caAddress } = planProxy(options({ workDir: at, ...more }));
      return [discoveryAddress, caAddress];
    };
    assert.deepEqual(of({}), ["127.0.0.1:20001", "127.0.0.1:20006"]);
    assert.deepEqual(of({ ca: "ca.example:1" }), ["127.0.0.1:20001", "ca.example:1"]);
    // Of a named service only that address is known.
    assert.deepEqual(of({ url: ["ca=http://ca.example:15026"] }), ["127.0.0.1:20001", "127.0.0.1:20006"]);
  });

  for (const address of ["mesh.example", ":15012", "mesh.example:x"])
    it(`is none at ${address}`, () =>
      assert.throws(() => planProxy(options({ discoveryAddress: address })), {
        code: "CLI_USAGE",
        message: `[CLI_USAGE] ${address} is not HOST:PORT`,
      }));
});

describe("the files of a proxy", () => {
  it("lie in a directory of its own, for its owner alone, or where an option names one", () => {
    const { directory } = planProxy(options({ discoveryAddress: "a:1" }));
    assert.equal(directory, join(workDir, "proxies/web.shop"));
    assert.equal(statSync(directory).mode & 0o777, 0o700);
    const out = join(root, "out");
    assert.equal(planProxy(options({ discoveryAddress: "a:1", out })).directory, out);
    assert.equal(existsSync(out), true);
  });

  it("have a copy of the roots, unless they lie there", () => {
    const out = join(root, "copied");
    const plan = planProxy(options({ discoveryAddress: "a:1", out }));
    assert.equal(copyRoot(plan), join(out, "root-cert.pem"));
    assert.equal(readFileSync(join(out, "root-cert.pem"), "utf8"), "roots");
    const there = planProxy(options({ discoveryAddress: "a:1", out, rootFile: join(out, "root-cert.pem") }));
    assert.equal(copyRoot(there), join(out, "root-cert.pem"));
  });

  it("need roots", () =>
    assert.throws(
      () => planProxy(options({ discoveryAddress: "a:1", rootFile: join(root, "none") })),
      /there is no .*none/,
    ));

  it("have the token that is given without white space, read anew each time, else one of the work directory", async () => {
    const tokenFile = join(root, "token");
    writeFileSync(tokenFile, "first\n");
    const { token } = planProxy(options({ discoveryAddress: "a:1", tokenFile }));
    assert.equal(await token(), "first");
    writeFileSync(tokenFile, "second\n");
    assert.equal(await token(), "second");
    const minted = await planProxy(options({ discoveryAddress: "a:1" })).token();
    const [, claims = ""] = minted.split(".");
    assert.match(Buffer.from(claims, "base64url").toString(), /"system:serviceaccount:shop:web"/);
  });

  it("have the labels that are given", () => {
    const labels = (label: readonly string[]) => planProxy(options({ discoveryAddress: "a:1", label })).node.labels;
    assert.deepEqual(labels(["app=web", "empty=", "url=a=b"]), { app: "web", empty: "", url: "a=b" });
    for (const wrong of ["app", "=web"]) assert.throws(() => labels([wrong]), /is not KEY=VALUE/);
  });
});

describe("names of a proxy", () => {
  const cases: readonly (readonly [given: Parameters<typeof options>[0], message: RegExp])[] = [
    [{ name: "a b" }, /--name "a b" must not contain " "/],
    [{ namespace: "" }, /--namespace "" is empty/],
    [{ serviceAccount: "a/b" }, /--service-account "a\/b" must not contain "\/"/],
    [{ address: "localhost" }, /--address "localhost" is no IP address/],
  ];
  for (const [given, message] of cases)
    it(`are refused: ${JSON.stringify(given)}`, () =>
      assert.throws(() => planProxy(options({ ...given, discoveryAddress: "a:1" })), { code: "CLI_USAGE", message }));
});
