import { beforeEach, describe, expect, test } from '@jest/globals';
import { SignJWT, UnsecuredJWT } from 'jose';
import { hasJobCredentialFormat, signJobCredential, verifyJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const PATH = '/v1/admin/jobs/close-days/runs';
const RUN_ID = 'close-days:2026-03-01T12:00:00Z';
const SECRET = '0123456789abcdefghijABCDEFGHIJ01';
const SECOND = 1000;
const claims = { path: PATH, runId: RUN_ID, scopes: ['jobs:run'] };
const valid = { kind: 'valid', runId: RUN_ID, scopes: ['jobs:run'] };
const refused = { kind: 'refused' };

let clock: SimulatedClock;
let active: readonly string[];
let renewed: readonly string[] | undefined;
let renewals: number;

beforeEach(() => {
  clock = new SimulatedClock();
  active = [SECRET];
  renewed = undefined;
  renewals = 0;
});

const tools = () => ({
  clock,
  secretId: 'job-credential',
  secrets: {
    active: async () => active,
    renewed: async () => {
      renewals += 1;
      return renewed;
    },
  },
});
const sign = () => signJobCredential(tools(), claims);
const verify = (token: string, path = PATH) => verifyJobCredential(tools(), token, path);
const bytes = (text: string) => new TextEncoder().encode(text);

async function forged(
  change: (token: SignJWT, nowSeconds: number) => SignJWT,
  { secret = SECRET, header = {} }: { secret?: string; header?: Record<string, string> } = {},
): Promise<string> {
  const nowSeconds = clock.nowMs() / SECOND;
  const token = new SignJWT({ scope: 'jobs:run' })
    .setProtectedHeader({ alg: 'HS256', typ: 'payonce-job+jwt', ...header })
    .setIssuer('payonce-cron-executor')
    .setAudience(PATH)
    .setSubject(RUN_ID)
    .setIssuedAt(nowSeconds)
    .setExpirationTime(nowSeconds + 60);
  return change(token, nowSeconds).sign(bytes(secret));
}

describe('a credential', () => {
  test('is valid at its path, for its run, with its scopes', async () => {
    const token = await sign();
    expect(hasJobCredentialFormat(token)).toBe(true);
    expect(await verify(token)).toEqual(valid);
    expect(await verify(await forged((each) => each))).toEqual(valid);
  });

  test('contains no secret', async () => {
    const [, payload = ''] = (await sign()).split('.');
    const nowSeconds = clock.nowMs() / SECOND;
    expect(JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))).toEqual({
      iss: 'payonce-cron-executor',
      aud: PATH,
      sub: RUN_ID,
      scope: 'jobs:run',
      iat: nowSeconds,
      exp: nowSeconds + 60,
    });
  });

  test.each([
    ['another job', '/v1/admin/jobs/resolve/runs'],
    ['a run of its job', `${PATH}/${RUN_ID}`],
    ['the job, with a trailing slash', `${PATH}/`],
  ])('is invalid at the path of %s', async (_what, path) => {
    expect(await verify(await sign(), path)).toEqual(refused);
  });

  test.each([
    [0, valid],
    [659, valid],
    [660, refused],
    [3600, refused],
    [-600, valid],
    [-601, refused],
  ])('is verified after %i seconds with the verdict %j', async (seconds, verdict) => {
    const token = await sign();
    clock.advance(seconds * SECOND);
    expect(await verify(token)).toEqual(verdict);
  });

  test.each<readonly [string, Parameters<typeof forged>]>([
    ['by another issuer', [(token) => token.setIssuer('other')]],
    ['for every path', [(token) => token.setAudience('*')]],
    ['for a year', [(token, now) => token.setExpirationTime(now + 31_536_000)]],
    ['for a minute and a second', [(token, now) => token.setExpirationTime(now + 61)]],
    ['for no run', [(token) => token.setSubject('')]],
    ['with another type', [(token) => token, { header: { typ: 'JWT' } }]],
    ['with HS512 and a longer secret', [(token) => token, { header: { alg: 'HS512' }, secret: SECRET.repeat(2) }]],
    ['with HS384 and the right secret', [(token) => token, { header: { alg: 'HS384' } }]],
    ['with another secret', [(token) => token, { secret: SECRET.toLowerCase() }]],
  ])('is refused when signed %s', async (_what, made) => {
    expect(await verify(await forged(...made))).toEqual(refused);
  });

  test('is refused without a signature', async () => {
    const nowSeconds = clock.nowMs() / SECOND;
    const token = new UnsecuredJWT({ scope: 'jobs:run' })
      .setIssuer('payonce-cron-executor')
      .setAudience(PATH)
      .setSubject(RUN_ID)
      .setIssuedAt(nowSeconds)
      .setExpirationTime(nowSeconds + 60)
      .encode();
    expect(hasJobCredentialFormat(token)).toBe(true);
    expect(await verify(token)).toEqual(refused);
  });

  test('is refused if its expiry, its issue time, its scopes or its run is missing', async () => {
    for (const missing of ['exp', 'iat', 'scope', 'sub']) {
      const all = { iss: 'payonce-cron-executor', aud: PATH, sub: RUN_ID, scope: 'jobs:run' };
      const nowSeconds = clock.nowMs() / SECOND;
      const some = Object.entries({ ...all, iat: nowSeconds, exp: nowSeconds + 60 }).filter(
        ([name]) => name !== missing,
      );
      const token = new SignJWT(Object.fromEntries(some)).setProtectedHeader({ alg: 'HS256', typ: 'payonce-job+jwt' });
      expect([missing, await verify(await token.sign(bytes(SECRET)))]).toEqual([missing, refused]);
    }
  });

  test('is refused if any single character is changed', async () => {
    const token = await sign();
    for (let index = 0; index < token.length; index += 1) {
      // The last character of a signature has two unused bits. A change of these bits alone would have no effect, but
      // `A` and `Q` differ in another bit.
      const changed = `${token.slice(0, index)}${token[index] === 'A' ? 'Q' : 'A'}${token.slice(index + 1)}`;
      expect([index, await verify(changed)]).toEqual([index, refused]);
    }
  });
});

