import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';

/** `units` are the capacity units that DynamoDB reported. */
export interface CountedCall {
  readonly name: string;
  readonly units: number;
}

export function countedClient(client: DynamoDBDocumentClient): {
  readonly client: DynamoDBDocumentClient;
  readonly calls: CountedCall[];
} {
  const calls: CountedCall[] = [];
  const send = async (command: { readonly input: object }): Promise<unknown> => {
    Object.assign(command.input, { ReturnConsumedCapacity: 'TOTAL' });
    const output = (await client.send(command as never)) as { readonly ConsumedCapacity?: unknown };
    const consumed = [output.ConsumedCapacity].flat() as readonly { readonly CapacityUnits: number }[];
    const units = consumed.reduce((sum, { CapacityUnits }) => sum + CapacityUnits, 0);
    calls.push({ name: command.constructor.name.replace(/Command$/, ''), units });
    return output;
  };
  return { client: Object.create(client, { send: { value: send } }) as DynamoDBDocumentClient, calls };
}

export const isRead = ({ name }: CountedCall): boolean => /^(Get|BatchGet|Query)/.test(name);

export const unitsOf = (calls: readonly CountedCall[]): number => calls.reduce((sum, { units }) => sum + units, 0);
