import type * as z from 'zod';
import type { Mode } from '../../kernel/ids.ts';
import type { WireClock } from '../../kernel/world.ts';
import { callOnce, type HttpAnswer, type SendRequest } from '../../outbound/http-call.ts';
import { signedCalls, withBearer } from '../../outbound/signed-calls.ts';
import type { ProcessorCharge } from '../../payments/domain/processor-charge.ts';
import type { ProcessorBooks } from '../../payments/use/processor.ts';
import { mismatch, parse, statusFault, unreadable } from '../answers.ts';
import { unreadableCharge } from '../unreadable-charge.ts';
import { sandboxContract } from './contract.ts';
import { chargeAnswer, chargePage, listAnswer, processorCharge } from './sandbox-charge.ts';

/** Access to a processor that implements the sandbox's API. */
export interface SandboxAccess {
  /** @default sandbox */
  readonly name?: string;
  /** @default test */
  readonly mode?: Mode;
  /** Base URL without a trailing slash. */
  readonly url: string;
  readonly clock: WireClock;
  /** @default `callOnce`, over HTTP */
  readonly send?: SendRequest;
  /**
   * Reads the access secret that is sent with each request.
   * @default no secret is sent
   */
  readonly accessKey?: () => Promise<string>;
  /**
   * Reads the secret that signs requests.
   * @default requests are not signed
   */
  readonly signingKey?: () => Promise<string>;
}

/**
 * Patterns that find an object of the wrong mode in a body, keyed by the expected mode. They match neither inside a
 * string, where quotes are escaped, nor in metadata, whose values are strings.
 */
const MODES = { test: /"livemode"\s*:\s*true/, live: /"livemode"\s*:\s*false/ };

/** The returned function throws `processor_answer_mismatch` when a response belongs to the other mode. */
export function sandboxCalls({
  mode = 'test',
  clock,
  send = callOnce,
  accessKey,
  signingKey,
}: SandboxAccess): SendRequest {
  const shown = accessKey === undefined ? send : withBearer(send, accessKey);
  const signed = signingKey === undefined ? shown : signedCalls(shown, signingKey, clock);
  return async (call) => {
    const answer = await signed(call);
    if (MODES[mode].test(answer.text)) throw mismatch(`The response contains an object that is not in ${mode} mode.`);
    return answer;
  };
}

/**
 * Maximum size of a list, in bytes: enough for a page of a hundred charges with many refunds each, or for one charge
 * with thousands of refunds.
 */
const MAX_LIST_BYTES = 4 * 1_024 * 1_024;

/** Each read is one call; the caller decides whether to retry. */
export function createSandboxBooks(access: SandboxAccess): ProcessorBooks {
  const { name = sandboxContract.name, mode = 'test', url, clock } = access;
  const send = sandboxCalls(access);
  const get = (path: string, timeoutMs: number): Promise<HttpAnswer> =>
    send({ method: 'GET', url: `${url}${path}`, headers: {}, timeoutMs, maxAnswerBytes: MAX_LIST_BYTES });
  const page = async <T>(
    schema: z.ZodType<T>,
    query: Readonly<Record<string, string>>,
    timeoutMs: number,
  ): Promise<T> => {
    const answer = await get(`/charges?${new URLSearchParams(query).toString()}`, timeoutMs);
    if (answer.status !== 200) throw statusFault(answer, clock.nowMs());
    return parse(schema, answer);
  };

  return {
    name,
    mode,
    account: name,
    readCharge: async (chargeId, { timeoutMs }): Promise<ProcessorCharge | undefined> => {
      const answer = await get(`/charges/${encodeURIComponent(chargeId)}`, timeoutMs);
      if (answer.status === 404) return undefined;
      if (answer.status !== 200) throw statusFault(answer, clock.nowMs());
      return processorCharge(parse(chargeAnswer, answer));
    },
    chargesOfPayment: async (paymentId, { timeoutMs }) => {
      const { data } = await page(listAnswer, { payment: paymentId }, timeoutMs);
      return data.map(processorCharge);
    },
    listCharges: async ({ fromSeconds, untilSeconds, cursor }, { timeoutMs }) => {
      const window = { created_from: String(fromSeconds), created_to: String(untilSeconds) };
      const { data, next } = await page(chargePage, cursor === undefined ? window : { ...window, cursor }, timeoutMs);
      const read = data.map((listed) => ({ listed, parsed: chargeAnswer.safeParse(listed) }));
      const charges = read.flatMap(({ parsed }) => (parsed.success ? [processorCharge(parsed.data)] : []));
      const unread = read.flatMap(({ listed, parsed: { error } }) =>
        error === undefined ? [] : [unreadableCharge(listed, unreadable(error))],
      );
      return { charges, ...(unread.length === 0 ? {} : { unreadable: unread }), ...(next === null ? {} : { next }) };
    },
  };
}
