/** Contents of the image beside the programs: SBOMs of its bundle and of its base, and the licences of what it contains. */
import assert from "node:assert/strict";
import { figure } from "./figures.ts";
import type { Project } from "./project.ts";

const image = "flotilla:0.1.0";
const sboms = ["/flotilla/sbom.cyclonedx.json", "/sbom.base.cyclonedx.json"];
const licences = ["LICENSE", "NOTICE", "THIRD_PARTY_LICENSES"];

interface Sbom {
  readonly bomFormat: string;
  readonly components: readonly {
    readonly name: string;
    readonly version?: string;
    readonly licenses?: readonly unknown[];
  }[];
}

export async function checkImageContents(project: Project): Promise<void> {
  const [bundle, base] = await Promise.all(sboms.map(async (file) => JSON.parse(await read(project, file)) as Sbom));
  assert.deepEqual([bundle?.bomFormat, base?.bomFormat], ["CycloneDX", "CycloneDX"]);
  const nameless = bundle?.components.filter(
    ({ version = "", licenses = [] }) => version === "" || licenses.length === 0,
  );
  assert.deepEqual(nameless, []);
  const node = (await project.command("docker", ["run", "--rm", image, "--version"])).trim();
  const nodeInBase = base?.components.find(({ name }) => name === "node");
  assert.equal(`v${nodeInBase?.version}`, node);
  assert.ok(
    base?.components.some(({ name }) => name === "libc6"),
    "the base's SBOM names no libc",
  );
  figure(
    "components in the image's SBOMs",
    `${bundle?.components.length} of the bundle, ${base?.components.length} of its base`,
  );
  const texts = await Promise.all(licences.map((file) => read(project, `/flotilla/${file}`)));
  assert.match(texts[0] ?? "", /Apache License/);
  for (const { name } of bundle?.components ?? [])
    assert.ok(name.startsWith("@flotilla/") || texts[2]?.includes(name), `THIRD_PARTY_LICENSES does not name ${name}`);
}

async function read(project: Project, file: string): Promise<string> {
  return project.command("docker", ["run", "--rm", image, "-p", `fs.readFileSync("${file}","utf8")`]);
}
