import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { parseTarGzip } from "nanotar";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";
import { withoutCredentials } from "../report/collect-report.ts";

const directory = mkdtempSync(join(tmpdir(), "bug-report-"));
after(() => rmSync(directory, { recursive: true }));

describe("flotilla bug-report", () => {
  it("packs pages, logs and facts of the host, and names what it could not get", async () => {
    const workDir = join(directory, "work");
    mkdirSync(join(workDir, "logs"), { recursive: true });
    writeFileSync(join(workDir, "logs/ca.log"), "redis://me:hunter2@127.0.0.1:1 line\n");
    await using ca = await answerPages(({ url }) => ({ body: `page ${url}` }));
    const out = join(directory, "report.tar.gz");
    const urls = ["--url", `ca=${ca.url}`, "--url", "webhook=http://127.0.0.1:1", "--work-dir", workDir];
    const { code, err } = await recordRun(["bug-report", "--out", out, ...urls]);
    assert.equal(code, 0, err);
    assert.match(err, /webhook \/ready: .*does not answer/);
    const files = new Map(
      (await parseTarGzip(readFileSync(out))).map(({ name, text }) => [name.replace(/^[^/]+\//, ""), text]),
    );
    assert.equal(files.get("ca/caz.json"), "page /debug/caz");
    assert.equal(files.get("ca/metrics.txt"), "page /metrics");
    assert.equal(files.get("ca/log.jsonl"), "redis://(hidden)@127.0.0.1:1 line\n");
    assert.equal(JSON.parse(files.get("host.json") ?? "").node, process.version);
    assert.match(files.get("problems.txt") ?? "", /webhook/);
    assert.doesNotMatch(files.get("problems.txt") ?? "", /^(?:logs|services):/m);
    assert.equal(statSync(out).mode & 0o777, 0o600);
    // A report is not written over another one.
    const again = await recordRun(["bug-report", "--out", out, ...urls]);
    assert.match(again.err, /EEXIST/);
  });

  const withoutLogs = [
    { name: "there are none", prepare: () => undefined, reason: /^logs: .*has no log of any service/m },
    {
      name: "they cannot be read",
      prepare: (workDir: string) => {
        mkdirSync(workDir);
        writeFileSync(join(workDir, "logs"), "a file");
      },
      reason: /^logs: ENOTDIR/m,
    },
  ];
  for (const [i, { name, prepare, reason }] of withoutLogs.entries())
    it(`is written without logs where ${name}, with the reason`, async () => {
      await using ca = await answerPages(() => ({ body: "page" }));
      const [out, workDir] = [join(directory, `without-logs-${i}.tar.gz`), join(directory, `without-${i}`)];
      prepare(workDir);
      const { code, err } = await recordRun([
        "bug-report",
        "--out",
        out,
        "--url",
        `ca=${ca.url}`,
        "--work-dir",
        workDir,
      ]);
      assert.equal(code, 0, err);
      const files = await parseTarGzip(readFileSync(out));
      assert.match(files.find((file) => file.name.endsWith("problems.txt"))?.text ?? "", reason);
    });

  it("holds nothing that proves somebody's identity", () => {
    const key = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----";
    const text = `a eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJhIn0.c2ln b nats://user:secret@h:1 ${key}`;
    assert.equal(withoutCredentials(text), "a (token hidden) b nats://(hidden)@h:1 (key hidden)");
  });
});
