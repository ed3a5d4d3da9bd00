import { type Context, Hono } from 'hono';
import { LinearRouter } from 'hono/router/linear-router';
import type { Charge, EventList } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { requireSecret } from './access.ts';
import { askPayer, decideAction } from './actions.ts';
import { baseAddress } from './base-address.ts';
import { capture, voidCharge } from './charge.ts';
import { createCharge } from './charging.ts';
import { addControls } from './controls.ts';
import { listCharges } from './listing.ts';
import { addMail } from './mail.ts';
import { type RefundRequest, refund } from './money-back.ts';
import { changeOnRequest, type RequestedChange } from './operating.ts';
import { errorReply, jsonReply, notFound, type Reply, send } from './reply.ts';
import { amountBody, createChargeBody, decisionBody, emptyBody, refundBody } from './request-bodies.ts';
import { BadRequest, checked, jsonBody, keyed } from './requests.ts';
import { addShop } from './shop.ts';
import type { SandboxWorld } from './world.ts';

/** Serves the APIs in sandbox-api.ts, shop-api.ts and mail-api.ts. */
export function createSandbox(world: SandboxWorld): Hono {
  // The default router compiles all routes at the first request, which takes longer than handling many requests. This
  // router compiles nothing.
  const app = new Hono({ router: new LinearRouter() });
  if (world.secrets !== undefined) app.use('*', requireSecret(world.secrets));
  app.get('/health', (c) => c.json({ status: 'ok' }));
  addCharges(app, world);
  addOperations(app, world);
  app.get('/actions/:id', async (c) => send(c, await askPayer(world, c.req.param('id'))));
  app.post('/actions/:id', async (c) => {
    const { decision } = await payersAnswer(c);
    return send(c, await decideAction(world, c.req.param('id'), decision));
  });
  app.get('/events', async (c) => send(c, await listEvents(world, c)));
  addControls(app, world);
  addShop(app, world);
  addMail(app, world);
  refuseOtherMethods(app);
  app.notFound((c) => send(c, notFound(c)));
  app.onError((error, c) => {
    if (error instanceof BadRequest) {
      return send(c, error.reply);
    }
    console.error(error);
    return send(c, errorReply(500, 'internal_error', 'The sandbox failed.'));
  });
  return app;
}

function addCharges(app: Hono, world: SandboxWorld): void {
  app.post('/charges', async (c) => {
    const order = await jsonBody(c, createChargeBody);
    const actionUrl = (chargeId: string) => `${baseUrl(world, c)}/actions/${chargeId}`;
    return send(c, await createCharge(world, { order, request: keyed(c, order), actionUrl }));
  });
  app.get('/charges', async (c) => send(c, jsonReply(200, await listCharges(world.books, c.req.query()))));
  app.get('/charges/:id', async (c) => {
    const found = await world.books.charge(c.req.param('id'));
    return send(c, found === undefined ? notFound(c) : jsonReply(200, found.charge));
  });
}

function addOperations(app: Hono, world: SandboxWorld): void {
  app.post('/charges/:id/capture', async (c) => {
    const { amount } = await jsonBody(c, amountBody);
    const decide = (charge: Charge) => capture(charge, amount);
    return send(c, await onCharge(world, c, decide, { kind: 'capture', amount }));
  });
  app.post('/charges/:id/void', async (c) => {
    await jsonBody(c, emptyBody);
    return send(c, await onCharge(world, c, voidCharge, { kind: 'void' }));
  });
  app.post('/charges/:id/refunds', async (c) => {
    const asked = await jsonBody(c, refundBody);
    const refundId = world.newId('re_');
    const decide = (charge: Charge, begins: 'pending' | 'succeeded') => refund(charge, refundId, asked, begins);
    return send(c, await onCharge(world, c, decide, { kind: 'refund', ...asked }, refundId));
  });
}

/** Registered after all other routes, so that only known paths with other methods match. */
function refuseOtherMethods(app: Hono): void {
  const allowed = {
    '/health': 'GET',
    '/charges': 'GET, POST',
    '/charges/:id': 'GET',
    '/charges/:id/capture': 'POST',
    '/charges/:id/void': 'POST',
    '/charges/:id/refunds': 'POST',
    '/actions/:id': 'GET, POST',
    '/events': 'GET',
    '/control/failures': 'GET, PUT',
    '/control/change-failures': 'GET, PUT',
    '/control/events/:id/resend': 'POST',
    '/control/charges/:id/dispute': 'POST',
    '/control/charges/:id/expire': 'POST',
    '/control/disputes/:id/close': 'POST',
    '/control/refunds/:id/succeed': 'POST',
    '/control/refunds/:id/fail': 'POST',
    '/stock/reservations': 'GET, POST',
    '/stock/reservations/:id/release': 'POST',
    '/referrals/credits': 'GET, POST',
    '/email': 'POST',
    '/messages/outbound': 'GET',
    '/messages/outbound/:id/details': 'GET',
    '/server': 'GET',
  };
  for (const [path, allow] of Object.entries(allowed)) {
    app.all(path, (c) =>
      send(c, errorReply(405, 'method_not_allowed', `${c.req.method} is not allowed here.`, { allow })),
    );
  }
}

function onCharge(
  world: SandboxWorld,
  c: Context,
  decide: RequestedChange['decide'],
  asked: { readonly kind: 'capture' | 'void' | 'refund' } & RefundRequest,
  refundId: string | null = null,
): Promise<Reply> {
  const status = asked.kind === 'refund' ? 201 : 200;
  return changeOnRequest(world, c.req.param('id') ?? '', { decide, request: keyed(c, asked), status, refundId });
}

async function listEvents(world: SandboxWorld, c: Context): Promise<Reply> {
  const { charge } = c.req.query();
  if (charge === undefined) {
    throw new BadRequest('invalid_request', 'The parameter charge is required.');
  }
  const booked = await world.books.eventsOfCharge(charge);
  const list: EventList = { data: booked.map(({ event, attempts, delivered }) => ({ ...event, attempts, delivered })) };
  return jsonReply(200, list);
}

async function payersAnswer(c: Context) {
  const type = c.req.header('content-type') ?? '';
  return type.startsWith('application/x-www-form-urlencoded')
    ? checked(Object.fromEntries(new URLSearchParams(await c.req.text())), decisionBody)
    : jsonBody(c, decisionBody);
}

/**
 * The base URL is for the payer's browser. The configured base URL applies only if the request does not contain its
 * address.
 */
function baseUrl(world: SandboxWorld, c: Context): string {
  const { event } = (c.env ?? {}) as { readonly event?: unknown };
  const base = baseAddress(event) ?? world.baseUrl;
  if (base === undefined) {
    throw new Error('the request does not contain its address, and no base URL is configured');
  }
  return base;
}
