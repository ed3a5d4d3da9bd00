import { createHmac } from 'node:crypto';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { ExitCode, endingOf } from '../../cli/failure.ts';
import { payonceProgram } from '../../cli/program.ts';
import { signJobCredential, verifyJobCredential } from '../../lambdas/jobs/job-credential.ts';
import { CLOCK_OFFSET, systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { type Clock, wireMs } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { HttpCall } from '../../lambdas/outbound/http-call.ts';
import { signedCalls } from '../../lambdas/outbound/signed-calls.ts';
import { sandboxSignature } from '../../lambdas/processors/sandbox/sandbox-signature.ts';
import { verifyCallback } from '../../lambdas/processors/signatures/verify-callback.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { sendWebhook } from '../../lambdas/webhooks/use/send-webhook.ts';
import { PROJECT } from '../../local/directories.ts';
import { StateFile } from '../../local/state-file.ts';
import { sendEvent } from '../../sandbox/delivering.ts';
import { callback, change, paymentRequest } from '../payments/payment-fixtures.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { endpointNamed, eventNamed } from '../webhooks/webhook-fixtures.ts';
import { WebhookWorld } from '../webhooks/webhook-world.ts';
import { emptyBooks } from '../world/sandbox-books.ts';
import { World } from '../world/world.ts';

const DAY_MS = 86_400_000;
const SECRET = 'aB3dE6gH9jK2mN5pQ8rS1tU4vW7xY0zA';

/** Returns a clock that is four days ahead of `base`, the clock of other systems. */
const advanced = (base: Clock): Clock => ({
  nowMs: () => base.nowMs() + 4 * DAY_MS,
  wireMs: () => base.nowMs(),
  sleep: (ms) => base.sleep(ms),
});

const { env } = process;
const directory = mkdtempSync(join(tmpdir(), 'payonce-clock-'));
afterEach(() => {
  process.env = env;
  rmSync(directory, { recursive: true, force: true });
});

test('the clock of a process is ahead by the offset in its environment, but the time in signatures is not', () => {
  // The addition turns -0, the difference after a tick, into 0.
  const differences = () =>
    [systemClock.nowMs(), wireMs(systemClock)].map((ms) => Math.round((ms - Date.now()) / DAY_MS) + 0);
  expect(differences()).toEqual([0, 0]);
  process.env = { ...env, [CLOCK_OFFSET]: String(4 * DAY_MS) };
  expect(differences()).toEqual([4, 0]);
});

describe('after the clock was advanced, other systems accept', () => {
  let clock: SimulatedClock;

  // In a complete run, a test can start an hour after its file was loaded.
  beforeEach(() => {
    clock = new SimulatedClock(Date.now());
  });

  test('the signature of a webhook', async () => {
    const world = new WebhookWorld();
    const endpoint = endpointNamed('orders');
    await world.addEndpoints([endpoint]);
    await world.publish(eventNamed('paid'));
    const [delivery] = await world.store.webhooks.listDeliveries(endpoint.id, { limit: 1 });
    await world.until('sender', (actor) => {
      const tools = { ...world.webhookTools(actor), clock: advanced(world.clock) };
      return sendWebhook(tools, endpoint.id, delivery?.id ?? '');
    });
    expect(world.arrivals.map(({ headers }) => Number(headers['webhook-timestamp']) * 1000)).toEqual([
      world.clock.nowMs(),
    ]);
  });

  test('the signature of a call to a processor', async () => {
    const sent: HttpCall[] = [];
    const send = async (call: HttpCall) => {
      sent.push(call);
      return { status: 200, retryAfter: null, headers: new Headers(), text: '' };
    };
    const call = { method: 'POST', url: 'https://a.example/charges', headers: {}, body: '{}', timeoutMs: 1 };
    await signedCalls(send, async () => SECRET, advanced(clock))(call);
    new Webhook(SECRET).verify('{}', { ...sent[0]?.headers });
  });

  test('the credential of a job', async () => {
    const secrets = { active: async () => [SECRET], renewed: async () => undefined };
    const tools = { secrets, secretId: 'job-credential' };
    const claims = { path: '/expire', runId: 'expire:2026-03-01T12:00:00Z', scopes: [] };
    const token = await signJobCredential({ ...tools, clock: advanced(clock) }, claims);
    expect(await verifyJobCredential({ ...tools, clock }, token, '/expire')).toMatchObject({ kind: 'valid' });
    const theirs = await signJobCredential({ ...tools, clock }, claims);
    const verdict = await verifyJobCredential({ ...tools, clock: advanced(clock) }, theirs, '/expire');
    expect(verdict).toMatchObject({ kind: 'valid' });
  });

  test('the signature of a callback from the sandbox', async () => {
    const signatures: string[] = [];
    const world = {
      books: { ...emptyBooks(), noteDelivery: async () => undefined },
      tasks: { enqueue: async () => undefined },
      callbacks: { address: async () => 'https://a.example', secret: async () => SECRET },
      runner: idempotentRunner,
      post: async ({ signature }: { readonly signature: string }) => signatures.push(signature) > 0,
      newId: (prefix: string) => `${prefix}1`,
      wait: async () => undefined,
      nowMs: () => clock.nowMs() + DAY_MS,
      wireMs: () => clock.nowMs(),
    };
    const seconds = Math.floor(clock.nowMs() / 1000);
    const event = { id: 'evt_1', type: 'charge.succeeded', created: seconds, data: { id: 'ch_1' } };
    await sendEvent(world, event as unknown as Parameters<typeof sendEvent>[1], 1, 1);
    expect(signatures).toEqual([expect.stringContaining(`t=${seconds},`)]);
  });
});

describe('after the clock was advanced, Payonce returns the money of a canceled payment exactly once:', () => {
  const hold = { status: 'authorized' } as const;
  const charge = { status: 'succeeded', amount_captured: 1000 } as const;

  test.each([
    ['a hold that arrived earlier', hold, 'before', 'void'],
    ['a charge that arrived earlier', charge, 'before', 'refund'],
    ['a hold that arrives later', hold, 'after', 'void'],
    ['a charge that arrives later', charge, 'after', 'refund'],
  ] as const)('%s, at a processor whose clock was not advanced', async (_what, changes, arrives, returned) => {
    const world = new World();
    const clock = advanced(world.clock);
    const run = () => returnCharges({ ...world.tools, clock });
    const request = paymentRequest('late', { capture: 'manual' });
    await world.pay(request);
    await world.change(change(request, 'cancel', { kind: 'cancel' }));
    const chargeId = world.chargeOf(request);
    await world.processor.inside.correct(chargeId, changes);
    if (arrives === 'before') {
      await world.deliver(callback('late', chargeId));
      // The next attempt to return the money is due 15 minutes later.
      world.clock.advance(DAY_MS / 12);
      await world.processor.inside.goDown();
      expect(await world.returnCharges()).toMatchObject({ failed: 1 });
      await world.processor.inside.recover();
      expect(await world.returnCharges()).toMatchObject({ finished: 0, failed: 0 });
    } else await world.deliver(callback('late', chargeId), { clock });
    expect(await run()).toMatchObject({ finished: 1, failed: 0 });
    expect(await run()).toMatchObject({ finished: 0, failed: 0 });
    expect(world.processor.inside.sent.map(({ kind }) => kind)).toEqual(['charge', 'void', returned]);
    const status = returned === 'void' ? 'voided' : 'succeeded';
    expect(world.processor.charges(request.paymentId)).toMatchObject([{ status }]);
    expect(world.refundedAtProcessor(request)).toBe(returned === 'refund' ? 1000 : 0);
  });
});

test('after the clock was advanced, a callback from a processor whose clock was not advanced is accepted', async () => {
  const clock = new SimulatedClock();
  const seconds = Math.floor(clock.nowMs() / 1000);
  const body = Buffer.from('{}');
  const signature = createHmac('sha256', SECRET).update(`${seconds}.`).update(body).digest('hex');
  const secrets = { active: async () => [SECRET], renewed: async () => undefined };
  const source = { name: 'sandbox', mode: 'test', scheme: 'sandbox', secretId: 's' } as const;
  const signed = { body, header: () => [`t=${seconds},v1=${signature}`] };
  const verification = { scheme: sandboxSignature, secrets, clock: advanced(clock) };
  expect(await verifyCallback(verification, source, signed)).toEqual({ kind: 'valid' });
});

test('no SQL of the product reads the clock of the database, which is not advanced', () => {
  const files = globSync('lambdas/**/*.{ts,sql}', { cwd: PROJECT });
  expect(files).toContain(join('lambdas', 'postgres', 'migrations', '0001-authority.sql'));
  const clock =
    /(?<![.\w])now\(\)|\b(current_(timestamp|date|time)|(clock|statement|transaction)_timestamp|localtime)/i;
  expect(files.filter((file) => clock.test(readFileSync(join(PROJECT, file), 'utf8')))).toEqual([]);
});

describe('the clock offset of a stopped stack', () => {
  const write = (text: string) => {
    mkdirSync(join(directory, 'state'), { recursive: true });
    writeFileSync(join(directory, 'state', 'clock.json'), text);
  };

  test('is zero until the clock is advanced, remains after a stop, and is removed with the tables', () => {
    const state = new StateFile(directory);
    expect(state.clockOffsetMs()).toBe(0);
    write('{"offsetMs":345600000}');
    expect(state.clockOffsetMs()).toBe(4 * DAY_MS);
    state.removeEarlierState();
    expect(state.clockOffsetMs()).toBe(0);
  });

  test.each(['{', '{}', '{"offsetMs":-1}'])(
    'causes an error if it cannot be read (%s), so that no clock moves back',
    (text) => {
      write(text);
      expect(() => new StateFile(directory).clockOffsetMs()).toThrow(/^\S+clock\.json does not contain the offset/);
    },
  );
});

async function payonce(...words: readonly string[]): Promise<unknown> {
  const printed: string[] = [];
  const program = payonceProgram({ print: (text) => printed.push(text), isTerminal: false, freshKey: () => 'key' });
  return program.parseAsync(['--directory', directory, ...words], { from: 'user' }).then(
    () => printed,
    (error: unknown) => endingOf(error),
  );
}

describe('payonce clock', () => {
  test.each(['0d', '-1d', '1.5h', '3', '3w', '3651d', '99999999h', ''])('advance refuses %j', async (text) => {
    const sentence = expect.stringContaining('it must be a duration up to 3650d, for example 3d, 12h, 30m or 45s.');
    expect(await payonce('clock', 'advance', '--', text)).toEqual({ exitCode: ExitCode.usage, sentence });
  });

  test.each(['clock', 'clock show', 'clock advance 3d'])(
    'requires a running local stack, with and without --local: %s',
    async (command) => {
      const words = command.split(' ');
      const missing = { exitCode: ExitCode.notFound, sentence: expect.stringMatching(/^No local stack runs in /) };
      expect(await payonce(...words)).toEqual(missing);
      expect(await payonce('--local', ...words)).toEqual(missing);
    },
  );
});
