import assert from "node:assert/strict";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { directorySource } from "./directory-source.ts";
import { documentSource } from "./document-source.ts";
import type { ObjectSource, SourceGroup } from "./source.ts";

const limit = AbortSignal.timeout(20_000);
const admission = { kindOf: () => ({ namespaced: true, wanted: true }), check: () => [] };

function rule(name: string, spec: string): string {
  return `apiVersion: x/v1\nkind: Rule\nmetadata: {name: ${name}, namespace: n}\nspec: ${spec}\n`;
}

/** A directory that is removed, a source that reads it, and its groups in short. */
async function watched(files: Readonly<Record<string, string>>) {
  const path = await mkdtemp(join(tmpdir(), "source-"));
  for (const [name, text] of Object.entries(files)) await writeFile(join(path, name), text);
  const source = directorySource({ path, ...admission });
  const stop = new AbortController();
  const groups = source.groups(AbortSignal.any([stop.signal, limit]))[Symbol.asyncIterator]();
  return {
    path,
    source,
    next: async () => short((await groups.next()).value),
    async [Symbol.asyncDispose]() {
      stop.abort();
      await groups.return?.();
      await source[Symbol.asyncDispose]();
      await rm(path, { recursive: true });
    },
  };
}

function short(group: SourceGroup | undefined): string {
  const changes = group?.changes ?? [];
  return changes
    .map((change) => (change.op === "put" ? `+${change.key.name}=${change.object["spec"]}` : `-${change.key.name}`))
    .sort()
    .join(" ");
}

test("the first group is everything, then come changes, additions and deletions", async () => {
  await using d = await watched({
    "a.yaml": rule("x", "1"),
    "b.json": '{"apiVersion":"x/v1","kind":"Rule","metadata":{"name":"y","namespace":"n"},"spec":1}',
    "notes.txt": "no",
  });
  assert.equal(await d.next(), "+x=1 +y=1");
  await writeFile(join(d.path, "a.yaml"), rule("x", "2"));
  assert.equal(await d.next(), "+x=2");
  await writeFile(join(d.path, "c.yml"), rule("z", "1"));
  assert.equal(await d.next(), "+z=1");
  await rm(join(d.path, "b.json"));
  assert.equal(await d.next(), "-y");
});

test("a file that is moved in has the time at which it came, not the one at which it was written", async () => {
  const path = await mkdtemp(join(tmpdir(), "source-"));
  const elsewhere = await mkdtemp(join(tmpdir(), "elsewhere-"));
  await writeFile(join(elsewhere, "a.yaml"), rule("a", "1"));
  await utimes(join(elsewhere, "a.yaml"), 1, 1);
  await using source = directorySource({ path, ...admission });
  const groups = source.groups(limit)[Symbol.asyncIterator]();
  const beganMs = Date.now();
  await groups.next();
  await rename(join(elsewhere, "a.yaml"), join(path, "a.yaml"));
  const { eventTimeMs = 0 } = (await groups.next()).value ?? {};
  assert.ok(eventTimeMs >= beganMs - 1_000, `${eventTimeMs}`);
  await groups.return?.();
  for (const directory of [path, elsewhere]) await rm(directory, { recursive: true });
});

test("an empty directory has a first group too", async () => {
  await using d = await watched({});
  assert.equal(await d.next(), "");
});

test("files written one after the other arrive in one group", async () => {
  await using d = await watched({ "a.yaml": rule("a", "1"), "b.yaml": rule("b", "1") });
  await d.next();
  await Promise.all([
    writeFile(join(d.path, "a.yaml"), rule("a", "2")),
    writeFile(join(d.path, "c.yaml"), rule("c", "2")),
    rm(join(d.path, "b.yaml")),
  ]);
  assert.equal(await d.next(), "+a=2 +c=2 -b");
});

test("a file that is replaced by renaming never looks deleted, nor does one that is emptied and filled", async () => {
  await using d = await watched({ "a.yaml": rule("a", "1") });
  await d.next();
  await writeFile(join(d.path, ".a.yaml.tmp"), rule("a", "2"));
  await rm(join(d.path, "a.yaml"));
  await rename(join(d.path, ".a.yaml.tmp"), join(d.path, "a.yaml"));
  assert.equal(await d.next(), "+a=2");
  await writeFile(join(d.path, "a.yaml"), "");
  await writeFile(join(d.path, "a.yaml"), rule("a", "3"));
  assert.equal(await d.next(), "+a=3");
});

