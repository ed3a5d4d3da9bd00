import type { Charge, CreateCharge, ProcessorError } from '../contract/sandbox-api.ts';
import type { Books, KeyedRequest } from './books.ts';
import { newCharge } from './charge.ts';
import { type Answer, type Behavior, type Effect, magicSource } from './magic-sources.ts';
import { errorReply, jsonReply, type Reply } from './reply.ts';

/** What the sandbox needs from the world. */
export interface SandboxWorld {
  readonly books: Books;
  readonly nowMs: () => number;
  readonly newId: (prefix: 'ch_' | 're_') => string;
  readonly wait: (milliseconds: number) => Promise<void>;
}

/** POST /charges. `request` is undefined for a call without a key, which makes a charge of its own each time. */
export async function createCharge(
  world: SandboxWorld,
  order: CreateCharge,
  request: KeyedRequest | undefined,
): Promise<Reply> {
  if (magicSource(order.source) === undefined) {
    return errorReply(400, 'invalid_source', `There is no source ${order.source}.`);
  }
  const claim = request && (await world.books.claimOf(request.key, world.nowMs()));
  if (claim !== undefined && claim.fingerprint !== request?.fingerprint) {
    return keyMismatch();
  }
  const behavior = await behaviorOf(world, order.source, request);
  const charge =
    claim === undefined
      ? await book(world, order, request, behavior.effect)
      : await chargeOf(world.books, claim.chargeId);
  if (charge === 'mismatch') {
    return keyMismatch();
  }
  return answer(world, behavior.answer, charge);
}

async function behaviorOf(world: SandboxWorld, source: string, request: KeyedRequest | undefined): Promise<Behavior> {
  const switched = await world.books.takeSwitchedFailure();
  const magic = magicSource(switched ?? source) ?? raise(`no magic source ${switched}`);
  if (switched !== undefined || request === undefined || magic.first === magic.later) {
    return magic.first;
  }
  const sends = await world.books.countSend(request.key, world.nowMs());
  return sends === 1 ? magic.first : magic.later;
}

/**
 * Two sends of one key may both have found no claim. The conditional write of the claim, in one transaction with the
 * charge, decides; the loser answers with the winner's charge:
 *
 *   A: claimOf → none               add → added
 *   B:           claimOf → none               add → key_taken   claimOf → A's charge
 */
async function book(
  world: SandboxWorld,
  order: CreateCharge,
  request: KeyedRequest | undefined,
  effect: Effect,
): Promise<Charge | 'mismatch' | undefined> {
  if (effect === 'nothing') {
    return undefined;
  }
  const nowMs = world.nowMs();
  const charge = newCharge(order, effect === 'succeed', world.newId('ch_'), Math.floor(nowMs / 1_000));
  if ((await world.books.add(charge, request, nowMs)) === 'added') {
    return charge;
  }
  const claim = request && (await world.books.claimOf(request.key, nowMs));
  if (claim === undefined) {
    return raise('a taken key must have its claim');
  }
  return claim.fingerprint === request?.fingerprint ? chargeOf(world.books, claim.chargeId) : 'mismatch';
}

async function chargeOf(books: Books, id: string): Promise<Charge> {
  return (await books.charge(id))?.charge ?? raise(`a claim names the charge ${id}, which is not in the books`);
}

async function answer(world: SandboxWorld, how: Answer, charge: Charge | undefined): Promise<Reply> {
  switch (how.kind) {
    case 'honest':
      await pause(world, how.delayMs);
      return charge === undefined ? raise('an honest answer needs a charge') : honest(charge);
    case 'unreadable':
      return { status: 201, body: `{"id":"${charge?.id ?? ''}","object":"char` };
    case 'error': {
      await pause(world, how.delayMs);
      const headers = how.retryAfterSeconds === undefined ? {} : { 'retry-after': String(how.retryAfterSeconds) };
      return errorReply(how.status, how.code, 'The sandbox was told to answer like this.', headers);
    }
  }
}

function honest(charge: Charge): Reply {
  if (charge.failure === null) {
    return jsonReply(201, charge);
  }
  const body: ProcessorError = { error: { ...charge.failure, charge: charge.id } };
  return jsonReply(402, body);
}

function keyMismatch(): Reply {
  return errorReply(422, 'idempotency_key_mismatch', 'The key was used before with another body.');
}

async function pause(world: SandboxWorld, milliseconds: number): Promise<void> {
  if (milliseconds > 0) {
    await world.wait(milliseconds);
  }
}

function raise(message: string): never {
  throw new Error(message);
}
