/** Tests the guarantee "separate tenants". Calls every declared endpoint as every kind of caller. */
import { beforeAll, describe, expect, test } from '@jest/globals';
import { ENDPOINTS } from '../../lambdas/api-docs/endpoints.ts';
import { ALL_SCOPES, includesRole, ROLES } from '../../lambdas/kernel/contract/api.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import { recordComparison } from '../../lambdas/reconciliation/use/mismatch-view.ts';
import { idOfApiKey } from '../../lambdas/tenants/store/tenant-administration.ts';
import { newDelivery } from '../../lambdas/webhooks/domain/webhook-delivery.ts';
import { webhookMessage } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { type DescribedOperation, operations, resolved } from '../api-docs/described-api.ts';
import { CallbacksClient } from '../callbacks/callbacks-client.ts';
import { EVENT_ID, SimulatedIntake } from '../intake/intake-site.ts';
import { comparedPayment, differsBy } from '../reconciliation/mismatch-fixtures.ts';
import { type Api, dataOf, type Reply, UNKNOWN_TENANT } from '../world/api.ts';

const routeOf = ({ method, path }: Pick<DescribedOperation, 'method' | 'path'>) => `${method} ${path}`;
const TENANT_ROUTES = ENDPOINTS.flatMap((row) =>
  row.scope === undefined ? [] : [[routeOf(row), row.scope, row.role] as const],
);
const OPERATOR_ROUTES = ENDPOINTS.flatMap((row) =>
  row.scope !== undefined || row.role === undefined ? [] : [[routeOf(row), row.role] as const],
);
const SIGNED_ROUTES = ENDPOINTS.filter(({ scope, role }) => scope === undefined && role === undefined).map(routeOf);

/** When the owner sends the example, the request either succeeds or is refused for a reason other than access. */
const BODIES = Object.fromEntries(
  ENDPOINTS.flatMap((row) => {
    const [example] = Object.values('requests' in row.docs ? (row.docs.requests ?? {}) : {});
    return example === undefined ? [] : [[routeOf(row), example.value]];
  }),
);

/** The webhook endpoint must stay usable for later requests. */
const HARMLESS: Readonly<Record<string, object>> = {
  'PATCH /v1/webhook_endpoints/{id}': { enabled: true },
  'POST /v1/webhook_endpoints/{id}/rotate_secret': { overlap_seconds: 0 },
};

const QUERIES: Readonly<Record<string, string>> = {
  'GET /v1/reports/volume': '?from=2026-03-01&to=2026-03-02',
  'GET /v1/corrections': '?payment={payment}',
  'GET /v1/decisions': '?payment={payment}',
  'GET /v1/annotations': '?payment={payment}',
};

/** Other tenants must not find the object that the route names. */
const namesAnObject = (route: string) => `${route}${QUERIES[route] ?? ''}`.includes('{');

/** The desk owns the objects. */
const DESK = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
const CALLERS = {
  revoked: 'sk_test_revokedrevokedrevoked',
  expired: 'sk_test_expiredexpiredexpired',
  unknown: 'sk_test_unknownunknownunknown',
  otherTenant: 'sk_test_otherothertenant000000',
  otherMode: 'sk_live_othermodeothermode0000',
  revokedOperator: 'ok_revokedrevokedrevokedrev',
  expiredOperator: 'ok_expiredexpiredexpiredexp',
} as const;
const scoped = (scope: string) => `sk_test_${scope.replace(':', '_').padEnd(30, 'x')}`;
const ofRole = (role: string) => `ok_${role.padEnd(30, 'x')}`;

let api: Api;
/** `{id}` is keyed by the collection before it in the path, all other parameters by their own name. */
let ids: Readonly<Record<string, string>>;
let sent = 0;
/** Excludes request counters and the rows with the last use of a key. */
const written: string[] = [];
const limited: string[] = [];
const changing = new Set<string>();

