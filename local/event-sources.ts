import { setTimeout as sleep } from 'node:timers/promises';
import {
  GetEventSourceMappingCommand,
  type LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';

const POLL_INTERVAL_MS = 100;
/** It can take Lambda up to two minutes to change a mapping. */
const MAX_POLLS = 3_000;

/** @throws Error when the function has no mapping, or the change takes too long */
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
