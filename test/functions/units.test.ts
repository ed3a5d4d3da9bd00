import { beforeEach, describe, expect, test } from '@jest/globals';
import { republishRange } from '../../lambdas/events/use/republish-range.ts';
import { jobEntry } from '../../lambdas/jobs/contract/jobs.ts';
import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import { ONE_DONE } from '../../lambdas/jobs/use/job.ts';
import { requestRun } from '../../lambdas/jobs/use/request-run.ts';
import { workRun } from '../../lambdas/jobs/use/work-run.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { OperationRunner } from '../../lambdas/once/use/operation-runner.ts';
import { redriveDeadLetters } from '../../lambdas/outbound/use/redrive-dead-letters.ts';
import { Projector } from '../../lambdas/views/http/projector.ts';
import { ProjectedEvents } from '../../lambdas/views/use/projected-events.ts';
import { fanOut } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { acceptReplay, replayPage } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { createSandbox } from '../../sandbox/routes.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { MemoryEventBus } from '../events/memory-event-bus.ts';
import { chains, RelayHarness } from '../events/relay-harness.ts';
import { countingJob, executorTools, LONG_JOB_ID, recordingObserver, recordOf } from '../jobs/job-fixtures.ts';
import { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { MemoryViews } from '../views/memory-views.ts';
import { endpointNamed, eventNamed, OWNER } from '../webhooks/webhook-fixtures.ts';
import { WebhookWorld } from '../webhooks/webhook-world.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';

const ENDPOINT = endpointNamed('orders');

/** One entry per execution. */
let units: string[];
let runner: OperationRunner;

beforeEach(() => {
  units = [];
  runner = {
    run: (operationId, steps) => {
      units.push(operationId);
      return idempotentRunner.run(operationId, steps);
    },
    record: (operationId, steps) => {
      units.push(operationId);
      return idempotentRunner.record(operationId, steps);
    },
  };
});

function expectTwice(count: number): void {
  expect(new Set(units).size).toBe(count);
  expect(units).toHaveLength(2 * count);
}

async function webhooks(): Promise<WebhookWorld> {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  return world;
}

describe('on duplicate delivery,', () => {
  test('a Stream record takes effect once at the relay', async () => {
    const harness = new RelayHarness(chains(2));
    await harness.relayWith({ runner });
    await harness.relayWith({ runner });
    expectTwice(2);
    expect(harness.publishedIds).toEqual(harness.expected);
  });

  test('a republished minute of the Ledger takes effect once', async () => {
    const transitions = chains(1);
    const events = eventsOf(systemDigest, transitions);
    const occurredAtMs = events[0]?.occurredAtMs ?? 0;
    const clock = new SimulatedClock(occurredAtMs + 60_000);
    const views = new MemoryViews();
    const publisher = new MemoryEventBus();
    const pacing = { clock, entropy: countingEntropy() };
    const stores = new Stores(clock);
    await stores.write(transitions);
    const projector = new Projector({ runner: idempotentRunner, views, report: () => undefined, ...pacing });
    const tools = {
      publisher,
      transitions: stores.ledger,
      processed: new ProjectedEvents(views),
      runner,
      digest: systemDigest,
      ...pacing,
    };
    const range = { sinceMs: occurredAtMs, untilMs: occurredAtMs + 1, deadlineMs: Number.MAX_SAFE_INTEGER };
    expect(await republishRange(tools, range)).toEqual({ found: 1, published: 1 });
    for (const event of publisher.published) await projector.take(event);
    expect(await republishRange(tools, range)).toEqual({ found: 1, published: 0 });
    expectTwice(1);
  });

  test('an event takes effect once at the projector', async () => {
    const [event] = eventsOf(systemDigest, chains(1));
    invariant(event !== undefined, 'the chain has no event');
    const views = new MemoryViews();
    let puts = 0;
    const put = views.put.bind(views);
    views.put = (rows) => {
      puts += 1;
      return put(rows);
    };
    const pacing = { clock: new SimulatedClock(), entropy: countingEntropy() };
    const projector = new Projector({ runner, views, report: () => undefined, ...pacing });
    expect(await projector.take(event)).toBe('projected');
    const written = puts;
    expect(await projector.take(event)).toBe('projected_before');
    expect(puts).toBe(written);
    expectTwice(1);
  });

  test('an event takes effect once at the webhook fan-out', async () => {
    const world = await webhooks();
    const event = eventNamed('one');
    const tools = { ...world.webhookTools(world.actor('fan-out')), runner };
    expect([await fanOut(tools, event), await fanOut(tools, event)]).toEqual(['fanned_out', 'before']);
    expectTwice(1);
    expect(await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 10 })).toHaveLength(1);
  });

  test('a webhook attempt takes effect once at the sender', async () => {
    const world = await webhooks();
    const tools = { ...world.webhookTools(world.actor('sender')), runner };
    world.appendToLedger(eventNamed('one'));
    await fanOut({ ...tools, runner: idempotentRunner }, eventNamed('one'));
    const [delivery] = await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 10 });
    const send = () => sendWebhook(tools, ENDPOINT.id, delivery?.id ?? '');
    expect((await Promise.all([send(), send()])).sort()).toEqual(['delivered', 'nothing_due']);
    expectTwice(1);
    expect(world.arrivals).toHaveLength(1);
  });

  test('a page of a replay takes effect once at the sender', async () => {
    const world = await webhooks();
    const fromMs = world.clock.nowMs();
    world.past = [eventNamed('past', fromMs)];
    const tools = { ...world.webhookTools(world.actor('sender')), runner };
    await acceptReplay(
      { ...tools, runner: idempotentRunner },
      {
        caller: OWNER,
        operationId: storedOperationId('wh_replay'),
        fingerprint: { version: 1, sha256: new Uint8Array(32) },
        endpointId: ENDPOINT.id,
        replayId: 'rpl_one',
        fromMs,
        untilMs: fromMs + 1,
        cause: BY_REQUEST,
      },
    );
    expect([await replayPage(tools, 'rpl_one'), await replayPage(tools, 'rpl_one')]).toEqual(['ended', 'nothing_due']);
    expectTwice(1);
    expect(await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 10 })).toHaveLength(1);
  });

  test('a page of a job run takes effect once at its worker', async () => {
    const clock = new SimulatedClock();
    const runs = new Stores(clock).jobRuns;
    const run = acceptedRun(LONG_JOB_ID, clock.nowMs(), clock.nowMs());
    await runs.accept(recordOf(run), run);
    const done: string[] = [];
    const job = countingJob(1, async (item) => {
      done.push(item);
      return ONE_DONE;
    });
    const tasks = { enqueue: async () => undefined };
    const tools = { runner, runs, tasks, observer: recordingObserver(), clock, jobs: { [LONG_JOB_ID]: job } };
    expect([await workRun(tools, run, 1), await workRun(tools, run, 1)]).toEqual(['succeeded', 'nothing_to_do']);
    expectTwice(1);
    expect(done).toHaveLength(1);
  });

  test('a scheduled invocation takes effect once at the executor', async () => {
    const world = new World();
    const entry = jobEntry('close-days');
    invariant(entry !== undefined, 'the job does not exist');
    const atMs = world.clock.nowMs();
    const ask = async (name: string) => requestRun({ ...executorTools(world, world.actor(name)), runner }, entry, atMs);
    expect([(await ask('a')).kind, (await ask('b')).kind]).toEqual(['asked', 'asked_before']);
    expectTwice(1);
  });

  test('a dead letter takes effect once even if two operators redrive it concurrently', async () => {
    const clock = new SimulatedClock();
    const deadLetters = new MemoryDeadLetterStore(clock);
    await deadLetters.put({
      vendor: 'postmark',
      operation: 'email.send',
      payload: {},
      attempts: 1,
      reason: 'postmark_account',
      mayBeApplied: false,
    });
    let calls = 0;
    const makeAgain = async () => {
      calls += 1;
      return { kind: 'applied' } as const;
    };
    const tools = { deadLetters, makeAgain, runner, clock, report: () => undefined };
    const redrive = () => redriveDeadLetters(tools, { deadlineMs: clock.nowMs() + 60_000, atMost: 10 });
    const reports = await Promise.all([redrive(), redrive()]);
    // If the dead letter were still in the queue, it would be visible again now.
    clock.advance(60 * 60_000);
    expect([...reports, await redrive()]).toMatchObject([[{ state: 'applied' }], [], []]);
    expect([units.length, calls]).toEqual([1, 1]);
  });

  test('a request with an idempotency key takes effect once at the sandbox', async () => {
    const books = emptyBooks();
    let ids = 0;
    const sandbox = createSandbox({
      books,
      tasks: { enqueue: async () => {} },
      runner,
      callbacks: { address: async () => undefined, secret: async () => 'secret' },
      nowMs: () => 0,
      newId: (prefix) => `${prefix}${++ids}`,
      wait: async () => {},
    });
    const charge = { amount: 1, currency: 'EUR', source: 'tok_ok', capture: 'manual', metadata: { payment: 'p' } };
    const post = async (path: string, body: object) => {
      const headers = { 'idempotency-key': `k${path}` };
      const answer = await sandbox.request(path, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await answer.json()) as { id: string };
    };
    const [first, second] = [await post('/charges', charge), await post('/charges', charge)];
    expect(second.id).toBe(first.id);
    expectTwice(1);
    const capture = `/charges/${first.id}/capture`;
    expect(await post(capture, { amount: 1 })).toEqual(await post(capture, { amount: 1 }));
    expectTwice(2);
  });
});
