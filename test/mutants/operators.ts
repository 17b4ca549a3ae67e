import type { Node, SourceFile } from "typescript/unstable/ast";
import * as is from "typescript/unstable/ast/is";
import { type Edit, omissionsOf } from "./sql.ts";

/** The projects of TypeScript with the files that are mutated. */
export const PROJECTS = [
  "tsconfig.json",
  "scripts/tsconfig.json",
  "client/tsconfig.json",
  "client/src/command/tsconfig.json",
];

/** Operators of JavaScript and SQL, and functions that stand for one, each with the one that replaces it and is replaced by it. */
const PAIRS = `< <=;> >=;=== !==;&& ||;+ -;* /;+= -=;| &;<< >>;= <>;AND OR;IS NOT IS;ASC DESC;NOT EXISTS EXISTS;NOT NULL NULL;UNION ALL UNION;min max;
and or;asc desc;eq ne;lt lte;gt gte;isNull isNotNull;exists notExists;some every;startsWith endsWith;push unshift;pop shift;ceil floor`;
const OTHER = new Map(
  PAIRS.split(/;\s*/).flatMap((pair) => {
    const [, one = "", other = ""] = /^(.+) (\S+)$/.exec(pair) ?? [];
    return [[one, other] as const, [other, one] as const];
  }),
);
const SQL_WORDS = /\b(?:SELECT|FROM|WHERE|SET|VALUES|AND|OR|IS|NULL|DESC)\b/;
const SQL_OPERATORS = /\b(?:IS NOT|NOT EXISTS|NOT NULL|UNION ALL|\w+)\b|(?<= )(?:[<>]=?|<>|=|\+|-)(?= )/g;
const NUMBER = /(?<![\w$#.])\d[\d_]*(?![\w.])/g;

/** Replaces each match of a pattern in the text of a node. */
const matches = (node: Node, pattern: RegExp, becomes: (match: string) => string | undefined): Edit[] =>
  [...node.getText().matchAll(pattern)].flatMap(({ 0: match, index }) => {
    const start = node.getStart() + index;
    const text = becomes(match);
    return text === undefined ? [] : [{ start, end: start + match.length, text }];
  });

const add = (digits: string, more: bigint) => String(BigInt(digits.replaceAll("_", "")) + more);
const oneMore = (digits: string) => add(digits, 1n);

/** Drops each element, with the comma that follows it or the one before. */
const dropOne = (elements: readonly Node[]) =>
  elements.map((element, index): Edit => {
    const next = elements[index + 1];
    if (next !== undefined) return { start: element.getStart(), end: next.getStart(), text: "" };
    return { start: elements[index - 1]?.end ?? element.getStart(), end: element.end, text: "" };
  });

/** Whether the place of a statement may matter. That of a declaration does when it waits. */
const isOrdered = (node: Node) =>
  is.isExpressionStatement(node) ||
  is.isIfStatement(node) ||
  (is.isVariableStatement(node) && /\bawait\b/.test(node.getText()));
const isSpread = (node: Node) => is.isSpreadElement(node) || is.isSpreadAssignment(node);
/** Exchanges each two neighbours whose order may matter. */
const exchanged = (nodes: readonly Node[], between: string, matters: (one: Node, next: Node) => boolean) =>
  nodes.flatMap((one, index): Edit[] => {
    const next = nodes[index + 1];
    if (next === undefined || !matters(one, next)) return [];
    return [{ start: one.getStart(), end: next.end, text: `${next.getText()}${between}${one.getText()}` }];
  });
const exchangedSpreads = (nodes: readonly Node[]) =>
  exchanged(nodes, ", ", (one, next) => isSpread(one) || isSpread(next));

/** The names of the parameters of the function around a node. */
function parametersAround({ parent }: Node): string[] {
  const isFunction = is.isArrowFunction(parent) || is.isFunctionDeclaration(parent) || is.isMethodDeclaration(parent);
  if (!isFunction) return parent === undefined || is.isSourceFile(parent) ? [] : parametersAround(parent);
  const namesIn = (name: Node): string[] =>
    is.isIdentifier(name)
      ? [name.text]
      : is.isObjectBindingPattern(name) || is.isArrayBindingPattern(name)
        ? name.elements.flatMap((one) => (is.isBindingElement(one) && one.name ? namesIn(one.name) : []))
        : [];
  return parent.parameters.flatMap(({ name }) => namesIn(name));
}

/** Parts of a text of SQL that can be left out. Its values are masked. */
function omissionsIn(literal: Node): Edit[] {
  const first = literal.getStart();
  let text = literal.getText();
  const mask = (start: number, end: number) =>
    (text = text.slice(0, start) + "_".repeat(end - start) + text.slice(end));
  literal.forEachChild((span) => {
    if (is.isTemplateSpan(span)) mask(span.expression.getStart() - first, span.expression.end - first);
  });
  for (const { 0: quoted, index } of text.slice(1, -1).matchAll(/'[^']*'/g)) mask(index + 1, index + 1 + quoted.length);
  return omissionsOf(text.slice(1, -1)).map(({ start, end, ...edit }) => ({
    ...edit,
    start: first + 1 + start,
    end: first + 1 + end,
  }));
}

/** Whether a text is SQL: of the tag `sql`, or with words of SQL. */
function isSql(node: Node): boolean {
  const literal = is.isTemplateMiddleOrTail(node) ? node.parent.parent : node.parent;
  const tagged = [literal, literal.parent].find(is.isTaggedTemplateExpression);
  return tagged === undefined ? SQL_WORDS.test(node.getText()) : tagged.tag.getText().startsWith("sql");
}

/** The mutations of a node, without those of its children. */
function editsOf(node: Node): Edit[] {
  const replace = (one: Node, text: string): Edit => ({ start: one.getStart(), end: one.end, text });
  const whole = (...texts: string[]) => texts.map((text) => replace(node, text));
  const negate = (one: Node) => replace(one, `!(${one.getText()})`);
  const otherResult = (one: Node) => [negate(one), ...["undefined", "[]", '""', "0"].map((text) => replace(one, text))];
  const text = node.getText();
  if (is.isIfStatement(node))
    return [replace(node.expression, "true"), ...whole(node.elseStatement?.getText() ?? "{}")];
  if (is.isWhileStatement(node)) return [negate(node.expression)];
  if (is.isForStatement(node) || is.isForOfStatement(node)) return whole("{}");
  if (is.isConditionalExpression(node)) return whole(node.whenTrue.getText(), node.whenFalse.getText());
  if (is.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    const other = OTHER.get(operatorToken.getText());
    const isLogical = ["&&", "||", "??"].includes(operatorToken.getText());
    return [
      ...(other === undefined || other === "<>" ? [] : [replace(operatorToken, other)]),
      ...(isLogical ? whole(`${left.getText()}!`, right.getText()) : []),
      ...(operatorToken.getText() === "??" ? [replace(operatorToken, "||")] : []),
    ];
  }
  if (is.isPrefixUnaryExpression(node)) return whole(node.operand.getText());
  if (is.isAwaitExpression(node)) return whole(node.expression.getText());
  if (is.isExpressionStatement(node) || is.isThrowStatement(node) || is.isBreakOrContinueStatement(node))
    return whole("{}");
  if (is.isReturnStatement(node)) return node.expression === undefined ? whole("{}") : otherResult(node.expression);
  if (is.isBlock(node) || is.isSourceFile(node))
    return exchanged(node.statements, " ", (one, next) => [one, next].every(isOrdered));
  if (is.isArrowFunction(node)) return is.isBlock(node.body) ? [] : otherResult(node.body);
  if (is.isObjectLiteralExpression(node)) return [...dropOne(node.properties), ...exchangedSpreads(node.properties)];
  if (is.isArrayLiteralExpression(node)) return [...dropOne(node.elements), ...exchangedSpreads(node.elements)];
  if (is.isCallExpression(node)) {
    const [first, second] = node.arguments;
    const target = is.isPropertyAccessExpression(node.expression) ? whole(node.expression.expression.getText()) : [];
    const names = parametersAround(node);
    const others = node.arguments.flatMap((one) =>
      is.isIdentifier(one) ? names.map((name) => replace(one, name)) : [],
    );
    if (first === undefined || second === undefined) return [...target, ...others, ...whole(first?.getText() ?? text)];
    const other = { start: first.getStart(), end: second.end, text: `${second.getText()}, ${first.getText()}` };
    return [...target, other, ...others, ...dropOne(node.arguments), ...whole(first.getText())];
  }
  if (is.isPropertyAccessExpression(node)) return node.questionDotToken ? [replace(node.questionDotToken, "!.")] : [];
  if (is.isIdentifier(node)) return whole(...(OTHER.get(node.text)?.split(";") ?? []));
  if (is.isNumericLiteral(node) || is.isBigIntLiteral(node)) {
    const [, digits, suffix] = /^(\d[\d_]*|0x[\da-f_]+)(n?)$/i.exec(text) ?? [];
    return digits === undefined ? [] : whole(add(digits, 1n) + suffix, add(digits, -1n) + suffix);
  }
  if (is.isBooleanLiteral(node)) return whole(String(text !== "true"));
  if (is.isTaggedTemplateExpression(node)) return node.tag.getText().startsWith("sql") ? whole("sql`0`", "sql`1`") : [];
  if (is.isRegularExpressionLiteral(node)) {
    const parts = /(?<=^\/)\^|\$(?=\/\w*$)|(?<!\\)[+*]|(?<=[)\]])\?|(?<=\/\w*)i(?=\w*$)/g;
    return [
      ...matches(node, parts, (part) => ({ "+": "*", "*": "+" })[part] ?? ""),
      ...matches(node, /\|[^|()/]+/g, () => ""),
      ...matches(node, NUMBER, oneMore),
    ];
  }
  if (is.isTemplateExpression(node)) {
    if (isSql(node)) return omissionsIn(node);
    return node.templateSpans.map(({ expression }) => ({
      start: expression.pos - 2,
      end: expression.end + 1,
      text: "",
    }));
  }
  if (is.isStringLiteral(node) || is.isTemplateLiteralToken(node)) {
    if (isSql(node))
      return [
        ...matches(node, SQL_OPERATORS, (one) => OTHER.get(one)),
        ...matches(node, NUMBER, oneMore),
        ...(is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node) ? omissionsIn(node) : []),
      ];
    if (is.isPropertyAssignment(node.parent) && node.parent.name === node) return [];
    const isWhole = is.isStringLiteral(node) || is.isNoSubstitutionTemplateLiteral(node);
    return isWhole ? whole(text.length === 2 ? '"x"' : text.slice(0, -2) + text.slice(-1)) : [];
  }
  return [];
}

/** All mutations of a file. Types are left out, and the schemas of tables, which `npm run check:migrations` compares. */
export function mutationsOf(file: SourceFile): Edit[] {
  const visit = (node: Node): Edit[] => {
    if (is.isTypeNode(node) || is.isInterfaceDeclaration(node) || is.isTypeAliasDeclaration(node)) return [];
    if (is.isImportDeclaration(node) || is.isExportDeclaration(node)) return [];
    if (is.isCallExpression(node) && node.expression.getText() === "sqliteTable") return [];
    const edits = editsOf(node);
    node.forEachChild((child) => void edits.push(...visit(child)));
    return edits;
  };
  // Some replace a part by itself.
  return visit(file).filter(({ start, end, text }) => file.text.slice(start, end) !== text);
}
