/** Names of istiod that would have a meaning here and are not honoured yet, each with what happens instead. */
import type { NamesByKind } from "./kinds.ts";

export const missing: NamesByKind<Readonly<Record<string, string>>> = {
  environment: {},
  flags: {},
  pages: {},
  metrics: {},
  messages: {},
};
