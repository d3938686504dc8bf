/** Lists the files below a path, through symbolic links, with the stamps that show a change. */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/** The stamp that shows a change of a file: modification time in milliseconds, size in bytes and inode. */
export interface FileStamp {
  readonly mtimeMs: number;
  readonly size: number;
  readonly inode: number;
}

interface FileScan {
  readonly files: ReadonlyMap<string, FileStamp>;
  /** Real paths of the directories in which changes can happen. */
  readonly directories: ReadonlySet<string>;
}

const extensions = /\.(ya?ml|json)$/i;

/** Is it a file of ours by its name? Dot files are of editors and of version control, `..data` of Kubernetes' mounts. */
export function isConfigFile(path: string): boolean {
  return extensions.test(path) && !basename(path).startsWith(".");
}

/** `root` may be a directory or a single file. @throws when it cannot be read. */
export async function scanFiles(root: string): Promise<FileScan> {
  const scan = { files: new Map<string, FileStamp>(), directories: new Set<string>() };
  const own = await stat(root);
  if (own.isDirectory()) await scanDirectory(root, scan);
  else {
    scan.files.set(root, stampOf(own));
    scan.directories.add(await realpath(dirname(root)));
    scan.directories.add(dirname(await realpath(root)));
  }
  return scan;
}

/** Undefined when there is no such file. */
export async function stampFile(path: string): Promise<FileStamp | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? stampOf(found) : undefined;
  } catch (cause) {
    if (isGone(cause)) return undefined;
    throw cause;
  }
}

/** True where the file is unchanged. */
export function sameStamp(a: FileStamp | undefined, b: FileStamp | undefined): boolean {
  return a?.mtimeMs === b?.mtimeMs && a?.size === b?.size && a?.inode === b?.inode;
}

/** True where the error means that the file does not exist (any more). */
export function isGone(cause: unknown): boolean {
  const code = (cause as NodeJS.ErrnoException | undefined)?.code;
  return code === "ENOENT" || code === "ENOTDIR" || code === "ELOOP";
}

type Scan = { readonly files: Map<string, FileStamp>; readonly directories: Set<string> };

async function scanDirectory(directory: string, scan: Scan): Promise<void> {
  const real = await realpath(directory);
  // A link back to a directory above would go round for ever.
  if (scan.directories.has(real)) return;
  scan.directories.add(real);
  const entries = await readdir(directory, { withFileTypes: true });
  await Promise.all(
    entries
      .filter(({ name }) => !name.startsWith("."))
      .map((entry) => scanEntry(join(directory, entry.name), entry.isSymbolicLink(), scan)),
  );
}

async function scanEntry(path: string, isLink: boolean, scan: Scan): Promise<void> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) return await scanDirectory(path, scan);
    if (!found.isFile() || !isConfigFile(path)) return;
    scan.files.set(path, stampOf(found));
    if (isLink) scan.directories.add(dirname(await realpath(path)));
  } catch (cause) {
    // It went between the listing and the look: as if it had not been listed. Dangling links count as absent.
    if (!isGone(cause)) throw cause;
  }
}

function stampOf({ mtimeMs, size, ino }: { mtimeMs: number; size: number; ino: number }): FileStamp {
  return { mtimeMs, size, inode: ino };
}

/** A file's text; undefined when it is gone, an error when it cannot be read. */
export type FileText = string | undefined | Error;

const concurrentReads = 32;

/** The texts of files, several at a time. Of those that have a stamp; the others are gone. */
export async function readTexts(
  changed: ReadonlyMap<string, FileStamp | undefined>,
): Promise<ReadonlyMap<string, FileText>> {
  const texts = new Map<string, FileText>();
  const paths = [...changed.keys()].sort();
  for (let from = 0; from < paths.length; from += concurrentReads) {
    const slice = paths.slice(from, from + concurrentReads);
    const read = await Promise.all(slice.map((path) => (changed.get(path) === undefined ? undefined : readText(path))));
    for (const [index, path] of slice.entries()) texts.set(path, read[index]);
  }
  return texts;
}

async function readText(path: string): Promise<FileText> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    // Gone after the scan, or not readable for us: reported for this file alone.
    return isGone(cause) ? undefined : (cause as Error);
  }
}
