import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { EmailOutcome, Mailer, OrderEmail } from '../../lambdas/orders/use/order-parties.ts';

type Trouble = 'down' | 'refuses' | 'caps' | 'doubts' | 'sends_in_silence';

/** Sends one e-mail per key. */
export class MemoryMailer implements Mailer {
  readonly outbox: OrderEmail[] = [];
  /** Applies to every subsequent call. @default no fault */
  trouble: Trouble | undefined;
  calls = 0;

  async send(email: OrderEmail): Promise<EmailOutcome> {
    this.calls += 1;
    if (this.trouble === 'down') throw new RetryableError('mailer_down', 'The mailer answered 503.');
    if (this.trouble === 'refuses') return { kind: 'refused', failure: { code: 'inactive', message: 'Gone.' } };
    if (this.trouble === 'caps') return { kind: 'capped' };
    if (this.trouble === 'doubts') return { kind: 'needs_review' };
    const known = this.outbox.findIndex(({ operationId }) => operationId === email.operationId);
    const place = known === -1 ? this.outbox.push(email) - 1 : known;
    if (this.trouble === 'sends_in_silence')
      throw new AmbiguousError('mailer_timeout', 'The mailer did not answer in time.');
    return { kind: 'sent', messageId: `msg_${place + 1}` };
  }
}
