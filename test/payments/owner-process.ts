/**
 * A process that creates a payment with PostgreSQL as the authority whenever its parent process requests it. It can
 * stop at a statement until the parent sends `continue`. The parent also sets the time of its clock.
 */

import { isFault, TerminalError } from '../../lambdas/kernel/faults.ts';
import { systemDigest, systemEntropy } from '../../lambdas/kernel/platform/platform.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { PostgresStore } from '../../lambdas/payments/store/postgres-store.ts';
import { type CreatePaymentOutcome, createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { openDatabase } from '../../lambdas/postgres/connection.ts';
import type { Database } from '../../lambdas/postgres/database.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { createSandboxClient } from '../../lambdas/processors/sandbox/sandbox-client.ts';
import { fixed, sql } from '../postgres/postgres-fixture.ts';
import { paymentRequest } from './payment-fixtures.ts';

/** The statement at which a process stops, once. */
export interface Stop {
  readonly at: 'payment-claim' | 'record-complete';
  /** `inside`: before the transaction of the statement commits. `after`: after the response of the server. */
  readonly moment: 'inside' | 'after';
  /** Disables the time limit of an idle transaction. @default the connection's time limit applies */
  readonly mayIdle?: boolean;
}

export interface OwnerSettings {
  /** Connection URL of the functions' role. */
  readonly url: string;
  /** Address of the processor. */
  readonly processor: string;
  readonly key: string;
  readonly stop?: Stop;
}

export type OwnerOrder = { readonly kind: 'pay'; readonly nowMs: number } | { readonly kind: 'continue' };

export type OwnerReport =
  | { readonly kind: 'stopped' }
  /** The server refused the transaction in which the process had stopped. `code` is the error code. */
  | { readonly kind: 'refused'; readonly code: string | undefined }
  | { readonly kind: 'paid'; readonly outcome: CreatePaymentOutcome };

const RETRY_AFTER_MS = 100;

const { url, processor, key, stop } = JSON.parse(process.argv[2] ?? '') as OwnerSettings;
const resumed = Promise.withResolvers<void>();
let nowMs = 0;

const clock: Clock = {
  nowMs: () => nowMs,
  sleep: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};
const send = (report: OwnerReport): void => void process.send?.(report);

async function pause(): Promise<void> {
  send({ kind: 'stopped' });
  await resumed.promise;
}

function stopping(database: Database, { at, moment, mayIdle = false }: Stop): Database {
  let hasStopped = false;
  return {
    run: async (statement) => {
      if (hasStopped || statement.name !== at) return database.run(statement);
      hasStopped = true;
      if (moment === 'after') {
        const rows = await database.run(statement);
        await pause();
        return rows;
      }
      const committed = database.transaction(async (transaction) => {
        if (mayIdle) await transaction.run(sql('SET LOCAL idle_in_transaction_session_timeout = 0'));
        const rows = await transaction.run(statement);
        await pause();
        return rows;
      });
      return committed.catch((error: unknown) => {
        send({ kind: 'refused', code: isFault(error) ? error.code : String(error) });
        throw error;
      });
    },
    transaction: (work) => database.transaction(work),
  };
}

const opened = openDatabase({ credentials: fixed(parseServerUrl(url)), clock });
const pacing = { clock, entropy: systemEntropy };
const tools = {
  ...pacing,
  runner: idempotentRunner,
  digest: systemDigest,
  store: new PostgresStore({ database: stop === undefined ? opened : stopping(opened, stop), pacing }),
  processor: createSandboxClient({ url: processor, clock }),
};

/** Retries after each fault that is not a TerminalError, as a client does after a 503. */
async function pay(): Promise<CreatePaymentOutcome> {
  for (;;) {
    try {
      return await createPayment({ ...tools, replays: new ProcessReplayCache() }, paymentRequest(key));
    } catch (error) {
      if (!isFault(error) || error instanceof TerminalError) throw error;
      await clock.sleep(RETRY_AFTER_MS);
    }
  }
}

process.on('message', (order: OwnerOrder) => {
  if (order.kind === 'continue') return resumed.resolve();
  ({ nowMs } = order);
  void pay().then((outcome) => send({ kind: 'paid', outcome }));
});
process.on('disconnect', () => process.exit());
