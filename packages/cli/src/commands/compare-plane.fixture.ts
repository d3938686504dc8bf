/** A control plane of an input folder, and lists of proxies as istiod's debug pages have them, for tests of `flotilla compare`. */
import assert from "node:assert/strict";
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@flotilla/servers";
import { allReady } from "../supervise/all-ready.ts";
import { type ControlPlane, startControlPlane } from "../supervise/control-plane.ts";

export const scenarios = join(dirname(fileURLToPath(import.meta.url)), "../../../../test/conformance/scenarios");

export interface Client {
  readonly name: string;
  readonly type: string;
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** Writes the answers of istiod's debug pages for these clients; the options that name them. */
export function proxiesIn(root: string, clients: readonly Client[]): readonly string[] {
  const pages = {
    adsz: { clients: clients.map(({ name, metadata }) => ({ connectionId: `${name}-1`, metadata })) },
    syncz: clients.map(({ name, type }) => ({ proxy: name, proxy_type: type })),
  };
  return Object.entries(pages).flatMap(([page, answer]) => {
    const file = join(root, `${page}.json`);
    writeFileSync(file, JSON.stringify(answer));
    return ["--proxies", file];
  });
}

/** Serves the objects of `root/input`. */
export async function startPlane(root: string, own: Readonly<Record<string, string>> = {}): Promise<ControlPlane> {
  const settings = { ...process.env, LOG_LEVEL: "error", ...own } as Readonly<Record<string, string>>;
  const plane = await startControlPlane({
    options: {
      ...{ embedded: true, config: join(root, "input"), mesh: undefined, networks: undefined, settings },
      firstPort: await freePorts(12),
      workDir: join(root, "work"),
    },
    logs: "files",
    onProgress: () => undefined,
  });
  await allReady(plane, 90_000, () => undefined, new AbortController().signal);
  return plane;
}

export const addressOf = ({ layout }: ControlPlane) => `127.0.0.1:${layout.ports.xds}`;

export interface Change {
  /** Of the copy's folder, beside the input. */
  readonly name: string;
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

/** A copy of the input in which one text of a file is another. */
export function changedInput(input: string, { name, file, from, to }: Change): string {
  const folder = join(dirname(input), name.replaceAll(" ", "-"));
  cpSync(input, folder, { recursive: true });
  const text = readFileSync(join(folder, file), "utf8");
  assert.ok(text.includes(from));
  writeFileSync(join(folder, file), text.replace(from, to));
  return folder;
}
