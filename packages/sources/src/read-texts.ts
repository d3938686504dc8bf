/** The texts of files, several at a time. */
import { readFile } from "node:fs/promises";
import { type FileStamp, isGone } from "./file-scan.ts";

/** A file's text; undefined when it is gone, an error when it cannot be read. */
export type FileText = string | undefined | Error;

const concurrentReads = 32;

/** Of those that have a stamp; the others are gone. */
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
    // Gone after the look, or not for us to read: that is said of this file alone.
    return isGone(cause) ? undefined : (cause as Error);
  }
}
