import {
  LambdaClient,
  paginateListFunctions,
  UpdateFunctionConfigurationCommand,
  waitUntilFunctionUpdatedV2,
} from '@aws-sdk/client-lambda';
import { CREDENTIALS, localAws } from './local-aws.ts';

/**
 * Changes only the URLs in the functions' environment variables. The settings cannot do this: they accept only URLs
 * with TLS, and do not contain the URLs of some vendors.
 *
 * @param hosts maps each host that the functions use to a host on this machine
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