describe('the credential secret', () => {
  test('signs with its first value, and verifies with each of its values', async () => {
    const before = await sign();
    active = ['new-new-new-new-new-new-new-new!', SECRET];
    const after = await sign();
    expect([await verify(before), await verify(after)]).toEqual([valid, valid]);
    active = ['new-new-new-new-new-new-new-new!'];
    expect([await verify(before), await verify(after)]).toEqual([refused, valid]);
  });

  test('is read again when no known value matches a credential', async () => {
    const token = await sign();
    active = ['old-old-old-old-old-old-old-old!'];
    renewed = [SECRET];
    expect(await verify(token)).toEqual(valid);
    expect(renewals).toBe(1);
  });

  test('is not read again for an expired credential, which no secret can make valid', async () => {
    const token = await sign();
    clock.advance(3_600_000);
    expect(await verify(token)).toEqual(refused);
    expect(renewals).toBe(0);
  });

  test('causes a retryable error while it cannot be read', async () => {
    const token = await sign();
    const unreadable = {
      ...tools(),
      secrets: { ...tools().secrets, active: () => Promise.reject(new RetryableError('secrets_unavailable', 'now')) },
    };
    await expect(verifyJobCredential(unreadable, token, PATH)).rejects.toMatchObject({ code: 'secrets_unavailable' });
  });
});

test.each(['sk_test_0123456789abcdefghijkl', 'a.b', 'a.b.c.d', '', `${'a'.repeat(2000)}.b.c`])(
  '%s is not a credential',
  (text) => {
    expect(hasJobCredentialFormat(text)).toBe(false);
  },
);
