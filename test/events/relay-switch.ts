import {
  GetEventSourceMappingCommand,
  LambdaClient,
  ListEventSourceMappingsCommand,
  UpdateEventSourceMappingCommand,
} from '@aws-sdk/client-lambda';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { localAws } from '../support/local-aws.ts';
import { until } from '../support/until.ts';
import { stackOutput } from './event-listener.ts';

/** Stops the relay on the deployed stack, as an operator might by mistake; or lets it go on. */
export async function switchRelay(state: 'Enabled' | 'Disabled'): Promise<void> {
  const { awsEndpoint: endpoint, region } = localAws();
  const lambda = new LambdaClient({ endpoint, region, credentials: CREDENTIALS });
  const FunctionName = await stackOutput('service', 'relayFunction');
  const { EventSourceMappings = [] } = await lambda.send(new ListEventSourceMappingsCommand({ FunctionName }));
  for (const { UUID } of EventSourceMappings) {
    await lambda.send(new UpdateEventSourceMappingCommand({ UUID, Enabled: state === 'Enabled' }));
    await until(async () => {
      const { State } = await lambda.send(new GetEventSourceMappingCommand({ UUID }));
      return State === state ? true : undefined;
    });
  }
}
