/** The page's files, with the content security policy that they have to work under. */
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join, normalize } from "node:path";

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
]);

/** As services/console sends it. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** A path that is no file is a screen of the page. */
export async function sendPageFile(page: string, path: string, response: ServerResponse): Promise<void> {
  const isFile = path.startsWith("/assets/");
  const file = isFile ? join(page, normalize(path)) : join(page, "index.html");
  response.setHeader("content-security-policy", policy);
  response.setHeader("x-content-type-options", "nosniff");
  try {
    const content = await readFile(file);
    response.writeHead(200, {
      "content-type": types.get(extname(file)) ?? "application/octet-stream",
      "cache-control": isFile ? "public, max-age=31536000, immutable" : "no-cache",
    });
    response.end(content);
  } catch {
    response.writeHead(404).end("there is no such file");
  }
}
