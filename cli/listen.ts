import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Command, InvalidArgumentError } from 'commander';
import { Webhook } from 'standardwebhooks';
import * as z from 'zod';
import { PUBLIC_EVENT_TYPES } from '../lambdas/events/domain/event.ts';
import { systemClock } from '../lambdas/kernel/platform/platform.ts';
import { makeDirectory } from '../local/directories.ts';
import { CliFailure, ExitCode, endingOf } from './failure.ts';
import { type AskApi, addAccess, createApiCaller, locate, Refusal, readAnswer, TENANT } from './operator-api.ts';
import { isoTime, readSeconds, type Session } from './session.ts';

const POLL_INTERVAL_MS = 2_000;
/**
 * Maximum delay, in seconds, before an event appears in the list. An event can appear later than newer events, so each
 * poll reads this period again.
 */
const MAX_EVENT_DELAY_SECONDS = 15 * 60;
/** Payonce's webhooks have the same limit. */
const ANSWER_MS = 10_000;
const PAGE = 100;
const MAX_PAGES = 100;

const event = z.looseObject({ id: z.string(), type: z.string(), created: z.int() });
const eventList = z.object({ data: z.array(event), has_more: z.boolean(), next_cursor: z.string().nullish() });
type Event = z.infer<typeof event>;

const progress = z.object({
  secret: z.string(),
  /** Unix time in seconds. Events before this time have been delivered, or are skipped. */
  since: z.int(),
  /** Creation times, keyed by event id, of delivered events that were created at `since` or later. */
  delivered: z.record(z.string(), z.int()),
});
type Progress = z.infer<typeof progress>;

interface Options {
  readonly forwardTo: string;
  readonly from?: number;
  readonly secret?: string;
  readonly events?: readonly string[];
  readonly once?: boolean;
}

export function addListen(program: Command, session: Session): void {
  const command = program
    .command('listen')
    .description(
      'posts each event to a program on this machine, signed like webhooks, until the command is stopped; the next run continues with the undelivered events',
    )
    .requiredOption(
      '--forward-to <address>',
      'the address of the program, for example http://localhost:3000/hooks',
      readAddress,
    )
    .option('--from <seconds>', 'only events since this time, in Unix seconds; the default is now', readSeconds)
    .option('--secret <whsec>', 'the signing secret; the default is generated once, and shown', readSecret)
    .option('--events <types>', 'only these types, for example payment.completed,refund.completed', readTypes)
    .option('--once', 'end when all existing events are delivered');
  addAccess(command, TENANT);
  const ask = createApiCaller(session, command, TENANT);
  command.action(async ({ forwardTo, from, secret, events, once = false }: Options) => {
    const { url, key } = await locate(session, command, TENANT);
    const file = stateFile(session.directory, [url, key, forwardTo, ...(events?.toSorted() ?? [])].join(' '));
    const stored = read(file);
    const state: Progress = {
      secret: secret ?? stored?.secret ?? `whsec_${randomBytes(24).toString('base64')}`,
      since: from ?? stored?.since ?? Math.floor(systemClock.nowMs() / 1000),
      delivered: from === undefined ? (stored?.delivered ?? {}) : {},
    };
    write(file, state);
    session.writeLine(
      { forward_to: forwardTo, secret: state.secret, since: state.since },
      `The secret is ${state.secret}. Forwarding events since ${isoTime(state.since * 1000)}.`,
    );
    for (let polls = 1; ; polls += 1) {
      const failed = await forwardAll({ ask, session, to: forwardTo, events }, state).catch((error: unknown) => {
        // An error in the first poll ends the command, so that the user sees invalid settings.
        if (once || polls === 1 || !isTransient(error)) throw error;
        const { sentence = '' } = endingOf(error);
        session.writeLine({ failed: sentence }, `${sentence} Retrying.`);
        return 0;
      });
      write(file, state);
      if (once && failed > 0)
        throw new CliFailure(ExitCode.incomplete, `${failed} events were not accepted by ${forwardTo}.`);
      if (once) return;
      await sleep(POLL_INTERVAL_MS);
    }
  });
}

