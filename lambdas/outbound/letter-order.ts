import * as z from 'zod';
import { type LetterOrder, MOST_LETTERS } from './contract.ts';

const letterOrder = z.strictObject({
  action: z.enum(['list', 'redrive']),
  atMost: z.int().min(1).max(MOST_LETTERS),
}) satisfies z.ZodType<LetterOrder>;

/** Reads the payload of the operator's command. @throws Error that names the invalid field */
export function readLetterOrder(event: unknown): LetterOrder {
  const parsed = letterOrder.safeParse(event);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is invalid'}`);
}
