import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";
import { type CheckResult, checkCertificates, checkHost, checkReplicas, type HostFacts } from "./checks.ts";
import { certificateFacts, hostFacts, replicaFacts } from "./gather.ts";

const host: HostFacts = {
  ...{ node: "v24.21.0", openFiles: 65_536, memoryBytes: 4 * 1024 ** 3, workDir: "/w", workDirProblem: undefined },
};
const ca = { name: "ca", url: "http://ca", version: "1", ready: true, clockAheadMs: 10 };
const wrong = (results: readonly CheckResult[]) =>
  results.filter(({ state }) => state !== "ok").map(({ name, state }) => `${state} ${name}`);

const cases: readonly (readonly [
  name: string,
  results: readonly CheckResult[],
  expected: readonly string[],
  says: RegExp,
])[] = [
  ["a sound host", checkHost(host), [], /^$/],
  ["an old Node", checkHost({ ...host, node: "v20.20.2" }), ["failed Node"], /install Node 24/],
  ["few files", checkHost({ ...host, openFiles: 1024 }), ["warning open files"], /LimitNOFILE=/],
  ["little memory", checkHost({ ...host, memoryBytes: 2 ** 29 }), ["warning memory"], /about 1 GB/],
  ["a directory", checkHost({ ...host, workDirProblem: "/w (EROFS)" }), ["failed work directory"], /--work-dir/],
  ["sound services", checkReplicas([ca], "1"), [], /^$/],
  ["no answer", checkReplicas([{ name: "ca", url: "http://ca" }], "1"), ["failed ca"], /look at its log/],
  ["waiting", checkReplicas([{ ...ca, ready: false, detail: "bus: away" }], "1"), ["failed ca"], /what it waits for/],
  ["a condition", checkReplicas([{ ...ca, detail: "bus: away" }], "1"), ["warning ca"], /it serves/],
  ["two versions", checkReplicas([ca, { ...ca, version: "2" }], "1"), ["warning versions"], /finish the upgrade/],
  ["another version", checkReplicas([ca], "2"), ["warning versions"], /program of the services' version/],
  ["a clock ahead", checkReplicas([{ ...ca, clockAheadMs: 60_000 }], "1"), ["failed clocks"], /synchronize/],
  ["a clock behind", checkReplicas([{ ...ca, clockAheadMs: -60_000 }], "1"), ["failed clocks"], /synchronize/],
  ["an old root", checkCertificates([{ name: "root", daysLeft: 12 }]), ["warning certificate root"], /ca rotate/],
  ["an expired root", checkCertificates([{ name: "root", daysLeft: -1 }]), ["failed certificate root"], /ca rotate/],
  ["a young root", checkCertificates([{ name: "root", daysLeft: 3000 }]), [], /^$/],
];
for (const [name, results, expected, says] of cases)
  it(`flotilla check of ${name}`, () => {
    assert.deepEqual(wrong(results), expected);
    assert.match(results.map(({ advice }) => advice ?? "").join(""), says);
  });

describe("flotilla check", () => {
  it("asks the services that run, and ends with 3 where one is not ready", async () => {
    const certificate = { name: "root", daysLeft: 3000 };
    let ready = true;
    await using service = await answerPages(({ url }) => {
      if (url === "/debug/caz") return { body: { signing: certificate, roots: [certificate] } };
      if (url === "/version") return { body: { version: "0.1.0" } };
      return { body: { ready, conditions: ready ? [] : [{ name: "bus", detail: "waiting" }] } };
    });
    const args = ["check", "--url", `ca=${service.url}`];
    const sound = await recordRun(args);
    assert.equal(sound.code, 0, sound.out);
    assert.match(sound.out, /^ok +ca: ready$/m);
    assert.match(sound.out, /^ok +clocks: within 5 s/m);
    assert.match(sound.out, /^ok +certificate root: 3000 days left$/m);
    ready = false;
    const { code, out } = await recordRun([...args, "-o", "json"]);
    assert.equal(code, 3);
    const found = (JSON.parse(out) as readonly CheckResult[]).find(({ name }) => name === "ca");
    assert.deepEqual([found?.state, found?.detail], ["failed", "not ready: bus: waiting"]);
  });

  it("fails for a service that does not answer or whose page is no JSON, and leaves out what is not known", async () => {
    await using broken = await answerPages(({ url }) => ({ body: url === "/ready" ? "<html>" : {} }));
    await using sound = await answerPages(({ url }) =>
      url === "/debug/caz" ? { status: 503, body: {} } : { body: { ready: true, version: "0.1.0", conditions: [] } },
    );
    const urls = [`ca=${sound.url}`, `webhook=${broken.url}`, "xds-server=http://127.0.0.1:1"];
    const { code, out } = await recordRun(["check", ...urls.flatMap((url) => ["--url", url]), "-o", "json"]);
    assert.equal(code, 3);
    const found = new Map((JSON.parse(out) as readonly CheckResult[]).map((one) => [one.name, one]));
    assert.deepEqual(
      ["ca", "webhook", "xds-server"].map((name) => found.get(name)?.state),
      ["ok", "failed", "failed"],
    );
    assert.match(`${found.get("webhook")?.detail}`, /does not answer at/);
    assert.equal([...found.keys()].filter((name) => name.startsWith("certificate")).length, 0);
  });

  it("names the signing certificate and each root once, and replicas by their clocks", async () => {
    const [root, signing] = [
      { name: "root", daysLeft: 10, more: 1 },
      { name: "signing", daysLeft: -1 },
    ];
    const facts = { ready: true, version: "0.1.0", conditions: [] };
    await using service = await answerPages(({ url }) =>
      url === "/debug/caz" ? { body: { signing, roots: [root, root] } } : { body: facts },
    );
    const connection = { workDir: "/none", url: [`ca=${service.url}`] };
    assert.deepEqual(await certificateFacts(connection), [
      { name: "signing", daysLeft: -1 },
      { name: "root", daysLeft: 10 },
    ]);
    const [replica] = await replicaFacts(connection);
    assert.deepEqual(
      [replica?.name, replica?.url, replica?.version, replica?.detail],
      ["ca", service.url, "0.1.0", ""],
    );
    assert.ok(Math.abs(replica?.clockAheadMs ?? Number.NaN) < 30_000);
  });

  it("asks nothing where nothing is recorded, and refuses an address that is none", async () => {
    const workDir = mkdtempSync(join(tmpdir(), "check-"));
    assert.deepEqual(await replicaFacts({ workDir, url: [] }), []);
    rmSync(workDir, { recursive: true });
    await assert.rejects(replicaFacts({ workDir, url: ["nothing"] }), { code: "CLI_USAGE" });
    const { openFiles } = await hostFacts(workDir);
    assert.ok(openFiles === undefined || openFiles > 0);
  });

  it("shows advice below what it is about, and counts", async () => {
    await using service = await answerPages(({ url }) => {
      if (url === "/debug/caz") return { body: { signing: null, roots: [{ name: "root", daysLeft: 1 }] } };
      return { body: { ready: true, version: "0.0.1", conditions: [] } };
    });
    const { code, out } = await recordRun(["check", "--url", `ca=${service.url}`]);
    assert.equal(code, 0);
    assert.match(out, /^warning {2}versions: services 0\.0\.1, .*\n {9}use the program of the services' version$/m);
    assert.doesNotMatch(out, /undefined/);
    assert.match(out, /\n\n\d+ ok, [2-9] warnings, 0 failed\n$/);
  });

  it("looks at the nearest directory that is there", async () => {
    const directory = mkdtempSync(join(tmpdir(), "check-"));
    try {
      assert.equal((await hostFacts(join(directory, "a/b"))).workDirProblem, undefined);
      writeFileSync(join(directory, "file"), "");
      assert.match(`${(await hostFacts(join(directory, "file/b"))).workDirProblem}`, /file is no directory$/);
      const locked = join(directory, "locked");
      mkdirSync(locked);
      chmodSync(locked, 0o500);
      const { workDirProblem } = await hostFacts(join(locked, "b"));
      // root may write everywhere.
      if (process.getuid?.() !== 0) assert.match(`${workDirProblem}`, /locked cannot be written \(EACCES\)/);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  });
});
