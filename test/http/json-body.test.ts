import { describe, expect, test } from '@jest/globals';
import { type GatewayEvent, gatewayRequest } from '../../lambdas/http/gateway-request.ts';
import { readJsonObject } from '../../lambdas/http/json-body.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const JSON_HEADER = { 'Content-Type': 'application/json' };

function read(body: string | null, headers: Readonly<Record<string, string>> = JSON_HEADER, base64 = false) {
  const event: GatewayEvent = { ...gatewayEvent('POST', '/v1/payments', headers), body, isBase64Encoded: base64 };
  return readJsonObject(gatewayRequest(event));
}

const readBytes = (bytes: readonly number[] | string) =>
  read((typeof bytes === 'string' ? Buffer.from(bytes) : Buffer.from(bytes)).toString('base64'), JSON_HEADER, true);

function codeOf(result: ReturnType<typeof read>): string | undefined {
  return result.kind === 'refused' ? result.problem.code : undefined;
}

describe('a body', () => {
  test('is read up to the maximum size, and refused if it is one byte larger', () => {
    const padded = (bytes: number) => `{"a":1}${' '.repeat(bytes - 7)}`;

    expect(read(padded(MAX_BODY_BYTES)).kind).toBe('valid');
    expect(codeOf(read(padded(MAX_BODY_BYTES + 1)))).toBe('body_too_large');
    expect(readBytes(padded(MAX_BODY_BYTES)).kind).toBe('valid');
    expect(codeOf(readBytes(padded(MAX_BODY_BYTES + 1)))).toBe('body_too_large');
  });

  test('is measured in bytes, not in characters', () => {
    expect(codeOf(read(`{"a":"${'é'.repeat(MAX_BODY_BYTES / 2)}"}`))).toBe('body_too_large');
  });

  test('is refused for its size before any other check', () => {
    expect(codeOf(read('['.repeat(MAX_BODY_BYTES + 1), { 'Content-Type': 'text/plain' }))).toBe('body_too_large');
  });

  test.each([
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset="UTF-8"',
    'application/json ; charset=utf-8;',
  ])('is read as JSON with the media type %s', (type) => {
    expect(read('{"a":1}', { 'content-type': type })).toEqual({ kind: 'valid', value: { a: 1 } });
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json; charset=iso-8859-1',
    'application/jsonp',
    'application/merge-patch+json',
    'application/json, text/plain',
    '',
  ])('is refused with the media type %j', (type) => {
    expect(codeOf(read('{"a":1}', { 'content-type': type }))).toBe('unsupported_media_type');
  });

  test('requires exactly one media type', () => {
    expect(codeOf(read('{"a":1}', {}))).toBe('unsupported_media_type');
    expect(codeOf(read('{"a":1}', { 'content-type': 'application/json', 'Content-Type': 'text/plain' }))).toBe(
      'unsupported_media_type',
    );
  });

  test('is decoded if the gateway sends it in Base64', () => {
    expect(readBytes('{"a":"é"}')).toEqual({ kind: 'valid', value: { a: 'é' } });
  });

  test.each([
    ['a byte that is never valid in UTF-8', [0x22, 0xff, 0x22]],
    ['an overlong slash', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate as bytes', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['a truncated character', [0x22, 0xc3]],
    ['UTF-16', [0x7b, 0x00, 0x7d, 0x00]],
  ])('is refused with %s', (_what, bytes) => {
    expect(codeOf(readBytes(bytes))).toBe('invalid_json');
  });

  test('is refused when the gateway has replaced invalid bytes', () => {
    expect(codeOf(read('{"a":"\ufffd"}'))).toBe('invalid_json');
    expect(codeOf(readBytes('{"a":"\ufffd"}'))).toBe('invalid_json');
    expect(read('{"a":"\\ufffd"}').kind).toBe('valid');
  });

  test('is refused if it begins with a byte-order mark, in Base64 or as text', () => {
    expect(codeOf(readBytes('\ufeff{}'))).toBe('invalid_json');
    expect(codeOf(read('\ufeff{}'))).toBe('invalid_json');
  });

  test.each(['[]', '[{"amount":1}]', '"text"', '1', 'null', 'true'])(
    'is refused when it is not an object: %s',
    (body) => {
      expect(codeOf(read(body))).toBe('invalid_json');
    },
  );

  test('is refused when it is absent', () => {
    expect(codeOf(read(null))).toBe('invalid_json');
  });
});
