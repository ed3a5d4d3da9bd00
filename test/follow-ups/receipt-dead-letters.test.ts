/** Tests the guarantee "goods for money". */
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type PaidEvent, sendReceipt } from '../../lambdas/follow-ups/send-receipt.ts';
import type { CallLimit } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { makeAgain, recordGivenUp } from '../../lambdas/orders/parties/make-again.ts';
import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';
import { makeDelayedCall } from '../../lambdas/outbound/use/delayed-call.ts';
import { detailsOf, type Transition } from '../../lambdas/payments/domain/transition.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { type ConnectedParties, connectParties } from '../orders/connected-parties.ts';
import { MemoryDeadLetterStore } from '../outbound/memory-dead-letter-store.ts';
import { chainOfPaid, disputed, eventsOfPaid, ledgerOf, refunded } from '../payments/paid-chain.ts';
import { type SandboxServer, serveSandbox } from '../sandbox/sandbox-server.ts';
import { createTestSandbox, type TestSandbox } from '../sandbox/sandbox-world.ts';
import { Stores } from '../world/stores.ts';
import { World } from '../world/world.ts';

const METADATA = { receipt_email: 'ada@example.com' };

let world: World;
let sandbox: TestSandbox;
let server: SandboxServer;
let deadLetters: MemoryDeadLetterStore;
let claims: ConnectedParties['claims'];

beforeEach(async () => {
  world = new World();
  sandbox = createTestSandbox();
  server = await serveSandbox(sandbox.handler);
  deadLetters = new MemoryDeadLetterStore(world.clock);
  claims = new Stores(world.clock).sendingClaims('sandbox');
});
afterEach(async () => {
  await server[Symbol.asyncDispose]();
});

/** The receipt becomes a delayed message, because the mail service is unavailable. */
async function delayedReceipt(): Promise<void> {
  const [event] = eventsOfPaid('receipt', METADATA);
  const tools = { payments: ledgerOf(chainOfPaid('receipt', METADATA)), unsent: () => undefined };
  const { tools: ports, basics } = world;
  const { url, [Symbol.asyncDispose]: close } = await serveSandbox(sandbox.handler);
  await close();
  const { mailer } = connectParties({ clock: world.clock, url, deadLetters }, 'delay', claims);
  await sendReceipt({ ...basics, ...tools, records: ports.records, mailer }, event as PaidEvent);
  expect(deadLetters.delayed).toHaveLength(1);
}

/** @param chain the chain that the Ledger contains after the mail service has recovered */
async function delayedCall(chain: readonly Transition[]): Promise<readonly string[]> {
  const store = ledgerOf(chain) as PaymentStore;
  const parties = {
    ...world.tools,
    ...connectParties({ clock: world.clock, url: server.url, deadLetters }, 'throw', claims),
    store,
  };
  const results: string[] = [];
  for (const deadLetter of deadLetters.delayed.splice(0)) {
    const tools = {
      deadLetters,
      makeLast: (one: DeadLetter, limit: CallLimit, id: string) => makeAgain(parties, one, limit, id),
      recordGivenUp: (one: DeadLetter, id: string) => recordGivenUp(world.tools, one, id),
      runner: idempotentRunner,
      report: (error: unknown) => {
        throw error;
      },
    };
    results.push(await makeDelayedCall(tools, deadLetter, 'delayed', false));
  }
  return results;
}

const erased = ([first, ...others]: readonly Transition[]): readonly Transition[] => {
  if (first === undefined) return [];
  return [{ ...first, first: { ...detailsOf(first), metadata: {}, detailsErased: true } }, ...others];
};

describe('the last attempt of a delayed receipt', () => {
  test.each([
    ['still has its money', 1, chainOfPaid('receipt', METADATA)],
    ['was refunded in part', 1, chainOfPaid('receipt', METADATA, [refunded('re_1', 400)])],
    ['was refunded', 0, chainOfPaid('receipt', METADATA, [refunded('re_1', 1000)])],
    ['is disputed', 0, chainOfPaid('receipt', METADATA, [disputed('open')])],
    ['was erased', 0, erased(chainOfPaid('receipt', METADATA))],
  ])('for a charge that %s sends %i e-mails', async (_what, sent, chain) => {
    await delayedReceipt();
    world.clock.advance(24 * 60 * 60_000);
    expect(await delayedCall(chain)).toEqual([sent === 1 ? 'applied' : 'refused']);
    expect(await sandbox.books.emailsLabelled('tag=payment-receipt')).toHaveLength(sent);
    expect(await deadLetters.take(10)).toEqual([]);
  });
});
