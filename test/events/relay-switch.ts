import { LambdaClient } from '@aws-sdk/client-lambda';
import { switchEventSources } from '../../local/event-sources.ts';
import { CREDENTIALS, localAws } from '../support/local-aws.ts';
import { stackOutput } from './event-listener.ts';

/** An operator could do this by mistake. */
export async function switchRelay(state: 'Enabled' | 'Disabled'): Promise<void> {
  const { awsEndpoint: endpoint, region } = localAws();
  const lambda = new LambdaClient({ endpoint, region, credentials: CREDENTIALS });
  await switchEventSources(lambda, await stackOutput('service', 'relayFunction'), state);
}
