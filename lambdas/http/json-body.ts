import { MAX_BODY_BYTES } from '../kernel/contract/limits.ts';
import type { GatewayRequest } from './gateway-request.ts';
import type { Parsed } from './problems.ts';
import { refused, valid } from './problems.ts';
import { parseStrictJson } from './strict-json.ts';

export type RequestBody = Pick<GatewayRequest, 'body' | 'isBase64Encoded' | 'header'>;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The gateway inserts this character for invalid UTF-8 when it passes a body as text. */
const REPLACED = '\ufffd';

export function readJsonObject(request: RequestBody): Parsed<JsonObject> {
  if (bodyBytes(request) > MAX_BODY_BYTES) {
    return refused('body_too_large', `The body must be at most ${MAX_BODY_BYTES} bytes.`);
  }
  if (!isJsonInUtf8(request.header('content-type'))) {
    return refused('unsupported_media_type', 'Content-Type must be application/json, in UTF-8.');
  }
  const text = bodyText(request);
  if (text === undefined || text.includes(REPLACED)) {
    return refused('invalid_json', 'The body is not valid UTF-8, or contains the replacement character U+FFFD.');
  }
  const parsed = parseStrictJson(text);
  if (parsed.kind === 'refused') return parsed;
  return isObject(parsed.value) ? valid(parsed.value) : refused('invalid_json', 'The body must be a JSON object.');
}

export function readOptionalJsonObject(request: GatewayRequest): Parsed<JsonObject> {
  return bodyBytes(request) === 0 ? valid({}) : readJsonObject(request);
}

function bodyBytes({ body, isBase64Encoded }: RequestBody): number {
  return Buffer.byteLength(body, isBase64Encoded ? 'base64' : 'utf8');
}

function bodyText({ body, isBase64Encoded }: RequestBody): string | undefined {
  if (!isBase64Encoded) return body;
  try {
    // Keep a byte-order mark, so that `parseStrictJson` refuses it with a specific message.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(body, 'base64'));
  } catch {
    return undefined;
  }
}

const JSON_IN_UTF8 = /^application\/json[ \t]*(?:;[ \t]*charset=(?:utf-8|"utf-8")[ \t]*)?;?$/i;

function isJsonInUtf8(values: readonly string[]): boolean {
  const [value = '', ...others] = new Set(values.map((each) => each.trim()));
  return others.length === 0 && JSON_IN_UTF8.test(value);
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
