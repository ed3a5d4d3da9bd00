import * as z from 'zod';
import { configuredParking } from '../events/store/sqs-parking.ts';
import { REDRIVE_SECONDS } from '../kernel/contract/timing.ts';
import { secrets } from '../kernel/platform/secrets-manager.ts';
import { queues } from '../kernel/platform/sqs.ts';
import { type Platform, systemPlatform } from '../kernel/platform/system-platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import type { OperationRunner } from '../once/use/operation-runner.ts';
import { configuredRedrive, type PartiesTools } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { DynamoDbOrders } from '../orders/store/dynamodb-orders.ts';
import { type LetterAnswer, type LetterOrder, MOST_LETTERS } from '../outbound/contract.ts';
import { callOnce } from '../outbound/http-call.ts';
import { readLetter } from '../outbound/store/sqs-letter-box.ts';
import { makeDelayedCall } from '../outbound/use/last-rung.ts';
import { listLetters, redriveLetters, UNREADABLE } from '../outbound/use/redrive-letters.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { readPaymentsConfig } from '../processors/settings.ts';

const letterOrder = z.strictObject({
  action: z.enum(['list', 'redrive']),
  atMost: z.int().min(1).max(MOST_LETTERS),
}) satisfies z.ZodType<LetterOrder>;

const delayedCall = z.object({
  messageId: z.string(),
  body: z.string(),
  attributes: z.object({ ApproximateReceiveCount: z.coerce.number() }),
});
const delayedCalls = z.object({ Records: z.array(delayedCall).length(1) });

/**
 * Makes the last attempt of a delayed call, and repeats the call of a dead letter that an operator moved to the queue
 * of delayed calls. Lists or redrives dead letters by `payonce letters`.
 */
export const handler = await idempotently(
  { unit: 'a delayed call or a dead letter', record: 'its message, which is removed once its call has ended' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & PartiesTools, runner: OperationRunner) {
  const { clock } = platform;
  const config = readPartiesConfig(platform.variables);
  if (config === undefined) throw new Error('this deployment has no parties, so there are no dead letters');
  const telemetry = standardTelemetry('dead-letters', platform.instruments);
  const { tables } = readPaymentsConfig(platform.variables, []);
  const store = new DynamoDbStore(platform.documents, tables, platform);
  const orders = new DynamoDbOrders(platform.documents, tables, platform, store);
  const redrive = await configuredRedrive(config, { ...platform, store, orders });
  const unreadable = configuredParking(platform, config.deadLettersQueueUrl);
  const tools = { ...redrive, runner, clock, report: (error: unknown) => telemetry.fault('redrive', error) };
  return async (event: unknown): Promise<LetterAnswer | { readonly batchItemFailures: readonly [] }> => {
    const delayed = delayedCalls.safeParse(event).data?.Records[0];
    if (delayed !== undefined) {
      const letter = readLetter(delayed.body);
      if (letter === undefined) {
        // A dead letter of another version, or not written by Payonce, that an operator redrove. It waits for another
        // action.
        await unreadable.park({ body: delayed.body, reason: UNREADABLE, detail: delayed.messageId });
        telemetry.run('last rung', {}, { came: UNREADABLE });
        return { batchItemFailures: [] };
      }
      const isRepeated = delayed.attributes.ApproximateReceiveCount > 1;
      const came = await makeDelayedCall(tools, letter, delayed.messageId, isRepeated);
      telemetry.run('last rung', {}, { came });
      // An error fails the only message of the batch.
      return { batchItemFailures: [] };
    }
    const { action, atMost } = readLetterOrder(event);
    const run = { deadlineMs: clock.nowMs() + REDRIVE_SECONDS * 1_000, atMost };
    const letters = await (action === 'list' ? listLetters(tools, run) : redriveLetters(tools, run));
    const stay = letters.filter(({ state }) => state === 'stays').length;
    telemetry.run(action, {}, { letters: letters.length, stay });
    return { letters };
  };
}

/** Reads the payload of the operator's command. @throws Error that names the invalid field */
function readLetterOrder(event: unknown): LetterOrder {
  const parsed = letterOrder.safeParse(event);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is invalid'}`);
}
