import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Letter, LetterOutcome, Mailer } from '../../lambdas/orders/use/order-parties.ts';

type Trouble = 'down' | 'refuses' | 'doubts' | 'sends_in_silence';

/** A mailer that keeps what it sent, and sends a key once. */
export class MemoryMailer implements Mailer {
  /** Every letter that went out, in order. */
  readonly outbox: Letter[] = [];
  /** What becomes of every call from now on. @default it is sent */
  trouble: Trouble | undefined;
  calls = 0;

  async send(letter: Letter): Promise<LetterOutcome> {
    this.calls += 1;
    if (this.trouble === 'down') throw new RetryableError('mailer_down', 'The mailer answered 503.');
    if (this.trouble === 'refuses') return { kind: 'refused', failure: { code: 'inactive', message: 'Gone.' } };
    if (this.trouble === 'doubts') return { kind: 'needs_review' };
    const known = this.outbox.findIndex(({ operationId }) => operationId === letter.operationId);
    const place = known === -1 ? this.outbox.push(letter) - 1 : known;
    if (this.trouble === 'sends_in_silence') throw new AmbiguousError('mailer_timeout', 'No answer in time.');
    return { kind: 'sent', messageId: `msg_${place + 1}` };
  }
}
