/** What a directory may hold: kinds that are configuration, kinds of no concern here, and nothing that nobody knows. */
import { kindOf } from "@flotilla/kinds";
import type { KubeObject } from "@flotilla/model";
import { configKind } from "@flotilla/registry/config";
import type { Admission } from "@flotilla/sources";

export type ObjectCheck = (object: KubeObject) => readonly { readonly field: string; readonly reason: string }[];

export function configAdmission(check: ObjectCheck): Admission {
  return {
    check,
    kindOf(apiVersion, kind) {
      const row = kindOf({ apiVersion, kind });
      if (row === undefined) return undefined;
      return { namespaced: row.namespaced, wanted: configKind(apiVersion, kind) !== undefined };
    },
  };
}
