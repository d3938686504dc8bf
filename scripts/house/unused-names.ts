/** Files, exports and dependencies that nobody uses, as knip finds them with the settings of knip.json. */
import { spawnSync } from "node:child_process";

/** What knip's JSON says of one file; each list has what is unused of its kind. */
type Issue = Readonly<Record<string, unknown>> & { readonly file: string };

/** One line each: `FILE: KIND NAME`. @throws when knip itself fails, with what it wrote. */
export function unusedNames(root: string): readonly string[] {
  const knip = spawnSync("knip", ["--no-progress", "--no-config-hints", "--reporter", "json"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  // 1: it has found something.
  if (knip.error !== undefined || knip.status === null || knip.status > 1)
    throw new Error(`[HOUSE_KNIP] ${knip.error?.message ?? knip.stderr}`);
  return unusedOf(knip.stdout);
}

/** The lines of knip's JSON. */
export function unusedOf(json: string): readonly string[] {
  const { issues } = JSON.parse(json) as { readonly issues: readonly Issue[] };
  return issues.flatMap(({ file, ...kinds }) =>
    Object.entries(kinds).flatMap(([kind, found]) =>
      Array.isArray(found) ? found.map((one: { readonly name?: string }) => `${file}: ${kind} ${one.name ?? ""}`) : [],
    ),
  );
}
