#!/usr/bin/env -S node --
/**
 * The command `flotilla`. Plain JavaScript that every Node since 14.8 parses, so that an older one answers with a sentence instead of a
 * syntax error. `--` in the first line: Node would read the option --env-file itself, wherever it stands. In the workspace it runs the sources, in the package that `npm pack` makes the bundle.
 */
import { existsSync } from "node:fs";

const needed = 24;

if (Number(process.versions.node.split(".")[0]) < needed) {
  process.stderr.write(
    `flotilla needs Node ${needed} or newer and this is ${process.version}: install a newer one from https://nodejs.org\n`,
  );
  process.exitCode = 1;
} else {
  const source = new URL("./flotilla.ts", import.meta.url);
  await import(
    existsSync(source) ? source.href : new URL("../dist/packages/cli/bin/flotilla.js", import.meta.url).href
  );
}
