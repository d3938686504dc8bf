/** The page of a checkout, built by a small program in place of vite: once for each state of the sources. */
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, beforeEach, describe, it } from "node:test";
import { builtPage } from "./built-page.ts";

const root = mkdtempSync(join(tmpdir(), "built-page-"));
after(() => rmSync(root, { recursive: true }));
let checkouts = 0;
let checkout = "";
const write = (name: string, text: string): string => {
  const file = join(checkout, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};
/** Writes its arguments where the page is built. */
const vite = `
const directory = process.argv[4];
require("node:fs").mkdirSync(directory, { recursive: true });
require("node:fs").writeFileSync(directory + "/index.html", process.argv.slice(2, 4).join(" ") + " in " + process.cwd());
`;
const states = () => readdirSync(join(checkout, "dist/states"));

describe("the page of a checkout", () => {
  beforeEach(() => {
    checkout = join(root, String(checkouts++));
    write("vite.config.ts", "");
    write("src/page/main.ts", "main();");
    write("node_modules/vite/bin/vite.js", vite);
  });

  it("is built where its sources were never built", async () => {
    const page = await builtPage(checkout);
    assert.equal(dirname(page), join(checkout, "dist/states"));
    assert.match(basename(page), /^[0-9a-f]{16}$/);
    assert.equal(readFileSync(join(page, "index.html"), "utf8"), `build --outDir in ${checkout}`);
    assert.deepEqual(states(), [basename(page)]);
  });

  it("is not built again for the same sources, nor for other tests of them", async () => {
    const page = await builtPage(checkout);
    write("node_modules/vite/bin/vite.js", "process.exit(1)");
    write("src/page/main.test.ts", "test();");
    assert.equal(await builtPage(checkout), page);
  });

  it("is another one for other sources", async () => {
    const pages = [await builtPage(checkout)];
    for (const [name, text] of [
      ["src/page/main.ts", "other();"],
      ["src/page/parts/list.tsx", "main();"],
      ["src/contract/index.ts", ""],
      ["package.json", "{}"],
    ] as const) {
      write(name, text);
      pages.push(await builtPage(checkout));
    }
    assert.equal(new Set(pages).size, 5);
  });

  it("removes states of more than a day ago when it builds", async () => {
    const [old, young] = [write("dist/states/old/index.html", ""), write("dist/states/young/index.html", "")].map(
      dirname,
    );
    const hoursAgo = (hours: number) => Date.now() / 1_000 - hours * 3_600;
    utimesSync(old ?? "", hoursAgo(25), hoursAgo(25));
    utimesSync(young ?? "", hoursAgo(23), hoursAgo(23));
    const page = await builtPage(checkout);
    assert.deepEqual(states().toSorted(), [basename(page), "young"].toSorted());
  });

  it("is the one of another process that was faster", async () => {
    const theirs =
      'const theirs = directory.replace(/[.]\\d+$/, ""); require("node:fs").cpSync(directory, theirs, { recursive: true });';
    write(
      "node_modules/vite/bin/vite.js",
      `${vite}${theirs}require("node:fs").writeFileSync(theirs + "/index.html", "theirs");`,
    );
    const page = await builtPage(checkout);
    assert.equal(readFileSync(join(page, "index.html"), "utf8"), "theirs");
    assert.deepEqual(states(), [basename(page)]);
  });

  it("fails where vite leaves no directory", async () => {
    write("node_modules/vite/bin/vite.js", "");
    await assert.rejects(builtPage(checkout), { code: "ENOENT" });
  });

  it("fails with the output of vite, and leaves no page", async () => {
    write(
      "node_modules/vite/bin/vite.js",
      "console.log('of 1 file'); console.error('no such module'); process.exit(1)",
    );
    await assert.rejects(builtPage(checkout), {
      message: "the console's page cannot be built: no such module\nof 1 file",
    });
    assert.deepEqual(states(), []);
  });

  it("cannot be built without its dependencies", async () => {
    rmSync(join(checkout, "node_modules"), { recursive: true });
    await assert.rejects(builtPage(checkout), /its dependencies are not installed/);
  });

  it("is the one of the release where there is no checkout", async () => {
    rmSync(join(checkout, "vite.config.ts"));
    assert.match(await builtPage(checkout), /packages\/console\/dist\/page$/);
    assert.equal(existsSync(join(checkout, "dist")), false);
  });
});
