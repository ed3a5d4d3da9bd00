import { isSafeNumber } from 'lossless-json';
import type { Parsed } from './problems.ts';
import { refused, valid } from './problems.ts';

/**
 * Maximum nesting depth of a body. Valid bodies have at most three levels. A body with more levels, up to this maximum,
 * is refused by the schema, whose message is more specific.
 */
const MAX_DEPTH = 16;

/** Parses JSON as `JSON.parse` does, and refuses text that parsers interpret differently (RFC 7493, I-JSON). */
export function parseStrictJson(text: string): Parsed<unknown> {
  if (text.startsWith('\ufeff')) return refused('invalid_json', 'The body must not begin with a byte-order mark.');
  if (!text.isWellFormed()) return refused('invalid_json', 'The body must be valid Unicode.');
  if (depthExceeds(text, MAX_DEPTH)) {
    return refused('invalid_json', `The body must not be nested deeper than ${MAX_DEPTH} levels.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Do not use the parser's message, because it quotes the body, and often does not state the position.
    return refused('invalid_json', text.trim() === '' ? 'The body is empty.' : syntaxFault(text));
  }
  const fault = firstAmbiguity(text);
  return fault === undefined ? valid(value) : refused('invalid_json', fault);
}

function syntaxFault(text: string): string {
  const offset = validUntil(text);
  return offset === text.length
    ? `The body is not valid JSON: it ends too early, at ${placeOf(text, offset)}.`
    : `The body is not valid JSON at ${placeOf(text, offset)}.`;
}

/** Line and column begin at 1; columns count UTF-16 code units, as in editors. */
function placeOf(text: string, offset: number): string {
  const lines = text.slice(0, offset).split(/\r\n|[\r\n]/);
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`;
}

const SPACE = /[ \t\r\n]*/y;
const WORD = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** A string without its last quotation mark. Characters below U+0020 must be escaped (RFC 8259, section 7). */
const UNCLOSED_STRING = /"[ !#-[\]-\u{10FFFF}]*(?:\\(?:["\\/bfnrt]|u[\da-fA-F]{4})[ !#-[\]-\u{10FFFF}]*)*/uy;

/**
 * Returns the offset of the first character that no valid JSON can have at this position. If only the end of the text
 * is missing, returns the length of the text.
 *
 * @param text nested at most {@link MAX_DEPTH} deep
 */
function validUntil(text: string): number {
  let offset = 0;
  const skip = (token: RegExp | string): boolean => {
    const length = typeof token === 'string' ? Number(text[offset] === token) : lengthAt(token, text, offset);
    offset += length;
    return length > 0;
  };
  const space = (): true => skip(SPACE) || true;
  const string = () => skip(UNCLOSED_STRING) && skip('"');
  const listOf = (part: () => boolean, end: string): boolean => {
    if (space() && skip(end)) return true;
    do if (!(space() && part() && space())) return false;
    while (skip(','));
    return skip(end);
  };
  const value = (): boolean => {
    if (skip('{')) return listOf(() => string() && space() && skip(':') && space() && value(), '}');
    if (skip('[')) return listOf(value, ']');
    return text[offset] === '"' ? string() : skip(WORD) || skip(NUMBER);
  };
  if (space() && value()) space();
  return offset;
}

function lengthAt(token: RegExp, text: string, offset: number): number {
  token.lastIndex = offset;
  return token.exec(text)?.[0].length ?? 0;
}

/** Iterative, so that no text can exhaust the stack. */
function depthExceeds(text: string, limit: number): boolean {
  let depth = 0;
  let inString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (inString) {
      if (character === '\\') index += 1;
      else if (character === '"') inString = false;
    } else if (character === '"') inString = true;
    else if (character === '{' || character === '[') depth += 1;
    else if (character === '}' || character === ']') depth -= 1;
    if (depth > limit) return true;
  }
  return false;
}

/** Matches the relevant tokens of valid JSON: a string (a key if a colon follows), a number, a bracket. */
const TOKEN = /(?<string>"[^"\\]*(?:\\[^]?[^"\\]*)*(?:"|$))(?<colon>[ \t\r\n]*:)?|(?<number>-?\d[\d.eE+-]*)|[{}[\]]/g;

function firstAmbiguity(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const { string, colon, number } = match.groups ?? {};
    let fault: string | undefined;
    if (string !== undefined) fault = stringFault(string, colon === undefined ? undefined : open.at(-1));
    else if (number !== undefined) fault = numberFault(number);
    else if (match[0] === '{' || match[0] === '[') open.push(new Set());
    else open.pop();
    if (fault !== undefined) return `${fault}, at ${placeOf(text, match.index)}.`;
  }
  return undefined;
}

/** @param siblings the previous keys of the same object if `literal` is a key; undefined if it is a value */
function stringFault(literal: string, siblings: Set<string> | undefined): string | undefined {
  const decoded: unknown = JSON.parse(literal);
  const text = String(decoded);
  if (!text.isWellFormed()) return 'A string contains a lone surrogate, which is not a Unicode character';
  if (text.includes('\0')) return 'A string contains a NUL character';
  if (siblings === undefined) return undefined;
  // JavaScript can interpret `__proto__` as the prototype instead of a key.
  if (text === '__proto__') return 'The key __proto__ is not allowed';
  if (siblings.has(text)) return 'An object contains the same key twice';
  siblings.add(text);
  return undefined;
}

function numberFault(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return 'A number is larger than 2^53 - 1';
  }
  return isSafeNumber(literal) ? undefined : 'A number has more digits than a double can hold';
}
