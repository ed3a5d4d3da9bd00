import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, type RegExpLiteral } from '@swc/core';
import * as z from 'zod';

const ROOT = join(import.meta.dirname, '../..');
/** Sources that are deployed, synthesized, or shipped to callers. */
const SOURCES = ['lambdas/**/*.ts', 'lib/**/*.ts', 'console/**/*.{ts,tsx}', 'client/**/*.ts'];

export interface ListedPattern {
  readonly file: string;
  readonly pattern: RegExp;
}

/** Includes constructed expressions, and the expressions of zod's formats. */
export async function listedPatterns(
  choose: (files: readonly string[]) => readonly string[],
): Promise<readonly ListedPattern[]> {
  const sources = choose(SOURCES.flatMap((glob) => globSync(glob, { cwd: ROOT })).toSorted()).map((file) => ({
    file,
    text: readFileSync(join(ROOT, file), 'utf8'),
  }));
  const constructed: ListedPattern[] = [];
  for (const source of sources) constructed.push(...(await constructedIn(source)));
  return [...sources.flatMap(literalsIn), ...constructed, ...sources.flatMap(formatsIn)];
}

interface Source {
  readonly file: string;
  readonly text: string;
}

/** A source without a match need not be parsed. */
const LITERAL = /(?:[=(,:[!&|?{};>]|return)\s*\/(?![/*])/;

function literalsIn({ file, text }: Source): readonly ListedPattern[] {
  if (!LITERAL.test(text)) return [];
  const found: ListedPattern[] = [];
  JSON.stringify(
    parseSync(text, { syntax: 'typescript', tsx: file.endsWith('x'), target: 'es2024' }),
    (_key, node: unknown) => {
      if (isLiteral(node)) found.push({ file, pattern: new RegExp(node.pattern, node.flags) });
      return node;
    },
  );
  return found;
}

function isLiteral(node: unknown): node is RegExpLiteral {
  return typeof node === 'object' && node !== null && 'type' in node && node.type === 'RegExpLiteral';
}

/**
 * An expression created after the module is loaded cannot be listed.
 * @throws Error if an expression is created inside a function
 */
async function constructedIn({ file, text }: Source): Promise<readonly ListedPattern[]> {
  const expected = text.split('new RegExp(').length - 1;
  if (expected === 0) return [];
  await import(join(ROOT, file));
  const made: ListedPattern[] = [];
  const original = globalThis.RegExp;
  globalThis.RegExp = new Proxy(original, {
    construct: (target, given: [string, string?]) => {
      const pattern = new target(...given);
      made.push({ file, pattern });
      return pattern;
    },
  });
  try {
    await import(`${join(ROOT, file)}?listed`);
  } finally {
    globalThis.RegExp = original;
  }
  if (made.length < expected) throw new Error(`${file} creates a regular expression after it is loaded`);
  return made;
}

const { regexes } = z.core;
const FORMATS: Readonly<Record<string, RegExp | undefined>> = {
  base64: regexes.base64,
  email: regexes.email,
  'iso.date': regexes.date,
  'iso.datetime': regexes.datetime({ offset: true }),
  url: undefined,
  uuid: regexes.uuid(),
};

/** Throws an Error for a format that is not in {@link FORMATS}. */
function formatsIn({ file, text }: Source): readonly ListedPattern[] {
  return [...text.matchAll(FORMAT)].flatMap(([, format = '']) => {
    if (!Object.hasOwn(FORMATS, format)) throw new Error(`${file} uses z.${format}: list its regular expression`);
    const pattern = FORMATS[format];
    return pattern === undefined ? [] : [{ file, pattern }];
  });
}

/** zod checks most of these formats with its own regular expressions. */
const FORMAT =
  /\bz\.(iso\.\w+|email|url|httpUrl|uuid\w*|guid|nanoid|cuid2?|ulid|xid|ksuid|ipv\d|cidrv\d|mac|base64\w*|jwt|e164|hostname|emoji|hex|hash)\(/g;
