/** What a directory may hold: configuration that fits its schema and makes sense, and kinds of no concern here. */
import { isForeignKind, kindOf } from "@flotilla/kinds";
import { configKind } from "@flotilla/registry/config";
import type { Admission } from "@flotilla/sources";
import { createValidator } from "@flotilla/validation";

export function configAdmission(): Admission {
  const validate = createValidator();
  return {
    kindOf(apiVersion, kind) {
      const row = kindOf({ apiVersion, kind });
      const isForeign = isForeignKind({ apiVersion, kind });
      if (row === undefined) return isForeign ? { namespaced: true, wanted: false, isForeign } : undefined;
      if (configKind(apiVersion, kind) !== undefined) return { namespaced: row.namespaced, wanted: true };
      return { namespaced: row.namespaced, wanted: false, isForeign };
    },
    check: (object) =>
      validate({ ...object }).flatMap(({ field, reason, severity }) =>
        severity === "error" ? [{ field, reason }] : [],
      ),
  };
}
