import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { directorySource } from "./directory-source.ts";
import { DocumentThread, parseDocumentText } from "./documents.ts";
import type { SourceChange } from "./source.ts";

const count = 400;
const item = (at: number) =>
  `- {apiVersion: networking.istio.io/v1, kind: VirtualService, metadata: {name: vs-${at}, namespace: shop}, spec: {hosts: [web-${at}]}}\n`;
const large = `apiVersion: v1\nkind: List\nitems:\n${Array.from({ length: count }, (_, at) => item(at)).join("")}`;

async function cpuUs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await work();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

describe("large documents", () => {
  it("are parsed as small ones are, wrong ones with the same lines", async () => {
    await using thread = new DocumentThread();
    const wrong = `${large}- {name: "not closed}\n`;
    for (const text of [large, wrong, "a: 1", `${" ".repeat(9_000)}{"a": 1}`, JSON.stringify({ a: large })])
      assert.deepEqual(await thread.parse(text), parseDocumentText(text));
  });

  it("with too many levels are refused, and the next one is parsed", async () => {
    await using thread = new DocumentThread();
    for (const text of ["[".repeat(20_000), `a: ${"[".repeat(20_000)}${"]".repeat(20_000)}`])
      assert.equal((await thread.parse(text)).ok, false);
    assert.equal((await thread.parse(large)).ok, true);
  });

  it("leave the main thread free", async () => {
    await using thread = new DocumentThread();
    await thread.parse(large);
    // Of several rounds the least: garbage of other tests may be collected in any of them.
    const leastOf = async (work: () => unknown) => {
      const rounds: number[] = [];
      for (let round = 0; round < 5; round++) rounds.push(await cpuUs(work));
      return Math.min(...rounds);
    };
    const inline = await leastOf(() => parseDocumentText(large));
    const aside = await leastOf(() => thread.parse(large));
    assert.ok(aside < inline / 3, `${aside} µs of ${inline}`);
  });

  it("of a directory give their objects, and are read again when they change", async () => {
    const path = mkdtempSync(join(tmpdir(), "large-documents-"));
    try {
      writeFileSync(join(path, "a.yaml"), large);
      await using source = directorySource({
        ...{ path, kindOf: () => ({ namespaced: true, wanted: true }), check: () => [] },
      });
      const stop = new AbortController();
      const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
      const next = async (): Promise<readonly SourceChange[]> => (await groups.next()).value?.changes ?? [];
      assert.equal((await next()).length, count);
      writeFileSync(join(path, "a.yaml"), large.replace("hosts: [web-7]", "hosts: [web]"));
      assert.deepEqual(
        (await next()).map(({ key }) => key.name),
        ["vs-7"],
      );
      stop.abort();
    } finally {
      rmSync(path, { recursive: true });
    }
  });
});
