import { isSafeNumber } from 'lossless-json';
import type { Parsed } from './problems.ts';
import { refused, valid } from './problems.ts';

/**
 * Maximum nesting depth of a body. Valid bodies have three levels. Up to this maximum, the schema reports a body that
 * is too deep, with a more specific message.
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
    // The parser's message is not used, because it quotes the body.
    return refused('invalid_json', text.trim() === '' ? 'The body is empty.' : 'The body is not valid JSON.');
  }
  const fault = firstAmbiguity(text);
  return fault === undefined ? valid(value) : refused('invalid_json', fault);
}

/** Reports whether the nesting exceeds `limit`. Iterative, so that no text can exhaust the stack. */
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

/** @param text valid JSON */
function firstAmbiguity(text: string): string | undefined {
  const open: Set<string>[] = [];
  for (const match of text.matchAll(TOKEN)) {
    const { string, colon, number } = match.groups ?? {};
    let fault: string | undefined;
    if (string !== undefined) fault = stringFault(string, colon === undefined ? undefined : open.at(-1));
    else if (number !== undefined) fault = numberFault(number);
    else if (match[0] === '{' || match[0] === '[') open.push(new Set());
    else open.pop();
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** @param siblings for a key: the previous keys of the same object */
function stringFault(literal: string, siblings: Set<string> | undefined): string | undefined {
  const decoded: unknown = JSON.parse(literal);
  const text = String(decoded);
  if (!text.isWellFormed()) return 'A string has a lone surrogate, which is no Unicode character.';
  if (text.includes('\0')) return 'A string has a NUL character.';
  if (siblings === undefined) return undefined;
  // JavaScript can interpret `__proto__` as the prototype instead of a key.
  if (text === '__proto__') return 'The key __proto__ is not allowed.';
  if (siblings.has(text)) return 'An object has the same key twice.';
  siblings.add(text);
  return undefined;
}

function numberFault(literal: string): string | undefined {
  const value = Number(literal);
  if (!Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value))) {
    return 'A number is larger than 2^53 - 1.';
  }
  return isSafeNumber(literal) ? undefined : 'A number has more digits than a double can hold.';
}
