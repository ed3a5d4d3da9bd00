/**
 * Lists words that sources must not use, each with a better word, and finds them in comments, strings, JSX text and
 * names.
 */
import ts from 'typescript';

interface Rule {
  readonly pattern: RegExp;
  /** Completes the sentence "write …". */
  readonly instead: string;
}

interface Finding {
  readonly line: number;
  readonly found: string;
  readonly instead: string;
}

/**
 * Rules for comments and texts. A space in a pattern also matches a line break. Code in backticks, links and parameter
 * names are ignored.
 */
const PROSE: readonly Rule[] = [
  { pattern: /\bmeanwhile\b/gi, instead: '"in the meantime", "since then" or "during …"' },
  { pattern: /\btold\b/gi, instead: '"reported", "notified", "informed" or "distinguished"' },
  { pattern: /\btells?\b/gi, instead: '"reports", "notifies", "shows" or "distinguishes"' },
  { pattern: /\b(?:un)?heard\b|\bhears?\b/gi, instead: '"received", "without an answer" or "is notified"' },
  { pattern: /\brings?\b/gi, instead: '"raises an alarm"' },
  // "A program may run beside another" is allowed.
  { pattern: /(?<!\bruns? (?:only )?)\bbeside\b/gi, instead: '"next to", "in addition to", "other than" or "with"' },
  // A distance in time is allowed: "three minutes apart".
  {
    pattern: /(?<!\b(?:seconds?|minutes?|hours?|days?) )\bapart\b/gi,
    instead: '"separately", "isolated" or "distinguish"',
  },
  { pattern: /\bin vain\b/gi, instead: '"without success" or "failed"' },
  { pattern: /\btaken in(?= ?(?:[.,;:)]|$))/gi, instead: '"recorded" or "accepted"' },
  { pattern: /\bthe world\b/g, instead: 'the external system' },
  { pattern: /\b(?:goes|go|went|going) on\b/gi, instead: '"continue"' },
  { pattern: /\banew\b/gi, instead: '"again" or "new"' },
  { pattern: /\bany more\b(?! than\b)/gi, instead: '"no longer"' },
  { pattern: /\bbe(?:came|comes|come) of\b/gi, instead: '"the outcome of" or "the state of"' },
  { pattern: /\bunder way\b/gi, instead: '"in progress"' },
  { pattern: /\bwhom?ever\b/gi, instead: 'the actor: caller, owner, rival, operator or processor' },
  { pattern: /\b(?:nobody|somebody|everybody|anybody)\b/gi, instead: 'the actor: "no caller", "another system", …' },
  { pattern: /\bof which\b/gi, instead: 'a sentence of its own, or "whose"' },
  { pattern: /\b(?:is|are|was|were|be|been) asked for\b/gi, instead: '"requested" or "queried"' },
  { pattern: /\bthat of\b/gi, instead: 'the noun again, or a possessive' },
  { pattern: /\bcame\b(?! from\b)/gi, instead: '"arrived", "resulted" or "was"' },
  {
    pattern: /\bcomes? (?:again|back|late|too late|by|of it|into)\b/gi,
    instead: '"arrives", "is redelivered" or "returns"',
  },
];

/** Rules for comments only. Each rule matches the beginning of a sentence that lacks a subject. */
const BEGINNINGS: readonly Rule[] = [
  { pattern: /(?:^|(?<=\. ))What\b[^.?]*(?:\.|$)/g, instead: 'the noun that names it' },
  {
    pattern: /^(?:Of(?! (?:two|three|several|concurrent)\b)|Who|Whose)\b/g,
    instead: 'a noun phrase, or a verb with its subject',
  },
];

/** Words that names must not contain, each with a better word. */
const NAMES: Readonly<Record<string, string>> = {
  apart: 'separate',
  beside: 'other',
  came: 'result',
  hear: 'receive',
  heard: 'received',
  meanwhile: 'since',
  nobody: 'none',
  rings: 'alarms',
  somebody: 'other',
  tell: 'report',
  tells: 'reports',
  told: 'reported',
  unheard: 'unanswered',
  vain: 'failed',
  whoever: 'any',
};

