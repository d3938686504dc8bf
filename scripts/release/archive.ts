/** Archives with the same bytes wherever and whenever they are made: sorted, without times, owners and local modes. Needs GNU tar. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";

export interface ArchiveOptions {
  readonly cwd: string;
  /** Below `cwd`. */
  readonly files: readonly string[];
  readonly out: string;
  /** Begins every name in the archive; `strip` is taken away from each before. */
  readonly prefix: string;
  readonly strip?: string;
}

const maxBytes = 1024 * 1024 * 1024;

/** @throws Error with tar's error output */
export function writeArchive({ cwd, files, out, prefix, strip = "" }: ArchiveOptions): void {
  const { status, stdout, stderr, error } = spawnSync(
    "tar",
    [
      ...["--create", "--format=ustar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"],
      ...["--mode=u+rwX,go+rX,go-w", `--transform=s,^${strip},${prefix}/,`, "--files-from=-"],
    ],
    { cwd, input: [...files].sort().join("\n"), maxBuffer: maxBytes },
  );
  if (status !== 0) throw new Error(`${out}: tar ended with ${status}: ${error?.message ?? ""}${stderr}`);
  writeFileSync(out, gzipSync(stdout, { level: 9 }));
}
