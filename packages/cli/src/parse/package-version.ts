/** The version of the package, beside every command because help shows it. */
import { readFileSync } from "node:fs";

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    readonly version: string;
  };
  return version;
}
