import type { Context, Hono } from 'hono';
import type { Charge, SandboxEvent } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { NO_FAILURES, type TroubledCalls } from './books.ts';
import { change } from './changing.ts';
import { type Decision, expireCharge } from './charge.ts';
import { magicSource } from './magic-sources.ts';
import { closeDispute, endRefund, openDispute } from './money-back.ts';
import { busy, operate } from './operating.ts';
import { jsonReply, notFound, type Reply, send } from './reply.ts';
import { amountBody, closeDisputeBody, emptyBody, resendBody, switchedFailuresBody } from './request-bodies.ts';
import { BadRequest, jsonBody } from './requests.ts';
import { delivery } from './tasks.ts';
import type { SandboxWorld } from './world.ts';

/** No real processor offers such routes to its merchants. */
export function addControls(app: Hono, world: SandboxWorld): void {
  for (const [path, calls] of [
    ['/control/failures', 'charges'],
    ['/control/change-failures', 'changes'],
  ] as const) {
    app.put(path, async (c) => send(c, await switchFailures(world, c, calls)));
    app.get(path, async (c) => c.json(await world.books.switchedFailures(calls)));
  }
  app.post('/control/events/:id/resend', async (c) => send(c, await resend(world, c, c.req.param('id'))));
  app.post('/control/charges/:id/dispute', async (c) => {
    const { amount } = await jsonBody(c, amountBody);
    const disputeId = world.newId('dp_');
    const decide = (charge: Charge) => openDispute(charge, disputeId, amount);
    return send(c, await operate(world, c.req.param('id'), { decide, status: 201 }));
  });
  app.post('/control/charges/:id/expire', async (c) => {
    await jsonBody(c, emptyBody);
    return send(c, await operate(world, c.req.param('id'), { decide: expireCharge, status: 200 }));
  });
  app.post('/control/disputes/:id/close', async (c) => {
    const { outcome } = await jsonBody(c, closeDisputeBody);
    const id = c.req.param('id');
    return send(c, await onPart(world, c, id, (charge) => closeDispute(charge, id, outcome)));
  });
  for (const [action, status] of [
    ['succeed', 'succeeded'],
    ['fail', 'failed'],
  ] as const) {
    app.post(`/control/refunds/:id/${action}`, async (c) => {
      await jsonBody(c, emptyBody);
      const id = c.req.param('id');
      return send(c, await onPart(world, c, id, (charge) => endRefund(charge, id, status)));
    });
  }
}

async function switchFailures(world: SandboxWorld, c: Context, calls: TroubledCalls): Promise<Reply> {
  const failures = await jsonBody(c, switchedFailuresBody);
  if (magicSource(failures.source) === undefined) {
    throw new BadRequest('invalid_source', `There is no source ${failures.source}.`);
  }
  await world.books.switchFailures(calls, failures.count === 0 ? NO_FAILURES : failures);
  return jsonReply(200, await world.books.switchedFailures(calls));
}

async function onPart(
  world: SandboxWorld,
  c: Context,
  partId: string,
  decide: (charge: Charge) => Decision,
): Promise<Reply> {
  const chargeId = await world.books.chargeOfPart(partId);
  return chargeId === undefined ? notFound(c) : operate(world, chargeId, { decide, status: 200 });
}

async function resend(world: SandboxWorld, c: Context, eventId: string): Promise<Reply> {
  const { id, copies } = await jsonBody(c, resendBody);
  const earlier = (await world.books.event(eventId))?.event;
  if (earlier === undefined) {
    return notFound(c);
  }
  if (id === 'same') {
    await world.tasks.enqueue(delivery(eventId, { copies, again: true }), 0);
    return jsonReply(202, earlier);
  }
  return sendAnew(world, earlier, copies);
}

/**
 * The new event is written with an empty change of the charge, because only a change gives an event its position in the
 * order of events.
 */
async function sendAnew(world: SandboxWorld, { type, data }: SandboxEvent, copies: number): Promise<Reply> {
  const { charge: chargeId, payment: _payment, ...parts } = data;
  const decide = (charge: Charge): Decision => ({
    kind: 'changed',
    charge,
    events: [{ type, ...parts }],
    answer: { status: 200, body: charge },
  });
  const outcome = await change(world, chargeId, decide, { deliveryOf: (event) => delivery(event.id, { copies }) });
  return outcome.kind === 'decided' ? jsonReply(202, outcome.made[0]) : busy();
}
