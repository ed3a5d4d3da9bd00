import * as z from 'zod';
import type { CallLimit, Clock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer } from '../../outbound/http-call.ts';
import type { OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { type SendOptions, type SendOutcome, sendOnce } from '../../outbound/send-once.ts';
import type { SendingClaims } from '../../outbound/use/sending-claims.ts';
import { vendorFault } from '../../outbound/vendor-answers.ts';
import { OUR_ID_FIELD, readFoundEmail, readSendAnswer } from './postmark-answers.ts';

/** Postmark: a metadata name has at most 20 characters, a value at most 80, a tag 1,000, a subject 2,000. */
export const emailSchema = z.strictObject({
  /** Ours: the same for every attempt to send this one e-mail, for ever. */
  messageId: z.string().regex(/^[A-Za-z0-9_-]{1,80}$/),
  to: z.email(),
  subject: z.string().min(1).max(2_000),
  text: z.string().min(1),
  tag: z.string().min(1).max(1_000),
  metadata: z.record(z.string().regex(/^[a-z0-9]{1,20}$/), z.string().max(80)),
});

export type Email = Readonly<z.infer<typeof emailSchema>>;

export interface PostmarkOptions {
  /** Without a trailing slash. @default https://api.postmarkapp.com */
  readonly url?: string;
  /** The server token; asked for at every call, so that a new one is taken up. */
  readonly token: () => Promise<string>;
  /** A sender that Postmark knows; its domain is the domain of our message ids. */
  readonly from: string;
  readonly policy: OutboundPolicy;
  readonly claims: SendingClaims;
  readonly clock: Pick<Clock, 'nowMs'>;
  /** How long a sent e-mail may be missing in Postmark's search. @default five minutes */
  readonly maxLagMs?: number;
  /** Whether what is there by the name of Postmark finds at once what it has taken. @default false */
  readonly isStrong?: boolean;
}

export interface EmailSender {
  /**
   * Sends an e-mail once, by its `messageId`. A dead letter's payload is the e-mail: send that to redrive it.
   *
   * @throws as `sendOnce`
   */
  sendEmail(email: Email, options: SendOptions): Promise<SendOutcome>;
}

const POSTMARK_URL = 'https://api.postmarkapp.com';

/** Postmark states no figure. Far more than its search was ever seen to need: a second receipt is worse than a late one. */
export const DEFAULT_MAX_LAG_MS = 5 * 60 * 1_000;

/**
 * E-mail through Postmark, which takes our message id but sends as often as it is asked ("does not currently support an
 * idempotency key"). Our id goes in twice: as the `Message-ID` header, which `X-PM-KeepID` preserves, so that a mailbox
 * may recognise a double; and as metadata, which is what Postmark's search finds.
 */
export function createPostmark(options: PostmarkOptions): EmailSender {
  const { url = POSTMARK_URL, policy, claims, clock, maxLagMs = DEFAULT_MAX_LAG_MS, isStrong = false } = options;

  const post = async (email: Email, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const headers = { ...(await authorized(options.token)), 'content-type': 'application/json' };
    const body = JSON.stringify(emailBody(options.from, email));
    return callOnce({ method: 'POST', url: `${url}/email`, headers, body, timeoutMs, party: policy.vendor });
  };
  // One search takes one metadata field, and demands `count` and `offset`.
  const search = async (messageId: string, { timeoutMs }: CallLimit): Promise<HttpAnswer> => {
    const query = new URLSearchParams({ count: '50', offset: '0', [`metadata_${OUR_ID_FIELD}`]: messageId });
    const headers = await authorized(options.token);
    const address = `${url}/messages/outbound?${query.toString()}`;
    return callOnce({ method: 'GET', url: address, headers, timeoutMs, party: policy.vendor });
  };

  return {
    sendEmail: (email, { deadlineMs, givenUp = 'throw' }) => {
      const { messageId } = email;
      return sendOnce(
        { policy, claims, clock },
        {
          key: messageId,
          operation: 'email.send',
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

/** Reads the server that the token belongs to: tells that Postmark is there and lets us in. */
export async function probePostmark(
  vendor: string,
  { url = POSTMARK_URL, token }: Pick<PostmarkOptions, 'url' | 'token'>,
  { timeoutMs }: CallLimit,
): Promise<void> {
  const headers = await authorized(token);
  const answer = await callOnce({ method: 'GET', url: `${url}/server`, headers, timeoutMs, party: vendor });
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
