import type { RequestCount } from '../../kernel/platform/telemetry.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import type { ChangePaymentOutcome } from '../use/change-payment.ts';
import type { CreatePaymentOutcome } from '../use/create-payment.ts';

export function runCounts(
  outcome: CreatePaymentOutcome | ChangePaymentOutcome,
  notes: RunNotes,
): readonly RequestCount[] {
  const counts: RequestCount[] = [];
  if (outcome.kind === 'payload_mismatch') counts.push('mismatch');
  else if (outcome.kind === 'replay') counts.push(outcome.source === 'cache' ? 'replay_warm' : 'replay');
  else if (outcome.kind === 'key_expired') counts.push('replay_missed');
  else if (outcome.kind === 'first' || outcome.kind === 'in_progress') counts.push(outcome.kind);
  if (outcome.kind === 'first' && outcome.unknown) counts.push('unknown');
  if (notes.takenOver) counts.push('takeover');
  if (notes.fenced) counts.push('fenced');
  return counts;
}
