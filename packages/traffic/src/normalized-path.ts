/** Paths as Envoy's connection manager rewrites them before anything matches them. */
import type { JsonObject } from "@flotilla/proto";
import { at, textAt } from "./json.ts";

/** Of a path with its query: dot segments, and slashes one behind the other, as the connection manager is set to. */
export function normalizedPath(whole: string, manager: JsonObject | undefined): string {
  const [path = "", ...query] = whole.split(/(?=\?)/);
  const config = at(manager, "typedConfig");
  const escaped = textAt(config, "pathWithEscapedSlashesAction").startsWith("UNESCAPE");
  const plain = escaped ? path.replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\") : path;
  const normal = at(config, "normalizePath") === true ? withoutDots(plain) : plain;
  const merged = at(config, "mergeSlashes") === true ? normal.replaceAll(/\/{2,}/g, "/") : normal;
  return [merged, ...query].join("");
}

function withoutDots(path: string): string {
  const segments: string[] = [];
  const all = path.replaceAll("\\", "/").split("/").slice(1);
  for (const [index, segment] of all.entries()) {
    const plain = segment.replaceAll(/%2e/gi, ".");
    const isLast = index === all.length - 1;
    if (plain === "..") segments.pop();
    if (plain !== "." && plain !== "..") segments.push(segment);
    else if (isLast) segments.push("");
  }
  return `/${segments.join("/")}`;
}
