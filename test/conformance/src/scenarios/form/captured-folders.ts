/** Expectations in folders `golden/PROXY/TYPE.json`, whole after each step, as a capture of a running control plane writes them. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@flotilla/proto";
import type { Capture, Expected } from "../scenario.ts";

interface CapturedFile {
  readonly resources: Readonly<Record<string, JsonObject>>;
}

export function readCapturedStage(folder: string, proxies: readonly string[]): Expected {
  return new Map(
    proxies
      .map((proxy) => [proxy, readCapture(join(folder, "golden", proxy))] as const)
      .filter(([, { size }]) => size > 0),
  );
}

function readCapture(folder: string): Capture {
  if (!existsSync(folder)) return new Map();
  return new Map(
    readdirSync(folder)
      .filter((file) => file.endsWith(".json") && file !== "meta.json")
      .map((file) => {
        const { resources } = JSON.parse(readFileSync(join(folder, file), "utf8")) as CapturedFile;
        return [file.slice(0, -".json".length), new Map(Object.entries(resources))];
      }),
  );
}
