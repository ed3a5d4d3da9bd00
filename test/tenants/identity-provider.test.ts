/** Tests the guarantee "valid credentials". */
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { Provider } from 'oidc-provider';
import { byIdentityProvider } from '../../lambdas/tenants/identity-provider.ts';
import type { IdentifyOperator } from '../../lambdas/tenants/operators.ts';
import { Api } from '../world/api.ts';

const AUDIENCE = 'https://payonce.example';
const OTHER_AUDIENCE = 'https://other.example';
const systemClock = { nowMs: () => Date.now() };

let server: Server;
let issuer = '';
let provider: Provider;
let identify: IdentifyOperator;

async function key(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('ES256', { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg: 'ES256', use: 'sig' };
}

function providerWith(keys: readonly JWK[]): Provider {
  const client = (client_id: string) => ({
    client_id,
    client_secret: `${client_id}-secret`,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
    id_token_signed_response_alg: 'ES256',
  });
  return new Provider(issuer, {
    jwks: { keys },
    clients: ['viewer', 'operator', 'owner', 'none'].map(client),
    clientBasedCORS: () => false,
    ttl: { ClientCredentials: 600 },
    extraTokenClaims: (_context: unknown, { clientId }: { readonly clientId: string }) => ({
      roles: clientId === 'none' ? ['accountant'] : ['staff', clientId],
      name: `Ada ${clientId}`,
    }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_context: unknown, audience: string) => ({
          scope: 'admin',
          audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  });
}

async function tokenOf(client: string, audience = AUDIENCE): Promise<string> {
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client}:${client}-secret`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: audience }),
  });
  const answer = (await response.json()) as { access_token?: string };
  const { access_token: token } = answer;
  if (token === undefined) throw new Error(`the provider returned no token: ${JSON.stringify(answer)}`);
  return token;
}

const bearer = (token: string): readonly string[] => [`Bearer ${token}`];

let first: JWK;

beforeAll(async () => {
  first = await key('first');
  server = createServer((request, response) => provider.callback()(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  provider = providerWith([first]);
  identify = byIdentityProvider({ issuer, audience: AUDIENCE, roleClaim: 'roles' }, systemClock, { cooldownMs: 0 });
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('a token of the identity provider', () => {
  test('identifies the operator, with the role from the token’s role claim', async () => {
    expect(await identify(bearer(await tokenOf('operator')))).toEqual({
      name: 'Ada operator',
      role: 'operator',
      identity: 'operator',
      person: 'operator',
    });
  });

  test('grants access only to the routes of its role', async () => {
    const api = new Api({ identify });
    const as = async (client: string) => ({ headers: { Authorization: `Bearer ${await tokenOf(client)}` } });
    expect((await api.get('/v1/admin/jobs', await as('viewer'))).status).toBe(200);
    expect((await api.run('k', undefined, await as('viewer'))).body).toMatchObject({ code: 'insufficient_role' });
    expect((await api.run('k', undefined, await as('operator'))).status).toBe(202);
    expect((await api.get('/v1/admin/jobs', await as('none'))).status).toBe(401);
    expect((await api.get('/v1/payments', await as('owner'))).status).toBe(401);
  });

  test('grants the highest role that the settings assign to any value of its role claim', async () => {
    const settings = { issuer, audience: AUDIENCE, roleClaim: 'roles' };
    const mapped = byIdentityProvider(
      { ...settings, roles: { staff: 'viewer', operator: 'approver', accountant: 'viewer' } },
      systemClock,
    );
    const roleOf = async (client: string) => (await mapped(bearer(await tokenOf(client))))?.role;
    expect(await Promise.all(['operator', 'owner', 'none'].map(roleOf))).toEqual(['approver', 'viewer', 'viewer']);
    const named = byIdentityProvider({ ...settings, roles: { leads: 'owner' } }, systemClock);
    expect(await named(bearer(await tokenOf('owner')))).toBeUndefined();
  });

  test('is refused if it has expired or is for another audience', async () => {
    const token = await tokenOf('owner');
    const later = { nowMs: () => Date.now() + 700_000 };
    const identifyLater = byIdentityProvider({ issuer, audience: AUDIENCE, roleClaim: 'roles' }, later);
    expect(await identify(bearer(token))).toBeDefined();
    expect(await identifyLater(bearer(token))).toBeUndefined();
    expect(await identify(bearer(await tokenOf('owner', OTHER_AUDIENCE)))).toBeUndefined();
  });

  test('is refused without a signature, from another issuer, or with the signature of another key', async () => {
    const payload = { roles: ['owner'] };
    const forged = (by = issuer) =>
      new SignJWT(payload).setIssuer(by).setAudience(AUDIENCE).setSubject('eve').setIssuedAt().setExpirationTime('5m');
    const { privateKey } = await generateKeyPair('ES256');
    const none = new UnsecuredJWT(payload).setIssuer(issuer).setAudience(AUDIENCE).setSubject('eve').setIssuedAt();
    const secret = new TextEncoder().encode(JSON.stringify({ kty: first.kty, crv: first.crv, x: first.x, y: first.y }));
    for (const token of [
      await forged('https://evil.example').setProtectedHeader({ alg: 'ES256', kid: 'first' }).sign(first),
      await forged().setProtectedHeader({ alg: 'ES256', kid: 'first' }).sign(privateKey),
      await forged().setProtectedHeader({ alg: 'HS256', kid: 'first' }).sign(secret),
      none.setExpirationTime('5m').encode(),
    ])
      expect(await identify(bearer(token))).toBeUndefined();
    const good = await forged().setProtectedHeader({ alg: 'ES256', kid: 'first' }).sign(first);
    expect(await identify(bearer(good))).toMatchObject({ identity: 'eve', role: 'owner' });
  });

  test.each([
    ['a logout token by its type', { typ: 'logout+jwt' }, {}],
    ['a logout token by its events', {}, { events: { 'http://schemas.openid.net/event/backchannel-logout': {} } }],
    ['a proof of possession', { typ: 'dpop+jwt' }, {}],
    ['from the future', {}, { iat: 60 }],
    ['valid for more than a day', {}, { exp: 86_400 + 31 }],
    ['valid for a hundred years', {}, { exp: 100 * 365 * 86_400 }],
  ])('is refused if it is %s', async (_what, header, { iat = 0, exp = 300, ...claims }: Record<string, unknown>) => {
    const at = Math.floor(Date.now() / 1000);
    const signed = (typ: object, fromSeconds: number, untilSeconds: number, others = {}) =>
      new SignJWT({ roles: ['owner'], sub: 'eve', iss: issuer, aud: AUDIENCE, ...others })
        .setIssuedAt(at + fromSeconds)
        .setExpirationTime(at + untilSeconds)
        .setProtectedHeader({ alg: 'ES256', kid: 'first', ...typ })
        .sign(first);
    expect(await identify(bearer(await signed(header, Number(iat), Number(exp), claims)))).toBeUndefined();
    for (const type of [{ typ: 'JWT' }, { typ: 'at+jwt' }, { typ: 'application/at+jwt' }, {}])
      expect(await identify(bearer(await signed(type, 20, 86_400)))).toMatchObject({ role: 'owner' });
  });

  test('causes no request to the provider if it can be refused without the provider’s keys, and during an outage at most one in five seconds', async () => {
    const good = bearer(await tokenOf('owner'));
    const answering = server.listeners('request');
    let requests = 0;
    let isAway = true;
    server.removeAllListeners('request');
    server.on('request', (request, response) => {
      requests += 1;
      if (isAway) response.writeHead(503).end();
      else provider.callback()(request, response);
    });
    let passedMs = 0;
    const clock = { nowMs: () => Date.now() + passedMs };
    const ask = (identifies: IdentifyOperator, token: readonly string[]) =>
      identifies(token).then(
        (operator) => operator?.identity,
        (error: Error) => error.message,
      );
    const refused = 'The identity provider is unavailable or returned an invalid response.';
    try {
      const identifies = byIdentityProvider({ issuer, audience: AUDIENCE, roleClaim: 'roles' }, clock, { freshMs: 0 });
      const foreign = new UnsecuredJWT({}).setIssuer(issuer).encode();
      for (const garbage of ['a.b.c', 'eyJhbGciOiJFUzI1NiJ9.e30.AA', foreign])
        expect(await ask(identifies, bearer(garbage))).toBeUndefined();
      expect(requests).toBe(0);

      const many = Array.from({ length: 20 }, () => ask(identifies, good));
      expect(new Set(await Promise.all(many))).toEqual(new Set([refused]));
      expect([await ask(identifies, good), requests]).toEqual([refused, 1]);

      isAway = false;
      expect(await ask(identifies, good)).toBe(refused);
      passedMs += 5_000;
      expect(await ask(identifies, good)).toBe('owner');

      isAway = true;
      requests = 0;
      for (let token = 0; token < 5; token += 1) expect(await ask(identifies, good)).toBe('owner');
      expect(requests).toBe(1);
    } finally {
      server.removeAllListeners('request');
      for (const listener of answering) server.on('request', listener as RequestListener);
    }
  });

  test('is accepted with a signature of a new key of the provider, and refused with one of a removed key', async () => {
    const before = await tokenOf('owner');
    expect(await identify(bearer(before))).toBeDefined();
    provider = providerWith([await key('second')]);
    expect(await identify(bearer(await tokenOf('owner')))).toBeDefined();
    expect(await identify(bearer(before))).toBeUndefined();
    provider = providerWith([first]);
  });

  test('is verified with the cached keys for an hour during an outage of the provider', async () => {
    const signed = async (by: JWK, kid: string) =>
      new SignJWT({ roles: ['viewer'] })
        .setIssuer(issuer)
        .setAudience(AUDIENCE)
        .setSubject('eve')
        .setIssuedAt()
        .setExpirationTime('5h')
        .setProtectedHeader({ alg: 'ES256', kid })
        .sign(by);
    let passedMs = 0;
    const clock = { nowMs: () => Date.now() + passedMs };
    const settings = { issuer, audience: AUDIENCE, roleClaim: 'roles' };
    const known = byIdentityProvider(settings, clock, { freshMs: 0 });
    const token = bearer(await signed(first, 'first'));
    expect(await known(token)).toMatchObject({ identity: 'eve' });
    const answering = server.listeners('request');
    server.removeAllListeners('request');
    server.on('request', (_request, response) => response.writeHead(503).end());
    try {
      passedMs = 59 * 60_000;
      expect(await known(token)).toMatchObject({ identity: 'eve' });
      const [head = '', body = '', signature = ''] = token[0]?.split('.') ?? [];
      const altered = [head, body, signature.replace(/^./, (letter) => (letter === 'A' ? 'B' : 'A'))].join('.');
      expect(await known([altered])).toBeUndefined();
      // The key is unknown, but may be a new key of the provider, so the token is not refused as invalid.
      await expect(known(bearer(await signed(await key('new'), 'new')))).rejects.toThrow('is unavailable');
      passedMs = 61 * 60_000;
      await expect(known(token)).rejects.toThrow('is unavailable');
    } finally {
      server.removeAllListeners('request');
      for (const listener of answering) server.on('request', listener as RequestListener);
    }
  });

  test('causes status 503 if the provider is unreachable and no keys are cached', async () => {
    const away = byIdentityProvider(
      { issuer: 'http://127.0.0.1:1', audience: AUDIENCE, roleClaim: 'roles' },
      systemClock,
    );
    const token = new SignJWT({}).setIssuer('http://127.0.0.1:1').setProtectedHeader({ alg: 'ES256', kid: 'first' });
    const headers = { Authorization: `Bearer ${await token.sign(first)}` };
    const reply = await new Api({ identify: away }).get('/v1/admin/jobs', { headers });
    expect([reply.status, reply.body['code']]).toEqual([503, 'temporarily_unavailable']);
  });
});
