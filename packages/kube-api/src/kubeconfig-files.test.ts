/** A directory of kubeconfigs: its files by path, again after each change. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { followKubeconfigFiles } from "./kubeconfig-files.ts";

test("files of a directory come at once and after a change alone, without those of Kubernetes itself", async () => {
  const directory = await mkdtemp(join(tmpdir(), "kubeconfigs-"));
  const at = (name: string) => join(directory, name);
  await writeFile(at("b"), "2");
  await writeFile(at("a"), "1");
  await writeFile(at("..data"), "hidden");
  const stop = new AbortController();
  const versions = followKubeconfigFiles(directory, stop.signal, 1);
  const next = async () => (await versions.next()).value;
  assert.deepEqual(await next(), {
    files: new Map(
      [
        ["a", "1"],
        ["b", "2"],
      ].map(([name = "", text]) => [at(name), text]),
    ),
    away: undefined,
  });
  const changing = next();
  // Several looks at what is there already.
  for (let look = 0; look < 50; look++) await readdir(directory);
  await writeFile(at(".new"), "3");
  await rename(at(".new"), at("b"));
  const changed = await changing;
  assert.equal(changed?.files.get(at("b")), "3");
  await rm(directory, { recursive: true });
  const away = await next();
  assert.match(away?.away ?? "", /ENOENT/);
  assert.deepEqual(away?.files, changed?.files, "what was read last stays");
  stop.abort();
  assert.equal((await versions.next()).done, true);
});
