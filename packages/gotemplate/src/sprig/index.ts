/** The functions of the sprig library that manifests use. None reads a clock, random numbers, files or the environment. */
import type { TemplateFunctions } from "../builtins.ts";
import { dictFunctions } from "./dicts.ts";
import { encodingFunctions } from "./encodings.ts";
import { flowFunctions } from "./flow.ts";
import { listFunctions } from "./lists.ts";
import { mathFunctions } from "./math.ts";
import { regexFunctions } from "./regexes.ts";
import { textFunctions } from "./texts.ts";

export const sprigFunctions: TemplateFunctions = {
  ...textFunctions,
  ...regexFunctions,
  ...listFunctions,
  ...dictFunctions,
  ...mathFunctions,
  ...flowFunctions,
  ...encodingFunctions,
};
