/**
 * Loaded with `--import` into the process of a mutant's tests: replaces the source of one module, FLOTILLA_MUTANT_URL, by the text of
 * the file FLOTILLA_MUTANT_SOURCE. The working tree stays as it is. Plain JavaScript, as it runs before anything else.
 */
import { readFileSync } from "node:fs";
import { registerHooks } from "node:module";

const { FLOTILLA_MUTANT_URL: url, FLOTILLA_MUTANT_SOURCE: file } = process.env;

if (url !== undefined && file !== undefined)
  registerHooks({
    load(asked, context, nextLoad) {
      if (asked !== url) return nextLoad(asked, context);
      return { format: "module-typescript", source: readFileSync(file, "utf8"), shortCircuit: true };
    },
  });
