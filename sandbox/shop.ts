import type { Context, Hono } from 'hono';
import * as z from 'zod';
import { storedOperationId } from '../lambdas/kernel/ids.ts';
import type {
  CreateCredit,
  CreateReservation,
  Credit,
  CreditList,
  Reservation,
  ReservationList,
} from '../lambdas/orders/parties/shop-api.ts';
import type { EntryBooks, EntryClaim, KeyedRequest } from './books.ts';
import { type Behavior, type Behaviors, creditBehaviors, reservationBehaviors } from './magic-names.ts';
import { SILENCE_MS } from './magic-sources.ts';
import { errorReply, jsonReply, notFound, type Reply, send } from './reply.ts';
import { emptyBody } from './request-bodies.ts';
import { checked, jsonBody, keyed } from './requests.ts';
import type { SandboxWorld } from './world.ts';

const name = z.string().min(1).max(255);

const reservationBody = z.strictObject({
  order: name,
  items: z
    .array(z.strictObject({ sku: name, quantity: z.int().positive() }))
    .min(1)
    .max(100),
}) satisfies z.ZodType<CreateReservation>;

const creditBody = z.strictObject({
  order: name,
  referrer: name,
  amount: z.int().positive(),
  currency: z.string().regex(/^[A-Z]{3}$/, 'must be an ISO 4217 code in upper case'),
}) satisfies z.ZodType<CreateCredit>;

const orderFilter = z.strictObject({ order: name });

export function addShop(app: Hono, world: SandboxWorld): void {
  const { stock, credits } = world.books;
  const created = () => Math.floor(world.nowMs() / 1_000);
  app.post('/stock/reservations', async (c) => {
    const order = await jsonBody(c, reservationBody);
    const make = (): Reservation => ({
      id: world.newId('rsv_'),
      object: 'reservation',
      ...order,
      status: 'reserved',
      created: created(),
    });
    const behaviors = reservationBehaviors(order);
    return send(c, await place(world, { service: 'stock', books: stock, request: keyed(c, order), behaviors, make }));
  });
  app.post('/stock/reservations/:id/release', async (c) => {
    await jsonBody(c, emptyBody);
    return send(c, await release(stock, c));
  });
  app.get('/stock/reservations', async (c) => {
    const list: ReservationList = { data: await stock.entriesOfOrder(checked(c.req.query(), orderFilter).order) };
    return c.json(list);
  });
  app.post('/referrals/credits', async (c) => {
    const order = await jsonBody(c, creditBody);
    const make = (): Credit => ({ id: world.newId('crd_'), object: 'credit', ...order, created: created() });
    const behaviors = creditBehaviors(order);
    return send(
      c,
      await place(world, { service: 'credits', books: credits, request: keyed(c, order), behaviors, make }),
    );
  });
  app.get('/referrals/credits', async (c) => {
    const list: CreditList = { data: await credits.entriesOfOrder(checked(c.req.query(), orderFilter).order) };
    return c.json(list);
  });
}

interface Placing<E extends Reservation | Credit> {
  readonly service: 'stock' | 'credits';
  readonly books: EntryBooks<E>;
  /** Each request without a key takes effect. */
  readonly request: KeyedRequest | undefined;
  readonly behaviors: Behaviors;
  readonly make: () => E;
}

/**
 * Two concurrent requests with one key may both find no claim, but only one can write it. The other request returns the
 * entry of the successful one.
 */
async function place<E extends Reservation | Credit>(world: SandboxWorld, placing: Placing<E>): Promise<Reply> {
  const { books, request } = placing;
  const claim = request && (await books.claimOf(request.key));
  if (claim !== undefined && claim.fingerprint !== request?.fingerprint) {
    return keyMismatch();
  }
  const behavior = await behaviorOf(world, placing, claim);
  if (behavior.kind === 'failed') {
    return errorReply(behavior.status, 'service_error', 'The service was configured to return this error.');
  }
  if (behavior.kind === 'refused') {
    return errorReply(behavior.status, behavior.code, behavior.message);
  }
  const entry = await bookOnce(world, placing, claim);
  if (entry === 'mismatch') {
    return keyMismatch();
  }
  if (behavior.kind === 'silent') {
    await world.wait(SILENCE_MS);
    return errorReply(504, 'service_timeout', 'The service was configured to return this error.');
  }
  return jsonReply(201, entry);
}

type Placed<E> = E | 'mismatch' | undefined;

/** The idempotency record is the claim of the key, written together with the entry. */
function bookOnce<E extends Reservation | Credit>(
  world: SandboxWorld,
  { service, books, request, make }: Placing<E>,
  claim: EntryClaim | undefined,
): Promise<Placed<E>> {
  if (request === undefined) return book(books, make(), request);
  return world.runner.record<undefined, Placed<E>>(storedOperationId(`${service} ${request.key}`), {
    find: async () => (claim === undefined ? undefined : books.entry(claim.entryId)),
    prepare: async () => undefined,
    commit: () => book(books, make(), request),
  });
}

async function behaviorOf<E extends Reservation | Credit>(
  world: SandboxWorld,
  { service, request, behaviors: { first, later } }: Placing<E>,
  claim: EntryClaim | undefined,
): Promise<Behavior> {
  if (request === undefined || first === later) {
    return first;
  }
  if (claim !== undefined) {
    return later;
  }
  // No idempotency key contains a space, so these counts are separate from those of other services and of the
  // processor.
  return (await world.books.countSend(`${service} ${request.key}`, world.nowMs())) === 1 ? first : later;
}

async function book<E extends Reservation | Credit>(
  books: EntryBooks<E>,
  entry: E,
  request: KeyedRequest | undefined,
): Promise<Placed<E>> {
  if ((await books.add(entry, request)) === 'added') {
    return entry;
  }
  const claim = request && (await books.claimOf(request.key));
  if (claim === undefined) {
    throw new Error('a taken key has no claim');
  }
  return claim.fingerprint === request?.fingerprint ? books.entry(claim.entryId) : 'mismatch';
}

/**
 * Concurrent releases need no condition: each writes the same content, because a reservation can change in no other
 * way.
 */
async function release(stock: EntryBooks<Reservation>, c: Context): Promise<Reply> {
  const found = await stock.entry(c.req.param('id') ?? '');
  if (found === undefined) {
    return notFound(c);
  }
  const released: Reservation = { ...found, status: 'released' };
  if (found.status !== 'released') {
    await stock.replace(released);
  }
  return jsonReply(200, released);
}

function keyMismatch(): Reply {
  return errorReply(422, 'idempotency_key_mismatch', 'The key was already used with a different body.');
}
