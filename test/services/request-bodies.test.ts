import { describe, expect, test } from '@jest/globals';
import { Hono } from 'hono';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { answerOnce, type ServiceCall } from '../../lambdas/services/http/answer-once.ts';
import { answerOf, lambdaCall, readHonoRequest } from '../../lambdas/services/http/calls.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

/** Bodies that are not UTF-8, and differ in one byte. */
const [ONE, OTHER] = [Buffer.from([0x89, 0x50, 0x80]), Buffer.from([0x89, 0x50, 0x81])];
const HEADERS = { 'idempotency-key': 'k', 'content-type': 'image/png' };

async function fingerprintOf(call: ServiceCall): Promise<string> {
  let hash = '';
  await answerOnce(systemDigest, 'add-picture', call, async ({ fingerprint }) => {
    hash = Buffer.from(fingerprint.sha256).toString('hex');
    return { kind: 'payload_mismatch' };
  });
  return hash;
}

describe('a body that is not text', () => {
  test('reaches the handler of a route unchanged, and has another fingerprint if one byte differs', async () => {
    const app = new Hono();
    const hashes: string[] = [];
    app.post('/pictures', async (c) => {
      hashes.push(await fingerprintOf(await readHonoRequest(c, '')));
      return c.body(await c.req.arrayBuffer());
    });
    for (const body of [ONE, OTHER, OTHER]) {
      const response = await app.request('/pictures', { method: 'POST', headers: HEADERS, body });
      expect(Buffer.from(await response.arrayBuffer())).toEqual(body);
    }
    expect(hashes[0]).not.toBe(hashes[1]);
    expect(hashes[1]).toBe(hashes[2]);
  });

  test('has another fingerprint in a Lambda function, too, if one byte differs', async () => {
    const hashes = [ONE, OTHER].map((body) => {
      const event = { ...gatewayEvent('POST', '/pictures', HEADERS), body: body.toString('base64') };
      return fingerprintOf(lambdaCall({ ...event, isBase64Encoded: true }, ''));
    });
    const [one, other] = await Promise.all(hashes);
    expect(one).not.toBe(other);
  });

  test('is refused as a response, because a replay would change it; a text with a byte order mark is stored unchanged', async () => {
    await expect(answerOf(new Response(ONE))).rejects.toThrow('not UTF-8 text');
    expect((await answerOf(new Response('\uFEFFa;b'))).body).toBe('\uFEFFa;b');
  });
});
