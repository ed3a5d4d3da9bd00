import { expect } from '@jest/globals';
import type { Reply } from '../world/api.ts';

/** Everything in which a replay equals the first response. */
export function meaning({ status, headers, text }: Reply) {
  const rest = Object.entries(headers).filter(([name]) => name !== 'Request-Id' && name !== 'Idempotency-Replayed');
  return { status, headers: Object.fromEntries(rest), text };
}

export function withoutRequestId({ status, body }: Reply) {
  const { request_id: requestId, ...rest } = body;
  expect(requestId).toMatch(/^req-\d+$/);
  return { status, ...rest };
}
