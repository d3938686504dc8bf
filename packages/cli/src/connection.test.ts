/** Where the services of a control plane are asked, whose token they get, and what their answers mean. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { ask, givenApiUrl, isOwnHost, pages, pagesUrls, reachCluster, serviceAddresses } from "./connection.ts";
import { CliError } from "./errors.ts";
import { paths } from "./layout.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-connection-"));
after(() => rmSync(workDir, { recursive: true }));
const given = (...url: readonly string[]) => ({ workDir, url });

describe("addresses given by --url", () => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ["xds-server=http://10.0.0.1:9000/", ["xds-server http://10.0.0.1:9000"]],
    ["ca=https://ca.example/pages", ["ca https://ca.example/pages"]],
    ["api=https://10.0.0.1:15028", []],
  ];
  for (const [url, want] of cases)
    it(url, () => {
      const found = serviceAddresses(given(url)).map((one) => `${one.name} ${one.url}`);
      assert.deepEqual(found, want);
    });

  it("a host stands for all services, each at its own port", () => {
    const found = serviceAddresses(given("http://mesh.example"));
    assert.equal(new Set(found.map(({ url }) => url)).size, 5);
    assert.deepEqual(pagesUrls("xds-server", given("http://mesh.example")), ["http://mesh.example:15014"]);
  });

  it("a URL with a port is every service's", () => {
    assert.deepEqual(pagesUrls("ca", given("http://mesh.example:8000")), ["http://mesh.example:8000"]);
  });

  for (const [url, reason] of [
    ["mesh.example", /neither URL nor SERVICE=URL/],
    ["ftp://mesh.example", /neither URL nor SERVICE=URL/],
    ["pilot=http://mesh.example", /there is no service pilot, only ca, .*api/],
  ] as const)
    it(`${url} is refused`, () =>
      assert.throws(() => serviceAddresses(given(url)), { code: "CLI_USAGE", message: reason }));

  it("a service that is not among them is not running", () => {
    assert.throws(() => pagesUrls("ca", given("webhook=http://a.example:1")), {
      code: "CLI_NOT_RUNNING",
      message: /no ca among --url/,
    });
  });

  const apis: readonly (readonly [string, readonly string[], string | undefined])[] = [
    ["its own", ["http://mesh.example", "api=https://api.example:1"], "https://api.example:1"],
    ["the host's", ["http://mesh.example/"], "https://mesh.example:15028"],
    ["the host's, by IPv6", ["http://[2001:db8::1]"], "https://[2001:db8::1]:15028"],
    ["none of a single service", ["ca=http://mesh.example:15026"], undefined],
    ["none of a port", ["http://mesh.example:8000"], undefined],
  ];
  for (const [name, urls, want] of apis) it(`the API: ${name}`, () => assert.equal(givenApiUrl(given(...urls)), want));
});

it("addresses of this host are known as such", () => {
  const own = ["http://127.0.0.1:1", "http://127.9.9.9", "http://localhost:1", "http://[::1]:1"];
  assert.deepEqual(own.map(isOwnHost), [true, true, true, true]);
  const others = ["http://10.0.0.1", "http://localhost.example", "http://[::2]"];
  assert.deepEqual(others.map(isOwnHost), [false, false, false]);
});

/** A service that answers with one status and body. */
async function answering(status: number, body: string) {
  const seen: IncomingHttpHeaders[] = [];
  const paths: string[] = [];
  const server = createServer(({ headers, url = "" }, response) => {
    seen.push(headers);
    paths.push(url);
    response.writeHead(status).end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    seen,
    paths,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => void server.close(() => resolve())),
  };
}

