import type { SQSRecord } from 'aws-lambda';
import { CONSUMER_TRIES } from '../../kernel/contract/events.ts';
import { AmbiguousError, codeOf, RetryableError } from '../../kernel/faults.ts';
import type { Parking } from '../use/ledger-stream.ts';

/**
 * Parks a message that has failed at every try. An error that passes by itself, such as an outage, is no failure: the message waits.
 *
 * @param error of this try
 * @returns false when the message must be delivered again, also when it could not be parked
 */
export async function parkFailed(
  parking: Parking,
  { body, attributes }: Pick<SQSRecord, 'body' | 'attributes'>,
  error: unknown,
): Promise<boolean> {
  const mayPass = error instanceof RetryableError || error instanceof AmbiguousError;
  if (mayPass || Number(attributes.ApproximateReceiveCount) < CONSUMER_TRIES) return false;
  return parking.park({ body, reason: 'failed', detail: codeOf(error) }).then(
    () => true,
    () => false,
  );
}
