/** What packages of others must keep to. */

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

/** Of several licences to choose from one must be allowed, of several that hold together all. */
export function licenceProblems(packages: readonly PackageLicence[]): readonly string[] {
  return packages.flatMap(({ name, version, licence }) => {
    const choices = licence.replaceAll(/[()]/g, "").split(" OR ");
    const isAllowed = choices.some((choice) => choice.split(" AND ").every((one) => allowed.has(one.trim())));
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
