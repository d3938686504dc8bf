/** How the built page is served: read into memory at the start, since it is small and nothing else of the disk can be asked for then. */
import { readdir, readFile } from "node:fs/promises";
import type { IncomingMessage, ServerResponse } from "node:http";
import { extname, join, relative, sep } from "node:path";
import { gzipSync } from "node:zlib";

export interface PageFile {
  readonly contentType: string;
  readonly bytes: Buffer;
  readonly gzipped: Buffer;
  /** Its name changes with its content. */
  readonly isImmutable: boolean;
}

export interface PageFiles {
  /** Undefined where there is no such file. Addresses of screens, in which names may have dots, are the page itself. */
  find(path: string): PageFile | undefined;
  readonly count: number;
}

const types: ReadonlyMap<string, string> = new Map([
  [".html", "text/html; charset=utf-8"],
  [".js", "text/javascript; charset=utf-8"],
  [".css", "text/css; charset=utf-8"],
  [".svg", "image/svg+xml"],
  [".png", "image/png"],
  [".ico", "image/x-icon"],
  [".json", "application/json"],
  [".woff2", "font/woff2"],
  [".txt", "text/plain; charset=utf-8"],
]);

/** Vite names what it builds `NAME-HASH.EXTENSION`. */
const hashed = /-[\w-]{8}\.\w+$/;

/** On every answer of a server of the page. */
export const pageHeaders: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; " +
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
};

/** Of a directory that is not there, no files: the console answers its API then. */
export async function readPageFiles(directory: string): Promise<PageFiles> {
  const files = new Map<string, PageFile>();
  for (const name of await namesIn(directory)) {
    const contentType = types.get(extname(name));
    if (contentType === undefined) continue;
    const bytes = await readFile(name);
    const path = `/${relative(directory, name).split(sep).join("/")}`;
    files.set(path, { contentType, bytes, gzipped: gzipSync(bytes), isImmutable: hashed.test(path) });
  }
  return {
    count: files.size,
    find: (path) => files.get(path) ?? (path.startsWith("/assets/") ? undefined : files.get("/index.html")),
  };
}

async function namesIn(directory: string): Promise<readonly string[]> {
  try {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}

/** Compressed for callers that take it. */
export function sendPageFile(file: PageFile, request: IncomingMessage, response: ServerResponse): void {
  const isGzip = /\bgzip\b/.test(String(request.headers["accept-encoding"] ?? ""));
  const bytes = isGzip ? file.gzipped : file.bytes;
  response.writeHead(200, {
    "content-type": file.contentType,
    "content-length": bytes.byteLength,
    "cache-control": file.isImmutable ? "public, max-age=31536000, immutable" : "no-cache",
    vary: "accept-encoding",
    ...(isGzip && { "content-encoding": "gzip" }),
  });
  response.end(request.method === "HEAD" ? undefined : bytes);
}
