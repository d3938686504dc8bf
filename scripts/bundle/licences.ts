/** The licences of the packages in a bundle, each once. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license?: string;
}

/** `inputs`: files of the bundle, below the project. */
export async function licencesOf(projectRoot: string, inputs: readonly string[]): Promise<string> {
  const texts = await Promise.all(
    packageDirectories(inputs).map((directory) => licenceOf(join(projectRoot, directory))),
  );
  return `${[...new Set(texts)].sort().join("\n\n")}\n`;
}

/** Of the packages of others that these files belong to, each once. */
export function packageDirectories(inputs: readonly string[]): readonly string[] {
  return [...new Set(inputs.flatMap((input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []))];
}

async function licenceOf(directory: string): Promise<string> {
  const {
    name,
    version,
    license = "",
  } = JSON.parse(await readFile(join(directory, "package.json"), "utf8")) as Manifest;
  const file = (await readdir(directory)).sort().find((one) => /^(licen[cs]e|copying)/i.test(one));
  const text = file === undefined ? "" : `\n\n${(await readFile(join(directory, file), "utf8")).trim()}`;
  return `=== ${name} ${version} ${license}${text}`;
}
