import * as z from 'zod';
import { REQUESTS_SOURCE } from '../../lambdas/intake/contract.ts';
import { PREFIX, parsedJson, type Rule, TENANT_ID } from './rules.ts';

/** The settings of payment requests by event. */
export interface PaymentRequestSettings {
  /**
   * The senders that may request payments by event, with their tenants: JSON (docs/guides/transports.md).
   * @default none: events cannot request payments
   */
  readonly paymentRequests?: PaymentRequests;
}

export type PaymentRequests = z.output<typeof paymentRequests>;
export type Kafka = NonNullable<PaymentRequests['kafka']>;

const text = (pattern: RegExp, allowed: string) => z.string(allowed).regex(pattern, allowed);
const listOf = <Schema extends z.ZodType>(schema: Schema, max: number, allowed: string) =>
  z.array(schema, allowed).min(1, allowed).max(max, allowed);
const exactObject = <Shape extends z.core.$ZodLooseShape>(shape: Shape) =>
  z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' ? `has the unknown field ${String(issue.keys[0])}` : 'must be an object',
  });

/** Validates an object by the schema that `schemaOf` chooses for it, so that an error names the right field. */
const chosen = <Output>(schemaOf: (given: object) => z.ZodType<Output>) =>
  z.looseObject({}, 'must be an object').transform((given, context) => {
    const read = schemaOf(given).safeParse(given);
    if (read.success) return read.data;
    for (const { path, message } of read.error.issues) context.addIssue({ code: 'custom', path, message });
    return z.NEVER;
  });

const owner = {
  tenant: text(TENANT_ID, 'must be the id of a tenant'),
  mode: z.enum(['test', 'live'], 'must be test or live'),
};
const account = text(/^\d{12}$/, 'must be the 12 digits of an AWS account');
const bySource = exactObject({
  /**
   * The `source` of the sender's events on the bus.
   * @default payonce.requests
   */
  source: text(/^(?!aws\.|payonce$)[\w./-]{1,128}$/, 'must be an event source, but not one of AWS or Payonce').default(
    REQUESTS_SOURCE,
  ),
  /**
   * The account that puts the events on the bus.
   * @default the account of the deployment
   */
  account: account.optional(),
  ...owner,
});
const byQueue = exactObject({
  /** The name of a queue that the stack creates for the sender. */
  queue: text(/^[a-z][a-z0-9]{0,30}$/, 'must be 1 to 31 lower-case letters and digits'),
  ...owner,
});
const byTopic = exactObject({
  topic: text(/^[\w.-]{1,200}$/, 'must be the name of a Kafka topic'),
  /** The consumer group. @default payonce-<topic> */
  group: text(/^[\w./:+=@-]{1,200}$/, 'must be the name of a consumer group').optional(),
  ...owner,
});
const bySubject = exactObject({
  /** An exact NATS subject. The bridge reports the subject of each message. */
  subject: text(/^(?=.{1,200}$)[\w$/:=-]+(?:\.[\w$/:=-]+)*$/, 'must be a NATS subject without wildcards'),
  ...owner,
});

/**
 * Maps a field to the schema of the transport that it identifies. A sender is validated only by the schema of its
 * field, so that an error names the right field. A sender without any of these fields uses the bus.
 */
const KINDS = { source: bySource, queue: byQueue, topic: byTopic, subject: bySubject };
const sender = chosen<z.output<(typeof KINDS)[keyof typeof KINDS]>>((given) => {
  const [kind = bySource] = Object.entries(KINDS).flatMap(([field, each]) => (field in given ? [each] : []));
  return kind;
});

