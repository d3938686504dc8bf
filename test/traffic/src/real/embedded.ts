/** The control plane in this process, its configuration in a directory. */
import { renameSync, writeFileSync } from "node:fs";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { freePorts } from "@flotilla/servers";

const readyWithinMs = 60_000;

interface EmbeddedOptions {
  /** Settings. */
  readonly more?: Readonly<Record<string, string>>;
  /** A file. */
  readonly meshConfig?: string;
}

/** Ready when it resolves; `config` is the directory of its mesh. */
export async function startEmbedded(
  workDir: string,
  config: string,
  { more = {}, meshConfig }: EmbeddedOptions = {},
): Promise<ControlPlane> {
  const settings = Object.fromEntries(
    Object.entries({ ...process.env, LOG_LEVEL: "error", ...more }).filter(
      (entry): entry is [string, string] => entry[1] !== undefined,
    ),
  );
  const controlPlane = await startControlPlane({
    options: {
      embedded: true,
      config,
      mesh: meshConfig,
      networks: undefined,
      settings,
      firstPort: await freePorts(20),
      workDir,
    },
    logs: "output",
    onProgress: () => undefined,
  });
  await allReady(controlPlane, readyWithinMs, () => undefined, new AbortController().signal);
  return controlPlane;
}

/** In one step, so that no reader gets half of it. */
export function writeWhole(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
