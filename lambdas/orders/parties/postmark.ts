import * as z from 'zod';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer, type SendRequest } from '../../outbound/http-call.ts';
import type { OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { type SendOptions, type SendOutcome, sendOnce } from '../../outbound/send-once.ts';
import type { SendingClaims } from '../../outbound/use/sending-claims.ts';
import { vendorFault } from '../../outbound/vendor-answers.ts';
import { OUR_ID_FIELD, readFoundEmail, readSendAnswer } from './postmark-answers.ts';

/** Postmark's limits: 20 characters for a metadata name, 80 for a value, 1,000 for a tag, 2,000 for a subject. */
export const emailSchema = z.strictObject({
  /** Payonce's own id, the same for every attempt to send this e-mail. */
  messageId: z.string().regex(/^[A-Za-z0-9_-]{1,80}$/),
  to: z.email(),
  subject: z.string().min(1).max(2_000),
  text: z.string().min(1),
  tag: z.string().min(1).max(1_000),
  metadata: z.record(z.string().regex(/^[a-z0-9]{1,20}$/), z.string().max(80)),
});

export type Email = Readonly<z.infer<typeof emailSchema>>;

export interface PostmarkOptions {
  /** Base URL without a trailing slash. @default https://api.postmarkapp.com */
  readonly url?: string;
  /** Called for every request, so that a rotated token takes effect. */
  readonly token: () => Promise<string>;
  /** Sender address that is registered at Postmark. Message ids use its domain. */
  readonly from: string;
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** @default callOnce: HTTP */
  readonly send?: SendRequest;
  /** Maximum time, in milliseconds, until Postmark's search finds an e-mail that was sent. @default five minutes */
  readonly maxLagMs?: number;
  /** Whether the search of the server at `url` is strongly consistent. @default false */
  readonly isStrong?: boolean;
}

export interface EmailSender {
  /**
   * Sends an e-mail exactly once, identified by its `messageId`. If the e-mail is dead-lettered, the payload contains
   * the complete e-mail, so that a redrive can send it.
   *
   * @throws as `sendOnce`
   */
  sendEmail(email: Email, options: SendOptions): Promise<SendOutcome>;
}

const POSTMARK_URL = 'https://api.postmarkapp.com';

/**
 * Postmark documents no value. Five minutes is far more than any observed lag; the value is large because a second
 * e-mail is worse than a late one.
 */
export const DEFAULT_MAX_LAG_MS = 5 * 60 * 1_000;

/**
 * Postmark accepts a message id, but sends an e-mail for every request ("does not currently support an idempotency
 * key"). Payonce's id is sent twice: as the `Message-ID` header, which `X-PM-KeepID` preserves, so that a mailbox can
 * recognize a duplicate; and as metadata, by which Postmark's search can find the e-mail.
 */
export function createPostmark(options: PostmarkOptions): EmailSender {
  const { url = POSTMARK_URL, policy, claims, clock, send = callOnce } = options;
  const { maxLagMs = DEFAULT_MAX_LAG_MS, isStrong = false } = options;

  const post = async (email: Email, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const headers = { ...(await authorized(options.token)), 'content-type': 'application/json' };
    const body = JSON.stringify(emailBody(options.from, email));
    return send({ method: 'POST', url: `${url}/email`, headers, body, timeoutMs, party: policy.vendor });
  };
  // Postmark's search accepts one metadata field, and requires `count` and `offset`.
  const search = async (messageId: string, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const query = new URLSearchParams({ count: '50', offset: '0', [`metadata_${OUR_ID_FIELD}`]: messageId });
    const headers = await authorized(options.token);
    const address = `${url}/messages/outbound?${query.toString()}`;
    return send({ method: 'GET', url: address, headers, timeoutMs, party: policy.vendor });
  };

  return {
    sendEmail: (email, { deadlineMs, givenUp = 'throw' }) => {
      const { messageId } = email;
      return sendOnce(
        { policy, claims, clock },
        {
          key: messageId,
          operation: 'email.send',
          about: email.metadata['order'],
          deadlineMs,
          send: async (limit) => readSendAnswer(policy.vendor, await post(email, limit), clock.nowMs()),
          lookUp: {
            find: async (limit) =>
              readFoundEmail(policy.vendor, messageId, await search(messageId, limit), clock.nowMs()),
            maxLagMs,
            isStrong,
          },
          withinCall: 'by_lookup',
          givenUp,
          payload: email,
        },
      );
    },
  };
}

/** Also tests whether Postmark accepts the token: reads the server to which the token belongs. */
export async function probePostmark(
  vendor: string,
  { url = POSTMARK_URL, token, send = callOnce }: Pick<PostmarkOptions, 'url' | 'token' | 'send'>,
  { timeoutMs }: CallLimit,
): Promise<void> {
  const headers = await authorized(token);
  const answer = await send({ method: 'GET', url: `${url}/server`, headers, timeoutMs, party: vendor });
  if (answer.status !== 200) throw vendorFault(vendor, answer);
}

async function authorized(token: () => Promise<string>): Promise<Readonly<Record<string, string>>> {
  return { accept: 'application/json', 'x-postmark-server-token': await token() };
}

function emailBody(from: string, { messageId, to, subject, text, tag, metadata }: Email): object {
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    From: from,
    To: to,
    Subject: subject,
    TextBody: text,
    Tag: tag,
    Headers: [
      { Name: 'Message-ID', Value: `<${messageId}@${domain}>` },
      { Name: 'X-PM-KeepID', Value: 'true' },
    ],
    Metadata: { ...metadata, [OUR_ID_FIELD]: messageId },
    MessageStream: 'outbound',
  };
}