const secret = text(/^arn:aws[a-z-]*:secretsmanager:\S+$/, 'must be the ARN of a secret');
const startAt = z.enum(['earliest', 'latest'], 'must be earliest or latest').default('earliest');
const managed = exactObject({
  cluster: text(
    /^arn:aws[a-z-]*:kafka:[^\s:]+:[^\s:]+:cluster\/\S+$/,
    'must be the ARN of an Amazon MSK cluster, unless brokers are given',
  ),
  /**
   * A secret with user name and password (SASL/SCRAM).
   * @default the function's role is used (IAM)
   */
  secret: secret.optional(),
  startAt,
});
const SUBNETS = 'must be a list of one or more subnets';
const AUTHENTICATION = ['scram-512', 'scram-256', 'basic', 'client-certificate'] as const;
const selfManaged = exactObject({
  brokers: listOf(text(/^[\w.-]{1,253}:\d{1,5}$/, 'must be host:port'), 10, 'must be a list of 1 to 10 brokers'),
  /**
   * A secret with user name and password, or a client certificate.
   * @default no authentication, for brokers in a network of your own
   */
  secret: secret.optional(),
  authentication: z.enum(AUTHENTICATION, `must be one of ${AUTHENTICATION.join(', ')}`).default('scram-512'),
  /**
   * A secret with the root certificate of the brokers.
   * @default the brokers' certificates are signed by a public certificate authority
   */
  rootCertificate: secret.optional(),
  /**
   * Subnets of the brokers' network.
   * @default the brokers are reached over the internet
   */
  subnets: z
    .array(text(/^subnet-[0-9a-f]+$/, 'must be the id of a subnet'), SUBNETS)
    .min(1, SUBNETS)
    .optional(),
  securityGroup: text(/^sg-[0-9a-f]+$/, 'must be the id of a security group').optional(),
  startAt,
});

const kafkaCluster = chosen<z.output<typeof managed> | z.output<typeof selfManaged>>((given) =>
  'brokers' in given ? selfManaged : managed,
);

const HOURS = 'must be 1 to 168 hours';
const paymentRequests = exactObject({
  /** Maximum age, in hours, of an event that may start a payment. Older events are parked. */
  oldestHours: z.int(HOURS).min(1, HOURS).max(168, HOURS).default(24),
  senders: listOf(sender, 50, 'must be a list of 1 to 50 senders'),
  kafka: kafkaCluster.optional(),
}).superRefine(({ senders, kafka }, context) => {
  const issue = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
  const hasTopics = senders.some((each) => 'topic' in each);
  if (hasTopics && kafka === undefined) issue(['kafka'], 'must be given, because a sender has a topic');
  if (!hasTopics && kafka !== undefined) issue(['kafka'], 'is given, but no sender has a topic');
  if (kafka !== undefined && 'brokers' in kafka) {
    const { subnets, securityGroup, secret: ofClient } = kafka;
    if ((subnets === undefined) !== (securityGroup === undefined))
      issue(['kafka'], 'must have both subnets and securityGroup, or neither');
    if (ofClient === undefined && subnets === undefined)
      issue(['kafka', 'secret'], 'must be given for brokers that are reached over the internet');
  }
  const names = senders.map((each) => JSON.stringify(Object.entries(each).filter(isAddress)));
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index);
  if (twice >= 0) issue(['senders', twice], 'has the same address as an earlier sender');
});

/** Reports whether a field is part of a sender's address: its source, account, queue, topic or subject. */
function isAddress([field]: readonly [string, unknown]): boolean {
  return field in KINDS || field === 'account';
}

export const PAYMENT_REQUEST_RULES = {
  paymentRequests: {
    allowed: 'a JSON object with senders (docs/guides/transports.md)',
    read: (given: unknown) => {
      const read = paymentRequests.safeParse(typeof given === 'string' ? parsedJson(given) : given);
      if (read.success) return read.data;
      const [issue] = read.error.issues;
      const at = issue?.path.map(String).join('.') ?? '';
      const subject = at === '' ? '' : `: ${at}`;
      throw new Error(`${PREFIX}paymentRequests${subject} ${issue?.message ?? 'is not valid'}`);
    },
  },
} satisfies Readonly<Record<string, Rule<PaymentRequests>>>;
