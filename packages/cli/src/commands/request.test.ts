import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

describe("flotilla request", () => {
  it("prints the answer of a page as it is", async () => {
    await using service = await answerPages(({ method, url, body }) => ({ body: `${method} ${url} ${body}` }));
    const run = await recordRun(["request", "put", "debug/x?a=b", "text", "--url", `xds-server=${service.url}`]);
    assert.deepEqual(run, { code: 0, out: "PUT /debug/x?a=b text\n", err: "" });
  });

  it("ends an answer with one line break, whether it has one or not", async () => {
    for (const body of ["a", "a\n"]) {
      await using service = await answerPages(() => ({ body }));
      const { out } = await recordRun(["request", "GET", "/p", "--url", `ca=${service.url}`, "--service", "ca"]);
      assert.equal(out, "a\n");
    }
  });

  it("asks the next replica, and fails with the answer of the first", async () => {
    await using first = await answerPages(() => ({ status: 404, body: "no such proxy" }));
    await using second = await answerPages(() => ({ body: "here" }));
    const urls = [first, second].flatMap(({ url }) => ["--url", `ca=${url}`]);
    const asked = (args: readonly string[]) => recordRun(["request", "GET", "/p", "--service", "ca", ...args]);
    assert.equal((await asked(urls)).out, "here\n");
    const { code, err } = await asked(urls.slice(0, 2));
    assert.equal(code, 1);
    assert.ok(err.includes(`${first.url}/p answers 404: no such proxy`), err);
    const short = await recordRun(["request", "GET", "p", "--service", "ca", ...urls.slice(0, 2)]);
    assert.ok(short.err.includes(`${first.url}/p answers 404`), short.err);
  });

  it("refuses what is no method", async () => {
    const { code, err } = await recordRun(["request", "FETCH", "/", "--url", "http://127.0.0.1"]);
    assert.equal(code, 2);
    assert.match(err, /FETCH is none of GET, POST/);
  });
});

describe("flotilla version --remote", () => {
  it("shows the version of each replica, and which do not answer", async () => {
    await using service = await answerPages(() => ({ body: { version: "1.2.3", node: "v24.0.0" } }));
    const urls = ["--url", `ca=${service.url}`, "--url", "webhook=http://127.0.0.1:1"];
    const { code, out } = await recordRun(["version", "--remote", ...urls]);
    assert.equal(code, 0);
    assert.match(out, /^flotilla \S+ \(node 24/);
    assert.match(out, /^ca +1\.2\.3 +http/m);
    assert.match(out, /^webhook +no answer +http/m);
    const json = await recordRun(["version", "--remote", "-o", "json", ...urls.slice(0, 2)]);
    assert.equal(JSON.parse(json.out).services[0].version, "1.2.3");
  });
});
