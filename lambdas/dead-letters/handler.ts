import { documentClient } from '../adapters/dynamodb/document-client.ts';
import { systemClock, systemEntropy } from '../adapters/system/platform.ts';
import { configuredRedrive } from '../adapters/vendors/configured-parties.ts';
import { listLetters, redriveLetters } from '../app/redrive-letters.ts';
import type { LetterAnswer } from '../contract/letters-api.ts';
import { REDRIVE_SECONDS } from '../contract/timing.ts';
import { outboundTelemetry } from '../runtime/outbound-telemetry.ts';
import { readPartiesConfig } from '../runtime/parties-config.ts';
import { standardTelemetry } from '../runtime/telemetry.ts';
import { readLetterOrder } from './letter-order.ts';

const config = readPartiesConfig(process.env);
if (config === undefined) throw new Error('this deployment calls nobody, so there are no letters');
const telemetry = standardTelemetry('dead-letters');
const redrive = await configuredRedrive(config, {
  client: documentClient(),
  clock: systemClock,
  entropy: systemEntropy,
  observer: outboundTelemetry(),
});
const tools = { ...redrive, clock: systemClock, report: (error: unknown) => telemetry.fault('redrive', error) };

/** Lists the calls that were given up, or makes them again: for an operator, by `npm run letters`. */
export async function handler(event: unknown): Promise<LetterAnswer> {
  const { action, atMost } = readLetterOrder(event);
  const run = { deadlineMs: systemClock.nowMs() + REDRIVE_SECONDS * 1_000, atMost };
  const letters = await (action === 'list' ? listLetters(tools, run) : redriveLetters(tools, run));
  telemetry.run(action, {}, { letters: letters.length, stay: letters.filter(({ state }) => state === 'stays').length });
  return { letters };
}
