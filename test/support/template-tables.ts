import {
  CreateTableCommand,
  type CreateTableCommandInput,
  type DynamoDBClient,
  type StreamViewType,
  type TimeToLiveSpecification,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';

export interface TableTemplate {
  readonly Resources: Readonly<Record<string, { readonly Type: string; readonly Properties?: unknown }>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown }>>;
}

/** Properties with the same names in CloudFormation and in the DynamoDB API. */
const COMMON = [
  'KeySchema',
  'AttributeDefinitions',
  'BillingMode',
  'LocalSecondaryIndexes',
  'GlobalSecondaryIndexes',
] as const;

type TableProperties = Pick<CreateTableCommandInput, (typeof COMMON)[number]> & {
  readonly StreamSpecification?: { readonly StreamViewType: StreamViewType };
  readonly TimeToLiveSpecification?: TimeToLiveSpecification;
};

/**
 * Leaves out encryption, recovery and protection.
 *
 * @returns the names of the tables, each equal to the logical id of the table
 */
export async function createTablesOf(client: DynamoDBClient, { Resources }: TableTemplate): Promise<readonly string[]> {
  const tables = Object.entries(Resources).filter(([, { Type }]) => Type === 'AWS::DynamoDB::Table');
  await Promise.all(tables.map(([id, { Properties }]) => createTable(client, id, Properties as TableProperties)));
  return tables.map(([id]) => id);
}

async function createTable(client: DynamoDBClient, TableName: string, properties: TableProperties): Promise<void> {
  const { StreamSpecification: stream, TimeToLiveSpecification } = properties;
  await client.send(
    new CreateTableCommand({
      ...Object.fromEntries(COMMON.map((name) => [name, properties[name]])),
      TableName,
      ...(stream === undefined ? {} : { StreamSpecification: { StreamEnabled: true, ...stream } }),
    }),
  );
  if (TimeToLiveSpecification !== undefined)
    await client.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
}

export function resourceOf({ Outputs = {} }: TableTemplate, output: string): string {
  const value = Outputs[output]?.Value as { readonly Ref?: string } | undefined;
  if (value?.Ref === undefined) throw new Error(`the output ${output} refers to no resource of its template`);
  return value.Ref;
}
