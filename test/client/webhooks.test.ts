/** Tests the guarantee "safe webhooks". */
import { describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { verifyWebhook } from '../../client/webhooks.ts';

const NOW = Date.UTC(2026, 2, 1, 12);
const SECRETS = [
  'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=',
];
const [CURRENT = '', PREVIOUS = ''] = SECRETS;
const BODY =
  '{"id":"evt_1","object":"event","type":"payment.completed","data":{"object":{"id":"pay_1","note":"für Ada"}}}';

/** Several secrets are active during a rotation. */
function signed(secrets: readonly string[], { body = BODY, atMs = NOW } = {}): Record<string, string> {
  const signatures = secrets.map((secret) => new Webhook(secret).sign('evt_1', new Date(atMs), body));
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(atMs / 1000)),
    'webhook-signature': signatures.join(' '),
  };
}

const verify = (
  headers: Record<string, string | readonly string[]>,
  secrets: readonly string[] = [CURRENT],
  body = BODY,
) => verifyWebhook(body, headers, { secrets, nowMs: NOW });

describe('a webhook', () => {
  test.each([
    [JSON.parse(BODY), {}, { secrets: SECRETS }, 'not parsed JSON'],
    [BODY, undefined, { secrets: SECRETS }, 'object of header names and values'],
    [BODY, {}, undefined, 'secrets must be a list'],
    [BODY, {}, { secrets: CURRENT }, 'secrets must be a list'],
    [BODY, {}, { secrets: [] }, 'secrets is empty'],
    [BODY, signed([CURRENT]), { secrets: [undefined], nowMs: NOW }, 'a secret must be whsec_'],
  ])('is refused with an error that names the wrong argument (case %#)', async (body, headers, options, sentence) => {
    const wrong = [body, headers, options] as unknown as Parameters<typeof verifyWebhook>;
    await expect(verifyWebhook(...wrong)).rejects.toMatchObject({
      code: 'invalid_webhook',
      message: expect.stringContaining(sentence),
    });
  });

  test.each([
    ['the secret', [CURRENT], [CURRENT]],
    ['both secrets, at a receiver that knows the new secret', [CURRENT, PREVIOUS], [CURRENT]],
    ['both secrets, at a receiver that knows the old secret', [CURRENT, PREVIOUS], [PREVIOUS]],
    ['the old secret, at a receiver that knows both', [PREVIOUS], [CURRENT, PREVIOUS]],
  ])('is accepted when it is signed with %s', async (_name, signing, secrets) => {
    expect(await verify(signed(signing), secrets)).toMatchObject({ id: 'evt_1', type: 'payment.completed' });
  });

  test('is accepted if its body is bytes and its headers are those of a Request', async () => {
    const request = new Request('https://shop.example', { method: 'POST', headers: signed([CURRENT]), body: BODY });
    const bytes = new Uint8Array(await request.arrayBuffer());
    const event = await verifyWebhook(bytes, request.headers, { secrets: [CURRENT], nowMs: NOW });
    expect(event.data.object).toMatchObject({ note: 'für Ada' });
  });

  test('is accepted when each header is a list, but not with two timestamps or an empty list of signatures', async () => {
    const [id, timestamp, signatures] = Object.values(signed([PREVIOUS, CURRENT]));
    const headers = { 'webhook-id': [id ?? ''], 'webhook-timestamp': [timestamp ?? ''] };
    expect(await verify({ ...headers, 'webhook-signature': [signatures ?? ''] })).toMatchObject({ id: 'evt_1' });
    // A proxy can forward a list as several fields (RFC 9110, section 5.3).
    expect(await verify({ ...headers, 'webhook-signature': signatures?.split(' ') ?? [] })).toMatchObject({
      id: 'evt_1',
    });
    const [other] = Object.values(signed([CURRENT], { atMs: NOW + 1_000 })).slice(1);
    const doubled = {
      ...headers,
      'webhook-timestamp': [timestamp ?? '', other ?? ''],
      'webhook-signature': [signatures ?? ''],
    };
    await expect(verify(doubled)).rejects.toThrow('webhook-timestamp');
    await expect(verify({ ...headers, 'webhook-signature': [] })).rejects.toThrow(
      'the header webhook-signature is missing',
    );
  });

  test('is accepted with any letter case in its header names', async () => {
    const headers = Object.entries(signed([CURRENT])).map(([name, value]) => [name.toUpperCase(), value] as const);
    expect(await verify(Object.fromEntries(headers))).toMatchObject({ id: 'evt_1' });
  });

  test.each([-300, 300])('is accepted when its timestamp is %d seconds from now', async (seconds) => {
    expect(await verify(signed([CURRENT], { atMs: NOW + seconds * 1000 }))).toMatchObject({ id: 'evt_1' });
  });

  const other = (name: string, value: string) => ({ ...signed([CURRENT]), [name]: value });
  const [, signature = ''] = (signed([CURRENT])['webhook-signature'] ?? '').split(',');
  test.each([
    ['another body', signed([CURRENT]), [CURRENT], BODY.replace('pay_1', 'pay_2'), 'no signature'],
    ['another id', other('webhook-id', 'evt_2'), [CURRENT], BODY, 'no signature'],
    ['an id with a full stop', other('webhook-id', 'evt.1'), [CURRENT], BODY, 'full stop'],
    ['another secret', signed([CURRENT]), [PREVIOUS], BODY, 'no signature'],
    ['no secret', signed([CURRENT]), [], BODY, 'secrets is empty'],
    ['a malformed secret', signed([CURRENT]), ['hunter2'], BODY, 'whsec_'],
    ['an empty secret', signed([CURRENT]), ['whsec_'], BODY, 'whsec_'],
    [
      'a signature of a different version',
      other('webhook-signature', `v2,${signature}`),
      [CURRENT],
      BODY,
      'no signature',
    ],
    ['a truncated signature', other('webhook-signature', `v1,${signature.slice(0, 20)}`), [CURRENT], BODY, 'no sig'],
    ['a signature that is not base64', other('webhook-signature', 'v1,*'), [CURRENT], BODY, 'no signature'],
    ['an empty signature', other('webhook-signature', 'v1,'), [CURRENT], BODY, 'no signature'],
    ['a time too far in the past', signed([CURRENT], { atMs: NOW - 301_000 }), [CURRENT], BODY, '300 seconds'],
    ['a time too far in the future', signed([CURRENT], { atMs: NOW + 301_000 }), [CURRENT], BODY, '300 seconds'],
    ['a time that is not a number', other('webhook-timestamp', 'now'), [CURRENT], BODY, 'webhook-timestamp'],
    ['no header', {}, [CURRENT], BODY, 'webhook-id is missing'],
  ])('is refused for %s, with a reason', async (_name, headers, secrets, body, reason) => {
    const refused = verify(headers, secrets, body);
    await expect(refused).rejects.toMatchObject({ code: 'invalid_webhook', message: expect.stringContaining(reason) });
  });
});
