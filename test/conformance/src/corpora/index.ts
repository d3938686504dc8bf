/** The corpora that the project claims, each with its driver. */
import type { CorpusDriver } from "./corpus.ts";

/** Loaded on demand: a run of one group should not pay for all of them. */
export const corpora: Readonly<Record<string, () => Promise<CorpusDriver>>> = {
  analysis: async () => (await import("./analysis.ts")).run,
  ambient: async () => (await import("./ambient.ts")).run,
  authz: async () => (await import("./authz.ts")).run,
  functions: async () => (await import("./functions.ts")).run,
  "gateway-deployment": async () => (await import("./gateway-deployment.ts")).run,
  crds: async () => (await import("./crds.ts")).run,
  "gateway-api": async () => (await import("./gateway-api.ts")).run,
  ingress: async () => (await import("./ingress.ts")).run,
  inject: async () => (await import("./inject.ts")).run,
  "mesh-config": async () => (await import("./mesh-config.ts")).run,
  "pki-auth": async () => (await import("./pki-auth.ts")).run,
  serviceregistry: async () => (await import("./serviceregistry.ts")).run,
  simulation: async () => (await import("./simulation.ts")).run,
  validation: async () => (await import("./validation.ts")).run,
  xds: async () => (await import("./xds.ts")).run,
};