test("directories below are followed, new ones too", async () => {
  await using d = await watched({});
  await d.next();
  await mkdir(join(d.path, "one/two"), { recursive: true });
  await writeFile(join(d.path, "one/two/a.yaml"), rule("a", "1"));
  assert.equal(await d.next(), "+a=1");
  await writeFile(join(d.path, "one/two/a.yaml"), rule("a", "2"));
  assert.equal(await d.next(), "+a=2");
});

test("a ConfigMap mount swaps its data by one link, and all changes arrive together", async () => {
  await using d = await watched({});
  await mkdir(join(d.path, "..v1"));
  await mkdir(join(d.path, "..v2"));
  for (const [version, name] of [
    ["1", "a"],
    ["1", "b"],
    ["2", "a"],
    ["2", "b"],
  ] as const) {
    await writeFile(join(d.path, `..v${version}/${name}.yaml`), rule(name, version));
  }
  await symlink("..v1", join(d.path, "..data"));
  await symlink("..data/a.yaml", join(d.path, "a.yaml"));
  await symlink("..data/b.yaml", join(d.path, "b.yaml"));
  let seen = await d.next();
  while (!seen.includes("+b")) seen = `${seen} ${await d.next()}`.trim();
  assert.equal(seen, "+a=1 +b=1");
  await symlink("..v2", join(d.path, "..data_tmp"));
  await rename(join(d.path, "..data_tmp"), join(d.path, "..data"));
  assert.equal(await d.next(), "+a=2 +b=2");
});

test("changes are noticed by watching, not by the rescan every 5 s", async () => {
  await using d = await watched(
    Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`${i}.yaml`, rule(`r${i}`, "1")])),
  );
  await d.next();
  const times: number[] = [];
  for (let i = 0; i < 7; i += 1) {
    const start = performance.now();
    await writeFile(join(d.path, `${i}.yaml`), rule(`r${i}`, "2"));
    assert.equal(await d.next(), `+r${i}=2`);
    times.push(performance.now() - start);
  }
  const median = times.sort((a, b) => a - b)[3] ?? 0;
  assert.ok(median < 2_500, `the median change took ${median} ms`);
});

test("problems name file, line, object and field, and vanish with their cause", async () => {
  await using d = await watched({ "a.yaml": "a: [" });
  await d.next();
  const problems = (source: ObjectSource) => source.problems().map(({ file, line }) => `${file}:${line}`);
  assert.deepEqual(problems(d.source), [`${join(d.path, "a.yaml")}:1`]);
  await writeFile(join(d.path, "a.yaml"), rule("a", "1"));
  assert.equal(await d.next(), "+a=1");
  assert.deepEqual(problems(d.source), []);
});

test("a directory that is not there yet is waited for, with a word about it", async () => {
  const parent = await mkdtemp(join(tmpdir(), "source-"));
  const path = join(parent, "later");
  await using source = directorySource({ path, ...admission });
  const stop = new AbortController();
  const groups = source.groups(AbortSignal.any([stop.signal, limit]))[Symbol.asyncIterator]();
  const first = groups.next();
  while (source.problems().length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.match(source.problems()[0]?.reason ?? "", /cannot read .*later/);
  await mkdir(path);
  await writeFile(join(path, "a.yaml"), rule("a", "1"));
  assert.match(short((await first).value) || short((await groups.next()).value), /\+a=1/);
  assert.deepEqual(source.problems(), []);
  stop.abort();
  await groups.return?.();
  await rm(parent, { recursive: true });
});

test("a document of its own keeps its last good version", async () => {
  const directory = await mkdtemp(join(tmpdir(), "source-"));
  const path = join(directory, "mesh.yaml");
  await writeFile(path, "trustDomain: one\n");
  await using source = documentSource({
    path,
    check: ({ trustDomain }) => (trustDomain === "bad" ? [{ field: "trustDomain", reason: "is bad" }] : []),
  });
  const stop = new AbortController();
  const versions = source.versions(AbortSignal.any([stop.signal, limit]))[Symbol.asyncIterator]();
  assert.deepEqual((await versions.next()).value?.value, { trustDomain: "one" });
  const next = versions.next();
  // In one step: a file that is being written may be seen empty, which is a version too.
  const replace = async (text: string) => {
    await writeFile(`${path}.new`, text);
    await rename(`${path}.new`, path);
  };
  await replace("trustDomain: bad\n");
  while (source.problems().length === 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(source.problems(), [{ file: path, line: 1, field: "trustDomain", reason: "is bad" }]);
  await replace("trustDomain: two\n");
  assert.deepEqual((await next).value?.value, { trustDomain: "two" });
  assert.deepEqual(source.problems(), []);
  stop.abort();
  await versions.return?.();
  await rm(directory, { recursive: true });
});