/** The desk gets objects of every kind but decisions. Returns a value for each path parameter. */
async function past(): Promise<Readonly<Record<string, string>>> {
  const payment = await api.paid('p-1');
  const held = await api.paid('p-2', { capture: 'manual' });
  const idOf = (reply: Reply) => String(reply.body['id']);
  const refund = await api.change(`${payment}/refunds`, 'r', { amount: 100 });
  const cancellation = await api.change(`${held}/cancel`, 'x', {});
  const other = await api.paid('p-3', { capture: 'manual' });
  const capture = await api.change(`${other}/capture`, 'c', {});
  const [charge] = api.processor.charges(parsePaymentId(payment) as never);
  await api.processor.inside.dispute(charge?.chargeId ?? '', 100);
  await api.world.learn(parsePaymentId(payment) as never);
  const [dispute] = dataOf(await api.get('/v1/disputes'));
  const correction = await api.correct('k', { payment, reverses: 2 });
  const annotation = await api.annotate(payment, 'a');
  const order = await api.order('o');
  const endpoint = idOf(await api.create('e'));
  const [event = {}] = dataOf(await api.get('/v1/events?limit=100'));
  const nowMs = api.clock.nowMs();
  const message = webhookMessage({ tenant: DESK.tenantId, mode: DESK.mode, occurredAtMs: nowMs, event } as never);
  await api.store.webhooks.write({
    deliveries: [{ now: newDelivery(systemDigest, DESK, { id: endpoint }, message, nowMs) }],
  });
  const [delivery] = dataOf(await api.get(`/v1/webhook_endpoints/${endpoint}/deliveries`));
  const replay = await api.send('POST', `/${endpoint}/replay`, 'y', { created_from: 1, created_to: 1000 });
  const intake = new SimulatedIntake(api.world);
  const asked = JSON.stringify(intake.request({ account_to: DESK.tenantId }));
  await intake.deliver(intake.onSubject(asked, 'payments.desk'));
  const exported = await api.write('/v1/exports', 'z', { kind: 'entries', from: '2026-03-01', to: '2026-03-01' });
  const [entry] = dataOf(await api.get('/v1/ledger/entries'));
  await recordComparison({ views: api.views, digest: systemDigest }, comparedPayment('k'), differsBy(1250), 1);
  return {
    payment,
    payments: payment,
    payment_requests: EVENT_ID,
    captures: idOf(capture),
    cancellations: idOf(cancellation),
    refunds: idOf(refund),
    disputes: String(dispute?.['id']),
    orders: idOf(order),
    events: String(event['id']),
    exports: idOf(exported),
    ledger: String(entry?.['id']),
    corrections: idOf(correction),
    annotations: idOf(annotation),
    // None of these payments needs a decision.
    decisions: `dec_${'a'.repeat(32)}`,
    webhook_endpoints: endpoint,
    delivery: String(delivery?.['id']),
    replay: idOf(replay),
    queues: 'inquiries',
    jobs: 'close-days',
    run: 'close-days:2026-03-01T12:00:00Z',
    processor: 'memory',
    mode: 'test',
  };
}

