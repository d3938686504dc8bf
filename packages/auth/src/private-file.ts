/** Files that are there whole or not at all, with the rights they need from their first byte on. */
import { randomBytes } from "node:crypto";
import { link, open, rename, rm } from "node:fs/promises";

/** False if the file exists already; it is left as it is. */
export async function createFile(file: string, text: string, mode: number): Promise<boolean> {
  const draft = await writeDraft(file, text, mode);
  try {
    await link(draft, file);
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code === "EEXIST") return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Replaces a file in one step, with these rights whatever the umask; readers see the old content or the new one, never a
 * part.
 */
export async function replaceFile(file: string, content: string | Uint8Array, mode: number): Promise<void> {
  const draft = await writeDraft(file, content, mode);
  try {
    await rename(draft, file);
  } finally {
    await rm(draft, { force: true });
  }
}

async function writeDraft(file: string, content: string | Uint8Array, mode: number): Promise<string> {
  const draft = `${file}.${randomBytes(6).toString("hex")}.tmp`;
  const handle = await open(draft, "wx", mode);
  try {
    await handle.chmod(mode); // whatever the process's umask
    await handle.writeFile(content);
    await handle.sync();
  } finally {
    await handle.close();
  }
  return draft;
}
