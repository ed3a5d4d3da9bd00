import * as z from 'zod';
import { REDRIVE_SECONDS } from '../kernel/contract/timing.ts';
import { documentClient } from '../kernel/platform/document-client.ts';
import { systemClock, systemEntropy } from '../kernel/platform/platform.ts';
import { standardTelemetry } from '../kernel/platform/telemetry.ts';
import { idempotently } from '../once/idempotently.ts';
import { configuredRedrive } from '../orders/parties/configured-parties.ts';
import { readPartiesConfig } from '../orders/parties/settings.ts';
import { type LetterAnswer, type LetterOrder, MOST_LETTERS } from '../outbound/contract.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { listLetters, redriveLetters } from '../outbound/use/redrive-letters.ts';

const config = readPartiesConfig(process.env);
if (config === undefined) throw new Error('this deployment has no parties, so there are no dead letters');
const telemetry = standardTelemetry('dead-letters');
const redrive = await configuredRedrive(config, {
  client: documentClient(),
  clock: systemClock,
  entropy: systemEntropy,
  observer: outboundTelemetry(),
});
const tools = { ...redrive, clock: systemClock, report: (error: unknown) => telemetry.fault('redrive', error) };

const letterOrder = z.strictObject({
  action: z.enum(['list', 'redrive']),
  atMost: z.int().min(1).max(MOST_LETTERS),
}) satisfies z.ZodType<LetterOrder>;

/** Lists or redrives dead letters, for an operator, by `payonce letters`. */
export const handler = idempotently(
  { unit: 'a dead letter', record: 'the letter, which is removed once its call has ended' },
  (runner) =>
    async (event: unknown): Promise<LetterAnswer> => {
      const { action, atMost } = readLetterOrder(event);
      const run = { deadlineMs: systemClock.nowMs() + REDRIVE_SECONDS * 1_000, atMost };
      const letters = await (action === 'list' ? listLetters(tools, run) : redriveLetters({ ...tools, runner }, run));
      const stay = letters.filter(({ state }) => state === 'stays').length;
      telemetry.run(action, {}, { letters: letters.length, stay });
      return { letters };
    },
);

/** Reads the payload of the operator's command. @throws Error that names the invalid field */
function readLetterOrder(event: unknown): LetterOrder {
  const parsed = letterOrder.safeParse(event);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is invalid'}`);
}