/** @param tenant the `Payonce-Tenant` header of an operator */
function request(route: string, key: string | undefined, tenant?: string): Promise<Reply> {
  const [method = '', template = ''] = route.split(' ');
  const body = HARMLESS[route] ?? BODIES[route];
  const room = template.split('/').filter((piece) => piece !== 'admin')[2] ?? '';
  const path = `${template}${QUERIES[route] ?? ''}`.replace(
    /\{(\w+)\}/g,
    (_, name: string) => ids[name === 'id' ? room : name] ?? 'none',
  );
  sent += 1;
  return api.ask(method, path, {
    headers: {
      Authorization: key === undefined ? '' : `Bearer ${key}`,
      ...(tenant === undefined ? {} : { 'Payonce-Tenant': tenant }),
      ...(method === 'GET' ? {} : { 'Idempotency-Key': `matrix-${sent}` }),
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    event: { body: body === undefined ? null : JSON.stringify(body) },
  });
}

const codeOf = ({ status, body }: Reply) => [status, body['code']];

beforeAll(async () => {
  api = new CallbacksClient();
  ids = await past();
  api.store.database.listen((changes) => {
    const rows = changes.flatMap(({ after }) => (after === undefined ? [] : [JSON.stringify(after)]));
    limited.push(...rows.filter((row) => row.includes('"LIMIT#')));
    written.push(...rows.filter((row) => !/"(?:LIMIT|KEY_USE)#/.test(row)));
  });
  const ended = api.clock.nowMs();
  api.registerKey(CALLERS.revoked, { revokedAtMs: ended });
  api.registerKey(CALLERS.expired, { expiresAtMs: ended });
  api.registerKey(CALLERS.otherTenant, { tenantId: tenantId('ten_other') });
  api.registerKey(CALLERS.otherMode, { mode: 'live' });
  api.registerOperator(CALLERS.revokedOperator, { revokedAtMs: ended });
  api.registerOperator(CALLERS.expiredOperator, { expiresAtMs: ended });
  for (const scope of ALL_SCOPES) api.registerKey(scoped(scope), { scopes: [scope] });
  for (const role of ROLES) api.registerOperator(ofRole(role), { role, operator: role });
});

test('the tenant under test has an id for every path parameter, and the API documents list exactly the declared endpoints', () => {
  expect(Object.entries(ids).filter(([, id]) => id === 'undefined' || id === '')).toEqual([]);
  expect(new Set(ENDPOINTS.map(routeOf))).toEqual(new Set(operations.map(routeOf)));
});

test.each(SIGNED_ROUTES)('%s accepts no key, because its callers sign the body', async (route) => {
  const before = written.length;
  for (const key of [undefined, ...ALL_SCOPES.map(scoped), ...ROLES.map(ofRole)])
    expect([key, ...codeOf(await request(route, key))]).toEqual([key, 401, 'invalid_signature']);
  expect(written.slice(before)).toEqual([]);
});

describe.each(TENANT_ROUTES)('%s', (route, needed) => {
  test('rejects every operator key, and an API key that is missing, expired, revoked or unknown', async () => {
    const { revoked, expired, unknown } = CALLERS;
    for (const key of [undefined, revoked, expired, unknown, ...ROLES.map(ofRole)])
      expect([key, ...codeOf(await request(route, key))]).toEqual([key, 401, 'unauthorized']);
  });

  test(`rejects every scope but ${needed}`, async () => {
    for (const scope of ALL_SCOPES.filter((each) => each !== needed))
      expect([scope, ...codeOf(await request(route, scoped(scope)))]).toEqual([scope, 403, 'insufficient_scope']);
  });

  test('responds with 404 to another tenant or mode if it names an object, and never shows ids of the desk', async () => {
    for (const key of [CALLERS.otherTenant, CALLERS.otherMode]) {
      const reply = await request(route, key);
      expect(reply.status).toBeLessThan(500);
      if (namesAnObject(route)) expect([key, reply.status]).toEqual([key, 404]);
      for (const id of Object.values(ids).filter((each) => /^[a-z]+_[a-z2-7_]{20,}/.test(each)))
        expect([route, reply.text.includes(id)]).toEqual([route, false]);
    }
  });
});

describe.each(TENANT_ROUTES)('%s, called by an operator who names a tenant', (route, scope, needed) => {
  const accepted = needed === undefined ? 'no role' : `${needed} and the roles that include it`;
  test(`accepts ${accepted}, and no API key`, async () => {
    for (const role of ROLES) {
      // The desk's objects must not change here.
      const reply = await request(route, ofRole(role), 'ten_other/test');
      if (needed === undefined) expect([role, ...codeOf(reply)]).toEqual([role, 401, 'unauthorized']);
      else if (!includesRole(role, needed)) expect([role, ...codeOf(reply)]).toEqual([role, 403, 'insufficient_role']);
      else
        expect([role, namesAnObject(route) ? [404] : [200, 202]]).toEqual([
          role,
          expect.arrayContaining([reply.status]),
        ]);
    }
    const { revokedOperator, expiredOperator, otherTenant } = CALLERS;
    for (const key of [undefined, revokedOperator, expiredOperator, otherTenant, scoped(scope)])
      expect([key, ...codeOf(await request(route, key, 'ten_other/test'))]).toEqual([key, 401, 'unauthorized']);
  });

  test('rejects a header that does not name a tenant and a mode', async () => {
    const refused = needed === undefined ? [401, 'unauthorized'] : [400, 'invalid_request'];
    for (const tenant of ['ten_desk', 'ten_desk/prod', 'ten_desk/test, ten_other/test', 'desk/live'])
      expect([tenant, ...codeOf(await request(route, ofRole('owner'), tenant))]).toEqual([tenant, ...refused]);
  });
});

/** The payment is already captured, or the endpoint's replay is in progress. */
const REFUSED: ReadonlySet<string> = new Set([
  'POST /v1/payments/{id}/capture',
  'POST /v1/payments/{id}/cancel',
  'POST /v1/webhook_endpoints/{id}/replay',
]);

const FOR_OPERATORS = TENANT_ROUTES.filter(([, , role]) => role !== undefined);

describe.each(FOR_OPERATORS)(
  '%s, called by an operator who names the tenant under test',
  (route, _scope, role = 'owner') => {
    test('does not count against a limit, and records the operator in every change', async () => {
      const before = written.length;
      limited.length = 0;
      const { status } = await request(route, ofRole(role), 'ten_desk/test');
      expect(REFUSED.has(route) ? [409] : [200, 202]).toContain(status);
      const rows = written.slice(before);
      const isChanged = !route.startsWith('GET') && !REFUSED.has(route);
      expect([route, rows.some((row) => row.includes(`"${role}"`))]).toEqual([route, isChanged]);
      expect(limited).toEqual([]);
    });
  },
);

const NAMING_A_TENANT = operations
  .filter(({ method, path }) => OPERATOR_ROUTES.some(([route]) => route === `${method} ${path}`))
  .flatMap(({ method, path, parameters, requestBody }) => {
    const schema = resolved(requestBody?.content['application/json'].schema) as { properties?: object } | undefined;
    if (parameters.some(({ name }) => name === 'tenant')) return [{ method, path, where: 'query' }];
    return schema?.properties !== undefined && 'tenant' in schema.properties ? [{ method, path, where: 'body' }] : [];
  });

describe('an unknown tenant', () => {
  test.each(FOR_OPERATORS)('results in 404 at %s, and nothing is written', async (route) => {
    const before = written.length;
    const reply = await request(route, ofRole('owner'), `${UNKNOWN_TENANT}/test`);
    expect([codeOf(reply), reply.body['param']]).toEqual([[404, 'not_found'], 'payonce-tenant']);
    expect(written.slice(before)).toEqual([]);
  });

  test.each(NAMING_A_TENANT)(
    'in the $where of $method $path results in 404, and nothing is written',
    async (operation) => {
      const { method, path, where } = operation;
      const before = written.length;
      const body = { ...BODIES[`${method} ${path}`], tenant: UNKNOWN_TENANT };
      const query = where === 'query' ? `?tenant=${UNKNOWN_TENANT}` : '';
      const reply = await api.ask(method, `${path}${query}`, {
        headers: {
          Authorization: `Bearer ${ofRole('owner')}`,
          'Idempotency-Key': `unknown-${(sent += 1)}`,
          ...(where === 'body' ? { 'Content-Type': 'application/json' } : {}),
        },
        event: { body: where === 'body' ? JSON.stringify(body) : null },
      });
      expect(codeOf(reply)).toEqual([404, 'not_found']);
      expect(written.slice(before)).toEqual([]);
    },
  );

  test('is reported only to callers that may call the route', async () => {
    const codes = [];
    for (const role of [undefined, 'viewer'] as const)
      codes.push(codeOf(await request('POST /v1/exports', role && ofRole(role), `${UNKNOWN_TENANT}/test`)));
    expect(codes).toEqual([
      [401, 'unauthorized'],
      [403, 'insufficient_role'],
    ]);
  });
});

test('an idempotency key of an operator is separate from an equal key of the tenant or of another operator', async () => {
  const path = `/v1/webhook_endpoints/${ids['webhook_endpoints']}/rotate_secret`;
  api.registerOperator('ok_secondsecondsecondsecond', { role: 'owner', operator: 'second' });
  const rotate = (key: string, tenant: Readonly<Record<string, string>> = { 'Payonce-Tenant': 'ten_desk/test' }) =>
    api.ask('POST', path, { headers: { Authorization: `Bearer ${key}`, 'Idempotency-Key': 'same', ...tenant } });
  const replies = [
    await rotate(ofRole('owner')),
    await rotate('ok_secondsecondsecondsecond'),
    await rotate(scoped('webhooks:write'), {}),
  ];
  expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
  expect(new Set(replies.map(({ body }) => body['secret'])).size).toBe(3);
  expect((await rotate(ofRole('owner'))).body['secret']).toBe(replies[0]?.body['secret']);
});

describe('a path with the caller’s own webhook endpoint and another tenant’s delivery or replay', () => {
  const parts = TENANT_ROUTES.map(([route]) => route).filter((route) => /\{(?:delivery|replay)\}/.test(route));

  test.each(parts)('is not found: %s', async (route) => {
    const [method = '', template = ''] = route.split(' ');
    const headers = { Authorization: `Bearer ${CALLERS.otherTenant}`, 'Content-Type': 'application/json' };
    const made = await api.ask('POST', '/v1/webhook_endpoints', {
      headers: { ...headers, 'Idempotency-Key': `own-${parts.indexOf(route)}` },
      event: { body: JSON.stringify(BODIES['POST /v1/webhook_endpoints']) },
    });
    expect(made.status).toBe(201);
    const path = template
      .replace('{id}', String(made.body['id']))
      .replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'none');
    const reply = await api.ask(method, path, {
      headers: { ...headers, 'Idempotency-Key': `part-${parts.indexOf(route)}` },
    });
    expect(reply.status).toBe(404);
  });
});

// These tests change the desk's objects and finally delete its endpoint, so they run after all other tests of the
// tenant routes.
const lastDeleted = TENANT_ROUTES.toSorted(([left], [right]) => isDeletion(left) - isDeletion(right));
describe.each(lastDeleted)('%s, called with a key of the tenant under test', (route, needed) => {
  test(`accepts a key with only the scope ${needed}, and records the key in every change`, async () => {
    const before = written.length;
    const { status } = await request(route, scoped(needed));
    expect([401, 403]).not.toContain(status);
    expect(status).toBeLessThan(500);
    const rows = written.slice(before);
    const isChanged = status < 300 && !route.startsWith('GET');
    expect([route, rows.some((row) => row.includes(idOfApiKey(scoped(needed))))]).toEqual([route, isChanged]);
    if (isChanged) changing.add(route);
  });
});

function isDeletion(route: string): number {
  return route.startsWith('DELETE ') ? 1 : 0;
}

test('every tenant route other than GET changes a row when it is called with a key of the tenant under test, except the routes that respond with 409', () => {
  const changes = TENANT_ROUTES.map(([route]) => route).filter((route) => !route.startsWith('GET '));
  expect(changes.filter((route) => !changing.has(route))).toEqual(changes.filter((route) => REFUSED.has(route)));
});

describe.each(OPERATOR_ROUTES)('%s', (route, needed) => {
  test('rejects a missing, revoked or expired key and tenant keys of any scope', async () => {
    const { revokedOperator, expiredOperator, otherTenant, otherMode } = CALLERS;
    const closed = [undefined, revokedOperator, expiredOperator, otherTenant, otherMode, ...ALL_SCOPES.map(scoped)];
    for (const key of closed) expect([key, ...codeOf(await request(route, key))]).toEqual([key, 401, 'unauthorized']);
  });

  test(`accepts ${needed} and the roles that include it, and no other role`, async () => {
    for (const role of ROLES) {
      const reply = await request(route, ofRole(role));
      if (includesRole(role, needed))
        expect([role, reply.status === 401 || reply.status === 403]).toEqual([role, false]);
      else expect([role, ...codeOf(reply)]).toEqual([role, 403, 'insufficient_role']);
      expect(reply.status).toBeLessThan(500);
    }
  });
});
