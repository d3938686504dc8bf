/**
 * Regular expressions whose time grows faster than the text they are held against: a text from outside would stop the service. Each
 * literal is judged by recheck. Expressions that are made at run time are refused: RE2JS runs those in linear time.
 */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { check } from "recheck";
import ts from "typescript-6";
import type { Project } from "./record-lookups.ts";

export interface Expression {
  readonly file: string;
  readonly line: number;
  readonly source: string;
  readonly flags: string;
}

export interface ExpressionProblem extends Pick<Expression, "file" | "line"> {
  readonly text: string;
  readonly reason: string;
}

/** recheck's other way, fuzzing, measures how long an expression takes: its verdicts would depend on the load of the machine. */
const checker = "automaton";
const timeoutMs = 120_000;

/** @param cacheFile keeps expressions that were judged safe, which recheck starts a process for each to find out */
export async function expressionProblems(project: Project, cacheFile?: string): Promise<readonly ExpressionProblem[]> {
  const { literals, made } = expressionsOf(project);
  const safe = cacheFile === undefined ? new Set<string>() : readSafe(cacheFile);
  const judged = await Promise.all(
    literals.map(async (one) => ({ one, reason: safe.has(textOf(one)) ? undefined : await reasonAgainst(one) })),
  );
  if (cacheFile !== undefined)
    writeSafe(
      cacheFile,
      judged.flatMap(({ one, reason }) => (reason === undefined ? [textOf(one)] : [])),
    );
  return judged
    .flatMap(({ one: { file, line, source, flags }, reason }) =>
      reason === undefined ? [] : [{ file, line, text: `/${source}/${flags}`, reason }],
    )
    .concat(made);
}

/** Undefined: the time is linear in the text. */
export async function reasonAgainst({
  source,
  flags,
}: Pick<Expression, "source" | "flags">): Promise<string | undefined> {
  const judged = await check(source, flags, { checker, timeout: timeoutMs });
  if (judged.status === "safe") return undefined;
  if (judged.status === "unknown") return `cannot be judged (${judged.error.kind})`;
  return `${judged.complexity.summary}, for example with ${judged.attack.pattern}`;
}

interface SafeExpressions {
  /** Of recheck, and how it judged. */
  readonly judge: string;
  readonly expressions: readonly string[];
}

const { version } = createRequire(import.meta.url)("recheck/package.json") as { readonly version: string };
const judge = `recheck ${version} ${checker}`;

function textOf({ source, flags }: Expression): string {
  return `/${source}/${flags}`;
}

/** Empty where another version judged, or none. */
function readSafe(file: string): ReadonlySet<string> {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    // Nothing was judged here before.
    return new Set();
  }
  const kept = JSON.parse(text) as SafeExpressions;
  return new Set(kept.judge === judge ? kept.expressions : []);
}

function writeSafe(file: string, expressions: readonly string[]): void {
  const kept: SafeExpressions = { judge, expressions: [...new Set(expressions)].sort() };
  mkdirSync(dirname(file), { recursive: true });
  // Two runs may end at the same time.
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(kept));
  renameSync(`${file}.${process.pid}`, file);
}

function expressionsOf({ program, files }: Project) {
  const literals: Expression[] = [];
  const made: ExpressionProblem[] = [];
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source === undefined) throw new Error(`${file} is not read`);
    const visit = (node: ts.Node): void => {
      const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
      if (ts.isRegularExpressionLiteral(node)) {
        const end = node.text.lastIndexOf("/");
        literals.push({ file, line, source: node.text.slice(1, end), flags: node.text.slice(end + 1) });
      }
      if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === "RegExp")
        made.push({ file, line, text: node.getText(source), reason: "is made at run time: use RE2JS" });
      ts.forEachChild(node, visit);
    };
    visit(source);
  }
  return { literals, made };
}
