import { storedOperationId } from '../lambdas/kernel/ids.ts';
import type { Charge, CreateCharge, ProcessorError } from '../lambdas/processors/sandbox/sandbox-api.ts';
import type { Books, KeyClaim, KeyedRequest } from './books.ts';
import { newCharge } from './charge.ts';
import { sendEvent } from './delivering.ts';
import { newEvent, statusEvent } from './events.ts';
import { answered, type Behavior, type CallbackDelivery, magicSource, type Sequel } from './magic-sources.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';
import { type AdvanceTask, delivery } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

export interface ChargeRequest {
  readonly order: CreateCharge;
  /** Each request without a key creates a new charge. */
  readonly request: KeyedRequest | undefined;
  /** The payer approves or refuses on this page. */
  readonly actionUrl: (chargeId: string) => string;
}

export async function createCharge(world: SandboxWorld, call: ChargeRequest): Promise<Reply> {
  const { order, request } = call;
  if (magicSource(order.source) === undefined) {
    return errorReply(400, 'invalid_source', `There is no source ${order.source}.`);
  }
  const claim = request && (await world.books.claimOf(request.key, world.nowMs()));
  if (claim !== undefined && claim.fingerprint !== request?.fingerprint) {
    return keyMismatch();
  }
  const behavior = await behaviorOf(world, order.source, request);
  const charge = await bookOnce(world, call, behavior, claim);
  if (charge === 'mismatch') {
    return keyMismatch();
  }
  return answered(world.wait, behavior.answer, charge && honest(charge));
}

type Booked = Charge | 'mismatch' | undefined;

/** The idempotency record is the claim of the key, written together with the charge. */
function bookOnce(
  world: SandboxWorld,
  call: ChargeRequest,
  behavior: Behavior,
  claim: KeyClaim | undefined,
): Promise<Booked> {
  const { request } = call;
  if (request === undefined) return book(world, call, behavior);
  return world.runner.record<undefined, Booked>(storedOperationId(`charge ${request.key}`), {
    find: async () => (claim === undefined ? undefined : chargeOf(world.books, claim.chargeId)),
    prepare: async () => undefined,
    commit: () => book(world, call, behavior),
  });
}

async function behaviorOf(world: SandboxWorld, source: string, request: KeyedRequest | undefined): Promise<Behavior> {
  const switched = await world.books.takeSwitchedFailure('charges');
  const magic = magicSource(switched ?? source) ?? raise(`no magic source ${switched}`);
  if (switched !== undefined || request === undefined || magic.first === magic.later) {
    return magic.first;
  }
  const sends = await world.books.countSend(request.key, world.nowMs());
  return sends === 1 ? magic.first : magic.later;
}

/**
 * Two concurrent requests with one key may both find no claim, but only one can write it:
 *
 *   A: claimOf → none               add → added
 *   B:           claimOf → none               add → key_taken   claimOf → A's charge
 *
 * The charge's tasks are enqueued before the charge is written, so a crash in between does not lose them.
 */
async function book(
  world: SandboxWorld,
  { order, request, actionUrl }: ChargeRequest,
  { effect, callback = 'once', sequel, withFee = false }: Behavior,
): Promise<Booked> {
  if (effect === 'nothing') {
    return undefined;
  }
  const nowMs = world.nowMs();
  const id = world.newId('ch_');
  const charge = newCharge({
    id,
    order,
    beginning: effect,
    livemode: world.livemode ?? false,
    actionUrl: effect === 'ask' ? actionUrl(id) : null,
    withFee,
    createdSeconds: Math.floor(nowMs / 1_000),
  });
  const event = newEvent(world, charge, statusEvent(charge.status));
  await enqueueDelivery(world, event.id, callback);
  if (sequel !== undefined) {
    await enqueueSequel(world, sequel, id, callback === 'after_next' ? event.id : null);
  }
  if ((await world.books.add(charge, event, request, nowMs)) === 'added') {
    if (callback === 'before_answer') {
      await sendEvent(world, event, 1, FIRST_CALLBACK_TIMEOUT_MS);
    }
    return charge;
  }
  const claim = request && (await world.books.claimOf(request.key, nowMs));
  if (claim === undefined) {
    return raise('a taken key has no claim');
  }
  return claim.fingerprint === request?.fingerprint ? chargeOf(world.books, claim.chargeId) : 'mismatch';
}

/** The caller waits for this callback, so the limit must be shorter than the caller's timeout. */
const FIRST_CALLBACK_TIMEOUT_MS = 5_000;

async function enqueueDelivery(world: SandboxWorld, eventId: string, kind: CallbackDelivery): Promise<void> {
  switch (kind) {
    case 'once':
      return world.tasks.enqueue(delivery(eventId), 0);
    case 'twice':
      return world.tasks.enqueue(delivery(eventId, { copies: 2 }), 0);
    case 'before_answer':
      // This task sends the event again, unless the attempt before the response delivered it.
      return world.tasks.enqueue(delivery(eventId, { attempt: 2 }), FIRST_CALLBACK_TIMEOUT_MS / 1_000 + 1);
    case 'after_next':
      return undefined;
  }
}

async function enqueueSequel(
  world: SandboxWorld,
  { to, afterSeconds }: Sequel,
  chargeId: string,
  heldEventId: string | null,
): Promise<void> {
  const task: AdvanceTask = {
    kind: 'advance',
    chargeId,
    to,
    attempt: 1,
    partId: to === 'dispute' ? world.newId('dp_') : null,
    heldEventId,
  };
  await world.tasks.enqueue(task, afterSeconds);
}

async function chargeOf(books: Books, id: string): Promise<Charge> {
  return (await books.charge(id))?.charge ?? raise(`a claim refers to the charge ${id}, which does not exist`);
}

function honest(charge: Charge): Reply {
  if (charge.failure === null) {
    return jsonReply(201, charge);
  }
  const body: ProcessorError = { error: { ...charge.failure, charge: charge.id } };
  return jsonReply(402, body);
}

function keyMismatch(): Reply {
  return errorReply(422, 'idempotency_key_mismatch', 'The key was already used with a different body.');
}

function raise(message: string): never {
  throw new Error(message);
}
