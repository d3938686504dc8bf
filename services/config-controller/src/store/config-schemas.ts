/** The kinds that every store of this service can hold: all that are configuration. */
import { type Kind, kinds } from "@flotilla/kinds";
import type { ConfigSchema } from "@flotilla/model";
import { configKind } from "@flotilla/registry/config";

export const configSchemas: readonly Kind[] = kinds.filter(({ group, versions: [version = ""], kind }) => {
  return configKind(group === "" ? version : `${group}/${version}`, kind) !== undefined;
}) satisfies readonly ConfigSchema[];
