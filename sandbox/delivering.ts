import { storedOperationId } from '../lambdas/kernel/ids.ts';
import { wireMs } from '../lambdas/kernel/world.ts';
import { type SandboxEvent, SIGNATURE_HEADER } from '../lambdas/processors/sandbox/sandbox-api.ts';
import { sign } from './signature.ts';
import { type DeliverTask, delivery, MAX_TASK_ATTEMPTS, waitSeconds } from './tasks.ts';
import type { Callback, SandboxWorld } from './world.ts';

/** Like real processors, the sandbox sends the event again if no response arrives in time. */
const DELIVERY_TIMEOUT_MS = 10_000;

/**
 * All attempts and their waits together take more than two hours, longer than any outage in tests and demonstrations.
 */
const MAX_DELIVERY_ATTEMPTS = 20;

/** If the response is not 2xx, the event is sent again after a wait that grows with each attempt. */
export async function deliver(world: SandboxWorld, task: DeliverTask): Promise<void> {
  const booked = await world.books.event(task.eventId);
  if (booked === undefined) {
    if (task.attempt < MAX_TASK_ATTEMPTS) {
      await enqueueNext(world, task);
    }
    return;
  }
  const taken = await world.runner.record<undefined, boolean>(storedOperationId(`deliver ${task.eventId}`), {
    find: async () => (booked.delivered && !task.again ? true : undefined),
    prepare: async () => undefined,
    commit: () => sendEvent(world, booked.event, task.copies, DELIVERY_TIMEOUT_MS),
  });
  if (!taken && task.attempt < MAX_DELIVERY_ATTEMPTS) {
    await enqueueNext(world, task);
  } else if (task.thenEventId !== null) {
    await world.tasks.enqueue(delivery(task.thenEventId), 0);
  }
}

/** Sends nothing while no address is configured. Returns whether any copy received a 2xx response. */
export async function sendEvent(
  world: SandboxWorld,
  event: SandboxEvent,
  copies: number,
  timeoutMs: number,
): Promise<boolean> {
  const address = await world.callbacks.address();
  if (address === undefined) {
    return false;
  }
  const { post = postOverHttp } = world;
  const body = JSON.stringify(event);
  const signature = sign(await world.callbacks.secret(), Math.floor(wireMs(world) / 1_000), body);
  const answers = await Promise.all(
    Array.from({ length: copies }, () => post({ address, body, signature, timeoutMs })),
  );
  const taken = answers.includes(true);
  await world.books.noteDelivery(event.id, copies, taken);
  return taken;
}

async function postOverHttp({ address, body, signature, timeoutMs }: Callback): Promise<boolean> {
  try {
    const response = await fetch(address, {
      method: 'POST',
      headers: { 'content-type': 'application/json', [SIGNATURE_HEADER]: signature },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    // Only the status matters. Canceling the body closes the connection even if the response never ends.
    await response.body?.cancel();
    return response.ok;
  } catch {
    // A failed connection, a timeout, or an invalid address counts as not delivered.
    return false;
  }
}

async function enqueueNext(world: SandboxWorld, task: DeliverTask): Promise<void> {
  await world.tasks.enqueue({ ...task, attempt: task.attempt + 1 }, waitSeconds(task.attempt));
}
