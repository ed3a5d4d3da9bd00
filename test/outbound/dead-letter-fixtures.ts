import type { DeadLetter } from '../../lambdas/outbound/use/dead-letters.ts';

export const deadLetter = (key: string): DeadLetter => ({
  vendor: 'postmark',
  operation: 'email.send',
  payload: { key },
  attempts: 1,
  reason: 'postmark_account',
  mayBeApplied: false,
});

export const keyOf = ({ payload }: DeadLetter) => (payload as { key: string }).key;
