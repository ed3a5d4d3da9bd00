import { describe, expect, test } from '@jest/globals';
import { parseStrictJson } from '../../lambdas/http/strict-json.ts';
import { fc } from '../support/properties.ts';

const parsed = (text: string) => {
  const result = parseStrictJson(text);
  return result.kind === 'valid' ? result.value : result.problem.detail;
};

describe('strict JSON', () => {
  test('yields the same value as JSON.parse for texts on which all parsers agree', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 8, stringUnit: 'grapheme' }), fc.nat(3), (text, indent) => {
        const value: unknown = JSON.parse(text);
        const spelt = JSON.stringify(value, undefined, indent);
        fc.pre(!/\\u0000|__proto__|\\ud[89a-f]|\d[eE]|\d{16}/.test(spelt));
        expect(parseStrictJson(spelt)).toEqual({ kind: 'valid', value });
      }),
    );
  });

  test('refuses each text for which JSON.parse throws, and does not throw itself', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]":,.0123eE+-\\u tfn \0\n'.split('')) }), (text) => {
        const result = parseStrictJson(text);
        if (!isJson(text)) expect(result.kind).toBe('refused');
      }),
    );
  });

  test.each<[string, string, number]>([
    ['an object', '{"a":1,"a":2}', 8],
    ['an object with equal values', '{"a":1,"a":1}', 8],
    ['an inner object', '{"b":[{"a":1,"a":1}]}', 14],
    ['an object, spelled in two ways', '{"a":1,"\\u0061":2}', 8],
    ['an object, after an inner object', '{"a":{"b":1},"c":[],"a":2}', 21],
    ['an object, with white space before the colon', '{"a" :1,"a"\n:1}', 9],
  ])('refuses a repeated key in %s', (_where, text, column) => {
    expect(parsed(text)).toBe(`An object contains the same key twice, at line 1, column ${column}.`);
  });

  test.each(['{"a":{"a":1},"b":{"a":1}}', '[{"a":1},{"a":1}]', '{"a":"a","b":"a"}', '{"a":"\\"a\\":","b":1}'])(
    'accepts equal keys in different objects, and a value that equals a key: %s',
    (text) => {
      expect(parsed(text)).toEqual(JSON.parse(text));
    },
  );

  test.each(['{"__proto__":{"amount":1}}', '{"a":{"__proto__":null}}', '{"\\u005f_proto__":1}'])(
    'refuses %s, and does not change the prototype',
    (text) => {
      expect(parsed(text)).toMatch(/^The key __proto__ is not allowed, at line 1, column \d+\.$/);
      expect(Object.keys(Object.prototype)).toEqual([]);
    },
  );

  test('accepts the names of object prototype members as plain keys', () => {
    const text = '{"constructor":{"prototype":1},"toString":2,"hasOwnProperty":3}';

    expect(parsed(text)).toEqual(JSON.parse(text));
  });

  test.each([
    ['2^53', '9007199254740992', 'A number is larger than 2^53 - 1, at line 1, column 7.'],
    ['2^53 + 1', '9007199254740993', 'A number is larger than 2^53 - 1, at line 1, column 7.'],
    ['-2^53', '-9007199254740992', 'A number is larger than 2^53 - 1, at line 1, column 7.'],
    ['a large exponent', '1e16', 'A number is larger than 2^53 - 1, at line 1, column 7.'],
    ['a number beyond the range of a double', '1e400', 'A number is larger than 2^53 - 1, at line 1, column 7.'],
    [
      'digits that a double cannot represent',
      '1000.00000000000000001',
      'A number has more digits than a double can hold, at line 1, column 7.',
    ],
  ])('refuses %s', (_what, literal, detail) => {
    expect(parsed(`{"a":[${literal}]}`)).toBe(detail);
  });

  test.each([
    ['2^53 - 1', '9007199254740991', 9_007_199_254_740_991],
    ['an exponent', '1e3', 1000],
    ['a capital exponent with a sign', '1E+3', 1000],
    ['a fraction of zeros', '1000.000', 1000],
    ['a fraction', '10.5', 10.5],
    ['a small fraction', '1e-7', 0.000_000_1],
  ])('accepts %s', (_what, literal, value) => {
    expect(parsed(literal)).toBe(value);
  });

  test.each([
    [
      'a lone high surrogate',
      '"\\ud800"',
      'A string contains a lone surrogate, which is not a Unicode character, at line 1, column 1.',
    ],
    [
      'a lone low surrogate in a key',
      '{"\\udc00":1}',
      'A string contains a lone surrogate, which is not a Unicode character, at line 1, column 2.',
    ],
    [
      'surrogates in the wrong order',
      '"\\udc00\\ud800"',
      'A string contains a lone surrogate, which is not a Unicode character, at line 1, column 1.',
    ],
    ['a raw lone surrogate', '"\ud800"', 'The body must be valid Unicode.'],
    ['NUL', '"a\\u0000b"', 'A string contains a NUL character, at line 1, column 1.'],
    ['a byte-order mark', '\ufeff{}', 'The body must not begin with a byte-order mark.'],
    ['nothing', '', 'The body is empty.'],
    ['white space', ' \n', 'The body is empty.'],
    ['a comment', '{}//', 'The body is not valid JSON at line 1, column 3.'],
    ['a trailing comma', '{"a":1,}', 'The body is not valid JSON at line 1, column 8.'],
    ['a leading zero', '01', 'The body is not valid JSON at line 1, column 2.'],
    ['NaN', 'NaN', 'The body is not valid JSON at line 1, column 1.'],
    ['two values', '{}{}', 'The body is not valid JSON at line 1, column 3.'],
  ])('refuses %s', (_what, text, detail) => {
    expect(parsed(text)).toBe(detail);
  });

  test('reports the position of a control character, wherever it is inserted into a text', () => {
    const text = '{"a": [12, {"b": "c\\u00e9"}, []],\r\n "d": "",\n\t"e": 0}\n';
    expect(isJson(text)).toBe(true);
    for (let offset = 0; offset <= text.length; offset += 1) {
      // Skips positions inside an escape sequence, and between a carriage return and its line feed.
      if (/\\(?:u.{0,3})?$/.test(text.slice(0, offset)) || text.slice(offset - 1).startsWith('\r\n')) continue;
      const lines = text
        .slice(0, offset)
        .split('\r\n')
        .flatMap((line) => line.split('\n'));
      const place = `line ${lines.length}, column ${String(lines.at(-1)).length + 1}`;
      expect(parsed(`${text.slice(0, offset)}\u0001${text.slice(offset)}`)).toBe(
        `The body is not valid JSON at ${place}.`,
      );
    }
  });

  test('reports the position of the first unreadable token, and the end of a truncated text', () => {
    expect(parsed('{"amount": tru}')).toBe('The body is not valid JSON at line 1, column 12.');
    expect(parsed('{"amount": "\\x"}')).toBe('The body is not valid JSON at line 1, column 13.');
    expect(parsed('{\n  "amount": 1000')).toBe('The body is not valid JSON: it ends too early, at line 2, column 17.');
    for (const cut of ['{', '{"', '{"a', '{"a"', '{"a":', '{"a":[', '{"a":[1', '{"a":[1,', '{"a":[1]'])
      expect(parsed(cut)).toBe(`The body is not valid JSON: it ends too early, at line 1, column ${cut.length + 1}.`);
  });

  test('accepts an escaped or raw surrogate pair, and distinguishes composed from decomposed letters', () => {
    expect(parsed('"\\ud83d\\ude00"')).toBe('😀');
    expect(parsed('"😀"')).toBe('😀');
    expect(parsed('["\u00e9","e\u0301","\u200b"]')).toEqual(['\u00e9', 'e\u0301', '\u200b']);
  });

  test('is nested at most 16 levels deep', () => {
    const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

    expect(parseStrictJson(nested(16)).kind).toBe('valid');
    expect(parsed(nested(17))).toBe('The body must not be nested deeper than 16 levels.');
    expect(parsed('['.repeat(30_000))).toBe('The body must not be nested deeper than 16 levels.');
    expect(parsed('{"a":'.repeat(6_000))).toBe('The body must not be nested deeper than 16 levels.');
    expect(parsed(`"${'['.repeat(100)}\\"${'{'.repeat(100)}"`)).toBe(`${'['.repeat(100)}"${'{'.repeat(100)}`);
  });

  test('never repeats the body in its messages', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 12, maxLength: 40 }), (text) => {
        const result = parseStrictJson(`{"a":${text}`);
        if (result.kind === 'refused') expect(result.problem.detail).not.toContain(text);
      }),
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
