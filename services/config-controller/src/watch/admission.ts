/** What a directory may hold: configuration that fits its schema and makes sense, and kinds of no concern here. */
import { kindOf } from "@flotilla/kinds";
import { configKind } from "@flotilla/registry/config";
import type { Admission } from "@flotilla/sources";
import { createValidator } from "@flotilla/validation";

export function configAdmission(): Admission {
  const validate = createValidator();
  return {
    kindOf(apiVersion, kind) {
      const row = kindOf({ apiVersion, kind });
      if (row === undefined) return undefined;
      return { namespaced: row.namespaced, wanted: configKind(apiVersion, kind) !== undefined };
    },
    check: (object) =>
      validate({ ...object }).flatMap(({ field, reason, severity }) =>
        severity === "error" ? [{ field, reason }] : [],
      ),
  };
}
