/** Rules for packages of others. */

export interface PackageLicence {
  readonly name: string;
  readonly version: string;
  /** As its manifest states it. */
  readonly licence: string;
}

/** They ask for no more than their text beside copies, which the bundle carries. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Python-2.0",
  "Unlicense",
]);

/** Build and test with them, and copy nothing of them: they ask that changed files of theirs stay open. */
const onlyForDevelopment = new Map([["MPL-2.0", /^(?:axe-core|lightningcss(?:-[\w-]+)?)$/]]);

/** Of several licences to choose from one must be allowed, of several that hold together all. */
export function licenceProblems(packages: readonly PackageLicence[]): readonly string[] {
  return packages.flatMap(({ name, version, licence }) => {
    const choices = licence.replaceAll(/[()]/g, "").split(" OR ");
    const isAllowed =
      choices.some((choice) => choice.split(" AND ").every((one) => allowed.has(one.trim()))) ||
      onlyForDevelopment.get(licence)?.test(name) === true;
    return isAllowed ? [] : [`${name} ${version}: the licence ${licence} is not among those that are allowed`];
  });
}

/** Every package is named with its hash, waits two weeks, and runs nothing when it is installed. */
export function lockfileProblems(lockfile: string, workspace: string): readonly string[] {
  const resolutions = [...lockfile.matchAll(/^ {4}resolution: (.*)$/gm)].map(([, text = ""]) => text);
  const unhashed = resolutions.filter((text) => !text.includes("integrity: sha512-"));
  return [
    ...(resolutions.length === 0 ? ["pnpm-lock.yaml names no package"] : []),
    ...unhashed.map((text) => `pnpm-lock.yaml: a package without a hash: ${text}`),
    ...(/^ignoreScripts: true$/m.test(workspace) ? [] : ["pnpm-workspace.yaml: ignoreScripts is not on"]),
    ...(/^minimumReleaseAge: \d{5,}$/m.test(workspace) ? [] : ["pnpm-workspace.yaml: minimumReleaseAge is too short"]),
  ];
}

interface SbomComponent {
  readonly name: string;
  readonly version: string;
  readonly group?: string;
  readonly purl?: string;
  readonly licenses?: readonly unknown[];
  readonly externalReferences?: readonly { readonly type: string; readonly hashes?: readonly unknown[] }[];
}

/** Every package of a release is named with its licence and address, and those of others with their hash. */
export function sbomProblems(text: string): readonly string[] {
  const { bomFormat, components = [] } = JSON.parse(text) as {
    readonly bomFormat?: string;
    readonly components?: readonly SbomComponent[];
  };
  if (bomFormat !== "CycloneDX" || components.length === 0) return ["the SBOM names nothing"];
  return components.flatMap(({ name, version, group, purl, licenses = [], externalReferences = [] }) => {
    const isOwn = group === "@flotilla" || name === "flotilla";
    const hashes = externalReferences.filter(({ type }) => type === "distribution").flatMap((one) => one.hashes ?? []);
    const missing = [
      ...(purl === undefined ? ["address"] : []),
      ...(licenses.length === 0 ? ["licence"] : []),
      ...(hashes.length === 0 && !isOwn ? ["hash"] : []),
    ];
    return missing.map((what) => `${name} ${version}: the SBOM has no ${what} of it`);
  });
}
