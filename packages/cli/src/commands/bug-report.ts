/** `flotilla bug-report`: one archive with what a maintainer needs to see. */
import { writeFile } from "node:fs/promises";
import { resolve } from "node:path";
import { createTarGzip } from "nanotar";
import type { bugReport as definition } from "../definitions/support.ts";
import type { Run } from "../parse/definition.ts";
import { collectReport } from "../report/collect-report.ts";

/** Of a file that may name hosts and services of a mesh: for its owner alone. */
const mode = 0o600;

export const bugReport: Run<typeof definition> = async ({ options, terminal }) => {
  const stamp = new Date().toISOString().slice(0, 19).replaceAll(":", "");
  const directory = `flotilla-bug-report-${stamp}`;
  const files = await collectReport(options);
  const path = resolve(options.out ?? `${directory}.tar.gz`);
  await writeFile(path, await createTarGzip(files.map(({ name, data }) => ({ name: `${directory}/${name}`, data }))), {
    mode,
    flag: "wx",
  });
  const problems = files.find(({ name }) => name === "problems.txt")?.data.trimEnd() ?? "";
  if (problems !== "") terminal.warn(problems);
  terminal.print(`${path}: ${files.length} files`);
  terminal.print(
    "It names services and hosts of your mesh, and holds no keys, tokens or Secrets. Look before you send it.",
  );
  return 0;
};