function isTransient(error: unknown): boolean {
  if (error instanceof Refusal) return error.status === 429 || error.status >= 500;
  return endingOf(error).exitCode === ExitCode.unreachable;
}

interface Receiver {
  readonly ask: AskApi;
  readonly session: Session;
  readonly to: string;
  /** Undefined selects all types. */
  readonly events: readonly string[] | undefined;
}

/** @returns the number of events that the receiver did not accept */
async function forwardAll({ ask, session, to, events }: Receiver, state: Progress): Promise<number> {
  const seen = await eventsSince(ask, state.since);
  const isSent = ({ id, type }: Event) => state.delivered[id] === undefined && (events?.includes(type) ?? true);
  const open = seen.filter(isSent).toReversed();
  const left: number[] = [];
  for (const each of open) {
    const { accepted, result } = await forward(to, state.secret, each);
    if (accepted) state.delivered[each.id] = each.created;
    else left.push(each.created);
    session.writeLine({ event: each.id, type: each.type, accepted, result }, `${each.type}  ${each.id}  ${result}`);
  }
  // The next poll begins early enough to reread failed events and to find all events that may still appear late.
  const [newest] = seen;
  const since = newest === undefined ? state.since : Math.min(newest.created - MAX_EVENT_DELAY_SECONDS, ...left);
  state.since = Math.max(state.since, since);
  state.delivered = Object.fromEntries(Object.entries(state.delivered).filter(([, created]) => created >= state.since));
  return left.length;
}

async function eventsSince(ask: AskApi, since: number): Promise<readonly Event[]> {
  const found: Event[] = [];
  let after = '';
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const {
      data,
      has_more: hasMore,
      next_cursor: next,
    } = readAnswer(eventList, await ask('GET', `/v1/events?limit=${PAGE}${after}`));
    found.push(...data.filter(({ created }) => created >= since));
    const oldest = data.at(-1);
    if (!hasMore || oldest === undefined || oldest.created < since) return found;
    after = `&starting_after=${encodeURIComponent(next ?? oldest.id)}`;
  }
  throw new CliFailure(
    ExitCode.incomplete,
    `There are more than ${MAX_PAGES * PAGE} events since ${isoTime(since * 1000)}: set --from to a later time.`,
  );
}

async function forward(to: string, secret: string, given: Event): Promise<{ accepted: boolean; result: string }> {
  const body = JSON.stringify(given);
  const now = new Date(Math.floor(Date.now() / 1000) * 1000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': given.id,
    'webhook-timestamp': String(now.getTime() / 1000),
    'webhook-signature': new Webhook(secret).sign(given.id, now, body),
  };
  try {
    const { ok, status } = await fetch(to, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(ANSWER_MS),
    });
    return { accepted: ok, result: String(status) };
  } catch (error) {
    return { accepted: false, result: endingOf(error).sentence ?? 'no response' };
  }
}

/** Each receiver has its own file, so that two receivers do not consume each other's events. */
function stateFile(directory: string, of: string): string {
  makeDirectory(directory);
  return join(directory, `listen-${createHash('sha256').update(of).digest('hex').slice(0, 16)}.json`);
}

function read(file: string): Progress | undefined {
  if (!existsSync(file)) return undefined;
  const { data } = progress.safeParse(JSON.parse(readFileSync(file, 'utf8')));
  return data;
}

function write(file: string, state: Progress): void {
  writeFileSync(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
  renameSync(`${file}.new`, file);
}

function readAddress(text: string): string {
  if (/^https?:\/\//.test(text) && URL.canParse(text)) return text;
  throw new InvalidArgumentError(`${text} is not a URL. Example: http://localhost:3000.`);
}

function readTypes(text: string): readonly string[] {
  const types = text.split(',').map((each) => each.trim());
  const unknown = types.filter((each) => PUBLIC_EVENT_TYPES.every((type) => type !== each));
  if (unknown.length === 0) return types;
  throw new InvalidArgumentError(
    `${unknown.join(', ')} is not an event type. The types are ${PUBLIC_EVENT_TYPES.join(', ')}.`,
  );
}

function readSecret(text: string): string {
  if (/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(text)) return text;
  throw new InvalidArgumentError('it must be whsec_ followed by at least 24 bytes in base64.');
}
