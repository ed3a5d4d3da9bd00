import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type Context, Hono } from 'hono';
import type * as z from 'zod';
import type { ChargeList } from '../contract/sandbox-api.ts';
import { type KeyedRequest, NO_FAILURES } from './books.ts';
import type { Operation } from './charge.ts';
import { createCharge, type SandboxWorld } from './charging.ts';
import { magicSource } from './magic-sources.ts';
import { operate } from './operating.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';
import { amountBody, createChargeBody, emptyBody, idempotencyKey, switchedFailuresBody } from './request-bodies.ts';

/** A request that cannot be understood; becomes its reply at the edge. */
class BadRequest extends Error {
  readonly reply: Reply;

  constructor(code: string, message: string) {
    super(message);
    this.reply = errorReply(400, code, message);
  }
}

/** The sandbox's HTTP API, as described in the contract. */
export function createSandbox(world: SandboxWorld): Hono {
  const app = new Hono();
  app.get('/health', (c) => c.json({ status: 'ok' }));
  app.post('/charges', async (c) => {
    const order = await body(c, createChargeBody);
    return send(c, await createCharge(world, order, keyed(c, order)));
  });
  app.get('/charges', async (c) => send(c, await listCharges(world, c)));
  app.get('/charges/:id', async (c) => {
    const found = await world.books.charge(c.req.param('id'));
    return send(c, found === undefined ? notFound(c) : jsonReply(200, found.charge));
  });
  app.post('/charges/:id/capture', async (c) => {
    const { amount } = await body(c, amountBody);
    return send(c, await onCharge(world, c, { kind: 'capture', amount }, { kind: 'capture', amount }));
  });
  app.post('/charges/:id/void', async (c) => {
    await body(c, emptyBody);
    return send(c, await onCharge(world, c, { kind: 'void' }, { kind: 'void' }));
  });
  app.post('/charges/:id/refunds', async (c) => {
    const { amount } = await body(c, amountBody);
    const operation: Operation = { kind: 'refund', amount, refundId: world.newId('re_') };
    return send(c, await onCharge(world, c, operation, { kind: 'refund', amount }));
  });
  app.put('/control/failures', async (c) => send(c, await switchFailures(world, c)));
  app.get('/control/failures', async (c) => c.json(await world.books.switchedFailures()));
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

/** Registered after the real routes: what comes here has a known path and another method. */
function refuseOtherMethods(app: Hono): void {
  const allowed = {
    '/health': 'GET',
    '/charges': 'GET, POST',
    '/charges/:id': 'GET',
    '/charges/:id/capture': 'POST',
    '/charges/:id/void': 'POST',
    '/charges/:id/refunds': 'POST',
    '/control/failures': 'GET, PUT',
  };
  for (const [path, allow] of Object.entries(allowed)) {
    app.all(path, (c) =>
      send(c, errorReply(405, 'method_not_allowed', `${c.req.method} is not allowed here.`, { allow })),
    );
  }
}

async function listCharges(world: SandboxWorld, c: Context): Promise<Reply> {
  const { key, payment } = c.req.query();
  if ((key === undefined) === (payment === undefined)) {
    throw new BadRequest('invalid_request', 'Give either key or payment.');
  }
  const data =
    key === undefined ? await world.books.chargesOfPayment(payment ?? '') : await world.books.chargesOfKey(key);
  const list: ChargeList = { data };
  return jsonReply(200, list);
}

async function switchFailures(world: SandboxWorld, c: Context): Promise<Reply> {
  const failures = await body(c, switchedFailuresBody);
  if (magicSource(failures.source) === undefined) {
    throw new BadRequest('invalid_source', `There is no source ${failures.source}.`);
  }
  await world.books.switchFailures(failures.count === 0 ? NO_FAILURES : failures);
  return jsonReply(200, await world.books.switchedFailures());
}

function onCharge(world: SandboxWorld, c: Context, operation: Operation, asked: object): Promise<Reply> {
  return operate(world, c.req.param('id') ?? '', operation, keyed(c, asked));
}

async function body<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
  const text = await c.req.text();
  let parsed: unknown;
  try {
    parsed = text === '' ? {} : JSON.parse(text);
  } catch (cause) {
    throw new BadRequest('invalid_json', cause instanceof Error ? cause.message : 'The body is not JSON.');
  }
  const checked = schema.safeParse(parsed);
  if (!checked.success) {
    const issue = checked.error.issues[0];
    throw new BadRequest('invalid_request', `${issue?.path.join('.') ?? ''}: ${issue?.message ?? 'is not valid'}`);
  }
  return checked.data;
}

function keyed(c: Context, asked: object): KeyedRequest | undefined {
  const header = c.req.header('idempotency-key');
  if (header === undefined) {
    return undefined;
  }
  const key = idempotencyKey.safeParse(header);
  if (!key.success) {
    throw new BadRequest('invalid_request', 'Idempotency-Key must be 1 to 255 visible ASCII characters.');
  }
  const fingerprint = createHash('sha256')
    .update(canonicalize(asked) ?? '')
    .digest('base64url');
  return { key: key.data, fingerprint };
}

function notFound(c: Context): Reply {
  return errorReply(404, 'not_found', `There is nothing at ${c.req.path}.`);
}

function send(c: Context, reply: Reply): Response {
  return c.body(reply.body, reply.status, { 'content-type': 'application/json', ...reply.headers });
}
