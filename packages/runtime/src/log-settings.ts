/** What every service may be told of its log. */
import { logLevels } from "./logger.ts";
import { oneOf } from "./settings/kinds.ts";

export const logSettings = {
  logLevel: oneOf({
    env: "LOG_LEVEL",
    default: "info",
    values: logLevels,
    sentence: "The least severe lines that are logged.",
  }),
} as const;