describe("a question to a service", () => {
  it("carries the query that was given, and no token to an address of --url", async () => {
    await using service = await answering(200, '{"a":1}');
    const connection = given(`xds-server=${service.url}`);
    assert.deepEqual(await ask("xds-server", connection, "/debug/x", { a: "1 2", b: undefined }), { a: 1 });
    assert.deepEqual(service.paths, ["/debug/x?a=1+2"]);
    assert.equal(service.seen[0]?.authorization, undefined);
  });

  const failures: readonly (readonly [number, string, string, RegExp])[] = [
    [400, '{"error":"no such type"}', "CLI_USAGE", /no such type$/],
    [403, "not you\n", "CLI_REFUSED", /not you$/],
    [404, '{"error":7}', "CLI_ABSENT", /\{"error":7\}$/],
    [500, "broken", "CLI_FAILED", /broken$/],
  ];
  for (const [status, body, code, message] of failures)
    it(`status ${status} is ${code}, with the reason of the service`, async () => {
      await using service = await answering(status, body);
      await assert.rejects(ask("ca", given(`ca=${service.url}`), "/x"), { code, message });
    });

  it("goes to one replica after the other until one has the answer", async () => {
    await using first = await answering(404, "not here");
    await using second = await answering(200, '"here"');
    const connection = given("xds-server=http://127.0.0.1:1", `xds-server=${first.url}`, `xds-server=${second.url}`);
    assert.equal(await ask("xds-server", connection, "/x"), "here");
    assert.deepEqual(await pages("xds-server", connection, "/x"), ["here"]);
  });

  it("without an answer: an absence is reported before a silence", async () => {
    await using absent = await answering(404, "not here");
    const silent = "xds-server=http://127.0.0.1:1";
    const both = given(silent, `xds-server=${absent.url}`);
    await assert.rejects(ask("xds-server", both, "/x"), { code: "CLI_ABSENT" });
    await assert.rejects(ask("xds-server", given(silent), "/x"), { code: "CLI_NOT_RUNNING" });
  });

  it("ends at a refusal, whatever other replicas would answer", async () => {
    await using refuses = await answering(403, "no");
    await using answers = await answering(200, "1");
    await assert.rejects(ask("ca", given(`ca=${refuses.url}`, `ca=${answers.url}`), "/x"), CliError);
    assert.equal(answers.paths.length, 0);
  });
});

describe("the work directory", () => {
  it("records every replica, with its process while it has one", () => {
    const replica = (name: string, more: object = {}) => {
      return { name: "xds-server", replica: name, healthUrl: `http://127.0.0.1/${name}`, restarts: 2, ...more };
    };
    const services = [replica("one", { pid: 7 }), replica("two")];
    writeFileSync(paths({ workDir }).state, JSON.stringify({ pid: process.pid, services, ports: {} }));
    const [one, two] = serviceAddresses(given());
    assert.deepEqual(one, { name: "xds-server", replica: "one", url: "http://127.0.0.1/one", restarts: 2, pid: 7 });
    assert.ok(two !== undefined && !("pid" in two));
    assert.throws(() => pagesUrls("ca", given()), { code: "CLI_NOT_RUNNING", message: /with the work directory/ });
  });
});

describe("a service that the work directory records", () => {
  const record = (healthUrl: string) => {
    const services = [{ name: "ca", replica: "ca", healthUrl, restarts: 0 }];
    writeFileSync(paths({ workDir }).state, JSON.stringify({ pid: process.pid, services, ports: {} }));
  };

  it("on another host is shown a token of the work directory's issuer, one on this host none", async () => {
    await using service = await answering(200, "1");
    record(service.url);
    await ask("ca", given(), "/x");
    // An address of this host that is not written as a loopback address.
    record(service.url.replace("127.0.0.1", "0.0.0.0"));
    await ask("ca", given(), "/x");
    const [own, other] = service.seen.map(({ authorization }) => authorization);
    assert.equal(own, undefined);
    const [, claims = ""] = other?.replace(/^Bearer /, "").split(".") ?? [];
    assert.match(Buffer.from(claims, "base64url").toString(), /"system:serviceaccount:istio-system:flotilla-admin"/);
    await ask("ca", given(`ca=${service.url.replace("127.0.0.1", "0.0.0.0")}`), "/x");
    assert.equal(service.seen[2]?.authorization, undefined, "nobody knows who answers at --url");
  });
});

describe("a cluster", () => {
  it("is asked only where a context is named", async () => {
    const options = { url: ["http://a.example"], context: undefined };
    await using reached = await reachCluster(options);
    assert.equal(reached.options, options);
  });
  it("and --url exclude each other", async () => {
    const options = { url: ["http://a.example"], context: "kind", meshNamespace: "istio-system" };
    await assert.rejects(reachCluster(options), { code: "CLI_USAGE" });
  });
});
