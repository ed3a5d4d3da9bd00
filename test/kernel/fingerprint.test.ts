import { describe, expect, test } from '@jest/globals';
import { parseStrictJson } from '../../lambdas/http/strict-json.ts';
import { compareFingerprints, fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { fc } from '../support/properties.ts';

function fingerprintOfText(text: string) {
  const parsed = parseStrictJson(text);
  if (parsed.kind === 'refused') throw new Error(parsed.problem.detail);
  return fingerprintOf(systemDigest, { body: parsed.value, query: {} });
}

const compare = (left: string, right: string) => compareFingerprints(fingerprintOfText(left), fingerprintOfText(right));

describe('the fingerprint of a request', () => {
  test('never changes for the same version: it is the hash of the RFC 8785 canonical form', () => {
    const { version, sha256 } = fingerprintOfText('{"source":"tok_ok","amount":1000,"currency":"EUR"}');

    expect(version).toBe(1);
    // printf '%s' '{"body":{"amount":1000,"currency":"EUR","source":"tok_ok"},"query":{}}' | sha256sum
    expect(Buffer.from(sha256).toString('hex')).toBe(
      '65e1ce90aad2614611b197d7889a6bb8638938f07cfabe1bbb8469e59f1a6030',
    );
  });

  test.each([
    ['key order', '{"a":1,"b":{"c":2,"d":3}}', '{"b":{"d":3,"c":2},"a":1}'],
    ['white space', '{"a":[1,2]}', ' {\n"a" :\t[ 1 , 2 ]\r\n}'],
    ['number form', '{"a":1000}', '{"a":1e3}'],
    ['a fraction of zero', '{"a":1000}', '{"a":1000.0}'],
    ['escapes', '{"a":"é/"}', '{"a":"\\u00e9\\/"}'],
    ['negative zero', '{"a":0}', '{"a":-0}'],
  ])('does not depend on %s', (_what, left, right) => {
    expect(compare(left, right)).toBe('same');
  });

  test.each([
    ['a value', '{"a":1}', '{"a":2}'],
    ['a type', '{"a":1}', '{"a":"1"}'],
    ['a name', '{"a":1}', '{"b":1}'],
    ['the order of an array', '{"a":[1,2]}', '{"a":[2,1]}'],
    ['null instead of an absent value', '{"a":1,"b":null}', '{"a":1}'],
    ['an explicit default', '{"a":1,"capture":"automatic"}', '{"a":1}'],
    ['composed and decomposed letters', '{"a":"é"}', '{"a":"e\u0301"}'],
    ['a zero-width space', '{"a":"ab"}', '{"a":"a\u200bb"}'],
    ['case', '{"a":"x"}', '{"a":"X"}'],
  ])('depends on %s', (_what, left, right) => {
    expect(compare(left, right)).toBe('different');
  });

  test('depends on the query', () => {
    const withQuery = fingerprintOf(systemDigest, { body: {}, query: { a: ['1'] } });
    const without = fingerprintOf(systemDigest, { body: {}, query: {} });

    expect(compareFingerprints(withQuery, without)).toBe('different');
  });

  test('is the same for every spelling of the same JSON', () => {
    fc.assert(
      fc.property(jsonObject, fc.infiniteStream(fc.nat(2)), (value, choices) => {
        const next = () => Number(choices.next().value);
        expect(compare(JSON.stringify(value), respelled(value, next))).toBe('same');
      }),
    );
  });

  test('cannot be compared if its version is unknown', () => {
    const mine = fingerprintOfText('{}');

    expect(compareFingerprints({ ...mine, version: 2 }, mine)).toBe('unknown_version');
  });
});

type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

const text = fc.string({ unit: 'grapheme' }).filter((each) => each.isWellFormed() && !each.includes('\0'));
const leaf = fc.oneof(fc.constant(null), fc.boolean(), fc.integer(), text);
const { object: jsonObject } = fc.letrec<{ value: Json; object: Record<string, Json> }>((tie) => ({
  value: fc.oneof({ maxDepth: 3 }, leaf, fc.array(tie('value'), { maxLength: 4 }), tie('object')),
  object: fc.dictionary(
    text.filter((key) => key !== '__proto__'),
    tie('value'),
    { maxKeys: 5 },
  ),
}));

const SPACES = ['', ' ', '\n\t'];

function respelled(value: Json, next: () => number): string {
  const space = () => SPACES[next()] ?? '';
  if (typeof value === 'number') return next() === 0 ? String(value) : `${value}${next() === 0 ? '.0' : 'e0'}`;
  if (typeof value === 'string') return next() === 0 ? escaped(value) : JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  if (Array.isArray(value))
    return `[${space()}${value.map((each: Json) => respelled(each, next)).join(`,${space()}`)}]`;
  const members = Object.entries(value).map(([key, each]) => `${escaped(key)}${space()}:${respelled(each, next)}`);
  return `{${space()}${members.toReversed().join(`${space()},`)}}`;
}

function escaped(plain: string): string {
  const units = Array.from({ length: plain.length }, (_, index) => plain.charCodeAt(index));
  return `"${units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')}"`;
}
