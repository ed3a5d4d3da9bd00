import { UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { type ChangeBooks, KEY_RETENTION_MS, newParts } from './books.ts';
import { type DynamoDbAccess, getAll, pointersAt, read, transact } from './dynamodb-requests.ts';
import { EVENT_PREFIX, eventItem, eventPointer, eventRows, expiry, operationItem, rowKey } from './dynamodb-rows.ts';

export function changeBooks(access: DynamoDbAccess): ChangeBooks {
  const { client, tableName } = access;
  const put = (item: object) => ({ Put: { TableName: tableName, Item: item } });
  return {
    operation: (chargeId, key) => read(access, rowKey.operation(chargeId, key), operationItem),
    change: async (seen, { charge, events, operation }) => {
      const chargeId = charge.id;
      const version = seen.version + 1;
      const outcome = await transact(access, [
        {
          Put: {
            TableName: tableName,
            Item: { ...rowKey.charge(chargeId), version, charge },
            // After a conflict, the change is decided again on the new state.
            ConditionExpression: 'version = :seen',
            ExpressionAttributeValues: { ':seen': seen.version },
          },
        },
        ...eventRows(version, events).map(put),
        ...newParts(seen.charge, charge).map(({ id }) => put({ ...rowKey.part(id), chargeId })),
        ...(operation === undefined
          ? []
          : [
              {
                Put: {
                  TableName: tableName,
                  Item: {
                    ...rowKey.operation(chargeId, operation.key),
                    ...operation,
                    expiresAt: expiry(operation.appliedAtMs),
                  },
                  ConditionExpression: 'attribute_not_exists(pk) OR appliedAtMs <= :forgotten',
                  ExpressionAttributeValues: { ':forgotten': operation.appliedAtMs - KEY_RETENTION_MS },
                },
              },
            ]),
      ]);
      return outcome === 'applied' ? 'changed' : 'conflict';
    },
    event: (id) => read(access, rowKey.event(id), eventItem),
    eventsOfCharge: async (chargeId) => {
      const pointers = await pointersAt(access, rowKey.charge(chargeId).pk, EVENT_PREFIX, eventPointer);
      const items = await getAll(
        access,
        pointers.map(({ eventId }) => rowKey.event(eventId)),
      );
      const found = new Map(items.map((item) => eventItem.parse(item)).map((booked) => [booked.event.id, booked]));
      return pointers.flatMap(({ eventId }) => found.get(eventId) ?? []);
    },
    noteDelivery: async (eventId, sent, taken) => {
      await client.send(
        new UpdateCommand({
          TableName: tableName,
          Key: rowKey.event(eventId),
          // Concurrent deliveries each add their own sends. A failure does not overwrite a success.
          UpdateExpression: taken ? 'SET delivered = :taken ADD attempts :sent' : 'ADD attempts :sent',
          ConditionExpression: 'attribute_exists(pk)',
          ExpressionAttributeValues: { ':sent': sent, ...(taken ? { ':taken': true } : {}) },
        }),
      );
    },
  };
}
