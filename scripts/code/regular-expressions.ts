/**
 * Regular expressions whose time grows faster than the text they are held against: a text from outside would stop the service. Each
 * literal is judged by recheck. Expressions that are made at run time are refused: RE2JS runs those in linear time.
 */
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

export async function expressionProblems(project: Project): Promise<readonly ExpressionProblem[]> {
  const { literals, made } = expressionsOf(project);
  const judged = await Promise.all(literals.map(async (one) => ({ one, reason: await reasonAgainst(one) })));
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
