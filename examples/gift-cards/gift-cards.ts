import { createHash, randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { type Context, Hono } from 'hono';
import { Webhook } from 'standardwebhooks';

/*
 * A team's own processor for payments by gift card, behind `processorUrl` (docs/guides/processor-protocol.md). A charge
 * deducts its amount from a card's balance, once for each key: balance, charge, response and callback are written in
 * one transaction.
 */

export interface GiftCardsOptions {
  readonly database: DatabaseSync;
  /** `whsec_` followed by the value of the secret `ProcessorSigningKey`, which authenticates callers. */
  readonly signingKey: string;
  /** Payonce's address for callbacks, and `whsec_` followed by a value of the secret `ProcessorCallbackSecret`. */
  readonly callbacks: { readonly url: string; readonly secret: string };
  readonly livemode: boolean;
}

interface Refund {
  readonly id: string;
  readonly object: 'refund';
  readonly charge: string;
  readonly amount: number;
  readonly status: 'succeeded';
  readonly metadata: Readonly<Record<string, string>>;
}

interface Charge {
  readonly id: string;
  readonly object: 'charge';
  readonly amount: number;
  readonly amount_captured: number;
  readonly amount_refunded: number;
  readonly currency: string;
  readonly capture: 'automatic' | 'manual';
  readonly status: 'authorized' | 'succeeded' | 'declined' | 'voided';
  readonly failure: { readonly code: string; readonly message: string } | null;
  readonly fee: null;
  readonly action_url: null;
  readonly void_reason: 'requested' | null;
  readonly refunds: readonly Refund[];
  readonly disputes: readonly never[];
  readonly metadata: Readonly<Record<string, string>>;
  readonly livemode: boolean;
  /** Time of creation, in Unix seconds. */
  readonly created: number;
}

/** Amounts are in minor units. */
interface Params {
  readonly amount?: number;
  readonly currency?: string;
  readonly source?: string;
  readonly capture?: 'automatic' | 'manual';
  readonly metadata?: Readonly<Record<string, string>>;
}
type Answer = readonly [status: 200 | 201 | 400 | 402 | 404 | 422, body: object];

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS cards (id TEXT PRIMARY KEY, currency TEXT NOT NULL, balance INTEGER NOT NULL CHECK (balance >= 0)) STRICT;
  CREATE TABLE IF NOT EXISTS charges (n INTEGER PRIMARY KEY, id TEXT UNIQUE, key TEXT, payment TEXT, card TEXT, created INTEGER, charge TEXT) STRICT;
  CREATE INDEX IF NOT EXISTS charges_by_key ON charges (key);
  CREATE INDEX IF NOT EXISTS charges_by_payment ON charges (payment);
  CREATE TABLE IF NOT EXISTS answers (key TEXT PRIMARY KEY, request TEXT NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS callbacks (id TEXT PRIMARY KEY, body TEXT NOT NULL, tries INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL DEFAULT 0) STRICT;`;
const PAGE = 100;
const LONGEST_WAIT_MS = 3_600_000;

const refusal = (status: 400 | 402 | 404 | 422, code: string, message: string, more: object = {}): Answer => [
  status,
  { error: { code, message, ...more } },
];

// --------------------------------------------------------------------------------------------------------------- charges

function rowsIn(database: DatabaseSync) {
  database.exec(SCHEMA);
  return {
    find: (id: string) => {
      const row = database.prepare('SELECT card, charge FROM charges WHERE id = ?').get(id);
      return row && { card: String(row['card']), charge: JSON.parse(String(row['charge'])) as Charge };
    },
    /** @returns whether the balance sufficed */
    take: (card: string, amount: number, currency: string): boolean =>
      database
        .prepare('UPDATE cards SET balance = balance - ?1 WHERE id = ?2 AND currency = ?3 AND balance >= ?1')
        .run(amount, card, currency).changes === 1,
    /** @throws Error when the card no longer exists, which rolls back the change */
    giveBack: (card: string, amount: number) => {
      const { changes } = database.prepare('UPDATE cards SET balance = balance + ? WHERE id = ?').run(amount, card);
      if (changes !== 1) throw new Error(`there is no card ${card}`);
    },
    add: (charge: Charge, key: string, card: string) =>
      database
        .prepare('INSERT INTO charges (id, key, payment, card, created, charge) VALUES (?, ?, ?, ?, ?, ?)')
        .run(charge.id, key, charge.metadata['payment'] ?? null, card, charge.created, JSON.stringify(charge)),
    keep: (charge: Charge) =>
      database.prepare('UPDATE charges SET charge = ? WHERE id = ?').run(JSON.stringify(charge), charge.id),
    addEvent: (type: string, { id, metadata, livemode }: Charge, more: object = {}) => {
      const data = { charge: id, payment: metadata['payment'] ?? null, ...more };
      const created = Math.floor(Date.now() / 1000);
      const event = { id: `evt_${randomUUID()}`, object: 'event', type, livemode, created, data };
      database.prepare('INSERT INTO callbacks (id, body) VALUES (?, ?)').run(event.id, JSON.stringify(event));
    },
  };
}
type Rows = ReturnType<typeof rowsIn>;

function chargeCard(rows: Rows, key: string, params: Params, livemode: boolean): Answer {
  const { amount = 0, currency = '', source = '', capture = 'automatic', metadata = {} } = params;
  const isTaken = rows.take(source, amount, currency);
  const failure = isTaken
    ? null
    : { code: 'card_declined', message: 'The card is unknown, or its balance is too low.' };
  const status = failure !== null ? 'declined' : capture === 'manual' ? 'authorized' : 'succeeded';
  const charge: Charge = {
    id: `ch_${randomUUID()}`,
    object: 'charge',
    amount,
    amount_captured: status === 'succeeded' ? amount : 0,
    amount_refunded: 0,
    currency,
    capture,
    status,
    failure,
    fee: null,
    action_url: null,
    void_reason: null,
    refunds: [],
    disputes: [],
    metadata,
    livemode,
    created: Math.floor(Date.now() / 1000),
  };
  rows.add(charge, key, source);
  rows.addEvent(`charge.${status}`, charge);
  return failure === null ? [201, charge] : refusal(402, failure.code, failure.message, { charge: charge.id });
}

const CHANGES: Readonly<Record<string, (rows: Rows, card: string, charge: Charge, params: Params) => Answer>> = {
  capture: (rows, card, before, { amount = before.amount }) => {
    if (before.status !== 'authorized' || amount > before.amount)
      return refusal(400, 'not_capturable', `The charge is ${before.status}, with an amount of ${before.amount}.`);
    const after: Charge = { ...before, status: 'succeeded', amount_captured: amount };
    rows.giveBack(card, before.amount - amount);
    rows.keep(after);
    rows.addEvent('charge.succeeded', after);
    return [200, after];
  },
  void: (rows, card, before) => {
    if (before.status === 'voided') return [200, before];
    if (before.status !== 'authorized') return refusal(400, 'not_voidable', `The charge is ${before.status}.`);
    const after: Charge = { ...before, status: 'voided', void_reason: 'requested' };
    rows.giveBack(card, before.amount);
    rows.keep(after);
    rows.addEvent('charge.voided', after);
    return [200, after];
  },
  refunds: (rows, card, before, { amount = before.amount_captured - before.amount_refunded, metadata = {} }) => {
    const refunded = before.amount_refunded + amount;
    if (amount < 1 || refunded > before.amount_captured)
      return refusal(
        400,
        'amount_exceeds_left',
        `At most ${before.amount_captured - before.amount_refunded} can be refunded.`,
      );
    const id = `re_${randomUUID()}`;
    const refund: Refund = { id, object: 'refund', charge: before.id, amount, status: 'succeeded', metadata };
    const after: Charge = { ...before, amount_refunded: refunded, refunds: [...before.refunds, refund] };
    rows.giveBack(card, amount);
    rows.keep(after);
    rows.addEvent('refund.created', after, { refund: id });
    return [201, refund];
  },
};

/**
 * Runs the work once for each key, and stores the response. A request that is refused with 400 or 404 has no effect,
 * and a later request may use the same key.
 */
function once(database: DatabaseSync, key: string, request: string, work: () => Answer): Answer {
  database.exec('BEGIN IMMEDIATE');
  try {
    const stored = database.prepare('SELECT request, status, body FROM answers WHERE key = ?').get(key);
    if (stored !== undefined) {
      database.exec('COMMIT');
      return stored['request'] === request
        ? ([Number(stored['status']), JSON.parse(String(stored['body']))] as unknown as Answer)
        : refusal(422, 'idempotency_key_mismatch', 'The key was used with another body.');
    }
    const [status, body] = work();
    if (status !== 400 && status !== 404)
      database
        .prepare('INSERT INTO answers (key, request, status, body) VALUES (?, ?, ?, ?)')
        .run(key, request, status, JSON.stringify(body));
    database.exec('COMMIT');
    return [status, body];
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}

// ------------------------------------------------------------------------------------------------------------- callbacks

async function postCallbacks(database: DatabaseSync, { url, secret }: GiftCardsOptions['callbacks']): Promise<void> {
  const signer = new Webhook(secret);
  const due = database.prepare('SELECT id, body, tries FROM callbacks WHERE due <= ?').all(Date.now());
  for (const { id, body, tries } of due) {
    const now = new Date();
    const headers = {
      'content-type': 'application/json',
      'webhook-id': String(id),
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': signer.sign(String(id), now, String(body)),
    };
    const request = { method: 'POST', headers, body: String(body), signal: AbortSignal.timeout(10_000) };
    const isTaken = await fetch(url, request).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isTaken) database.prepare('DELETE FROM callbacks WHERE id = ?').run(String(id));
    else {
      const dueMs = Date.now() + Math.min(LONGEST_WAIT_MS, 1_000 * 2 ** Number(tries));
      database.prepare('UPDATE callbacks SET tries = tries + 1, due = ? WHERE id = ?').run(dueMs, String(id));
    }
  }
}

// --------------------------------------------------------------------------------------------------------------- routes

/** Creates the service, and the function `callBack`, which posts its callbacks and must be called every second. */
export function giftCards({ database, signingKey, callbacks, livemode }: GiftCardsOptions) {
  const rows = rowsIn(database);
  const caller = new Webhook(signingKey);
  const app = new Hono<{ Variables: { body: string } }>();

  function answer(
    c: Context<{ Variables: { body: string } }>,
    work: (key: string, params: Params) => Answer,
  ): Response {
    const body = c.get('body');
    const key = c.req.header('idempotency-key') ?? randomUUID();
    const request = createHash('sha256').update(`${c.req.path}\n${body}`).digest('hex');
    const params = JSON.parse(body || '{}') as Params;
    const { amount = 1 } = params;
    const [status, answered] =
      Number.isSafeInteger(amount) && amount >= 1
        ? once(database, key, request, () => work(key, params))
        : refusal(400, 'invalid_request', 'amount must be a whole number in minor units, at least 1.');
    return c.json(answered, status);
  }

  app.get('/health', (c) => c.json({ status: 'ok' }));

  // Refuse requests that are not signed with the key that only Payonce and this service have.
  app.use('/charges/*', async (c, next) => {
    const body = await c.req.text();
    try {
      caller.verify(body, Object.fromEntries(c.req.raw.headers), { jsonParse: false });
    } catch {
      return c.json({ error: { code: 'unauthorized', message: 'The call is not signed by Payonce.' } }, 401);
    }
    c.set('body', body);
    await next();
    return undefined;
  });

  app.post('/charges', (c) => answer(c, (key, params) => chargeCard(rows, key, params, livemode)));

  app.post('/charges/:id/:change', (c) =>
    answer(c, (_, params) => {
      const change = CHANGES[c.req.param('change')];
      const found = rows.find(c.req.param('id'));
      if (change === undefined || found === undefined) return refusal(404, 'not_found', 'There is no such charge.');
      return change(rows, found.card, found.charge, params);
    }),
  );

  app.get('/charges/:id', (c) => {
    const found = rows.find(c.req.param('id'));
    if (found !== undefined) return c.json(found.charge);
    const [status, refused] = refusal(404, 'not_found', 'There is no such charge.');
    return c.json(refused, status);
  });

  app.get('/charges', (c) => {
    const { key = null, payment = null, created_from: from = 0, created_to: to = 2 ** 40, cursor = 0 } = c.req.query();
    const found = database
      .prepare(
        `SELECT charge FROM charges WHERE (?1 IS NULL OR key = ?1) AND (?2 IS NULL OR payment = ?2)
           AND created >= ?3 AND created < ?4 ORDER BY created, n LIMIT ?5 OFFSET ?6`,
      )
      .all(key, payment, Number(from), Number(to), PAGE + 1, Number(cursor));
    const data = found.slice(0, PAGE).map((row) => JSON.parse(String(row['charge'])) as Charge);
    return c.json({ data, next: found.length > PAGE ? String(Number(cursor) + PAGE) : null });
  });

  return { app, callBack: async () => postCallbacks(database, callbacks) };
}
