/** `flotilla request METHOD PATH [BODY]`: one page of a service, as it is. */
import { pagesUrls, requestAt } from "../connection.ts";
import type { request as definition } from "../definitions/insight.ts";
import { CliError } from "../errors.ts";
import type { Run } from "../parse/definition.ts";

const methods: readonly string[] = ["GET", "POST", "PUT", "DELETE"];

export const request: Run<typeof definition> = async ({ options, operands, terminal }) => {
  const { path, body } = operands;
  const method = operands.method.toUpperCase();
  if (!methods.includes(method)) throw new CliError("CLI_USAGE", `${operands.method} is none of ${methods.join(", ")}`);
  const given = { service: options.service, path: path.startsWith("/") ? path : `/${path}`, method };
  const failures: CliError[] = [];
  for (const base of pagesUrls(options.service, options)) {
    const answer = await requestAt(base, { ...given, ...(body !== undefined && { body }) }, options);
    const text = await answer.text();
    if (answer.ok) {
      terminal.write(text.endsWith("\n") ? text : `${text}\n`);
      return 0;
    }
    failures.push(new CliError("CLI_FAILED", `${base}${given.path} answers ${answer.status}: ${text.trim()}`));
  }
  throw failures[0];
};
