import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Context, Hono } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import * as z from 'zod';
import { SILENCE_MS } from './magic-sources.ts';
import type { EmailDetails, EmailError, EmailSearch, SendEmail, SentEmail } from './mail-api.ts';
import { type EmailLabel, labelsOf } from './mail-books.ts';
import { jsonReply, notFound, type Reply, send } from './reply.ts';
import type { SandboxWorld } from './world.ts';

const POSTMARK_CODE = { noToken: 10, invalidEmail: 300, invalidJson: 402, inactive: 406, account: 412, search: 600 };

const text = z.string().min(1);

/** Postmark's other fields are accepted and ignored. */
const sendEmailBody = z.object({
  From: text.max(255),
  To: z.email(),
  Subject: text.max(2_000),
  TextBody: text.max(100_000),
  Tag: z.string().max(1_000).exactOptional(),
  Metadata: z
    .record(text.max(20), z.string().max(80))
    .refine((fields) => Object.keys(fields).length <= 10, 'has more than 10 fields')
    .exactOptional(),
  Headers: z.array(z.object({ Name: text, Value: z.string() })).exactOptional(),
  MessageStream: text.max(255).exactOptional(),
}) satisfies z.ZodType<SendEmail>;

const page = z.object({
  count: z.coerce.number().int().min(1).max(500),
  offset: z.coerce.number().int().min(0).max(10_000),
});
const FILTER = /^(tag|recipient|metadata_.{1,20})$/;

export function addMail(app: Hono, world: SandboxWorld): void {
  const guarded = (answer: (c: Context) => Promise<Reply>) => async (c: Context) =>
    send(c, c.req.header('x-postmark-server-token') === undefined ? noToken() : await answer(c));
  app.post(
    '/email',
    guarded((c) => takeEmail(world, c)),
  );
  app.get(
    '/messages/outbound',
    guarded((c) => search(world, c.req.query())),
  );
  app.get(
    '/messages/outbound/:id/details',
    guarded(async (c) => {
      const email = await world.books.email(c.req.param('id') ?? '');
      return email === undefined ? notFound(c) : jsonReply(200, email);
    }),
  );
  app.get(
    '/server',
    guarded(async () => jsonReply(200, { ID: 1, Name: 'Sandbox' })),
  );
}

async function takeEmail(world: SandboxWorld, c: Context): Promise<Reply> {
  const json = parsedJson(await c.req.text());
  if (json === undefined) return failure(422, POSTMARK_CODE.invalidJson, 'Invalid JSON');
  const order = sendEmailBody.safeParse(json);
  if (!order.success) {
    const [issue] = order.error.issues;
    const what = `Invalid email request: ${issue?.path.join('.') ?? ''} ${issue?.message ?? ''}`;
    return failure(422, POSTMARK_CODE.invalidEmail, what);
  }
  const behavior = await behaviorOf(world, order.data);
  switch (behavior) {
    case 'failed':
      return failure(500, 0, 'The service was configured to return this error.');
    case 'down':
      return failure(503, 0, 'The service was configured to return this error.');
    case 'account':
      return failure(422, POSTMARK_CODE.account, 'This account has no permission to send yet.');
    case 'bounce':
      return failure(422, POSTMARK_CODE.inactive, 'You tried to send to a recipient that is inactive.');
    case 'silent':
    case 'sent': {
      const sent = await keep(world, order.data);
      if (behavior === 'sent') return jsonReply(200, sent);
      await world.wait(SILENCE_MS);
      return failure(504, 0, 'The service was configured to return this error.');
    }
  }
}

async function keep(world: SandboxWorld, order: SendEmail): Promise<SentEmail> {
  const at = new Date(world.nowMs()).toISOString();
  const email: EmailDetails = {
    MessageID: world.newId('eml_'),
    From: order.From,
    To: [{ Email: order.To, Name: null }],
    Recipients: [order.To],
    Subject: order.Subject,
    Tag: order.Tag ?? '',
    Metadata: order.Metadata ?? {},
    MessageStream: order.MessageStream ?? 'outbound',
    Status: 'Sent',
    ReceivedAt: at,
    TextBody: order.TextBody,
  };
  await world.books.addEmail(email);
  return { To: order.To, SubmittedAt: at, MessageID: email.MessageID, ErrorCode: 0, Message: 'OK' };
}

type Behavior = 'sent' | 'silent' | 'failed' | 'down' | 'bounce' | 'account';

/** The key is the local part of the recipient's address. The table in mail-api.ts describes each behavior. */
const BEHAVIORS: ReadonlyMap<string, readonly [first: Behavior, later: Behavior]> = new Map([
  ['timeout', ['silent', 'sent']],
  ['flaky', ['failed', 'sent']],
  ['account', ['account', 'sent']],
  ['down', ['down', 'down']],
  ['bounce', ['bounce', 'bounce']],
]);

async function behaviorOf(world: SandboxWorld, { To, Metadata = {} }: SendEmail): Promise<Behavior> {
  const [first, later] = BEHAVIORS.get(To.slice(0, To.indexOf('@')).toLowerCase()) ?? ['sent', 'sent'];
  if (first === later || Object.keys(Metadata).length === 0) return first;
  const known = createHash('sha256')
    .update(canonicalize([To, Metadata]) ?? '')
    .digest('base64url');
  // No idempotency key contains a space, so these counts are separate from those of the processor and the shop.
  return (await world.books.countSend(`mail ${known}`, world.nowMs())) === 1 ? first : later;
}

async function search(world: SandboxWorld, { count, offset, ...filters }: Record<string, string>): Promise<Reply> {
  const asked = page.safeParse({ count, offset });
  if (!asked.success) return failure(422, POSTMARK_CODE.search, 'count must be 1 to 500, offset 0 to 10000.');
  const labels = Object.entries(filters).map(([name, value]) => `${name}=${value}` as EmailLabel);
  const [label] = labels;
  if (label === undefined || !Object.keys(filters).every((name) => FILTER.test(name))) {
    return failure(422, POSTMARK_CODE.search, 'One or more of tag, recipient and metadata_<name> must be given.');
  }
  const found = (await world.books.emailsLabelled(label))
    .filter((email) => labels.every((each) => labelsOf(email).includes(each)))
    .toReversed();
  const from = asked.data.offset;
  const list: EmailSearch = { TotalCount: found.length, Messages: found.slice(from, from + asked.data.count) };
  return jsonReply(200, list);
}

function noToken(): Reply {
  return failure(401, POSTMARK_CODE.noToken, 'No X-Postmark-Server-Token was given.');
}

function failure(status: ContentfulStatusCode, ErrorCode: number, Message: string): Reply {
  const body: EmailError = { ErrorCode, Message };
  return jsonReply(status, body);
}

function parsedJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
