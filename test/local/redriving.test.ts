import { describe, expect, test } from '@jest/globals';
import { parkedWork } from '../../operator/redriving.ts';

describe('what was parked', () => {
  test('is given to the relay once more when it is a whole record', () => {
    const record = { eventName: 'INSERT', dynamodb: { SequenceNumber: '1' } };
    expect(parkedWork(JSON.stringify(record))).toEqual({ kind: 'relay', record });
  });

  /** As in the AWS Lambda developer guide, "Retain discarded records for a DynamoDB event source". */
  test('is published again from the Ledger when it is only a place in the Stream, a minute around it', () => {
    const pointer = {
      requestContext: { condition: 'RetryAttemptsExhausted', approximateInvokeCount: 21 },
      version: '1.0',
      DDBStreamBatchInfo: {
        shardId: 'shardId-00000001573689847184-864758bb',
        startSequenceNumber: '800000000003126276362',
        endSequenceNumber: '800000000003126276363',
        approximateArrivalOfFirstRecord: '2026-03-01T12:05:00Z',
        approximateArrivalOfLastRecord: '2026-03-01T12:07:00Z',
        batchSize: 2,
      },
    };
    expect(parkedWork(JSON.stringify(pointer))).toEqual({
      kind: 'republish',
      sinceMs: Date.UTC(2026, 2, 1, 12, 4),
      untilMs: Date.UTC(2026, 2, 1, 12, 8),
    });
  });
});
