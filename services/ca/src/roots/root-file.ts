/** The roots in a file, for other services of ours and for whoever wants to trust the mesh. */
import { mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { replaceFile } from "@flotilla/auth";

export async function writeRootFile(file: string, rootsPem: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const found = await readFile(file, "utf8").catch((error: { code?: unknown }) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (found !== rootsPem) await replaceFile(file, rootsPem, 0o644);
}
