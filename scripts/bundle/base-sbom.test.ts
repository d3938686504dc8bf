/** The SBOM of what an image has beside the bundle: of this Node, and of the packages of Debian that its libraries come from. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { type Component, debianComponents, nodeComponents } from "./base-sbom.ts";

it("names Node and the libraries in it, not versions of interfaces", () => {
  const found = nodeComponents({ node: "24.21.0", openssl: "3.5.1+quic", modules: "137", v8: "13.6", tz: "2026a" });
  assert.deepEqual(
    found.map(({ type, purl }) => `${type} ${purl}`),
    ["application pkg:generic/node@24.21.0", "library pkg:generic/openssl@3.5.1%2Bquic", "library pkg:generic/v8@13.6"],
  );
});

const isDebian = spawnSync("dpkg-query", ["-S", "/bin/sh"]).status === 0;

it("names the packages of Debian whose files are copied, each once", { skip: !isDebian && "no Debian" }, () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-base-"));
  try {
    // As the Dockerfile has it.
    const libraries = execFileSync("ldd", [process.execPath], { encoding: "utf8" }).match(/(?<=[\s])\/\S+/g) ?? [];
    for (const library of libraries) {
      mkdirSync(dirname(join(directory, library)), { recursive: true });
      copyFileSync(library, join(directory, library));
    }
    const packages = debianComponents(directory);
    const names = packages.map(({ name }) => name);
    assert.deepEqual(names, [...new Set(names)]);
    for (const name of ["libc6", "libgcc-s1", "libstdc++6"])
      assert.ok(names.includes(name), `${name}: ${names.join()}`);
    const script = join(import.meta.dirname, "base-sbom.ts");
    const printed = JSON.parse(execFileSync(process.execPath, [script, directory], { encoding: "utf8" })) as {
      readonly components: readonly Component[];
    };
    assert.deepEqual(
      printed.components.filter(({ purl }) => purl.startsWith("pkg:deb/")),
      packages,
    );
    assert.ok(printed.components.some(({ purl }) => purl === `pkg:generic/node@${process.versions.node}`));
  } finally {
    rmSync(directory, { recursive: true });
  }
});
