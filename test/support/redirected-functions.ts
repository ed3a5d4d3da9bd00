import {
  LambdaClient,
  paginateListFunctions,
  UpdateFunctionConfigurationCommand,
  waitUntilFunctionUpdatedV2,
} from '@aws-sdk/client-lambda';
import { CREDENTIALS, localAws } from './local-aws.ts';

/**
 * The settings accept only addresses with TLS, and those of some vendors are constants. The functions get those of this machine's
 * servers instead, and nothing else of them changes.
 *
 * @param hosts the addresses of this machine, by those that the functions have
 */
export async function redirectFunctions(hosts: Readonly<Record<string, string>>): Promise<void> {
  const { awsEndpoint: endpoint, region } = localAws();
  const client = new LambdaClient({ endpoint, region, credentials: CREDENTIALS });
  for await (const { Functions = [] } of paginateListFunctions({ client }, {})) {
    for (const { FunctionName = '', Environment: { Variables = {} } = {} } of Functions) {
      const entries = Object.entries(Variables).map(([name, value]): [string, string] => {
        const host = Object.keys(hosts).find((each) => value.startsWith(each));
        return [name, host === undefined ? value : `${hosts[host]}${value.slice(host.length)}`];
      });
      if (entries.every(([name, value]) => Variables[name] === value)) continue;
      const changed = { FunctionName, Environment: { Variables: Object.fromEntries(entries) } };
      await client.send(new UpdateFunctionConfigurationCommand(changed));
      await waitUntilFunctionUpdatedV2({ client, maxWaitTime: 30, minDelay: 1 }, { FunctionName });
    }
  }
}
