/** A file system of a few megabytes that a test fills and empties; mounting it takes rights that not everybody has. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export class SmallDisk implements Disposable {
  /** Why this machine cannot have one; false where it can. */
  static readonly reason: string | false = reasonWhyNot();
  readonly path: string;

  constructor(path: string, megabytes = 64) {
    mkdirSync(path, { recursive: true });
    const problem = mount(path, megabytes);
    if (problem !== "") throw new Error(`no file system at ${path}: ${problem}`);
    this.path = path;
  }

  /** Until not a byte more fits. */
  fill(): void {
    spawnSync("dd", ["if=/dev/zero", `of=${this.#filler}`, "bs=4k"], { stdio: "ignore" });
  }

  /** Removes what filled it. */
  empty(): void {
    rmSync(this.#filler);
  }

  [Symbol.dispose](): void {
    // A process that was killed a moment ago may still hold it.
    spawnSync("umount", ["--lazy", this.path]);
  }

  get #filler(): string {
    return join(this.path, "filler");
  }
}

/** Empty when it is mounted. */
function mount(path: string, megabytes: number): string {
  const { status, stderr, error } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path]);
  return status === 0 ? "" : (error?.message ?? String(stderr).trim());
}

function reasonWhyNot(): string | false {
  const path = mkdtempSync(join(tmpdir(), "flotilla-small-disk-"));
  const problem = mount(path, 1);
  if (problem === "") spawnSync("umount", [path]);
  rmdirSync(path);
  return problem === "" ? false : `needs the right to mount a file system: ${problem}`;
}
