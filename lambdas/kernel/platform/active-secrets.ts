import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import * as z from 'zod';
import { RetryableError, TerminalError } from '../faults.ts';
import { invariant } from '../invariant.ts';
import type { Clock } from '../world.ts';

/** A secret can still be used for this time after its removal. */
const FRESH_MS = 60_000;
/**
 * Minimum time between two reads that are triggered by a rejected secret or signature, in milliseconds. A new secret
 * thus works within seconds, and most forged callbacks cause no request to Secrets Manager.
 */
const RENEWAL_PAUSE_MS = 10_000;
/**
 * Maximum age of the secrets that are used while Secrets Manager does not respond, in milliseconds. Longer than most
 * outages, but limits how long a leaked secret is accepted after its removal.
 */
const STALE_MS = 15 * 60_000;
/** Time after which a caller may retry, in seconds. A suggestion only: processors choose their own times. */
const RETRY_AFTER_SECONDS = 10;

interface Known<Secret> {
  readonly secrets: Secret;
  /**
   * Start of the read, in Unix milliseconds. Not the end of the read, which could make the secrets seem newer than they
   * are.
   */
  readonly readAtMs: number;
}

interface Entry<Secret> {
  known?: Known<Secret> | undefined;
  /** Start of the last read, even if the read failed. */
  triedAtMs?: number;
  /** Concurrent callers wait for it. */
  reading?: Promise<Secret> | undefined;
}

/** Caches secrets for a short time. The client does not retry, because the caller does. */
export class SecretReader<Secret> {
  readonly #client: SecretsManagerClient;
  readonly #clock: Pick<Clock, 'nowMs'>;
  readonly #parse: (secretId: string, text: string | undefined) => Secret;
  readonly #freshMs: number;
  readonly #entries = new Map<string, Entry<Secret>>();

  /**
   * @param parse throws TerminalError `secret_malformed` for a text in none of the accepted forms
   * @param freshMs time for which secrets are used before they are read again, in milliseconds, at most 15 minutes
   */
  constructor(
    client: SecretsManagerClient,
    clock: Pick<Clock, 'nowMs'>,
    parse: (secretId: string, text: string | undefined) => Secret,
    freshMs = FRESH_MS,
  ) {
    invariant(freshMs <= STALE_MS, 'freshMs exceeds the maximum age of secrets in an outage');
    this.#client = client;
    this.#clock = clock;
    this.#parse = parse;
    this.#freshMs = freshMs;
  }

  /**
   * Returns the active secrets. They were read at most `freshMs` ago (60 s by default). While Secrets Manager is
   * unavailable, they may be up to 15 minutes old.
   *
   * @throws RetryableError `secrets_unavailable` when the secrets cannot be read now, TerminalError `secret_malformed`
   * when the secret's text has none of the accepted forms
   */
  async active(secretId: string): Promise<Secret> {
    const entry = this.#entry(secretId);
    const { known } = entry;
    if (known !== undefined && this.#within(this.#freshMs, known.readAtMs)) return known.secrets;
    // Limit the rate of reads in an outage.
    const triedNow = entry.reading === undefined && this.#within(RENEWAL_PAUSE_MS, entry.triedAtMs);
    if (triedNow && known !== undefined && this.#within(STALE_MS, known.readAtMs)) return known.secrets;
    return this.#read(secretId, entry);
  }

  /**
   * Reads the secrets again, because none of the active secrets worked. Returns undefined if the last read was less
   * than 10 s ago.
   *
   * @throws the errors of `active`
   */
  async renewed(secretId: string): Promise<Secret | undefined> {
    const entry = this.#entry(secretId);
    if (entry.reading === undefined && this.#within(RENEWAL_PAUSE_MS, entry.triedAtMs)) return undefined;
    return this.#read(secretId, entry);
  }

  #entry(secretId: string): Entry<Secret> {
    const entry = this.#entries.get(secretId) ?? {};
    this.#entries.set(secretId, entry);
    return entry;
  }

  /** False for a time in the future, which means that the clock was set back. */
  #within(limitMs: number, sinceMs: number | undefined): boolean {
    if (sinceMs === undefined) return false;
    const agoMs = this.#clock.nowMs() - sinceMs;
    return agoMs >= 0 && agoMs < limitMs;
  }

  async #read(secretId: string, entry: Entry<Secret>): Promise<Secret> {
    entry.reading ??= this.#fetch(secretId, entry).finally(() => {
      entry.reading = undefined;
    });
    return entry.reading;
  }

  async #fetch(secretId: string, entry: Entry<Secret>): Promise<Secret> {
    const readAtMs = this.#clock.nowMs();
    entry.triedAtMs = readAtMs;
    let text: string | undefined;
    try {
      text = (await this.#client.send(new GetSecretValueCommand({ SecretId: secretId }))).SecretString;
    } catch (error) {
      const { known } = entry;
      if (known !== undefined && this.#within(STALE_MS, known.readAtMs)) return known.secrets;
      throw unavailable(secretId, error);
    }
    // Only the secret's current text is valid: if this text is malformed, the old secrets are no longer accepted.
    entry.known = undefined;
    const secrets = this.#parse(secretId, text);
    entry.known = { secrets, readAtMs };
    return secrets;
  }
}

/**
 * Reads the active values of secrets, such as a processor's old and new signing secret during a rotation. If a signing
 * secret cannot be read, the processor resends its callback.
 */
export class ActiveSecrets extends SecretReader<readonly string[]> {
  constructor(client: SecretsManagerClient, clock: Pick<Clock, 'nowMs'>, freshMs = FRESH_MS) {
    super(client, clock, activeSecrets, freshMs);
  }
}

/** White space around a secret is a typing mistake that would make every signature invalid. */
const secret = z.string().refine((text) => text !== '' && text.trim() === text);
const onlySecret = secret.transform((only): readonly string[] => [only]);
const namedSecrets = z
  .record(z.string(), secret)
  .refine((named) => Object.keys(named).length > 0)
  .transform((named): readonly string[] => Object.values(named));

function activeSecrets(secretId: string, text = ''): readonly string[] {
  const parsed = parsedJson(text);
  // Text that begins with `{` but is not valid JSON is a mistyped object, not a single secret.
  const plain = parsed === undefined && !text.startsWith('{');
  const read = plain ? onlySecret.safeParse(text) : namedSecrets.safeParse(parsed);
  // No `cause`, because it could quote the secret.
  if (!read.success) throw new TerminalError('secret_malformed', `The secret ${secretId} is empty or malformed.`);
  return read.data;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unavailable(secretId: string, error: unknown): RetryableError {
  // Omit a SyntaxError: its message quotes the response, which contains the secret.
  const cause = error instanceof SyntaxError ? undefined : error;
  return new RetryableError('secrets_unavailable', `The secret ${secretId} cannot be read now.`, {
    cause,
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
}