/** Allowed texts. This text labels random draws, so a change of the label would change the histories of all seeds. */
const KEPT_TEXTS: ReadonlySet<string> = new Set(['course goes on']);

/** Allowed names: stored attributes, fault codes and sample values, which must stay unchanged. */
const KEPT_NAMES: ReadonlySet<string> = new Set([
  'apart',
  'apartUntilMs',
  'postmark_too_early_to_tell',
  'ref_nobody',
  'too_early_to_tell',
]);

interface Piece {
  readonly kind: 'comment' | 'text' | 'name';
  readonly text: string;
  /** One entry per line, in order: the offset in `text` at which the line begins, and the line number. */
  readonly lines: readonly (readonly [offset: number, line: number])[];
}

/** Tokens after which a slash means division. After any other token, a slash begins a regular expression. */
const OPERANDS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.CloseParenToken,
  ts.SyntaxKind.CloseBracketToken,
  ts.SyntaxKind.CloseBraceToken,
  ts.SyntaxKind.NumericLiteral,
  ts.SyntaxKind.StringLiteral,
  ts.SyntaxKind.RegularExpressionLiteral,
  ts.SyntaxKind.NoSubstitutionTemplateLiteral,
  ts.SyntaxKind.TemplateTail,
  ts.SyntaxKind.ThisKeyword,
  // After `<`, a slash ends a JSX element: `</p>`.
  ts.SyntaxKind.LessThanToken,
]);
const TEXTS: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.StringLiteral,
  ts.SyntaxKind.NoSubstitutionTemplateLiteral,
  ts.SyntaxKind.TemplateHead,
  ts.SyntaxKind.TemplateMiddle,
  ts.SyntaxKind.TemplateTail,
]);

interface Token {
  readonly kind: ts.SyntaxKind;
  readonly text: string;
  readonly start: number;
}

/**
 * Tracks context, because the scanner alone knows neither where a template continues nor where a regular expression
 * begins.
 */
function* tokensOf(source: string): Generator<Token> {
  const scanner = ts.createScanner(ts.ScriptTarget.ESNext, false, ts.LanguageVariant.Standard, source);
  const isTemplate: boolean[] = [];
  let isOperand = false;
  for (let kind = scanner.scan(); kind !== ts.SyntaxKind.EndOfFileToken; kind = scanner.scan()) {
    if (kind === ts.SyntaxKind.CloseBraceToken && isTemplate.pop() === true) kind = scanner.reScanTemplateToken(false);
    else if (!isOperand && /^\/=?$/.test(scanner.getTokenText())) kind = scanner.reScanSlashToken();
    if (kind === ts.SyntaxKind.OpenBraceToken) isTemplate.push(false);
    if (kind === ts.SyntaxKind.TemplateHead || kind === ts.SyntaxKind.TemplateMiddle) isTemplate.push(true);
    if (kind > ts.SyntaxKind.LastTriviaToken) isOperand = OPERANDS.has(kind) || kind === ts.SyntaxKind.Identifier;
    yield { kind, text: scanner.getTokenText(), start: scanner.getTokenStart() };
  }
}

