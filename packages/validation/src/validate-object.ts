/** All that is known about whether an object is right: its schema first, and what it means when it fits that. */
import { hasErrors } from "./problem.ts";
import { createSchemaValidator, type SchemaValidator } from "./schema/validate-schema.ts";
import { validateSemantics } from "./semantic/validate-semantics.ts";

/** The validator keeps compiled rules: one for the life of a process is right. */
export function createValidator(): SchemaValidator {
  const fits = createSchemaValidator();
  return (object, options) => {
    const problems = fits(object, options);
    return hasErrors(problems) ? problems : [...problems, ...validateSemantics(object)];
  };
}
