/**
 * The small wrong changes that a source file can suffer, one operator each. Changes are places in the text, so that line numbers stay
 * and V8's coverage of the original holds for each of them.
 */
import ts from "typescript-6";

const operators = ["comparison", "boundary", "logic", "condition", "return value", "removed call"] as const;
export type Operator = (typeof operators)[number];

export interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly operator: Operator;
  /** Where the changed expression or statement begins: it ran when this place ran. */
  readonly at: number;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
  /** `values.length === 0` → `values.length !== 0`, each on one line. */
  readonly before: string;
  readonly after: string;
}

interface Edit {
  readonly operator: Operator;
  /** The expression or statement that a reader is shown. */
  readonly node: ts.Node;
  readonly start: number;
  readonly end: number;
  readonly replacement: string;
}

const { SyntaxKind: Kind } = ts;

const comparisons: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [Kind.EqualsEqualsEqualsToken, "!=="],
  [Kind.ExclamationEqualsEqualsToken, "==="],
  [Kind.EqualsEqualsToken, "!="],
  [Kind.ExclamationEqualsToken, "=="],
  [Kind.LessThanToken, ">="],
  [Kind.LessThanEqualsToken, ">"],
  [Kind.GreaterThanToken, "<="],
  [Kind.GreaterThanEqualsToken, "<"],
]);

const boundaries: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [Kind.LessThanToken, "<="],
  [Kind.LessThanEqualsToken, "<"],
  [Kind.GreaterThanToken, ">="],
  [Kind.GreaterThanEqualsToken, ">"],
]);

const logic: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [Kind.AmpersandAmpersandToken, "||"],
  [Kind.BarBarToken, "&&"],
]);

/** Calls on a list that return a list: without the call the list stays as it was. */
const listCalls: ReadonlySet<string> = new Set(["filter", "toSorted", "toReversed", "slice"]);
const yieldsList = /\.(map|flatMap|filter|toSorted|toReversed|slice)\([\s\S]*\)$/;

/** All mutants of a file's text, in the order of the text. */
export function mutantsOf(file: string, text: string): readonly Mutant[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const edits: Edit[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node)) return;
    edits.push(...editsOf(node, source));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return edits
    .map((edit) => toMutant(edit, source))
    .filter(({ before, after }) => before !== after)
    .toSorted((a, b) => a.start - b.start || a.end - b.end);
}

export function applyMutant(text: string, { start, end, replacement }: Mutant): string {
  return text.slice(0, start) + replacement + text.slice(end);
}

function editsOf(node: ts.Node, source: ts.SourceFile): readonly Edit[] {
  if (ts.isBinaryExpression(node)) return operatorEdits(node, source);
  if (ts.isPrefixUnaryExpression(node) && node.operator === Kind.ExclamationToken)
    return [replace("logic", node, node.operand.getText(source), source)];
  if (ts.isIfStatement(node)) return conditionEdits(node.expression, ["true", "false"], source);
  if (ts.isConditionalExpression(node)) return conditionEdits(node.condition, ["true", "false"], source);
  // A loop without its condition goes on for ever.
  if (ts.isWhileStatement(node)) return conditionEdits(node.expression, ["false"], source);
  if (ts.isReturnStatement(node) && node.expression !== undefined) return returnEdits(node.expression, source);
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return returnEdits(node.body, source);
  if (ts.isExpressionStatement(node)) return statementEdits(node, source);
  if (ts.isCallExpression(node)) return listCallEdits(node, source);
  return [];
}

function operatorEdits(node: ts.BinaryExpression, source: ts.SourceFile): readonly Edit[] {
  const token = node.operatorToken;
  const tables = [
    ["comparison", comparisons],
    ["boundary", boundaries],
    ["logic", logic],
  ] as const;
  return tables.flatMap(([operator, table]) => {
    const replacement = table.get(token.kind);
    return replacement === undefined
      ? []
      : [{ operator, node, start: token.getStart(source), end: token.getEnd(), replacement }];
  });
}

function conditionEdits(condition: ts.Expression, values: readonly string[], source: ts.SourceFile): readonly Edit[] {
  return values.map((value) => replace("condition", condition, value, source));
}

/** Truth is turned around, lists become empty, the rest becomes undefined. */
function returnEdits(expression: ts.Expression, source: ts.SourceFile): readonly Edit[] {
  const inner = ts.isAwaitExpression(expression) ? expression.expression : expression;
  const text = inner.getText(source);
  if (inner.kind === Kind.Identifier && text === "undefined") return [];
  // Its condition is changed.
  if (ts.isConditionalExpression(inner)) return [];
  // A function that only calls another one has the call's value, which the other's own mutants change.
  if (expression.parent.kind === Kind.ArrowFunction && ts.isCallExpression(inner) && !yieldsList.test(text)) return [];
  return [replace("return value", expression, otherValue(inner, text), source)];
}

function otherValue(expression: ts.Expression, text: string): string {
  if (expression.kind === Kind.TrueKeyword) return "false";
  if (expression.kind === Kind.FalseKeyword) return "true";
  if (ts.isPrefixUnaryExpression(expression) && expression.operator === Kind.ExclamationToken)
    return expression.operand.getText();
  if (ts.isBinaryExpression(expression) && comparisons.has(expression.operatorToken.kind)) return `!(${text})`;
  if (ts.isArrayLiteralExpression(expression) || yieldsList.test(text)) return "[]";
  if (ts.isStringLiteralLike(expression) || ts.isTemplateExpression(expression)) return '""';
  return "undefined";
}

function statementEdits(node: ts.ExpressionStatement, source: ts.SourceFile): readonly Edit[] {
  const inner = ts.isAwaitExpression(node.expression) ? node.expression.expression : node.expression;
  if (!ts.isCallExpression(inner) || inner.expression.kind === Kind.SuperKeyword) return [];
  // Log lines are for people.
  if (/^(?:\w+\.)*#?(?:log|logger)\??\.\w+$/.test(inner.expression.getText(source))) return [];
  return [replace("removed call", node, ";", source)];
}

function listCallEdits(node: ts.CallExpression, source: ts.SourceFile): readonly Edit[] {
  const called = node.expression;
  if (!ts.isPropertyAccessExpression(called) || !listCalls.has(called.name.text)) return [];
  return [replace("removed call", node, called.expression.getText(source), source)];
}

function replace(operator: Operator, node: ts.Node, replacement: string, source: ts.SourceFile): Edit {
  return { operator, node, start: node.getStart(source), end: node.getEnd(), replacement };
}

function toMutant({ operator, node, start, end, replacement }: Edit, source: ts.SourceFile): Mutant {
  const at = node.getStart(source);
  const shown = source.text.slice(at, node.getEnd());
  const changed = shown.slice(0, start - at) + replacement + shown.slice(end - at);
  const line = source.getLineAndCharacterOfPosition(start).line + 1;
  const [before, after] = [oneLine(shown), oneLine(changed)];
  return { file: source.fileName, line, operator, at, start, end, replacement, before, after };
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
