import * as z from 'zod';
import { configuredAuthority } from '../authority/configured-authority.ts';
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
import { type DeadLetterRequest, type DeadLetterResponse, MAX_DEAD_LETTERS } from '../outbound/contract.ts';
import { callOnce } from '../outbound/http-call.ts';
import { readDeadLetter } from '../outbound/store/sqs-dead-letter-store.ts';
import { makeDelayedCall } from '../outbound/use/delayed-call.ts';
import { listDeadLetters, redriveDeadLetters, UNREADABLE } from '../outbound/use/redrive-dead-letters.ts';
import { DynamoDbStore } from '../payments/store/dynamodb-store.ts';
import { readPaymentsConfig } from '../processors/settings.ts';

const deadLetterRequest = z.strictObject({
  action: z.enum(['list', 'redrive']),
  atMost: z.int().min(1).max(MAX_DEAD_LETTERS),
}) satisfies z.ZodType<DeadLetterRequest>;

const delayedCall = z.object({
  messageId: z.string(),
  body: z.string(),
  attributes: z.object({ ApproximateReceiveCount: z.coerce.number() }),
});
const delayedCalls = z.object({ Records: z.array(delayedCall).length(1) });

/**
 * Makes the last attempt of a delayed call, and retries the calls of dead letters that an operator has moved to the
 * queue of delayed calls.
 */
export const handler = await idempotently(
  { unit: 'a delayed call or a dead letter', record: 'the message, which is deleted after its call has ended' },
  (runner) => wire({ ...systemPlatform(), ...queues, ...secrets, send: callOnce }, runner),
);

export async function wire(platform: Platform & PartiesTools, runner: OperationRunner) {
  const { clock } = platform;
  const config = readPartiesConfig(platform.variables);
  if (config === undefined)
    throw new Error('this deployment has no external services for orders (shop, mailer), so there are no dead letters');
  const telemetry = standardTelemetry('dead-letters', platform.instruments);
  const { tables } = readPaymentsConfig(platform.variables, []);
  const { client, postgres } = await configuredAuthority(platform, tables);
  const store = postgres?.store ?? new DynamoDbStore(client, tables, platform);
  const orders = postgres?.orders() ?? new DynamoDbOrders(client, tables, platform, store);
  const redrive = await configuredRedrive(config, { ...platform, store, orders });
  const unreadable = configuredParking(platform, config.deadLettersQueueUrl);
  const tools = { ...redrive, runner, clock, report: (error: unknown) => telemetry.fault('redrive', error) };
  return async (event: unknown): Promise<DeadLetterResponse | { readonly batchItemFailures: readonly [] }> => {
    const delayed = delayedCalls.safeParse(event).data?.Records[0];
    if (delayed !== undefined) {
      const deadLetter = readDeadLetter(delayed.body);
      if (deadLetter === undefined) {
        // An operator redrove a message that is not a dead letter in the format of this code. Park it again, so that an
        // operator can act.
        await unreadable.park({ body: delayed.body, reason: UNREADABLE, detail: delayed.messageId });
        telemetry.run('delayed call', {}, { result: UNREADABLE });
        return { batchItemFailures: [] };
      }
      const isRepeated = delayed.attributes.ApproximateReceiveCount > 1;
      const result = await makeDelayedCall(tools, deadLetter, delayed.messageId, isRepeated);
      telemetry.run('delayed call', {}, { result });
      // The batch has only one message, so an error affects exactly this message.
      return { batchItemFailures: [] };
    }
    const { action, atMost } = readDeadLetterRequest(event);
    const run = { deadlineMs: clock.nowMs() + REDRIVE_SECONDS * 1_000, atMost };
    const deadLetters = await (action === 'list' ? listDeadLetters(tools, run) : redriveDeadLetters(tools, run));
    const stay = deadLetters.filter(({ state }) => state === 'stays').length;
    telemetry.run(action, {}, { dead_letters: deadLetters.length, stay });
    return { deadLetters };
  };
}

/** @throws Error that names the invalid field */
function readDeadLetterRequest(event: unknown): DeadLetterRequest {
  const parsed = deadLetterRequest.safeParse(event);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is invalid'}`);
}
