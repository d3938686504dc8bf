/** Programs that the image holds, by their place in the workspace. There each ends in `.js`. */
const services = ["ca", "config-controller", "service-controller", "xds-server", "webhook", "console"];

export const imagePrograms: readonly string[] = [
  "packages/cli/bin/check.ts",
  "packages/cli/bin/flotilla.ts",
  "packages/cli/bin/set-up.ts",
  "packages/sources/bin/yaml-thread.ts",
  "packages/validation/bin/validation-thread.ts",
  ...services.map((name) => `services/${name}/bin/main.ts`),
];
