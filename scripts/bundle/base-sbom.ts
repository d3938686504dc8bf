/**
 * The parts of an image beside the bundle, as CycloneDX: Node, what Node is built with, and the packages of Debian whose files were copied.
 * `node base-sbom.ts DIRECTORY` runs while the image is built, where neither packages nor a workspace are: it needs nothing but Node and
 * dpkg.
 */
import { execFileSync } from "node:child_process";
import { globSync, realpathSync } from "node:fs";
import { join } from "node:path";

export interface Component {
  readonly type: "application" | "library";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

/** Versions of Node's interfaces, not of libraries. */
const interfaces = new Set(["node", "modules", "napi", "unicode", "cldr", "tz"]);

/** Node and the libraries that are compiled into it. @param versions as `process.versions` has them */
export function nodeComponents(versions: Readonly<Record<string, string | undefined>>): readonly Component[] {
  const known = Object.entries(versions).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return known
    .map(([name, version]) => generic(name === "node" ? "application" : "library", name, version))
    .filter(({ name }) => name === "node" || !interfaces.has(name))
    .sort(byReference);
}

function generic(type: Component["type"], name: string, version: string): Component {
  const purl = `pkg:generic/${name}@${encodeURIComponent(version)}`;
  return { type, "bom-ref": purl, name, version, purl };
}

/** Packages of Debian that the files below a directory were copied from; files of no package are passed over. */
export function debianComponents(directory: string): readonly Component[] {
  const files = globSync("{lib,lib64,usr}/**/*.so*", { cwd: directory }).map((file) => join("/", file));
  const owners = files.flatMap((file) => ownerOf(file) ?? []);
  return [...new Set(owners)].map(debianComponent).sort(byReference);
}

/** Debian lists a file as its package has it, with or without the link from /lib to /usr/lib. */
function ownerOf(file: string): string | undefined {
  const real = realpathSync(file);
  for (const name of [file, real, real.replace(/^\/usr/, "")]) {
    try {
      return execFileSync("dpkg-query", ["-S", name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).split(
        ": ",
      )[0];
    } catch {
      // Not by this name.
    }
  }
  return undefined;
}

function debianComponent(owner: string): Component {
  const form = ["Package", "Version", "Architecture"].map((field) => "$".concat("{", field, "}")).join("\t");
  const [name = "", version = "", architecture = ""] = execFileSync("dpkg-query", ["-W", "-f", form, owner], {
    encoding: "utf8",
  }).split("\t");
  const purl = `pkg:deb/debian/${name}@${encodeURIComponent(version)}?arch=${architecture}`;
  return { type: "library", "bom-ref": purl, name, version, purl };
}

function byReference(a: Component, b: Component): number {
  return a.purl < b.purl ? -1 : a.purl > b.purl ? 1 : 0;
}

/** Without a time and a serial number, so that equal images have equal ones. */
export function documentOf(components: readonly Component[]): string {
  return `${JSON.stringify({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1, components }, undefined, 2)}\n`;
}

if (process.argv[1] === import.meta.filename)
  process.stdout.write(
    documentOf([...nodeComponents(process.versions), ...debianComponents(process.argv[2] ?? "/image")]),
  );
