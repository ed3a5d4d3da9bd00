import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { defined } from '../lambdas/kernel/defined.ts';
import { queueUrl, readVariables, type Variables } from '../lambdas/kernel/platform/variables.ts';

type NatsLogin =
  | { readonly kind: 'none' }
  | { readonly kind: 'token'; readonly token: string }
  | { readonly kind: 'password'; readonly user: string; readonly password: string }
  /** The content of a file with a user's JWT and seed, as written by `nsc`. */
  | { readonly kind: 'credentials'; readonly file: Uint8Array }
  | { readonly kind: 'nkey'; readonly seed: Uint8Array };

export interface BridgeSettings {
  readonly nats: {
    readonly servers: readonly string[];
    readonly login: NatsLogin;
    /** If set, only encrypted connections are made. */
    readonly tls?: { readonly caFile?: string; readonly certFile?: string; readonly keyFile?: string };
  };
  readonly requests?: {
    readonly queueUrl: string;
    readonly stream: string;
    /** The name of the durable consumer. All processes of one bridge share this consumer. */
    readonly consumer: string;
    readonly subjects: readonly string[];
    /** Time in seconds after which the server redelivers a message that is not acknowledged. */
    readonly ackWaitSeconds: number;
    /** Maximum number of messages that are held in memory. */
    readonly inFlight: number;
  };
  /** The subjects are `<prefix>.<tenant>.<name of the event>`. */
  readonly events?: { readonly queueUrl: string; readonly parkingQueueUrl: string; readonly prefix: string };
  readonly healthPort: number;
}

const list = (what: string) =>
  z
    .string('is not set')
    .transform((text) => text.split(',').map((each) => each.trim()))
    .refine((items) => items.every((item) => item !== ''), `must be ${what}, separated by commas`);
const whole = (least: number, most: number) =>
  z.coerce
    .number(`must be a whole number from ${least} to ${most}`)
    .int(`must be a whole number from ${least} to ${most}`)
    .min(least, `must be ${least} or more`)
    .max(most, `must be ${most} or less`);
/** A name of a stream or consumer (NATS documentation, "Consumers"). */
const name = z
  .string('is not set')
  .regex(/^[^\s.*>/\\]{1,255}$/, 'must be a name without spaces, dots, `*`, `>` or slashes');
const text = z.string().min(1, 'must not be empty');

const environment = z.object({
  NATS_SERVERS: list('addresses of NATS servers'),
  NATS_TOKEN: text.exactOptional(),
  NATS_USER: text.exactOptional(),
  NATS_PASSWORD: text.exactOptional(),
  NATS_CREDENTIALS_FILE: text.exactOptional(),
  NATS_NKEY_FILE: text.exactOptional(),
  NATS_TLS: z.enum(['true', 'false'], 'must be true or false').exactOptional(),
  NATS_TLS_CA_FILE: text.exactOptional(),
  NATS_TLS_CERT_FILE: text.exactOptional(),
  NATS_TLS_KEY_FILE: text.exactOptional(),
  HEALTH_PORT: whole(0, 65_535).default(8_080),
  REQUESTS_QUEUE_URL: queueUrl.exactOptional(),
  EVENTS_QUEUE_URL: queueUrl.exactOptional(),
});
const requestsEnvironment = z.object({
  REQUESTS_QUEUE_URL: queueUrl,
  NATS_STREAM: name,
  NATS_CONSUMER: name.default('payonce-bridge'),
  NATS_SUBJECTS: list('subjects'),
  NATS_ACK_WAIT_SECONDS: whole(1, 3_600).default(30),
  IN_FLIGHT: whole(1, 500).default(50),
});
const eventsEnvironment = z.object({
  EVENTS_QUEUE_URL: queueUrl,
  EVENTS_PARKING_QUEUE_URL: queueUrl,
  EVENTS_PREFIX: z
    .string()
    .regex(/^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$/, 'must be a subject without wildcards')
    .default('payonce.events'),
});

/** @throws Error that names the missing, invalid or contradictory variables, or a file that cannot be read */
export function readBridgeSettings(variables: Variables): BridgeSettings {
  const given = readVariables(environment, variables);
  if (given.REQUESTS_QUEUE_URL === undefined && given.EVENTS_QUEUE_URL === undefined)
    throw new Error('neither REQUESTS_QUEUE_URL nor EVENTS_QUEUE_URL is set, so the bridge has nothing to do');
  const tls = tlsOf(given);
  return {
    nats: { servers: given.NATS_SERVERS, login: loginOf(given), ...defined({ tls }) },
    ...(given.REQUESTS_QUEUE_URL === undefined ? {} : { requests: requestsOf(variables) }),
    ...(given.EVENTS_QUEUE_URL === undefined ? {} : { events: eventsOf(variables) }),
    healthPort: given.HEALTH_PORT,
  };
}

function requestsOf(variables: Variables): NonNullable<BridgeSettings['requests']> {
  const given = readVariables(requestsEnvironment, variables);
  return {
    queueUrl: given.REQUESTS_QUEUE_URL,
    stream: given.NATS_STREAM,
    consumer: given.NATS_CONSUMER,
    subjects: given.NATS_SUBJECTS,
    ackWaitSeconds: given.NATS_ACK_WAIT_SECONDS,
    inFlight: given.IN_FLIGHT,
  };
}

function eventsOf(variables: Variables): NonNullable<BridgeSettings['events']> {
  const given = readVariables(eventsEnvironment, variables);
  return {
    queueUrl: given.EVENTS_QUEUE_URL,
    parkingQueueUrl: given.EVENTS_PARKING_QUEUE_URL,
    prefix: given.EVENTS_PREFIX,
  };
}

function loginOf(given: z.output<typeof environment>): NatsLogin {
  const { NATS_TOKEN: token, NATS_USER: user, NATS_PASSWORD: password } = given;
  const { NATS_CREDENTIALS_FILE: credentials, NATS_NKEY_FILE: nkey } = given;
  if ((user === undefined) !== (password === undefined))
    throw new Error('NATS_USER and NATS_PASSWORD must be set together or not at all');
  const logins: NatsLogin[] = [];
  if (token !== undefined) logins.push({ kind: 'token', token });
  if (user !== undefined && password !== undefined) logins.push({ kind: 'password', user, password });
  if (credentials !== undefined) logins.push({ kind: 'credentials', file: readFileSync(credentials) });
  if (nkey !== undefined) logins.push({ kind: 'nkey', seed: trimmed(readFileSync(nkey)) });
  if (logins.length > 1)
    throw new Error('only one of NATS_TOKEN, NATS_USER, NATS_CREDENTIALS_FILE and NATS_NKEY_FILE may be set');
  return logins[0] ?? { kind: 'none' };
}

/** Editors add a line break at the end of a file. It is not part of the seed. */
function trimmed(file: Buffer): Uint8Array {
  return new TextEncoder().encode(file.toString('utf8').trim());
}

function tlsOf(given: z.output<typeof environment>): BridgeSettings['nats']['tls'] {
  const { NATS_TLS_CA_FILE: caFile, NATS_TLS_CERT_FILE: certFile, NATS_TLS_KEY_FILE: keyFile } = given;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new Error('NATS_TLS_CERT_FILE and NATS_TLS_KEY_FILE must be set together or not at all');
  const files = {
    ...defined({ caFile, certFile, keyFile }),
  };
  if (Object.keys(files).length > 0 && given.NATS_TLS === 'false')
    throw new Error('NATS_TLS is false, but files for TLS are set');
  return given.NATS_TLS === 'true' || Object.keys(files).length > 0 ? files : undefined;
}
