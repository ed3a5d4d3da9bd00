import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetEventSourceMappingCommand,
  type LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';

const POLL_INTERVAL_MS = 100;
/** Maximum number of polls until the change of a mapping has taken effect. This can take Lambda up to two minutes. */
const MAX_POLLS = 3_000;

/**
 * Disables or enables the event source mappings of a function, and waits until the change has taken effect.
 *
 * @throws Error when the function has no mapping, or the change takes too long
 */
export async function switchEventSources(
  lambda: LambdaClient,
  FunctionName: string,
  state: 'Enabled' | 'Disabled',
): Promise<void> {
  const { EventSourceMappings = [] } = await lambda.send(new ListEventSourceMappingsCommand({ FunctionName }));
  if (EventSourceMappings.length === 0) throw new Error(`${FunctionName} has no event source`);
  for (const { UUID } of EventSourceMappings) {
    await lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: state === 'Enabled' }));
    for (let poll = 1; (await lambda.send(new GetEventSourceMappingCommand({ UUID }))).State !== state; poll += 1) {
      if (poll === MAX_POLLS) throw new Error(`the event source of ${FunctionName} did not become ${state}`);
      await sleep(POLL_INTERVAL_MS);
    }
  }
}
