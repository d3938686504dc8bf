/** Failures of the host: no room, no right, too few descriptors. A user can remove them, so each has a sentence and no stack. */

const advice: ReadonlyMap<string, string> = new Map(
  Object.entries({
    EADDRINUSE: "the address is in use: end the process that holds it, or choose another port",
    EACCES: "this user has no permission: change the owner or the mode, or name another place",
    EPERM: "this user has no permission: change the owner or the mode, or name another place",
    EROFS: "the file system is read-only: name a directory that can be written (WORK_DIR, --work-dir)",
    ENOSPC: "the disk is full: make room, or name a directory on another one (WORK_DIR, --work-dir)",
    EDQUOT: "the disk quota is used up: make room, or name a directory on another disk (WORK_DIR, --work-dir)",
    EMFILE: "too few file descriptors for this process: raise the limit (ulimit -n, LimitNOFILE= of systemd)",
    ENFILE: "too few file descriptors on this host: raise fs.file-max",
  }),
);

/**
 * The system call that failed and its remedy: `ENOSPC: no space left on device, write; the disk is full: …`. Undefined for every other
 * error. Causes count too, as packages wrap what they met.
 */
export function hostFailure(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code, syscall } = cause as NodeJS.ErrnoException;
    // Only the system's own errors name a call.
    const found = syscall === undefined || code === undefined ? undefined : advice.get(code);
    if (found !== undefined) return `${cause.message}; ${found}`;
  }
  return undefined;
}