/** @param raw lines with comment signs and quotes, which are removed */
function pieceOf({ kind, raw, line }: { kind: Piece['kind']; raw: string; line: number }): Piece {
  const lines: [number, number][] = [];
  let text = '';
  for (const [index, each] of raw.split('\n').entries()) {
    const words = each
      .replace(kind === 'comment' ? /^\s*(?:\/\*\*?|\*(?!\/)|\/\/)/ : /^[`'"}]/, '')
      .replace(kind === 'comment' ? /\*\/$/ : /(?:[`'"]|\$\{)$/, '')
      .replaceAll(/\s+/g, ' ')
      .trim();
    if (words === '') continue;
    if (text !== '') text += ' ';
    lines.push([text.length, line + index]);
    text += words;
  }
  return { kind, text, lines };
}

function kindOf(kind: ts.SyntaxKind): 'block' | 'line' | 'text' | 'word' | 'space' | 'sign' {
  if (kind === ts.SyntaxKind.MultiLineCommentTrivia) return 'block';
  if (kind === ts.SyntaxKind.SingleLineCommentTrivia) return 'line';
  if (kind === ts.SyntaxKind.WhitespaceTrivia || kind === ts.SyntaxKind.NewLineTrivia) return 'space';
  if (kind === ts.SyntaxKind.Identifier || kind > ts.SyntaxKind.LastReservedWord) return 'word';
  return TEXTS.has(kind) ? 'text' : 'sign';
}

/** Successive line comments form one piece, and so do successive words of JSX text. */
function* piecesOf(source: string, isJsx: boolean): Generator<Piece> {
  let line = 1;
  let open: { kind: 'block' | 'line' | 'text' | 'word'; raw: string; line: number } | undefined;
  const close = function* (): Generator<Piece> {
    if (open === undefined) return;
    const words = open.raw.trim().split(/\s+/).length;
    if (open.kind === 'block' || open.kind === 'line') yield pieceOf({ ...open, kind: 'comment' });
    // Two words are no text, because they can be a modifier and a name: `readonly amount`.
    else yield pieceOf({ ...open, kind: words > (open.kind === 'word' ? 2 : 1) ? 'text' : 'name' });
    open = undefined;
  };
  for (const { kind, text } of tokensOf(source)) {
    const kindOfToken = kindOf(kind);
    const continues = kindOfToken === 'line' || (isJsx && kindOfToken === 'word');
    if (open !== undefined && (kindOfToken === 'space' || (continues && kindOfToken === open.kind))) open.raw += text;
    else {
      yield* close();
      if (kindOfToken !== 'space' && kindOfToken !== 'sign') open = { kind: kindOfToken, raw: text, line };
    }
    line += text.split('\n').length - 1;
  }
  yield* close();
}

function lineAt({ lines }: Piece, offset: number): number {
  return lines.findLast(([begin]) => begin <= offset)?.[1] ?? 1;
}

/** Replaces code inside a sentence, and DynamoDB update expressions, with spaces of equal length. */
function withoutCode(text: string): string {
  return text.replaceAll(/`[^`]*`|\{@link [^}]*\}|@param \w+|^(?:SET|REMOVE) .*/g, (code) => ' '.repeat(code.length));
}

function findingsInProse(piece: Piece): readonly Finding[] {
  if (KEPT_TEXTS.has(piece.text)) return [];
  const text = withoutCode(piece.text);
  const rules = piece.kind === 'comment' ? [...PROSE, ...BEGINNINGS] : PROSE;
  return rules.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map(({ 0: found, index }) => ({ line: lineAt(piece, index), found, instead })),
  );
}

function findingsInName(piece: Piece): readonly Finding[] {
  return piece.text
    .split(/\W+/)
    .filter((name) => !KEPT_NAMES.has(name.replace(/^_/, '')))
    .flatMap((name) => name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/))
    .map((word) => word.toLowerCase())
    .filter((word) => Object.hasOwn(NAMES, word))
    .map((word) => ({ line: lineAt(piece, 0), found: piece.text, instead: `"${NAMES[word]}" for "${word}"` }));
}

export function fileNameFindings(path: string): readonly string[] {
  const name = path.slice(path.lastIndexOf('/') + 1);
  return findingsInName({ kind: 'name', text: name, lines: [] }).map(({ instead }) => `${path}: write ${instead}`);
}

/** Ignores the code of the document. */
export function proseFindings(markdown: string): readonly Finding[] {
  let isCode = false;
  return markdown.split('\n').flatMap((line, index) => {
    if (/^\s*```/.test(line)) isCode = !isCode;
    const text = line.replaceAll(/\]\([^)]*\)/g, (target) => ' '.repeat(target.length));
    return isCode ? [] : findingsInProse({ kind: 'text', text, lines: [[0, index + 1]] });
  });
}

/** In the order of the source. */
export function wordFindings(file: string, source: string): readonly Finding[] {
  return [...piecesOf(source, file.endsWith('.tsx'))].flatMap((piece) =>
    piece.kind === 'name' ? findingsInName(piece) : findingsInProse(piece),
  );
}
