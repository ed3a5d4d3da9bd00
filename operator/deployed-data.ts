import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { StackName, StackOutput } from '../lambdas/kernel/contract/api.ts';
import { awsTarget } from './deployment.ts';

interface DeployedData {
  readonly client: DynamoDBClient;
  /** By their names. */
  readonly tables: Readonly<Record<'idempotency' | 'ledger' | 'registry' | 'views', string>>;
}

/** The tables of a deployed stack, found by its outputs. @throws Error that says what is missing */
export async function deployedData(local: boolean): Promise<DeployedData> {
  const target = awsTarget(local);
  const { Stacks = [] } = await new CloudFormationClient(target).send(
    new DescribeStacksCommand({ StackName: StackName.data }),
  );
  const outputs = Stacks[0]?.Outputs ?? [];
  const tableOf = (name: string): string => {
    const value = outputs.find(({ OutputKey }) => OutputKey === name)?.OutputValue;
    if (value === undefined) throw new Error(`The stack ${StackName.data} has no output ${name}.`);
    return value;
  };
  return {
    client: new DynamoDBClient({ ...target, maxAttempts: 1 }),
    tables: {
      idempotency: tableOf(StackOutput.idempotencyTable),
      ledger: tableOf(StackOutput.ledgerTable),
      registry: tableOf(StackOutput.registryTable),
      views: tableOf(StackOutput.viewsTable),
    },
  };
}
